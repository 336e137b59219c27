"""Sound files from elsewhere: finding them in a folder, and decoding them with checks."""

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile
import soxr

from aor_lib.audio import mixing
from aor_lib.audio.speech.voice import SAMPLE_RATE
from aor_lib.config.typed_yaml import AorError, one_line

Report = Callable[[int, int], None]

MIN_DURATION_S = 0.5

SUFFIXES = {".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff"}
_MIN_RATE_HZ = 8000
_SILENCE_DBFS = -70.0
_FULL_SCALE = 0.999
_MAX_CLIPPED = 0.25
_BLOCK = 16_384


class CollectionError(AorError, ValueError):
    """A folder that cannot be imported at all; one line names the file and what to do."""


class UnusableError(ValueError):
    """A file that cannot be imported; the message is the reason, to be read after its name."""


class UnreadableError(UnusableError):
    """A file that is damaged or missing, and not merely unfit."""


@dataclass(frozen=True)
class ImportReport:
    """Names of files by what became of them."""

    imported: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]  # with the reason
    unreadable: tuple[str, ...]  # those among the skipped that are damaged or missing


def import_each(names: Sequence[str], take: Callable[[str], None], report: Report) -> ImportReport:
    """Take files by their names, one after the other; those that are unusable are left out."""
    imported, skipped, unreadable = [], [], []
    for done, name in enumerate(names, start=1):
        shown = one_line(name)
        try:
            take(name)
            imported.append(shown)
        except UnusableError as error:
            skipped.append((shown, str(error)))
            if isinstance(error, UnreadableError):
                unreadable.append(shown)
        report(done, len(names))
    return ImportReport(tuple(imported), tuple(skipped), tuple(unreadable))


def check_folders(folder: Path, into: Path) -> None:
    """Raise CollectionError unless ``folder`` is one and ``into`` lies outside of it."""
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
    """The file of a name in a collection's list; UnusableError if the folder holds none."""
    try:
        path = (folder / name).resolve(strict=True)
    except (OSError, ValueError) as error:
        raise UnreadableError("is listed but missing") from error
    if not path.is_relative_to(folder.resolve()):
        raise UnusableError("lies outside the folder")
    return path


def read_sound(path: Path, max_duration_s: float) -> mixing.Samples:
    """Decode a sound file: float32, ``(samples,)``, the channels' mean at 24 kHz.

    UnusableError if it is not a sound file, is damaged (``UnreadableError``), too short or too
    long, silent, or clipped for more than a quarter of its samples.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UnusableError(f"is not a sound file (its name ends in {path.suffix!r})")
    mono: list[npt.NDArray[np.float32]] = []
    clipped: list[float] = []
    try:
        with soundfile.SoundFile(path) as file:
            rate, n_frames = file.samplerate, file.frames
            if rate < _MIN_RATE_HZ:
                raise UnusableError(f"has a sample rate of {rate} Hz, below {_MIN_RATE_HZ} Hz")
            if not MIN_DURATION_S <= n_frames / rate <= max_duration_s:
                limits = f"{MIN_DURATION_S} to {max_duration_s:g} s"
                raise UnusableError(f"lasts {n_frames / rate:.2f} s; {limits} are taken")
            for block in file.blocks(_BLOCK, dtype="float32", always_2d=True):
                mono.append(block.mean(axis=1))
                clipped.append(float((np.abs(block) >= _FULL_SCALE).mean() * len(block)))
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror or error}") from error
    except soundfile.LibsndfileError as error:
        raise UnreadableError(f"cannot be decoded: {one_line(error.error_string)}") from error
    samples = np.concatenate(mono)
    if len(samples) < n_frames:
        raise UnreadableError("is cut off: it holds less sound than it says")
    if not np.isfinite(samples).all():
        raise UnreadableError("has samples that are not finite")
    if mixing.rms_dbfs(samples - samples.mean(dtype=np.float64)) < _SILENCE_DBFS:
        raise UnusableError("is silent")
    if (share := sum(clipped) / n_frames) > _MAX_CLIPPED:
        raise UnusableError(f"is clipped throughout ({share:.0%} of its samples)")
    if rate == SAMPLE_RATE:
        return samples
    return np.asarray(soxr.resample(samples, rate, SAMPLE_RATE), dtype=np.float32)


def file_sha256(path: Path) -> str:
    """A file's hash. Raises UnreadableError if it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror or error}") from error


def flac(samples: mixing.Samples, subtype: str) -> bytes:
    """A mono FLAC file at 24 kHz; ``subtype`` is PCM_16 or PCM_24."""
    stream = io.BytesIO()
    soundfile.write(stream, samples, SAMPLE_RATE, format="FLAC", subtype=subtype)
    return stream.getvalue()
