"""What a rendered scene is: its samples and the events that were placed in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Event:
    """One discrete sound on top of a scene's continuous bed.

    Attributes
    ----------
    name : str
        What sounds, e.g. ``"footstep"``.
    onset_s, duration_s : float
        When it starts and how long it lasts, in seconds; both ends lie within the clip.
    """

    name: str
    onset_s: float
    duration_s: float


@dataclass(frozen=True, eq=False)
class Soundscape:
    """A rendered background scene.

    Attributes
    ----------
    samples : ndarray of float32, shape (samples,)
        Mono signal within [-1, 1].
    sample_rate : int
        In Hz.
    events : tuple of Event
        Sorted by onset.
    """

    samples: NDArray[np.float32]
    sample_rate: int
    events: tuple[Event, ...]
