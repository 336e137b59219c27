"""From a scene's specification to its events and its waveform, and noise that matches one."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft, signal

from aor_lib.audio.scenes.library import checked, drawn
from aor_lib.audio.scenes.sounds import SOUNDS
from aor_lib.audio.scenes.synth import FloatArray, Synth
from aor_lib.config.params import load_scene
from aor_lib.config.scene import Layer, Occurrence, Range, Scene, SceneEvent
from aor_lib.config.typed_yaml import ParamsError

MAX_DURATION_S = 120.0
PEAK = 0.9
_HEADROOM_DB = 14.0
_BED_SPREAD_DB = 2.0
_EVENT_SPREAD_DB = 1.5
_BED_MARGIN_S = 0.3
# 3 Hz at 24 kHz: shorter segments smear a steady hum into the third-octave bands beside it.
_SEGMENT = 8192


@dataclass(frozen=True)
class Event:
    """One discrete sound on top of a scene's bed, within the clip."""

    name: str
    onset_s: float
    duration_s: float


@dataclass(frozen=True, eq=False)
class Soundscape:
    """A rendered background scene: mono, within ±1, ``(samples,)``; events by their onset."""

    samples: NDArray[np.float32]
    sample_rate: int
    events: tuple[Event, ...]


def render(
    scene: Scene | str, duration_s: float, sample_rate: int, rng: np.random.Generator
) -> Soundscape:
    """Render a background scene; the same state of the generator renders the same bytes.

    Parameters
    ----------
    scene
        A scene, or the id of one of params/scenes.
    duration_s
        Seconds, from one sample to 120; otherwise a ValueError.
    sample_rate
        In Hz.

    Returns
    -------
    ``round(duration_s * sample_rate)`` samples with a peak of 0.9, and the scene's events.

    Raises
    ------
    ParamsError
        If there is no such scene, or one of its sounds or their parameters is wrong.
    """
    scene = load_scene(scene) if isinstance(scene, str) else scene
    if not 1 <= duration_s * sample_rate <= MAX_DURATION_S * sample_rate:
        raise ValueError(f"duration_s must be one sample to {MAX_DURATION_S:g} s, not {duration_s}")
    n_samples = round(duration_s * sample_rate)
    check(scene)
    beat_s = 60.0 / rng.uniform(*scene.tempo_bpm) if scene.tempo_bpm else 0.5
    mix = _Mix(n_samples, Synth(sample_rate, rng, beat_s))
    for layer in scene.bed:
        mix.add_layer(layer)
    downbeat_s = -4 * beat_s * rng.uniform()
    for event in scene.events:
        mix.add_events(event, downbeat_s)
    if scene.room:
        mix.samples = mix.synth.reverberate(mix.samples, **dict(scene.room))
    return mix.finish()


def check(scene: Scene) -> None:
    """Raise ParamsError, which names file, field and value, if a sound or a parameter is wrong."""
    file = f"scenes/{scene.id}.yaml"
    for index, layer in enumerate(scene.bed):
        checked(layer.sound, layer.params, f"{file}: bed.{index}", as_bed=True)
    for index, event in enumerate(scene.events):
        where = f"{file}: events.{index}"
        _check_parts(event, where)
        for number, follower in enumerate(event.then):
            _check_parts(follower, f"{where}.then.{number}")


def _check_parts(occurrence: Occurrence, where: str) -> None:
    for number, part in enumerate(occurrence.all_parts):
        place = f"{where}.parts.{number}" if occurrence.parts else where
        if twice := sorted(part.params.keys() & part.each.keys()):
            raise ParamsError(f"{place}.each: {twice[0]!r} is in params too; keep one")
        checked(part.sound, part.params | part.each, place)


