"""Evenly spaced places: of many rows or layers, a few that stand for all."""

import numpy as np
import numpy.typing as npt


def spaced(number: int, most: int) -> npt.NDArray[np.intp]:
    """At most ``most`` of the places 0 to ``number - 1``, the first and the last among them."""
    return np.linspace(0, number - 1, min(most, number)).round().astype(np.intp)
