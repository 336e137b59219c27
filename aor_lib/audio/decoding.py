"""Decode sound files of common formats to mono samples; reject damaged or unfit files."""

import re
import struct
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
import soxr

from aor_lib.audio import mixing
from aor_lib.audio.sound_files import SUFFIXES, UnreadableError, UnusableError
from aor_lib.audio.speech.voice import SAMPLE_RATE
from aor_lib.config.typed_yaml import one_line

_KINDS = "wav,w64,au,aiff,flac,ogg,mp3,mov,matroska"  # FFmpeg's names; playlists are excluded
_SIZES_ARE_ESTIMATED = {"wav", "w64", "mp3"}
_MIN_RATE_HZ = 8000
_SILENCE_DBFS = -70.0
_FULL_SCALE = 0.999
_MAX_CLIPPED = 0.25
_CANCELLED = 0.1
_MAX_LOST = 0.02
_LOST_S = 0.25  # MP4 encoders count their padding
_SIZE_UNKNOWN = 0x7F00_0000  # recorders that cannot update the header write 2 GB or more
_HEAD = 2**18
_W64_DATA = b"data\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a"
# LAME's tag: four bytes of flags (bit 1: the size is stated), number of frames, size in bytes.
_XING = re.compile(rb"(?:Xing|Info)\0{3}[\3\7\x0b\x0f].{4}(.{4})", re.DOTALL)

_Block = npt.NDArray[np.float32]


def read_sound(path: Path, at_most_s: float) -> mixing.Samples:
    """Decode the first ``at_most_s`` seconds of a sound file: float32 ``(samples,)``, mono, 24 kHz.

    Channels are averaged, unless they cancel each other out: then the loudest channel is used.
    FFmpeg decodes (through PyAV), so concatenated files and headers without a length are accepted.

    UnusableError if the file name has none of the :data:`SUFFIXES`, or if the sound is silent,
    sampled below 8 kHz, or more than a quarter clipped. UnreadableError if the file is missing,
    damaged or cut off; truncation of Ogg, WebM and MP3 files cannot always be detected.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UnusableError(f"is not a sound file (its name ends in {path.suffix!r})")
    try:
        blocks = list(_blocks(path, at_most_s))
    except (av.FFmpegError, ValueError) as error:  # PyAV itself raises ValueError
        why = f"cannot be decoded: it is damaged or not audio ({one_line(error)})"
        raise UnreadableError(why) from error
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror or error}") from error
    groups = groupby(blocks, key=lambda block: (block[0], len(block[1])))
    parts = [(rate, np.concatenate([b for _, b in group], axis=1)) for (rate, _), group in groups]
    if not parts:
        raise UnreadableError("contains no sound")
    if not all(np.isfinite(part).all() for _, part in parts):
        raise UnreadableError("has samples that are not finite")
    clipped = sum(int((np.abs(part) >= _FULL_SCALE).sum()) for _, part in parts)
    if (share := clipped / sum(part.size for _, part in parts)) > _MAX_CLIPPED:
        raise UnusableError(f"is clipped throughout ({share:.0%} of its samples)")
    resampled = [soxr.resample(_mono(part), rate, SAMPLE_RATE) for rate, part in parts]
    samples: mixing.Samples = np.concatenate(resampled)
    if not samples.size or mixing.rms_dbfs(samples - samples.mean(dtype=float)) < _SILENCE_DBFS:
        raise UnusableError("is silent")
    return samples[: round(at_most_s * SAMPLE_RATE)]


def _blocks(path: Path, at_most_s: float) -> Iterator[tuple[int, _Block]]:
    # Sample rate and (channels, samples) of each decoded frame.
    only, lenient = {"format_whitelist": _KINDS}, "replace"
    with path.open("rb") as raw, av.open(raw, "r", options=only, metadata_errors=lenient) as file:
        if not file.streams.audio:
            raise UnreadableError("contains no sound")
        audio = file.streams.audio[0]
        length_s, packets, lost = 0.0, 0, 0
        for packet in file.demux(audio):
            packets += 1
            try:
                frames = packet.decode()
            except av.FFmpegError:
                lost += 1  # a tag between two concatenated files, or damage
                continue
            for frame in frames:
                if (rate := frame.sample_rate) < _MIN_RATE_HZ:
                    raise UnusableError(f"has a sample rate of {rate} Hz, below {_MIN_RATE_HZ} Hz")
                (packed,) = av.AudioResampler("flt").resample(frame)  # PyAV crashes on 8 planes
                samples = np.asarray(packed.to_ndarray(), dtype=np.float32)
                yield rate, samples.reshape(-1, packed.layout.nb_channels).T
                length_s += frame.samples / rate
            if length_s >= at_most_s:
                return
        stated_s = (audio.duration or 0) * (audio.time_base or 0)
        estimated = file.format.name in _SIZES_ARE_ESTIMATED
        if _is_cut_off(path, file.format.name) or (not estimated and length_s < stated_s - _LOST_S):
            raise UnreadableError("is cut off: it holds less sound than it says")
        if lost > max(1, _MAX_LOST * packets):
            raise UnreadableError(f"is damaged: {lost} of {packets} packets cannot be decoded")


def _mono(channels: _Block) -> mixing.Samples:
    mean: mixing.Samples = channels.mean(axis=0)
    power = np.square(channels, dtype=np.float64).mean(axis=1)
    # Power of the mean of uncorrelated channels.
    unrelated = power.sum() / len(channels) ** 2
    loudest: mixing.Samples = channels[int(power.argmax())]
    return loudest if np.square(mean).mean() < _CANCELLED * unrelated else mean


def _is_cut_off(path: Path, kind: str) -> bool:
    # FFmpeg takes the length of these formats from the file size; compare it with the header.
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    stated = 0
    if kind == "wav":
        stated = _data_size(head)
    elif kind == "w64" and (place := head.find(_W64_DATA)) > 0:
        stated = struct.unpack_from("<Q", head, place + 16)[0]
    elif kind == "mp3" and (tag := _XING.search(head)):
        stated = int.from_bytes(tag[1], "big")
    return stated < _SIZE_UNKNOWN and stated > path.stat().st_size


def _data_size(head: bytes) -> int:
    at, long = 12, 0  # after "RIFF", its size, and "WAVE"
    while at + 8 <= len(head):
        name, size, _, of_data = struct.unpack("<4sIQQ", head[at : at + 24].ljust(24, b"\0"))
        if name == b"ds64":
            long = of_data  # the 64-bit size of RF64
        elif name == b"data":
            return int(long or size)
        at += 8 + size + size % 2
    return 0
