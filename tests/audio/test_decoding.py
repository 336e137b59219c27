"""Sound files from elsewhere are decoded whole, or refused with a reason."""

import contextlib
import re
import struct

import av
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aor_lib.audio.decoding import read_sound
from aor_lib.audio.mixing import rms_dbfs
from aor_lib.audio.sound_files import UnreadableError, UnusableError
from tests.audio.sounds import encoded, hiss, put

KINDS = ["WAV", "W64", "RF64", "AU", "AIFF", "FLAC", "OGG", "MP3"]
NOISE = hiss(1, 3.0)
HALF_SILENT = np.concatenate([np.zeros(36_000), NOISE[:36_000]])
WAV = encoded(NOISE)
ODD = encoded(NOISE[:24_001], subtype="PCM_24")
FLAC = encoded(NOISE, kind="FLAC")
LATIN_1 = b"INFOIART\x04\0\0\0Jos\xe9"


def lasts(folder, name, content):
    return len(read_sound(put(folder / name, content), 60)) / 24_000


def mp3(samples, mode="VARIABLE"):
    return encoded(samples, kind="MP3", bitrate_mode=mode)


def without_xing(content):
    # The first frame holds nothing but the header that states the length.
    frame = re.compile(re.escape(content[:2]) + rb"..", re.DOTALL)
    return content[frame.search(content, 40).start() :]


def with_ape_cover(content, size=60_000):
    item = struct.pack("<II", size, 2) + b"Cover Art (Front)\0" + bytes(size)
    footer = b"APETAGEX" + struct.pack("<IIII", 2000, len(item) + 32, 1, 0) + bytes(8)
    return content + item + footer


def data_size(size):
    return WAV[:40] + struct.pack("<I", size) + WAV[44:]


@pytest.mark.parametrize(
    ("name", "content", "seconds"),
    [
        ("gsm.wav", encoded(NOISE, kind="WAV", subtype="GSM610"), 3),
        ("silence_first.mp3", without_xing(mp3(HALF_SILENT)), 3),
        ("sound_first.mp3", without_xing(mp3(HALF_SILENT[::-1])), 3),
        ("cover.mp3", with_ape_cover(without_xing(mp3(NOISE, "CONSTANT"))), 3),
        ("xing_cover.mp3", with_ape_cover(mp3(NOISE)), 3),
        ("joined.mp3", 2 * mp3(NOISE), 6),
        ("joined.ogg", 2 * encoded(NOISE, kind="OGG"), 6),
        ("joined.opus", 2 * encoded(NOISE, kind="OGG", subtype="OPUS"), 6),
        ("riff_size.wav", WAV[:4] + struct.pack("<I", len(WAV)) + WAV[8:], 3),
        ("riff_size_0.wav", WAV[:4] + bytes(4) + WAV[8:], 3),
        ("no_pad_byte.wav", ODD[: 44 + 3 * 24_001], 24_001 / 24_000),
        ("7fffffff.wav", data_size(2**31 - 1), 3),
        ("ffffffff.wav", data_size(2**32 - 1), 3),
        ("size_0.wav", data_size(0), 3),
        ("size_of_file.wav", data_size(len(WAV)), 3),
        ("latin_1.wav", WAV + b"LIST" + struct.pack("<I", len(LATIN_1)) + LATIN_1, 3),
        # STREAMINFO: the last 36 bits before the checksum are the number of samples.
        ("unknown.flac", FLAC[:21] + bytes([FLAC[21] & 0xF0]) + bytes(4) + FLAC[26:], 3),
    ],
)
def test_a_whole_file_whose_header_misleads_is_read_whole(tmp_path, name, content, seconds):
    assert lasts(tmp_path, name, content) == pytest.approx(seconds, abs=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_file_is_read_and_half_of_it_is_cut_off(tmp_path, kind):
    whole = encoded(NOISE, kind=kind)
    assert lasts(tmp_path, f"whole.{kind}", whole) == pytest.approx(3)
    if kind != "OGG":  # whose header says nothing of its length
        with pytest.raises(UnreadableError, match="cut off"):
            lasts(tmp_path, f"half.{kind}", whole[: len(whole) // 2])


@pytest.mark.parametrize(("kind", "codec"), [("mp4", "aac"), ("webm", "libopus")])
def test_a_phones_or_a_browsers_recording_is_read(tmp_path, kind, codec):
    path = tmp_path / f"a.{kind}"
    with av.open(path, "w") as file:
        stream = file.add_stream(codec, rate=48_000, layout="mono")
        frame = av.AudioFrame.from_ndarray(hiss(1, 3.0, 48_000).astype("f4")[None], "fltp", "mono")
        frame.sample_rate = 48_000
        file.mux([*stream.encode(frame), *stream.encode(None)])
    assert len(read_sound(path, 60)) / 24_000 == pytest.approx(3, abs=0.1)


@pytest.mark.parametrize("leak", [0.0, 0.1])
def test_channels_in_opposite_phase_are_read_as_one_of_them(tmp_path, leak):
    stereo = np.stack([NOISE, -NOISE + leak * hiss(2, 3.0)], axis=1)
    samples = read_sound(put(tmp_path / "opposite.wav", encoded(stereo)), 60)
    assert rms_dbfs(samples) == pytest.approx(rms_dbfs(NOISE), abs=0.1)


def test_other_channels_become_their_mean(tmp_path):
    left, right = hiss(3, 2.0), hiss(4, 2.0)
    for pair in ([left, right], [left, left], [left, 0 * left], 4 * [left, right]):
        stereo = np.stack(pair, axis=1)
        samples = read_sound(put(tmp_path / "b.wav", encoded(stereo, subtype="FLOAT")), 30)
        assert samples == pytest.approx(stereo.mean(axis=1), abs=1e-6)


def test_any_rate_becomes_24_khz_and_a_long_file_is_cut(tmp_path):
    file = put(tmp_path / "b.wav", encoded(hiss(3, 2.0, 8000), 8000))
    samples = read_sound(file, 30)
    assert (samples.shape, samples.dtype) == ((48_000,), np.float32)
    assert read_sound(file, 1.5) == pytest.approx(samples[:36_000], abs=1e-6)


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "FLOAT", "DOUBLE"])
def test_samples_of_any_width_keep_their_level(tmp_path, subtype):
    samples = read_sound(put(tmp_path / "a.wav", encoded(NOISE, subtype=subtype)), 30)
    assert samples == pytest.approx(NOISE, abs=2**-7 if "8" in subtype else 1e-4)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"about", "sound file"),
        ("a.wav", b"", "decoded"),
        ("a.wav", b"these are no samples" * 50, "decoded"),
        ("a.mp3", b"#EXTM3U\n/etc/passwd\n", "decoded"),
        ("a.wav", encoded(np.full(24000, 0.5)), "silent"),
        ("a.wav", encoded(np.full(1, 0.5), 96_000), "silent"),
        ("a.wav", encoded(hiss(1, 1.0, 4000), 4000), "4000 Hz"),
        ("a.wav", encoded(np.full(24000, np.nan), subtype="FLOAT"), "finite"),
        ("a.wav", encoded(np.sign(hiss(1))), "clipped"),
        ("a.wav", WAV[:44], "cut off"),
    ],
)
def test_an_unusable_file_is_refused_with_the_reason(tmp_path, name, content, reason):
    with pytest.raises(UnusableError, match=reason):
        read_sound(put(tmp_path / name, content), 30)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
