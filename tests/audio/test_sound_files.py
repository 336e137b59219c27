"""Files of a folder from elsewhere are found, or refused with a reason."""

import pytest

from aor_lib.audio.sound_files import UnusableError, contained
from tests.audio.sounds import put


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gone.wav", "missing"),
        ("../secret.wav", "outside"),
        ("link.wav", "outside"),
    ],
)
def test_a_listed_file_that_is_missing_or_outside_is_refused(tmp_path, name, reason):
    secret = put(tmp_path / "secret.wav", b"")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link.wav").symlink_to(secret)
    with pytest.raises(UnusableError, match=reason):
        contained(tmp_path / "in", name)
