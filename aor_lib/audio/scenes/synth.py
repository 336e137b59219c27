"""Building blocks of sounds: noise, tones, struck bodies, and shapes over time.

Arrays are float64, ``(samples,)``; a rate or a pitch is a number or such an array.
"""

import functools
import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft, signal

from aor_lib.audio.scenes import shared

FloatArray: TypeAlias = NDArray[np.float64]
Points: TypeAlias = Sequence[tuple[float, float]]
Bands: TypeAlias = Sequence[tuple[float, float, float]]

_TABLE_SIZE = 4096  # a power of two, so that a bit mask wraps the position
_MIN_NOISE = 1024
_STORED = 2**15
_STEPS = 8  # centres of stored noise per octave
_NEPERS = -3.0 * np.log(10.0)  # 60 dB down


class Synth:
    """Elements of sounds at one sample rate in Hz, drawn from one random generator.

    ``beat_s`` is the length of the scene's beat in seconds, for music that keeps time with it.
    """

    def __init__(self, rate: int, rng: np.random.Generator, beat_s: float = 0.5) -> None:
        self.rate = rate
        self.rng = rng
        self.beat_s = beat_s

    def samples(self, seconds: float) -> int:
        """Number of samples in `seconds`, at least 1."""
        return max(1, round(seconds * self.rate))

    def time(self, n: int) -> FloatArray:
        """Time of each of ``n`` samples in seconds; read-only."""
        return shared.seconds(1 << (n - 1).bit_length(), self.rate)[:n]

    def decay(self, n: int, t60_s: float) -> FloatArray:
        """Exponential decay from 1, by 60 dB in `t60_s` seconds."""
        decay: FloatArray = _NEPERS / t60_s * self.time(n)
        return np.exp(decay, out=decay)

    def fade(self, sound: FloatArray, attack_s: float, release_s: float) -> FloatArray:
        """Copy of a sound with raised-cosine ends, so that it starts and stops without a click."""
        shaped = sound.copy()
        attack = min(sound.size, round(attack_s * self.rate))
        release = min(sound.size, round(release_s * self.rate))
        shaped[:attack] *= shared.raised_cosine(attack)
        shaped[sound.size - release :] *= shared.raised_cosine(release)[::-1]
        return shaped

    def wander(self, n: int, rate_hz: float) -> FloatArray:
        """Slow random curve in [-1, 1], linear between `rate_hz` uniform draws per second."""
        position = self.time(n) * rate_hz + self.rng.uniform()
        knots = self.rng.uniform(-1.0, 1.0, int(position[-1]) + 2)
        return np.interp(position, np.arange(knots.size), knots)

    def phase(self, rate_hz: float | FloatArray, n: int, start: float = 0.0) -> FloatArray:
        """Cycles elapsed at each sample, at a rate that may change over time."""
        if isinstance(rate_hz, np.ndarray):
            return np.cumsum(rate_hz) / self.rate + start
        return self.time(n) * rate_hz + start

    def pulses(self, rate_hz: float | FloatArray, n: int, sharpness: float) -> FloatArray:
        """Repeating decay from 1 to ``exp(-sharpness)``, from a random point on."""
        position = self.phase(rate_hz, n, self.rng.uniform())
        return np.asarray(np.exp(-sharpness * (position - np.floor(position))))

    def tone(
        self, pitch_hz: float | FloatArray, n: int, partials: Sequence[float] | FloatArray = (1.0,)
    ) -> FloatArray:
        """Harmonic tone; partials that would alias are left out."""
        # Looking samples up in one stored cycle costs the same for any number of partials.
        cycles = self.phase(pitch_hz, n, self.rng.uniform())
        position = (cycles * _TABLE_SIZE).astype(np.int64) & (_TABLE_SIZE - 1)
        audible = int(0.48 * self.rate / max(float(np.max(pitch_hz)), 1.0))
        return cycle(partials[:audible], _TABLE_SIZE).take(position)

    def noise(self, n: int, spectrum: Points) -> FloatArray:
        """Stationary Gaussian noise of expected RMS 1.

        The spectrum, in Hz (ascending) and dB, is varied slightly, so that no two fans are alike.
        It is interpolated over log frequency and constant beyond both ends.
        """
        # Drawn in the frequency domain: one inverse transform, and no filter transient. A minimum
        # size preserves the spectrum's resolution for sounds of a few milliseconds.
        size = fft.next_fast_len(max(n, _MIN_NOISE), real=True)
        n_bins = size // 2 + 1
        hz, level_db = np.array(spectrum, dtype=np.float64).T
        hz = hz * 2.0 ** self.rng.uniform(-1 / 6, 1 / 6)
        level_db = level_db + self.rng.uniform(-2.5, 2.5, hz.size)
        octaves_up = shared.octaves_above_1_hz(n_bins, self.rate / size)
        amplitude = np.exp(np.interp(octaves_up, np.log2(hz), level_db * np.log(10.0) / 20.0))
        amplitude[0] = 0.0
        amplitude *= size / np.sqrt(4.0 * np.sum(np.square(amplitude)))
        # Errors of single precision are 100 dB below the sound, and it is twice as fast.
        drawn = self.rng.standard_normal(2 * n_bins).astype(np.float32).view(np.complex64)
        return np.asarray(fft.irfft(drawn * amplitude.astype(np.float32), size)[:n], np.float64)

    def texture(self, n: int, spectrum: Points, depth: float, rate_hz: float) -> FloatArray:
        """Noise of RMS 1 whose octaves fluctuate independently in level, as in water or wind.

        `depth` is in nepers; the octave at 500 Hz fluctuates at `rate_hz`, higher octaves faster.
        Independent envelopes of bands distinguish natural textures from plain noise (McDermott &
        Simoncelli, 2011, Neuron 71, 926-940).
        """
        size = fft.next_fast_len(max(n, _MIN_NOISE), real=True)
        spectrum_of = fft.rfft(self.noise(size, spectrum).astype(np.float32))
        octaves_up = shared.octaves_above_1_hz(spectrum_of.size, self.rate / size) - np.log2(62.5)
        octaves_up = np.clip(octaves_up, 0.0, 7.0).astype(np.float32)
        made = np.zeros(n)
        for octave in range(8):
            weights = np.maximum(0.0, 1.0 - np.abs(octaves_up - octave))
            level = np.exp(depth * self.wander(n, rate_hz * 2.0 ** (0.3 * (octave - 3))))
            made += level * fft.irfft(spectrum_of * weights, size)[:n]
        return unit_rms(made)

    def strokes(
        self, rate_hz: FloatArray, n: int, kernels: Sequence[FloatArray], uneven: float
    ) -> FloatArray:
        """Hits, `kernels` in turn, at a rate that may change: firing cylinders, a hammer, wheels.

        Levels are lognormal with a standard deviation of `uneven` in nepers; the RMS is 1.
        """
        cycles = self.phase(rate_hz, n, self.rng.uniform()).astype(np.int64)
        at = np.flatnonzero(np.diff(cycles, prepend=cycles[0] - 1))
        levels = self.rng.lognormal(0.0, uneven, at.size)
        made = np.zeros(n + max(kernel.size for kernel in kernels))
        for turn, (start, level) in enumerate(zip(at, levels, strict=True)):
            kernel = kernels[turn % len(kernels)]
            made[start : start + kernel.size] += level * kernel
        return unit_rms(made[:n])

    def octave(self, n: int, hz: float) -> FloatArray:
        """Gaussian noise in an octave around a centre, of RMS 1."""
        stored = _octave_noise(round(_STEPS * math.log2(hz)), self.rate)
        start = int(self.rng.integers(max(1, stored.size - n)))
        return np.resize(stored[start : start + n], n)

    def band(self, n: int, low_hz: float, high_hz: float) -> FloatArray:
        """Gaussian noise between two frequencies, falling by 24 dB an octave outside them."""
        return self.noise(n, ((low_hz / 8, -72), (low_hz, 0), (high_hz, 0), (high_hz * 8, -72)))

    def struck(self, n: int, pitch_hz: float, modes: Sequence[float], t60_s: float) -> FloatArray:
        """One hit on a body, given its modes' ratios to the pitch; higher modes decay faster."""
        ratios = np.asarray(modes) * self.rng.normal(1.0, 0.01, len(modes))
        gains = self.rng.uniform(0.3, 1.0, len(modes)) * ratios**-0.4
        return self.modal(n, pitch_hz * ratios, t60_s * ratios**-0.7, gains)

    def modal(self, n: int, hz: FloatArray, t60_s: FloatArray, gains: FloatArray) -> FloatArray:
        """Sum of exponentially decaying sines; infinite decays are steady tones."""
        kept = hz < 0.46 * self.rate
        length, n = n, min(n, 1 + int(1.3 * self.rate * min(60.0, np.max(t60_s, initial=0.0))))
        poles = (-3.0 * np.log(10.0) / t60_s[kept] + 2j * np.pi * hz[kept]) / self.rate
        # exp(p (a B + b)) = exp(p a B) exp(p b): exponentials are computed for the starts of blocks
        # and within one block, and their products give the rest. Calling exp and sin for every
        # sample of every mode takes about thirty times as long.
        at_start = np.exp(np.multiply.outer(np.arange(0, n, shared.BLOCK), poles)) * gains[kept]
        # Only the imaginary part, and by einsum rather than BLAS: the products are so small that
        # BLAS spends most of the time waking its threads.
        left = np.concatenate([at_start.real, at_start.imag], axis=1)
        right = shared.within_block(poles.tobytes())
        made = np.zeros(length)
        made[:n] = np.einsum("am,mb->ab", left, right).reshape(-1)[:n]
        return made

    def thump(self, n: int, pitch_hz: float, t60_s: float) -> FloatArray:
        """Decaying sine that falls to `pitch_hz`: a drum skin, a heavy bag, a muzzle blast."""
        pitch = pitch_hz * (1.0 + 1.4 * self.decay(n, 0.6 * t60_s))
        return np.asarray(np.sin(2 * np.pi * self.phase(pitch, n)) * self.decay(n, t60_s))

    def hit(
        self, n: int, bands: Bands, attack_s: float = 0.001, spread_db: float = 3.0
    ) -> FloatArray:
        """Blow on something that does not ring: octave bands of noise, each with its own decay.

        A band is a centre in Hz, an initial RMS level in dB, and the time to decay by 60 dB in
        seconds. Centres, levels (by `spread_db`) and decays differ from hit to hit: a heel, a
        fist or a ball never strikes the same place twice.
        """
        hz, level_db, t60_s = np.array(bands, dtype=np.float64).T
        hz = hz * 2.0 ** self.rng.normal(0.0, 0.15, hz.size)
        gains = 10.0 ** ((level_db + self.rng.normal(0.0, spread_db, hz.size)) / 20.0)
        t60_s = t60_s * np.exp(self.rng.normal(0.0, 0.15, hz.size))
        made = np.zeros(n)
        for centre_hz, gain, band_s in np.stack([hz, gains, t60_s], axis=1).tolist():
            lasting = min(n, self.samples(1.3 * band_s))
            made[:lasting] += gain * self.octave(lasting, centre_hz) * self.decay(lasting, band_s)
        attack = min(n, self.samples(attack_s) + 1)
        made[:attack] *= np.minimum(1.0, self.time(attack) / max(attack_s, 1.0 / self.rate))
        return made

    def cloud(self, per_s: FloatArray, kernels: Sequence[FloatArray]) -> FloatArray:
        """Many small sounds at random times and mostly low levels, `per_s` per second."""
        expected = np.cumsum(per_s) / self.rate
        cloud = np.zeros(per_s.size)
        for kernel in kernels:
            count = self.rng.poisson(expected[-1] / len(kernels))
            starts = np.searchsorted(expected, self.rng.uniform(0.0, expected[-1], count))
            levels = self.rng.lognormal(0.0, 0.8, count) * self.rng.choice((-1.0, 1.0), count)
            for start, level in zip(starts, levels, strict=True):
                grain = kernel[: cloud.size - start]
                cloud[start : start + grain.size] += level * grain
        return cloud

    def overlay(self, parts: Iterable[tuple[float, FloatArray]]) -> FloatArray:
        """Mix sounds that start at different times, given in seconds."""
        placed = [(round(offset_s * self.rate), sound) for offset_s, sound in parts]
        total = np.zeros(max(start + sound.size for start, sound in placed))
        for start, sound in placed:
            total[start : start + sound.size] += sound
        return total

    def reverberate(
        self, sound: FloatArray, t60_s: float, wet_db: float, damping_hz: float
    ) -> FloatArray:
        """A sound in a room: convolved with decaying noise that is low-passed at `damping_hz`."""
        n = max(2, round(0.8 * t60_s * self.rate))
        response = self.rng.standard_normal(n) * self.decay(n, t60_s)
        if damping_hz < 0.5 * self.rate:
            response = signal.sosfilt(shared.low_pass(1, damping_hz, self.rate), response)
        response *= 10.0 ** (wet_db / 20.0) / np.sqrt(np.sum(np.square(response)))
        response[0] += 1.0
        return filtered(sound, response)


