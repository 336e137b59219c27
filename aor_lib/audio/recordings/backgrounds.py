"""Backgrounds for the study's clips, composed of a library's recordings."""

import functools
import hashlib
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile

from aor_lib.audio.mixing import Samples, rms_dbfs
from aor_lib.audio.recordings.collections import UNKNOWN
from aor_lib.audio.recordings.library import LibraryError, Recording, recordings_of
from aor_lib.audio.scenes import Event
from aor_lib.audio.speech.voice import SAMPLE_RATE

_LAYERS = 3
_LAYER_DB = (-8.0, 0.0)
_LAYER_RMS_DBFS = -26.0
_EVENT_MAX_S = 2.5
_GAP_S = (0.4, 2.5)
_CROSS_FADE_S = 0.25
_EDGE_S = 0.005
_INAUDIBLE_DB = -50.0
_QUIET_DB = -20.0
_PEAK = 0.9


@dataclass(frozen=True, eq=False)
class Background:
    """The sound beside the speech: float32, ``(samples,)``, mono, and where it comes from."""

    samples: Samples
    events: tuple[Event, ...]
    source: str
    licence: str


def recorded_scene(
    library: Path, scene: str, n_samples: int, rng: np.random.Generator
) -> Background | None:
    """Compose a background at 24 kHz of up to three of a scene's recordings, None if it has none.

    They are of different labels where the library has several. Short recordings come again after
    pauses, longer ones in a loop with cross-fades of equal power. The peak is 0.9; ``source`` names
    the recordings with their authors.
    """
    chosen = _choose(recordings_of(library, scene), rng)
    if not chosen:
        return None
    mixed = np.zeros(n_samples)
    events = []
    for number, recording in enumerate(chosen):
        sound = _load(library / recording.file, recording.sha256)
        layer, spans = _laid_out(sound, n_samples, rng)
        mixed += layer * 10 ** ((rng.uniform(*_LAYER_DB) if number else 0.0) / 20)
        for start, end in spans:
            length_s = (end - start) / SAMPLE_RATE
            events.append(Event(recording.label, start / SAMPLE_RATE, length_s))
    mixed = _faded(mixed, round(_EDGE_S * SAMPLE_RATE))
    return Background(
        samples=(mixed * (_PEAK / np.abs(mixed).max())).astype(np.float32),
        events=tuple(sorted(events, key=lambda event: (event.onset_s, event.name))),
        source="recorded: " + "; ".join(map(_credit, chosen)),
        licence="; ".join(sorted({recording.licence for recording in chosen})),
    )


def _choose(recordings: Sequence[Recording], rng: np.random.Generator) -> list[Recording]:
    # In random order; a label comes again only after all the others.
    times: Counter[str] = Counter()
    ranked: list[tuple[int, Recording]] = []
    for position in rng.permutation(len(recordings)):
        recording = recordings[position]
        ranked.append((times[recording.label], recording))
        times[recording.label] += 1
    return [recording for _, recording in sorted(ranked, key=lambda entry: entry[0])][:_LAYERS]


@functools.lru_cache(maxsize=32)
def _load(path: Path, sha256: str) -> Samples:
    audio = path.read_bytes() if path.is_file() else b""
    if hashlib.sha256(audio).hexdigest() != sha256:
        raise LibraryError(f"{path}: is missing or altered; import its collection again")
    samples = np.asarray(soundfile.read(io.BytesIO(audio))[0], dtype=np.float32)
    loud = np.flatnonzero(np.abs(samples) > np.abs(samples).max() * 10 ** (_INAUDIBLE_DB / 20))
    samples = samples[loud[0] : loud[-1] + 1]
    samples = samples * np.float32(10 ** ((_LAYER_RMS_DBFS - rms_dbfs(samples)) / 20))
    samples.flags.writeable = False
    return samples


def _laid_out(
    sound: Samples, n_samples: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.float64], list[tuple[int, int]]]:
    length = len(sound)
    starts: list[int]
    if length <= _EVENT_MAX_S * SAMPLE_RATE:
        fade_s = _EDGE_S
        starts = [int(rng.integers(n_samples // 5))]
        while starts[-1] + length < n_samples:
            starts.append(starts[-1] + length + round(rng.uniform(*_GAP_S) * SAMPLE_RATE))
    else:
        fade_s = _CROSS_FADE_S
        period = length - round(fade_s * SAMPLE_RATE)
        first = int(rng.integers(max(length - n_samples, 0) or period))
        excerpt = sound[first : first + n_samples]
        if length >= n_samples and rms_dbfs(excerpt) < _LAYER_RMS_DBFS + _QUIET_DB:
            loudest = int(np.abs(sound).argmax())
            first = min(max(0, loudest - n_samples // 2), length - n_samples)
        starts = list(range(-first, n_samples, period))
    faded = _faded(sound, round(fade_s * SAMPLE_RATE))
    layer = np.zeros(n_samples)
    spans = [(max(at, 0), min(at + length, n_samples)) for at in starts if at < n_samples]
    for at, (start, end) in zip(starts, spans, strict=False):
        layer[start:end] += faded[start - at : end - at]
    return layer, spans


def _faded(samples: npt.NDArray[np.floating], n_fade: int) -> npt.NDArray[np.float64]:
    # A quarter of a sine at both ends: two such fades that overlap keep the power.
    n_fade = min(n_fade, len(samples) // 2)
    ramp = np.sin(np.pi / 2 * (np.arange(n_fade) + 0.5) / max(n_fade, 1))
    window = np.ones(len(samples))
    window[:n_fade] = ramp
    window[len(samples) - n_fade :] = ramp[::-1]
    return np.asarray(samples * window, dtype=np.float64)


def _credit(recording: Recording) -> str:
    author = "" if recording.author == UNKNOWN else f" by {recording.author}"
    return f"{recording.source}/{recording.original}{author}"
