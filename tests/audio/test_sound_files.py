"""Sound files from elsewhere are decoded whole, or refused with a reason."""

import contextlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aor_lib.audio.sound_files import (
    UnreadableError,
    UnusableError,
    contained,
    read_sound,
)
from tests.audio.sounds import encoded, hiss, put

KINDS = ["WAV", "FLAC", "OGG", "AIFF", "MP3"]


def test_any_rate_and_channels_become_mono_at_24_khz(tmp_path):
    both = np.stack([hiss(3, 2.0, 8000), hiss(4, 2.0, 8000)], axis=1)
    samples = read_sound(put(tmp_path / "b.wav", encoded(both, 8000)), 30)
    assert (samples.shape, samples.dtype) == ((48_000,), np.float32)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"about", "sound file"),
        ("a.wav", b"these are no samples" * 50, "decoded"),
        ("a.wav", encoded(np.full(24000, 0.5)), "silent"),
        ("a.wav", encoded(hiss(1, 0.3)), r"0\.30 s"),
        ("a.wav", encoded(hiss(1, 31.0)), r"31\.00 s"),
        ("a.wav", encoded(np.full(24000, np.nan), subtype="FLOAT"), "finite"),
        ("a.wav", encoded(np.sign(hiss(1))), "clipped"),
    ],
)
def test_an_unusable_file_is_refused_with_the_reason(tmp_path, name, content, reason):
    with pytest.raises(UnusableError, match=reason):
        read_sound(put(tmp_path / name, content), 30)


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_file_is_read_in_any_format_and_half_a_flac_is_refused(tmp_path, kind):
    whole = encoded(hiss(1, 3.0), kind=kind)
    assert len(read_sound(put(tmp_path / f"whole.{kind}", whole), 30)) >= 3 * 24_000
    if kind == "FLAC":
        with pytest.raises(UnreadableError):
            read_sound(put(tmp_path / "cut.flac", whole[: len(whole) // 2]), 30)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(KINDS),
    changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=12),
    in_header=st.booleans(),
    keep=st.floats(0, 1),
)
def test_a_damaged_file_is_read_or_refused(tmp_path, kind, changes, in_header, keep):
    content = bytearray(encoded(hiss(1, 0.6), kind=kind))
    for position, value in changes:
        content[position % (80 if in_header else len(content))] = value
    damaged = put(tmp_path / f"x.{kind}", bytes(content[: int(len(content) * keep) + 1]))
    with contextlib.suppress(UnusableError):
        assert np.isfinite(read_sound(damaged, 30)).all()


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
