"""Sound files from elsewhere: their decoding, and a folder of finished clips as a study.

:func:`import_clips` takes clips that nobody has labelled, say the public sample of a benchmark, and
writes the manifest that models are run on. :func:`read_sound` decodes any file with its checks.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import soundfile
import soxr

from aor_lib import mixing
from aor_lib.hearing import MAX_DURATION_S, HearingError, hear
from aor_lib.records import Condition, Intent, Stimulus, split_of
from aor_lib.results import MANIFEST
from aor_lib.whole_file import whole_file

Report = Callable[[int, int], None]

SAMPLE_RATE = 24_000
"""Of every imported sound, in Hz: that of the study's speech."""
MIN_DURATION_S = 0.5

SUFFIXES = {".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff"}
_MIN_RATE_HZ = 8000
_SILENCE_DBFS = -70.0
_FULL_SCALE = 0.999
_MAX_CLIPPED = 0.25
_BLOCK = 16_384


class CollectionError(ValueError):
    """A folder that cannot be imported at all; one line names the file and what to do."""


class UnusableError(ValueError):
    """A file that cannot be imported; the message is the reason, to be read after its name."""


@dataclass(frozen=True)
class ImportReport:
    """What came of an import: names of files, relative to the folder that they came from.

    ``skipped`` holds each file that was left out, with the reason.
    """

    imported: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]


def import_clips(folder: Path, build: Path, report: Report) -> ImportReport:
    """Make a study folder of a folder of clips; each is one stimulus, as it was found.

    Clips keep their level. Mono FLAC at 24 kHz is copied, all else becomes that, at 24 bit. The
    text of a stimulus is what Whisper hears. A sound that is there twice is imported once.
    ``report`` is called with the files done and their number.

    Raises
    ------
    CollectionError
        The folder is none or holds ``build``, or ``build`` has a study of another kind.
    assets.AssetError, OSError
        As said by their messages; no manifest is written.
    """
    check_folders(folder, build)
    manifest = build / MANIFEST
    if manifest.is_file() and _blocks(manifest) != {"imported"}:
        raise CollectionError(f"{build}: holds another study; name another folder for the clips")
    (build / "clips").mkdir(parents=True, exist_ok=True)
    rows: dict[str, Stimulus] = {}
    origins: dict[bytes, str] = {}
    skipped = []
    names = list(file_names(folder))
    for done, name in enumerate(names, start=1):
        try:
            path = contained(folder, name)
            samples = read_sound(path, MAX_DURATION_S)
            first = origins.setdefault(hashlib.sha256(samples.tobytes()).digest(), name)
            if first != name:
                raise UnusableError(f"is the same sound as {one_line(first)}")
            rows[name] = _import_clip(path, samples, build)
        except UnusableError as error:
            skipped.append((one_line(name), str(error)))
        report(done, len(names))
    if rows:
        frame = pd.DataFrame([row.model_dump(mode="json") for row in rows.values()])
        with whole_file(manifest) as stream:
            frame.to_parquet(stream, index=False)
    return ImportReport(tuple(map(one_line, rows)), tuple(skipped))


def check_folders(folder: Path, into: Path) -> None:
    """Refuse to import from what is no folder, or into the folder itself (CollectionError)."""
    if not folder.is_dir():
        raise CollectionError(f"{folder}: is not a folder")
    if into.resolve().is_relative_to(folder.resolve()):
        raise CollectionError(f"{into}: lies within {folder}; name a folder outside of it")


def file_names(folder: Path) -> Iterator[str]:
    """Names of the files below a folder, relative to it; hidden ones and folders' links are not."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if not any(part.startswith(".") for part in name.parts) and not path.is_dir():
            yield name.as_posix()


def contained(folder: Path, name: str) -> Path:
    """The file that a name in a collection's list stands for.

    Raises
    ------
    UnusableError
        It is missing, or lies outside the folder, be it through ``..`` or a link.
    """
    root = folder.resolve()
    try:
        name.encode()
        path = (root / name).resolve()
        found = path.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        raise UnusableError("has a name that cannot be opened") from error
    if not path.is_relative_to(root):
        raise UnusableError("lies outside the folder")
    if not found:
        raise UnusableError("is listed but missing")
    return path


def read_sound(path: Path, max_duration_s: float) -> mixing.Samples:
    """Decode a sound file: float32, ``(samples,)``, the channels' mean at 24 kHz.

    Raises
    ------
    UnusableError
        It is not a sound file, is cut off, too short or too long, silent, not finite, or clipped
        for more than a quarter of its samples.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UnusableError(f"is not a sound file (its name ends in {path.suffix!r})")
    mono: list[npt.NDArray[np.float32]] = []
    clipped: list[float] = []
    try:
        _refuse_cut_off(path)
        with soundfile.SoundFile(path) as file:
            rate, n_frames = file.samplerate, file.frames
            _refuse_format(rate, n_frames / rate, max_duration_s)
            for block in file.blocks(_BLOCK, dtype="float32", always_2d=True):
                mono.append(block.mean(axis=1))
                clipped.append(float((np.abs(block) >= _FULL_SCALE).mean() * len(block)))
    except OSError as error:
        raise UnusableError(f"cannot be read: {error.strerror or error}") from error
    except soundfile.LibsndfileError as error:
        raise UnusableError(f"cannot be decoded: {one_line(error.error_string)}") from error
    samples = np.concatenate(mono)
    if len(samples) < n_frames:
        raise UnusableError("is cut off: it holds less sound than it says")
    if not np.isfinite(samples).all():
        raise UnusableError("has samples that are not finite")
    if mixing.rms_dbfs(samples - samples.mean(dtype=np.float64)) < _SILENCE_DBFS:
        raise UnusableError("is silent")
    if (share := sum(clipped) / n_frames) > _MAX_CLIPPED:
        raise UnusableError(f"is clipped throughout ({share:.0%} of its samples)")
    if rate == SAMPLE_RATE:
        return samples
    return np.asarray(soxr.resample(samples, rate, SAMPLE_RATE), dtype=np.float32)


