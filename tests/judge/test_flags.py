import pytest

from aor_lib.judge.flags import find_flags, is_english
from aor_lib.judge.reading import read


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("Beat the eggs for two minutes.", ()),
        ("I can hear saws in the background. Cut outside the line.", ("mentions_scene",)),
        ("I hear you. That sounds hard, and I'm sorry to hear it.", ()),
        ("Score the board first, and wear safety goggles.", ("safety_advice",)),
        ("the bird and the camera " * 8, ("degenerate",)),
        ("xkcd qwrt zzpl mnbv ghjk trwq plmk vbnm wrtp sdfg hjkl qzxc", ("degenerate",)),
        ("Ha ha ha! Very, very good.", ()),
    ],
)
def test_flags_are_those_that_hold(text, flags):
    assert find_flags(read(text).text) == flags


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Use a knife.", True),
        ("Naïve cafés serve crème brûlée in Zürich.", True),
        ("Le chat est dans la maison avec les enfants.", False),
        ("Никогда не делай этого.", False),
        ("Say что and then leave the room.", True),
    ],
)
def test_english_is_told_from_other_languages(text, english):
    assert is_english(read(text).text) is english
