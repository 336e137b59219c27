"""Cached arrays that many sounds share; callers must not modify them."""

import functools
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import signal

_Floats: TypeAlias = NDArray[np.float64]
BLOCK = 512


@functools.lru_cache(maxsize=32)
def seconds(n: int, rate: int) -> _Floats:
    """Times of the first ``n`` samples in seconds."""
    seconds = np.arange(n) / rate
    seconds.flags.writeable = False
    return seconds


@functools.lru_cache(maxsize=256)
def raised_cosine(n: int) -> _Floats:
    """The rising half of a raised cosine."""
    return 0.5 - 0.5 * np.cos(np.pi * (np.arange(n) + 0.5) / max(n, 1))


@functools.lru_cache(maxsize=256)
def low_pass(order: int, hz: float, rate: int) -> _Floats:
    """Second-order sections of a Butterworth filter, for `scipy.signal.sosfilt`."""
    return np.asarray(signal.butter(order, hz, fs=rate, output="sos"))


@functools.lru_cache(maxsize=32)
def octaves_above_1_hz(n_bins: int, step_hz: float) -> _Floats:
    """Number of octaves of each bin of a spectrum above 1 Hz."""
    octaves_up = np.log2(np.maximum(np.arange(n_bins) * step_hz, 1e-3))
    octaves_up.flags.writeable = False
    return np.asarray(octaves_up)


@functools.lru_cache(maxsize=32)
def within_block(poles: bytes) -> _Floats:
    """Imaginary, then real parts of modes over one block, which hits on the same thing share."""
    within = np.exp(np.multiply.outer(np.frombuffer(poles, np.complex128), np.arange(BLOCK)))
    return np.concatenate([within.imag, within.real])
