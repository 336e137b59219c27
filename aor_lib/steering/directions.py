"""Directions in the residual stream along which refusals differ from other answers.

Every direction points towards refusal. Where the clip's last token is looked at, its length is how
far refused requests lie from the others along it: to take away one such length (coefficient -1)
moves the mean of the one to the mean of the other. Directions are float32, ``(width,)``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from aor_lib.steering.activations import Floats

Mask = npt.NDArray[np.bool_]

_REGULARISATION = 0.01
"""Inverse regularisation of probes (C of scikit-learn): there are more dimensions than requests."""


def difference_in_means(rows: Floats, refused: Mask, complied: Mask) -> Floats:
    """Mean of the refused rows less that of the others (Arditi et al., NeurIPS 2024).

    Parameters
    ----------
    rows
        float32, ``(requests, width)``: activations of one layer.
    refused, complied
        bool, ``(requests,)``: which rows to take; a row may be in neither.

    Raises
    ------
    ValueError
        If there is no refused row, or no other.

    Examples
    --------
    >>> rows = np.array([[1, 0], [3, 0], [0, 1]], dtype=np.float32)
    >>> refused = np.array([True, True, False])
    >>> difference_in_means(rows, refused, ~refused).tolist()
    [2.0, -1.0]
    """
    for name, mask in (("refused", refused), ("complied with", complied)):
        if not mask.any():
            raise ValueError(f"no request was {name}: there is no difference to take")
    means = [rows[mask].mean(axis=0, dtype=np.float64) for mask in (refused, complied)]
    return np.asarray(means[0] - means[1], dtype=np.float32)


def project_out(direction: Floats, other: Floats, lam: float = 1.0) -> Floats:
    """A direction less the share ``lam`` of its component along another; 1 makes it orthogonal.

    With a false-refusal direction and the true one, this is what keeps true refusals when the first
    is ablated (Wang et al., ICLR 2025, "Surgical, cheap, and flexible: mitigating false refusal in
    language models via single vector ablation", where the share is the partial coefficient).

    Examples
    --------
    >>> project_out(np.array([2, 3], np.float32), np.array([4, 0], np.float32), 0.5).tolist()
    [1.0, 3.0]
    """
    unit = _unit(other)
    return np.asarray(direction - lam * (direction @ unit) * unit, dtype=np.float32)


def safe_ablated(direction: Floats, safe: Floats, components: int) -> Floats:
    """A direction less its part in the span of the top principal components of safe rows.

    The rest tells refusals from answers along nothing that harmless requests vary in (the
    safe-space ablation of SARSteer, with its coefficient 1: Lin et al., ICML 2026, arXiv
    2510.17633).

    Parameters
    ----------
    direction
        float32, ``(width,)``.
    safe
        float32, ``(requests, width)``: activations of harmless requests that were answered.
    components
        Number of components; more than there are take all.

    Examples
    --------
    >>> safe = np.array([[5, 0, 1], [-5, 0, 1]], dtype=np.float32)
    >>> safe_ablated(np.array([3, 2, 1], dtype=np.float32), safe, 1).tolist()
    [0.0, 2.0, 1.0]
    """
    values = np.asarray(safe, dtype=np.float64)
    _, spread, axes = np.linalg.svd(values - values.mean(axis=0), full_matrices=False)
    # A mean was taken: the last of the axes may be any.
    axes = axes[spread > 1e-6 * spread.max(initial=0)][:components]
    return np.asarray(direction - (axes @ direction) @ axes, dtype=np.float32)


def as_long_as(direction: Floats, other: Floats) -> Floats:
    """A direction at the length of another, so that the same coefficients suit both.

    One without a length has none afterwards.
    """
    length, wanted = (float(np.linalg.norm(one.astype(np.float64))) for one in (direction, other))
    return np.asarray(direction * (wanted / max(length, 1e-9)), np.float32)


def probe(rows: Floats, positive: Mask) -> tuple[Floats, float]:
    """Normal and intercept of a logistic regression of ``positive`` on standardised ``rows``.

    The classes weigh the same, whatever their sizes. ``rows @ normal + intercept`` are log-odds.

    Raises
    ------
    ValueError
        If all rows are of one class.
    """
    values = np.asarray(rows, dtype=np.float64)
    centre, spread = values.mean(axis=0), values.std(axis=0) + 1e-6
    fitted = LogisticRegression(C=_REGULARISATION, class_weight="balanced", max_iter=1000)
    fitted.fit((values - centre) / spread, positive)
    normal = fitted.coef_[0] / spread
    return normal.astype(np.float32), float(fitted.intercept_[0] - centre @ normal)


def probe_direction(rows: Floats, refused: Mask, complied: Mask) -> Floats:
    """A probe's normal, as long as the means of refused and other rows are apart along it.

    Parameters and errors are those of :func:`difference_in_means`.
    """
    apart = difference_in_means(rows, refused, complied)
    chosen = refused | complied
    normal, _ = probe(rows[chosen], refused[chosen])
    unit = _unit(normal)
    return np.asarray((apart @ unit) * unit, dtype=np.float32)


def random_like(direction: Floats, seed: int) -> Floats:
    """A direction of the same length that points anywhere, as a control."""
    drawn = np.random.default_rng(seed).standard_normal(direction.shape)
    length = np.linalg.norm(direction.astype(np.float64))
    return np.asarray(drawn * length / np.linalg.norm(drawn), dtype=np.float32)


def _unit(direction: Floats) -> npt.NDArray[np.float64]:
    exact = direction.astype(np.float64)
    return exact / np.linalg.norm(exact)
