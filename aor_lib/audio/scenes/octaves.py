"""Equalise the synthesised sounds of scenes to the octave spectra of real recordings."""

import csv
import functools
from pathlib import Path

import numpy as np
from scipy import fft

from aor_lib.audio.scenes.synth import FloatArray, Synth, filtered

OCTAVES_HZ = (63, 125, 250, 500, 1000, 2000, 4000, 8000)
TABLE = Path(__file__).with_name("octaves.csv")
"""Median octave levels of recordings in dB, by AudioSet label; see benchmarks/octaves.py."""

_PER_OCTAVE = 6
_CUT_DB, _BOOST_DB = -40.0, 20.0
_AUDIBLE_DB = -25.0
_SPREAD_DB = 2.0
_ROUNDS = 8
_TAPS = 2048


def equalised(sound: FloatArray, synth: Synth, label: str | None) -> FloatArray:
    """Equalise a sound to recordings with its AudioSet label; unchanged if there are none.

    Gains are smooth over log frequency, and an octave that is weak in both is not amplified, since
    that would only add hiss. Octaves vary at random by about 2 dB, so that no two hits are alike.
    The filter is minimum-phase, so that attacks stay as sharp as they were.
    """
    target_db = _table().get(label or "")
    if target_db is None:
        return sound
    target_db = target_db + synth.rng.normal(0.0, _SPREAD_DB, target_db.size)
    of_bands = energies(sound, synth.rate)
    audible = np.maximum(target_db, _in_db(of_bands.sum(axis=1))) > _AUDIBLE_DB
    most_db = np.where(audible, _BOOST_DB, 0.0)
    gains_db = np.zeros(len(OCTAVES_HZ))
    for _ in range(_ROUNDS):  # an octave's gain leaks into its neighbours
        made = of_bands * 10.0 ** ((_WEIGHTS @ gains_db).reshape(of_bands.shape) / 10.0)
        missing_db = target_db - _in_db(made.sum(axis=1))
        gains_db = np.minimum(np.maximum(gains_db + missing_db, _CUT_DB), most_db)
    # The cepstrum's negative half is folded onto the positive one (Oppenheim and Schafer).
    hz = np.maximum(fft.rfftfreq(2 * _TAPS, 1.0 / synth.rate), 1.0)
    gains_db = _between(np.log2(hz / OCTAVES_HZ[0]), gains_db)
    cepstrum = fft.irfft(gains_db * np.log(10.0) / 20.0)
    cepstrum[1:_TAPS] *= 2.0
    cepstrum[_TAPS + 1 :] = 0.0
    return filtered(sound, fft.irfft(np.exp(fft.rfft(cepstrum)))[:_TAPS])


@functools.cache
def _table() -> dict[str, FloatArray]:
    with TABLE.open(newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    return {label: _in_db(10.0 ** (np.array(db, np.float64) / 10.0)) for label, *db in rows}


def energies(sound: FloatArray, rate: int) -> FloatArray:
    """Energy of a sound in sixth-octave bands, ``(octaves, 6)``."""
    size = fft.next_fast_len(max(sound.size, 4 * _TAPS), real=True)
    spectrum = fft.rfft(sound.astype(np.float32), size)
    bins = np.minimum(OCTAVES_HZ[0] * 2.0**_EDGES * size / rate, spectrum.size - 1).astype(np.int64)
    up_to = np.cumsum(np.square(np.abs(spectrum[: bins[-1] + 1])), dtype=np.float64)
    return np.diff(up_to[bins] * (2.0 / size)).reshape(-1, _PER_OCTAVE)


def _in_db(energies: FloatArray) -> FloatArray:
    return np.asarray(10.0 * np.log10(energies / max(energies.sum(), 1e-30) + 1e-9))


def _between(octaves_up: FloatArray, gains_db: FloatArray) -> FloatArray:
    return np.interp(octaves_up, np.arange(gains_db.size), gains_db)


_EDGES = np.arange(_PER_OCTAVE * len(OCTAVES_HZ) + 1) / _PER_OCTAVE - 0.5
# Weights of the octaves' gains in each sixth-octave band.
_BANDS = (np.arange(_PER_OCTAVE * len(OCTAVES_HZ)) + 0.5) / _PER_OCTAVE - 0.5
_WEIGHTS = np.transpose([_between(_BANDS, unit) for unit in np.eye(len(OCTAVES_HZ))])
