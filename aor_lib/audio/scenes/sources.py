"""Sounds of a scene: recordings where the bank has their label, otherwise synthesised."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aor_lib.audio.bank.library import LABELS_FILE, Recording, SoundBank, label_named, sound_labels
from aor_lib.audio.mixing import Samples
from aor_lib.audio.scenes.library import checked, drawn
from aor_lib.audio.scenes.octaves import equalised
from aor_lib.audio.scenes.sounds import SOUNDS
from aor_lib.audio.scenes.synth import Synth
from aor_lib.audio.speech.voice import SAMPLE_RATE
from aor_lib.config.scene import Layer, Occurrence, Scene
from aor_lib.config.typed_yaml import ParamsError, did_you_mean

_BED_MARGIN_S = 0.3
_LOUDEST_S = 0.05
_MIN_BED_S = 2.0  # a shorter recording would sound like a beat when looped
_MAX_EVENT_S = 4.0
_EDGE_S = 0.005
_CROSS_FADE_S = 0.25
_QUIET = 0.3  # as a fraction of the recording's RMS


@dataclass(frozen=True)
class Rendering:
    """Samples, their amplitude to which the scene's level refers, and the recording, if any."""

    samples: NDArray[np.floating]
    amplitude: float
    recording: Recording | None = None


def check(scene: Scene) -> None:
    """Raise ParamsError, which names file, sound, field and value, unless every sound is valid."""
    for name, sound in scene.sounds:
        where = f"scenes/{scene.id}.yaml: {name}"
        if sound.label is not None and (known := label_named(sound.label)) != sound.label:
            options = sound_labels().labels
            hint = f"; write {known!r}" if known else did_you_mean(sound.label, options)
            raise ParamsError(f"{where}.label: {sound.label!r} is not in {LABELS_FILE.name}{hint}")
        if isinstance(sound, Layer):
            checked(sound.sound, sound.params, where, as_bed=True)
            continue
        for number, part in enumerate(sound.all_parts):
            place = f"{where}.parts.{number}" if sound.parts else where
            if twice := sorted(part.params.keys() & part.each.keys()):
                raise ParamsError(f"{place}.each: {twice[0]!r} is in params too; keep one")
            checked(part.sound, part.params | part.each, place)


def recordings_of(sound: Layer | Occurrence, bank: SoundBank) -> list[Recording]:
    """Recordings in the bank for a sound of a scene; if there are none, it is synthesised."""
    shortest_s = _MIN_BED_S if isinstance(sound, Layer) else 0.0
    of_label = bank.by_label.get(sound.label or "", [])
    return [recording for recording in of_label if recording.duration_s >= shortest_s]


def bed(layer: Layer, n_samples: int, synth: Synth, bank: SoundBank) -> Rendering:
    """Render a layer of the bed, ``n_samples`` long; its amplitude is its RMS."""
    if recordings := recordings_of(layer, bank):
        recording = recordings[synth.rng.integers(len(recordings))]
        looped = as_bed(bank.samples(recording), n_samples, synth.rng)
        return Rendering(looped, _rms(looped), recording)
    values = drawn(layer.sound, checked(layer.sound, layer.params, "", as_bed=True), synth.rng)
    # Margins at both ends are cut off, so that the bed has neither onset nor end.
    values["seconds"] = n_samples / synth.rate + 2 * _BED_MARGIN_S
    start = synth.samples(_BED_MARGIN_S)
    made = SOUNDS[layer.sound].make(synth, **values)
    sound = equalised(made, synth, layer.label)[start : start + n_samples]
    if layer.swell:
        slow = synth.wander(sound.size, layer.swell.rate_hz)
        sound = sound * np.maximum(0.0, 1.0 + layer.swell.depth * slow)
    return Rendering(sound, _rms(sound))