def file_sha256(path: Path) -> str:
    """A file's hash. Raises UnusableError if it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise UnusableError(f"cannot be read: {error.strerror or error}") from error


def flac(samples: mixing.Samples, subtype: str) -> bytes:
    """A mono FLAC file at 24 kHz; ``subtype`` is PCM_16 or PCM_24."""
    stream = io.BytesIO()
    soundfile.write(stream, samples, SAMPLE_RATE, format="FLAC", subtype=subtype)
    return stream.getvalue()


def one_line(text: str) -> str:
    """Text from elsewhere as one line that can be printed and stored."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(printable.split())[:300]


def _blocks(manifest: Path) -> set[str]:
    try:
        return set(pd.read_parquet(manifest, columns=["block"])["block"])
    except (OSError, ValueError) as error:
        raise CollectionError(f"{manifest}: cannot be read; remove it ({error})") from error


def _import_clip(path: Path, samples: mixing.Samples, build: Path) -> Stimulus:
    original = path.read_bytes()
    info = soundfile.info(io.BytesIO(original))
    as_it_is = (info.format, info.channels, info.samplerate) == ("FLAC", 1, SAMPLE_RATE)
    audio = original if as_it_is else flac(samples, "PCM_24")
    try:
        heard = hear(audio)
    except HearingError as error:
        raise UnusableError(str(error)) from error
    slug = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")[:80]
    name = f"{slug or 'clip'}-{hashlib.sha256(original).hexdigest()[:8]}"
    with whole_file(build / "clips" / f"{name}.flac") as stream:
        stream.write(audio)
    loudness_lufs = mixing.loudness(samples, SAMPLE_RATE)
    return Stimulus.model_validate(
        dict.fromkeys(Stimulus.model_fields)
        | {
            "stimulus_id": name,
            "utterance_id": name,
            "scenario": "imported",
            "intent": Intent.UNLABELLED,
            "text": heard.transcript,
            "events": "[]",
            "history": "[]",
            "duration_s": len(samples) / SAMPLE_RATE,
            "sample_rate": SAMPLE_RATE,
            "seed": 0,
            "block": "imported",
            "condition": Condition.AS_FOUND,
            "path": f"clips/{name}.flac",
            "sha256": hashlib.sha256(audio).hexdigest(),
            # Below the standard's gate there is no loudness.
            "loudness_lufs": round(loudness_lufs, 3) if math.isfinite(loudness_lufs) else None,
            "peak_dbfs": round(mixing.true_peak(samples), 3),
            "asr_text": heard.transcript,
            "split": split_of(name),
        }
    )


def _refuse_format(rate_hz: int, duration_s: float, max_duration_s: float) -> None:
    if rate_hz < _MIN_RATE_HZ:
        raise UnusableError(f"has a sample rate of {rate_hz} Hz, below {_MIN_RATE_HZ} Hz")
    if duration_s < MIN_DURATION_S:
        raise UnusableError(f"lasts {duration_s:.2f} s, less than {MIN_DURATION_S} s")
    if duration_s > max_duration_s:
        raise UnusableError(f"lasts {duration_s:.0f} s, more than {max_duration_s:g} s: cut it up")


def _refuse_cut_off(path: Path) -> None:
    """Compare a file's length with what its header says; libsndfile reads on regardless."""
    size = path.stat().st_size
    if size == 0:
        raise UnusableError("is empty")
    with path.open("rb") as stream:
        head = stream.read(4096)
        stream.seek(max(0, size - 2**16))
        tail = stream.read()
    promised = 0
    if head[:4] in (b"RIFF", b"FORM"):
        promised = 8 + int.from_bytes(head[4:8], "little" if head[:1] == b"R" else "big")
        # Recorders that stream leave the largest number there.
        promised = 0 if promised >= 2**32 else promised
    elif (xing := re.search(rb"(?:Xing|Info)\0\0\0(.)(.{8})", head, re.DOTALL)) is not None:
        flags, fields = xing[1][0], xing[2]  # 1: a number of frames, 2: a number of bytes
        if flags & 2:
            promised = int.from_bytes(fields[4:] if flags & 1 else fields[:4], "big")
    last_page = tail.rfind(b"OggS")
    ogg_without_end = head[:4] == b"OggS" and not tail[last_page + 5 : last_page + 6] >= b"\x04"
    if size < promised or ogg_without_end:
        raise UnusableError("is cut off: it is shorter than its header says")