def curve(n: int, points: Points) -> FloatArray:
    """Piecewise linear curve through points at fractions of the length."""
    positions, values = zip(*points, strict=True)
    if len(points) == 1:
        return np.full(n, float(values[0]))
    return np.asarray(np.interp(np.arange(n) / n, positions, values))


def filtered(sound: FloatArray, response: FloatArray) -> FloatArray:
    """Convolve a sound with an impulse response, keeping its length."""
    # Errors of single precision are 100 dB below the sound, and it is three times as fast.
    made = signal.oaconvolve(sound.astype(np.float32), response.astype(np.float32))
    return np.asarray(made[: sound.size], np.float64)


def unit_rms(sound: FloatArray) -> FloatArray:
    """Scale a sound to an RMS level of 1; silence stays silent."""
    return np.asarray(sound / np.sqrt(np.mean(np.square(sound)) + 1e-24))


def peaked(sound: FloatArray) -> FloatArray:
    """Scale a sound to a peak of 1."""
    return np.asarray(sound / np.max(np.abs(sound)))


def cycle(partials: ArrayLike, n: int) -> FloatArray:
    """One cycle of each harmonic wave: the sum of sines of amplitudes ``(..., partials)``."""
    amplitudes = np.asarray(partials)
    spectrum = np.zeros((*amplitudes.shape[:-1], n // 2 + 1), dtype=np.complex128)
    spectrum[..., 1 : amplitudes.shape[-1] + 1] = amplitudes * (-0.5j * n)
    return np.asarray(fft.irfft(spectrum, n))


def rolloff(count: int, exponent: float) -> FloatArray:
    """Amplitudes that fall with a power of the harmonic's order; exponent 1 is a sawtooth."""
    return np.arange(1, count + 1, dtype=np.float64) ** -exponent


def octaves(low_hz: float, levels_db: Sequence[float], t60_s: float, faster: float) -> Bands:
    """Bands of a hit, one per octave; each decays `faster` times as fast as the one below."""
    return [(low_hz * 2.0**i, db, t60_s * faster**-i) for i, db in enumerate(levels_db)]


def semitones(root_hz: float, steps: Sequence[float] | FloatArray) -> FloatArray:
    """Pitches in Hz that lie `steps` equal-tempered semitones above a root."""
    return root_hz * 2.0 ** (np.asarray(steps, dtype=np.float64) / 12.0)


@functools.lru_cache(maxsize=128)
def _octave_noise(step: int, rate: int) -> FloatArray:
    """Seamlessly looping noise in an octave, of RMS 1; hits are excerpts of it."""
    octaves_up = shared.octaves_above_1_hz(_STORED // 2 + 1, rate / _STORED)
    shape = np.maximum(0.0, 1.0 - np.square(octaves_up - step / _STEPS))
    drawn = np.random.default_rng(step).standard_normal(2 * shape.size).view(np.complex128)
    return unit_rms(fft.irfft(drawn * shape, _STORED))
