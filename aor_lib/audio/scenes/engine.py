"""Render a scene to its events and waveform, and make noise that matches a waveform."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft, signal

from aor_lib.audio.bank.library import Recording, SoundBank
from aor_lib.audio.scenes.sources import Rendering, bed, check, maker, recordings_of
from aor_lib.audio.scenes.synth import FloatArray, Synth
from aor_lib.config.params import load_scene
from aor_lib.config.scene import Layer, Occurrence, Scene, SceneEvent
from aor_lib.config.typed_yaml import ParamsError

PEAK = 0.9
_HEADROOM_DB = 22.0
_BED_SPREAD_DB = 2.0
_EVENT_SPREAD_DB = 1.5
_COVERS_S = 1.0  # a longer recording already contains repetitions of the event
# 3 Hz at 24 kHz: shorter segments smear a steady hum into neighbouring third-octave bands.
_SEGMENT = 8192


@dataclass(frozen=True)
class Event:
    """One discrete sound on top of a scene's bed, within the clip."""

    name: str
    onset_s: float
    duration_s: float


@dataclass(frozen=True, eq=False)
class Soundscape:
    """A rendered background scene: mono samples ``(samples,)`` within ±1, and events by onset.

    ``sources`` lists the sounds in the clip (an event's name, or ``bed.0``), each with its
    recording, or with None if it was synthesised.
    """

    samples: NDArray[np.float32]
    sample_rate: int
    events: tuple[Event, ...]
    sources: tuple[tuple[str, Recording | None], ...]


def render(
    scene: Scene | str,
    duration_s: float,
    sample_rate: int,
    rng: np.random.Generator,
    bank: SoundBank | None = None,
) -> Soundscape:
    """Render a background scene; the same state of the generator gives the same bytes.

    If the bank has a sound's label, the sound is a recording, at the level that the scene sets.
    The result has ``round(duration_s * sample_rate)`` samples (at least one) and a peak of 0.9.

    ``scene`` may be the id of one of params/scenes. With a bank, ``sample_rate`` must be that of
    its recordings, 24 kHz. ParamsError if the scene, a sound or a parameter is invalid.
    """
    scene = load_scene(scene) if isinstance(scene, str) else scene
    n_samples = round(duration_s * sample_rate)
    check(scene)
    beat_s = 60.0 / rng.uniform(*scene.tempo_bpm) if scene.tempo_bpm else 0.5
    mix = _Mix(n_samples, Synth(sample_rate, rng, beat_s), bank or SoundBank({}))
    for number, layer in enumerate(scene.bed):
        mix.add_layer(f"bed.{number}", layer)
    downbeat_s = -4 * beat_s * rng.uniform()
    for event in scene.events:
        mix.add_events(event, downbeat_s)
    if scene.room:
        mix.samples = mix.synth.reverberate(mix.samples, **dict(scene.room))
    return mix.finish()