def maker(occurrence: Occurrence, synth: Synth, bank: SoundBank) -> Callable[[], Rendering]:
    """A function that renders an event's sound anew at each call; its amplitude is its peak.

    One recording is chosen per scene, and at each call one of its takes: recordings whose names
    differ only in a final number. A take's amplitude makes its loudest 50 ms as loud as those of
    the synthesised sound.
    """
    synthesise = _synthesiser(occurrence, synth)
    recordings = recordings_of(occurrence, bank)
    if not recordings:
        return synthesise
    model = synthesise()
    crest = model.amplitude / max(_loudest(model.samples, synth.rate), 1e-12)
    chosen = _without_number(recordings[synth.rng.integers(len(recordings))])
    takes = [recording for recording in recordings if _without_number(recording) == chosen]

    def take() -> Rendering:
        recording = takes[synth.rng.integers(len(takes))]
        samples = as_event(bank.samples(recording), synth.rng)
        return Rendering(samples, crest * _loudest(samples, synth.rate), recording)

    return take


def _without_number(recording: Recording) -> tuple[str, Path]:
    file = Path(recording.file)
    name = re.sub(r"[\W\d_]+[a-z]?$", "", file.stem) or file.stem
    return recording.source, file.with_name(name)


def _synthesiser(occurrence: Occurrence, synth: Synth) -> Callable[[], Rendering]:
    # Parameters that are drawn once per scene are drawn now, the others at each call.
    prepared = []
    for part in occurrence.all_parts:
        once = checked(part.sound, part.params | part.each, "")
        each = {name: once.pop(name) for name in part.each}
        prepared.append((part, drawn(part.sound, once, synth.rng), each))

    def make() -> Rendering:
        placed = []
        for part, once, each in prepared:
            values = once | drawn(part.sound, each, synth.rng)
            sound = SOUNDS[part.sound].make(synth, **values)
            peak = max(float(np.max(np.abs(sound))), 1e-12)
            gain = 10.0 ** (synth.rng.uniform(*part.level_db) / 20.0) / peak
            placed.append((synth.rng.uniform(*part.at_s), gain * sound))
        whole = equalised(synth.overlay(placed), synth, occurrence.label)
        return Rendering(whole, float(np.max(np.abs(whole))))

    return make


def as_event(samples: Samples, rng: np.random.Generator) -> Samples:
    """A recording, or an excerpt of four seconds if it is longer, faded at both ends."""
    n_samples = round(_MAX_EVENT_S * SAMPLE_RATE)
    if len(samples) <= n_samples:
        return _faded(samples, _EDGE_S)
    return _faded(_excerpt(samples, n_samples, rng), _CROSS_FADE_S)


def as_bed(samples: Samples, n_samples: int, rng: np.random.Generator) -> Samples:
    """``n_samples`` of a recording, which is looped with cross-fades if it is shorter."""
    if len(samples) >= n_samples:
        return _excerpt(samples, n_samples, rng)
    faded = _faded(samples, _CROSS_FADE_S)
    period = len(samples) - round(_CROSS_FADE_S * SAMPLE_RATE)
    end = period + n_samples
    looped = np.zeros(end + len(samples), np.float32)
    for at in range(0, end, period):
        looped[at : at + len(samples)] += faded
    start = round(_CROSS_FADE_S * SAMPLE_RATE) + int(rng.integers(period))
    return looped[start : start + n_samples]


def _excerpt(samples: Samples, n_samples: int, rng: np.random.Generator) -> Samples:
    last = len(samples) - n_samples
    start = int(rng.integers(last, endpoint=True))
    power = np.square(samples, dtype=np.float64)
    if power[start : start + n_samples].mean() < _QUIET**2 * power.mean():
        start = int(np.clip(power.argmax() - n_samples // 2, 0, last))
    return samples[start : start + n_samples]


def _faded(samples: Samples, fade_s: float) -> Samples:
    # Quarter-sine fades at both ends: two overlapping fades preserve the power.
    n_fade = min(round(fade_s * SAMPLE_RATE), len(samples) // 2)
    ramp = np.sin(np.linspace(0, np.pi / 2, n_fade, dtype=np.float32))
    window = np.concatenate([ramp, np.ones(len(samples) - 2 * n_fade, np.float32), ramp[::-1]])
    return samples * window


def _rms(samples: NDArray[np.floating]) -> float:
    return float(np.sqrt(np.mean(np.square(samples))))


def _loudest(samples: NDArray[np.floating], rate: int) -> float:
    # RMS of the loudest 50 ms.
    length = round(_LOUDEST_S * rate)
    energy = np.cumsum(np.square(np.pad(samples, length), dtype=np.float64))
    return float(np.sqrt(np.max(energy[length:] - energy[:-length]) / length))