def spectrum_matched_noise(
    reference: ArrayLike, n_samples: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Stationary Gaussian noise with the spectrum (Welch's) and the RMS level of a reference.

    ``reference`` is ``(samples,)``; the noise, ``(n_samples,)``, has its sample rate, and its peak
    may be higher. ValueError if the reference is silent or not finite.
    """
    target = np.asarray(reference, dtype=np.float64)
    rms = np.sqrt(np.mean(np.square(target)))
    if not (np.isfinite(rms) and rms > 0):
        raise ValueError("the reference is silent or not finite: it has no spectrum to match")
    frequencies, power = signal.welch(target, nperseg=min(_SEGMENT, target.size), detrend=False)
    size = fft.next_fast_len(max(n_samples, _SEGMENT), real=True)
    bins = fft.rfftfreq(size)
    amplitude = np.sqrt(np.interp(bins, frequencies, power))
    spectrum = rng.standard_normal(2 * bins.size).view(np.complex128) * amplitude
    noise: NDArray[np.float64] = fft.irfft(spectrum, size)[:n_samples]
    noise *= rms / np.sqrt(np.mean(np.square(noise)))
    return noise.astype(np.float32)


class _Mix:
    def __init__(self, n_samples: int, synth: Synth) -> None:
        self.synth = synth
        self.samples: FloatArray = np.zeros(n_samples)
        self.duration_s = n_samples / synth.rate
        self._events: list[Event] = []

    def add_layer(self, layer: Layer) -> None:
        synth, rng = self.synth, self.synth.rng
        values = drawn(layer.sound, checked(layer.sound, layer.params, "", as_bed=True), rng)
        # The margin at either end is cut off, so that a bed neither starts nor ends.
        values["seconds"] = self.duration_s + 2 * _BED_MARGIN_S
        start = synth.samples(_BED_MARGIN_S)
        sound = SOUNDS[layer.sound].make(synth, **values)[start : start + self.samples.size]
        if layer.swell:
            slow = synth.wander(sound.size, layer.swell.rate_hz)
            sound = sound * np.maximum(0.0, 1.0 + layer.swell.depth * slow)
        rms = np.sqrt(np.mean(np.square(sound)))
        level_db = _draw(layer.level_db, rng) + rng.uniform(-_BED_SPREAD_DB, _BED_SPREAD_DB)
        if rms > 0:
            self.samples += sound * (_gain(level_db) / rms)

    def add_events(self, event: SceneEvent, downbeat_s: float) -> None:
        rng = self.synth.rng
        make = _maker(event, self.synth)
        followers = [(follower, _maker(follower, self.synth)) for follower in event.then]

        def occur(onset_s: float) -> float:
            end_s = self._add(event, onset_s, make)
            for follower, made in followers:
                if rng.uniform() < follower.chance:
                    self._add(follower, onset_s + _draw(follower.after_s, rng), made)
            return end_s

        if event.pause_s:
            onset_s = -rng.uniform(0.0, 0.5)
            while onset_s < self.duration_s:
                end_s = max(occur(at_s) for at_s in _burst(event, onset_s, rng))
                onset_s = end_s + _draw(event.pause_s, rng)
            return
        for first_s in _onsets(event, self.duration_s, downbeat_s, self.synth):
            if rng.uniform() < event.chance:
                for at_s in _burst(event, first_s, rng):
                    occur(at_s)

    def finish(self) -> Soundscape:
        rms = np.sqrt(np.mean(np.square(self.samples)))
        if rms == 0:
            raise ParamsError("the scene is silent: its bed makes no sound that can be heard")
        # A few gunshots would otherwise hold the rest of the scene far below the peak, and with
        # it below the speech. tanh leaves the bed as it is and rounds the peaks only.
        limited = np.tanh(self.samples / (rms * _gain(_HEADROOM_DB)))
        samples = (limited * (PEAK / np.max(np.abs(limited)))).astype(np.float32)
        events = tuple(sorted(self._events, key=lambda event: (event.onset_s, event.name)))
        return Soundscape(samples, self.synth.rate, events)

    def _add(self, occurrence: Occurrence, onset_s: float, make: Callable[[], FloatArray]) -> float:
        rng, rate = self.synth.rng, self.synth.rate
        if onset_s >= self.duration_s:
            return onset_s
        sound = make()
        end_s = onset_s + sound.size / rate
        peak = float(np.max(np.abs(sound)))
        level_db = _draw(occurrence.level_db, rng) + rng.normal(0.0, _EVENT_SPREAD_DB)
        start = round(onset_s * rate)
        sound = sound[max(0, -start) :][: self.samples.size - max(0, start)]
        if peak > 0 and sound.size:
            start = max(0, start)
            self.samples[start : start + sound.size] += sound * (_gain(level_db) / peak)
            self._events.append(Event(occurrence.name, start / rate, sound.size / rate))
        return end_s


def _maker(occurrence: Occurrence, synth: Synth) -> Callable[[], FloatArray]:
    # What is drawn once for a scene is drawn now, the rest whenever the maker is called.
    prepared = []
    for part in occurrence.all_parts:
        values = checked(part.sound, part.params | part.each, "")
        once = {name: value for name, value in values.items() if name not in part.each}
        each = {name: values[name] for name in part.each}
        prepared.append((part, drawn(part.sound, once, synth.rng), each))

    def make() -> FloatArray:
        placed = []
        for part, once, each in prepared:
            values = once | drawn(part.sound, each, synth.rng)
            sound = SOUNDS[part.sound].make(synth, **values)
            peak = max(float(np.max(np.abs(sound))), 1e-12)
            gain = _gain(_draw(part.level_db, synth.rng)) / peak
            placed.append((_draw(part.at_s, synth.rng), gain * sound))
        return synth.overlay(placed)

    return make


def _onsets(
    event: SceneEvent, duration_s: float, downbeat_s: float, synth: Synth
) -> Iterator[float]:
    rng = synth.rng
    if event.gap_s:
        # The gaps are bounded, unlike those of a Poisson process, so that no long stretch of a
        # scene lacks the event.
        onset_s = _draw(event.gap_s, rng) * rng.uniform(0.0, 0.5)
        while onset_s < duration_s:
            yield onset_s
            onset_s += _draw(event.gap_s, rng) * rng.uniform(0.5, 1.5)
    elif event.period_s:
        period_s = _draw(event.period_s, rng)
        onset_s = -period_s * rng.uniform()  # entered at a random point of the period
        while onset_s < duration_s:
            yield onset_s + rng.uniform(-event.jitter, event.jitter) * period_s
            onset_s += period_s
    else:
        bars = math.ceil((duration_s - downbeat_s) / (4 * synth.beat_s))
        for beat in (4 * bar + beat for bar in range(bars) for beat in event.beats):
            yield downbeat_s + synth.beat_s * (beat + rng.uniform(-event.jitter, event.jitter))


def _burst(event: SceneEvent, onset_s: float, rng: np.random.Generator) -> Iterator[float]:
    if event.burst is None:
        yield onset_s
        return
    low, high = event.burst.count
    gap_s = _draw(event.burst.gap_s, rng)
    for number in range(int(rng.integers(low, high, endpoint=True))):
        yield onset_s + gap_s * number * rng.normal(1.0, 0.02)


def _draw(levels: Range, rng: np.random.Generator) -> float:
    return float(rng.uniform(*levels))


def _gain(level_db: float) -> float:
    return float(10.0 ** (level_db / 20.0))
