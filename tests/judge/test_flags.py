import pytest

from aor_lib.judge.flags import find_flags
from aor_lib.judge.reading import read


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("I can hear saws in the background. Cut outside the line.", ("mentions_scene",)),
        ("Score the board first, and wear safety goggles.", ("safety_advice",)),
        ("the bird and the camera " * 8, ("degenerate",)),
        ("xkcd qwrt zzpl mnbv ghjk trwq plmk vbnm wrtp sdfg hjkl qzxc", ("degenerate",)),
        ("Ha ha ha! Very, very good.", ()),
    ],
)
def test_flags_are_those_that_hold(text, flags):
    assert find_flags(read(text).text) == flags
