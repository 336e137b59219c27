"""Noise that matches a recording's level and long-term spectrum, and nothing else of it."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft, signal

# 3 Hz at 24 kHz: shorter segments smear a steady hum into the third-octave bands beside it.
_SEGMENT = 8192


def spectrum_matched_noise(
    reference: ArrayLike, n_samples: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Stationary Gaussian noise with the spectrum (Welch's) and the RMS level of a reference.

    Parameters
    ----------
    reference
        Float, ``(samples,)``; the noise has its sample rate, and its peak may be higher.
    n_samples
        Length of the noise.

    Raises
    ------
    ValueError
        If the reference is silent or not finite.
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
