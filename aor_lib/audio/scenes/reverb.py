"""A synthetic room: convolution with exponentially decaying, progressively darker noise."""

from __future__ import annotations

import numpy as np
from scipy import signal

from aor_lib.audio.scenes.envelopes import decay
from aor_lib.audio.scenes.model import FloatArray


def reverberate(
    sound: FloatArray,
    sample_rate: int,
    t60_s: float,
    *,
    wet_db: float,
    damping_hz: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Add diffuse reverberation to a sound.

    Parameters
    ----------
    sound : ndarray of float64, shape (samples,)
        The dry sound.
    sample_rate : int
        In Hz.
    t60_s : float
        Time in which the reverberation falls by 60 dB, in seconds.
    wet_db : float
        Energy of the room's response relative to the direct sound, in dB.
    damping_hz : float
        Corner above which the room absorbs; below the Nyquist frequency it is a first-order
        low-pass, and at or above it the response is left white.
    rng : numpy.random.Generator
        Draws the response.

    Returns
    -------
    ndarray of float64, shape (samples,)
        Direct sound and reverberation, cut to the length of `sound`.
    """
    n_samples = max(2, round(0.8 * t60_s * sample_rate))
    response = rng.standard_normal(n_samples) * decay(n_samples, sample_rate, t60_s)
    if damping_hz < 0.5 * sample_rate:
        response = signal.sosfilt(
            signal.butter(1, damping_hz, fs=sample_rate, output="sos"), response
        )
    response *= 10.0 ** (wet_db / 20.0) / np.sqrt(np.sum(np.square(response)))
    response[0] += 1.0
    wet: FloatArray = signal.oaconvolve(sound, response)[: sound.size]
    return wet
