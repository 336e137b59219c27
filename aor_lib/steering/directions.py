"""Directions in the residual stream along which refusals differ from other answers.

Every direction points towards refusal. An addition with coefficient -1 moves the mean of the
refused requests onto that of the others along it. Directions are float32, ``(width,)``; ``rows``
are the activations of one layer, float32, ``(requests, width)``; masks are bool, ``(requests,)``.
"""

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from aor_lib.steering.residual_stream import Floats, Mask

_C = 0.01  # of scikit-learn's probes: there are more dimensions than requests


def difference_in_means(rows: Floats, refused: Mask, complied: Mask) -> Floats:
    """Mean of the refused rows less that of the others (Arditi et al., NeurIPS 2024).

    A row may be in neither mask; neither is empty.

    Examples
    --------
    >>> rows = np.array([[1, 0], [3, 0], [0, 1]], dtype=np.float32)
    >>> refused = np.array([True, True, False])
    >>> difference_in_means(rows, refused, ~refused).tolist()
    [2.0, -1.0]
    """
    means = [rows[mask].mean(axis=0, dtype=np.float64) for mask in (refused, complied)]
    return np.asarray(means[0] - means[1], dtype=np.float32)


def project_out(direction: Floats, other: Floats, projected_share: float = 1.0) -> Floats:
    """A direction less a share of its component along another; 1 makes it orthogonal.

    References
    ----------
    X. Wang et al., "Surgical, cheap, and flexible: mitigating false refusal in language models via
    single vector ablation", ICLR 2025.

    Examples
    --------
    >>> project_out(np.array([2, 3], np.float32), np.array([4, 0], np.float32), 0.5).tolist()
    [1.0, 3.0]
    """
    unit = _unit(other)
    return np.asarray(direction - projected_share * (direction @ unit) * unit, dtype=np.float32)


def match_norm(direction: Floats, other: Floats) -> Floats:
    """A direction at the norm of another, so that the same coefficients suit both."""
    norm, wanted = (float(np.linalg.norm(v.astype(np.float64))) for v in (direction, other))
    return np.asarray(direction * (wanted / max(norm, 1e-9)), np.float32)


def probe(rows: Floats, positive: Mask) -> tuple[Floats, float]:
    """Normal and intercept of a logistic regression of ``positive`` on standardised rows.

    The classes are weighted equally. ``rows @ normal + intercept`` are log-odds.
    """
    values = np.asarray(rows, dtype=np.float64)
    centre, spread = values.mean(axis=0), values.std(axis=0) + 1e-6
    fitted = LogisticRegression(C=_C, class_weight="balanced", max_iter=1000)
    fitted.fit((values - centre) / spread, positive)
    normal = fitted.coef_[0] / spread
    return normal.astype(np.float32), float(fitted.intercept_[0] - centre @ normal)


def probe_direction(rows: Floats, refused: Mask) -> Floats:
    """A probe's normal, scaled to the distance between the means of refused and other rows."""
    apart = difference_in_means(rows, refused, ~refused)
    unit = _unit(probe(rows, refused)[0])
    return np.asarray((apart @ unit) * unit, dtype=np.float32)


def random_like(direction: Floats, seed: int) -> Floats:
    """A random direction of the same norm, as a control."""
    drawn = np.random.default_rng(seed).standard_normal(direction.shape)
    length = np.linalg.norm(direction.astype(np.float64))
    return np.asarray(drawn * length / np.linalg.norm(drawn), dtype=np.float32)


def _unit(direction: Floats) -> npt.NDArray[np.float64]:
    exact = direction.astype(np.float64)
    return exact / np.linalg.norm(exact)
