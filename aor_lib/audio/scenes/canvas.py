"""The scene under construction: a mono mix to which composers add beds and events."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from aor_lib.audio.scenes.model import Event, FloatArray, Soundscape
from aor_lib.audio.scenes.reverb import reverberate

PEAK = 0.9
HEADROOM_DB = 14.0
BED_SPREAD_DB = 2.0
EVENT_SPREAD_DB = 1.5


class Canvas:
    """A mix of beds (set by RMS level) and events (set by peak level).

    Levels are in dB relative to an arbitrary common reference: only their differences matter,
    because :meth:`finish` normalises the mix. Each level is varied a little at random, so that
    two renderings of a scene are also balanced differently.

    Parameters
    ----------
    n_samples : int
        Length of the clip, at least 1.
    sample_rate : int
        In Hz.
    rng : numpy.random.Generator
        The only source of randomness, for the canvas and for the composer that draws on it.
    """

    def __init__(self, n_samples: int, sample_rate: int, rng: np.random.Generator) -> None:
        self.n_samples = n_samples
        self.sample_rate = sample_rate
        self.rng = rng
        self._mix: FloatArray = np.zeros(n_samples)
        self._events: list[Event] = []

    @property
    def duration_s(self) -> float:
        """Length of the clip in seconds."""
        return self.n_samples / self.sample_rate

    def length(self, seconds: float) -> int:
        """Number of samples in `seconds`, at least 1."""
        return max(1, round(seconds * self.sample_rate))

    def add_bed(self, sound: FloatArray, level_db: float) -> None:
        """Add a continuous layer at an RMS level.

        Parameters
        ----------
        sound : ndarray of float64, shape (n_samples,)
            As long as the clip.
        level_db : float
            RMS level, varied by up to ``BED_SPREAD_DB``.
        """
        level_db += self.rng.uniform(-BED_SPREAD_DB, BED_SPREAD_DB)
        rms = np.sqrt(np.mean(np.square(sound)))
        if rms > 0:
            self._mix += sound * (_gain(level_db) / rms)

    def add_event(self, name: str, onset_s: float, sound: FloatArray, level_db: float) -> None:
        """Add a sound at a time and a peak level; what passes the end of the clip is cut off.

        Parameters
        ----------
        name : str
            Name of the event; one with an onset outside the clip is left out.
        onset_s : float
            In seconds from the start of the clip.
        sound : ndarray of float64, shape (samples,)
            The sound at any scale.
        level_db : float
            Peak level, varied with a standard deviation of ``EVENT_SPREAD_DB``.
        """
        start = round(onset_s * self.sample_rate)
        sound = sound[: max(0, self.n_samples - start)]
        peak = float(np.max(np.abs(sound), initial=0.0))
        if start < 0 or peak == 0:
            return
        level_db += self.rng.normal(0.0, EVENT_SPREAD_DB)
        self._mix[start : start + sound.size] += sound * (_gain(level_db) / peak)
        self._events.append(Event(name, start / self.sample_rate, sound.size / self.sample_rate))

    def reverberate(self, t60_s: float, wet_db: float, damping_hz: float) -> None:
        """Put all that was added so far into a room; see :func:`reverb.reverberate`."""
        self._mix = reverberate(
            self._mix, self.sample_rate, t60_s, wet_db=wet_db, damping_hz=damping_hz, rng=self.rng
        )

    def finish(self) -> Soundscape:
        """Limit and normalise the mix.

        Returns
        -------
        Soundscape
            With a peak of ``PEAK`` and its events in order of onset.

        Raises
        ------
        RuntimeError
            If the mix is silent: the composer added no bed.
        """
        rms = np.sqrt(np.mean(np.square(self._mix)))
        if rms == 0:
            raise RuntimeError("the scene is silent: it needs a bed")
        # A few gunshots would otherwise hold the rest of the scene far below the peak, and with
        # it below the speech. tanh leaves the bed as it is and rounds the peaks only.
        limited = np.tanh(self._mix / (rms * _gain(HEADROOM_DB)))
        samples = (limited * (PEAK / np.max(np.abs(limited)))).astype(np.float32)
        events = tuple(sorted(self._events, key=lambda event: (event.onset_s, event.name)))
        return Soundscape(samples, self.sample_rate, events)


def overlay(parts: Iterable[tuple[float, FloatArray]], sample_rate: int) -> FloatArray:
    """Build one sound from several that start at different times.

    Parameters
    ----------
    parts : iterable of (float, ndarray of float64 of shape (samples,))
        Offsets in seconds, not negative, and the sounds that start there.
    sample_rate : int
        In Hz.

    Returns
    -------
    ndarray of float64, shape (samples,)
        Just long enough for all parts.
    """
    placed = [(round(offset_s * sample_rate), sound) for offset_s, sound in parts]
    total = np.zeros(max(start + sound.size for start, sound in placed))
    for start, sound in placed:
        total[start : start + sound.size] += sound
    return total


def _gain(level_db: float) -> float:
    return float(10.0 ** (level_db / 20.0))