def spectrum_matched_noise(
    reference: ArrayLike, n_samples: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Stationary Gaussian noise with the spectrum (Welch's method) and RMS level of a reference.

    ``reference``, ``(samples,)``, must not be silent. The noise, ``(n_samples,)``, has the sample
    rate of the reference, but its peak may be higher.
    """
    target = np.asarray(reference, dtype=np.float64)
    rms = np.sqrt(np.mean(np.square(target)))
    frequencies, power = signal.welch(target, nperseg=min(_SEGMENT, target.size), detrend=False)
    size = fft.next_fast_len(max(n_samples, _SEGMENT), real=True)
    bins = fft.rfftfreq(size)
    amplitude = np.sqrt(np.interp(bins, frequencies, power))
    spectrum = rng.standard_normal(2 * bins.size).view(np.complex128) * amplitude
    noise: NDArray[np.float64] = fft.irfft(spectrum, size)[:n_samples]
    noise *= rms / np.sqrt(np.mean(np.square(noise)))
    return noise.astype(np.float32)


class _Mix:
    def __init__(self, n_samples: int, synth: Synth, bank: SoundBank) -> None:
        self.synth = synth
        self.bank = bank
        self.samples: FloatArray = np.zeros(n_samples)
        self.duration_s = n_samples / synth.rate
        self._events: list[Event] = []
        self._sources: dict[tuple[str, Recording | None], None] = {}

    def add_layer(self, name: str, layer: Layer) -> None:
        rng = self.synth.rng
        sound = bed(layer, self.samples.size, self.synth, self.bank)
        level_db = rng.uniform(*layer.level_db) + rng.uniform(-_BED_SPREAD_DB, _BED_SPREAD_DB)
        if sound.amplitude > 0:
            self.samples += sound.samples * (10.0 ** (level_db / 20.0) / sound.amplitude)
            self._sources[name, sound.recording] = None

    def add_events(self, event: SceneEvent, downbeat_s: float) -> None:
        rng = self.synth.rng
        make = maker(event, self.synth, self.bank)
        followers = [(follower, maker(follower, self.synth, self.bank)) for follower in event.then]
        recorded, covered_s = bool(recordings_of(event, self.bank)), -math.inf

        def occur(onset_s: float) -> float:
            nonlocal covered_s
            if onset_s < covered_s:
                return covered_s
            end_s = self._add(event, onset_s, make)
            if recorded and end_s - onset_s > _COVERS_S:
                covered_s = end_s
            for follower, made in followers:
                if rng.uniform() < follower.chance:
                    self._add(follower, onset_s + rng.uniform(*follower.after_s), made)
            return end_s

        if event.pause_s:
            onset_s = -rng.uniform(0.0, 0.5)
            while onset_s < self.duration_s:
                end_s = max(occur(at_s) for at_s in _burst(event, onset_s, rng))
                onset_s = end_s + rng.uniform(*event.pause_s)
            return
        for first_s in _onsets(event, self.duration_s, downbeat_s, self.synth):
            if rng.uniform() < event.chance:
                for at_s in _burst(event, first_s, rng):
                    occur(at_s)

    def finish(self) -> Soundscape:
        rms = np.sqrt(np.mean(np.square(self.samples)))
        if rms == 0:
            raise ParamsError("the scene is silent: its bed makes no audible sound")
        # Otherwise a few gunshots would keep the rest of the scene far below the peak, and thus
        # below the speech. tanh leaves the bed as it is and rounds only the peaks.
        limited = np.tanh(self.samples / (rms * 10.0 ** (_HEADROOM_DB / 20.0)))
        samples = (limited * (PEAK / np.max(np.abs(limited)))).astype(np.float32)
        events = tuple(sorted(self._events, key=lambda event: (event.onset_s, event.name)))
        return Soundscape(samples, self.synth.rate, events, tuple(self._sources))

    def _add(self, occurrence: Occurrence, onset_s: float, make: Callable[[], Rendering]) -> float:
        rng, rate = self.synth.rng, self.synth.rate
        if onset_s >= self.duration_s:
            return onset_s
        sound = make()
        end_s = onset_s + sound.samples.size / rate
        level_db = rng.uniform(*occurrence.level_db) + rng.normal(0.0, _EVENT_SPREAD_DB)
        start = round(onset_s * rate)
        part = sound.samples[max(0, -start) :][: self.samples.size - max(0, start)]
        if sound.amplitude > 0 and part.size:
            start = max(0, start)
            gain = 10.0 ** (level_db / 20.0) / sound.amplitude
            self.samples[start : start + part.size] += part * gain
            self._events.append(Event(occurrence.name, start / rate, part.size / rate))
            self._sources[occurrence.name, sound.recording] = None
        return end_s


def _onsets(event: SceneEvent, end_s: float, downbeat_s: float, synth: Synth) -> Iterator[float]:
    rng = synth.rng
    if event.gap_s:
        # The gaps are bounded, unlike those of a Poisson process, so that no long stretch of a
        # scene lacks the event.
        onset_s = rng.uniform(*event.gap_s) * rng.uniform(0.0, 0.5)
        while onset_s < end_s:
            yield onset_s
            onset_s += rng.uniform(*event.gap_s) * rng.uniform(0.5, 1.5)
    elif event.period_s:
        period_s = rng.uniform(*event.period_s)
        onset_s = -period_s * rng.uniform()  # start at a random point of the period
        while onset_s < end_s:
            yield onset_s + rng.uniform(-event.jitter, event.jitter) * period_s
            onset_s += period_s
    else:
        bars = math.ceil((end_s - downbeat_s) / (4 * synth.beat_s))
        for beat in (4 * bar + beat for bar in range(bars) for beat in event.beats):
            yield downbeat_s + synth.beat_s * (beat + rng.uniform(-event.jitter, event.jitter))


def _burst(event: SceneEvent, onset_s: float, rng: np.random.Generator) -> Iterator[float]:
    if event.burst is None:
        yield onset_s
        return
    gap_s = rng.uniform(*event.burst.gap_s)
    for number in range(int(rng.integers(*event.burst.count, endpoint=True))):
        yield onset_s + gap_s * number * rng.normal(1.0, 0.02)
