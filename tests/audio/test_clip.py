import numpy as np
import pytest
import soundfile

from aor_lib.audio.clip import Clip
from tests.audio.sounds import hiss


@pytest.mark.parametrize("kind", ["flac", "wav"])
def test_a_clip_that_was_read_is_saved_as_it_was(tmp_path, kind):
    first, second = tmp_path / f"first.{kind}", tmp_path / f"second.{kind}"
    Clip(hiss(1, level=0.3).astype(np.float32), 16_000).save(first)
    Clip(*soundfile.read(first, dtype="float32")).save(second)
    assert second.read_bytes() == first.read_bytes()


def test_a_clip_is_saved_as_no_other_format(tmp_path):
    with pytest.raises(ValueError, match=r"x\.mp3.*\.flac or \.wav"):
        Clip(np.zeros(10, np.float32), 16_000).save(tmp_path / "x.mp3")
