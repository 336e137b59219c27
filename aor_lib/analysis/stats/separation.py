"""Rows and columns of a logistic regression's design with finite, unique estimates."""

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr
from scipy.optimize import linprog

from aor_lib.analysis.stats.intervals import Floats

Bools = npt.NDArray[np.bool_]

_TOLERANCE = 1e-6


def overlapping(design: Floats, refused: Bools) -> Bools:
    """Rows on which a logistic regression has a finite maximum of its likelihood.

    Some combination of columns may separate refusals from compliance, in whole or but for ties: a
    scenario without any refusal, say. Its coefficient then grows without end, and the rows that it
    fits perfectly tell nothing about the others, which keep the estimates that they have without
    those rows. Such a combination is found by linear programming.

    ``design`` is ``(rows, columns)``, with a column of ones. No row is left where refusals and
    compliance are separated completely.

    References
    ----------
    C. J. Geyer, Electronic Journal of Statistics 3:259-289, 2009 (the rows that are left). K.
    Konis, "Linear programming algorithms for detecting separated data in binary logistic regression
    models", DPhil thesis, University of Oxford, 2007.
    """
    signed = np.where(refused, 1.0, -1.0)[:, None] * design
    kept = np.ones(len(design), dtype=bool)
    while kept.any():
        rows = np.unique(signed[kept], axis=0)
        found = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1, 1))
        apart = kept & (signed @ found.x > _TOLERANCE)
        if not apart.any():
            break
        kept &= ~apart
    return kept


def row_space(design: Floats) -> Floats:
    """Projection on the row space of a design, ``(columns, columns)``.

    The prediction of a fit for a row is unique if the projection leaves that row as it is.
    """
    columns = design.shape[1]
    if len(design) == 0:
        return np.zeros((columns, columns))
    return np.asarray(np.linalg.pinv(design, rcond=_TOLERANCE) @ design)


def independent_columns(design: Floats) -> npt.NDArray[np.intp]:
    """Indices of columns that span all of them and of which none is spanned by others."""
    _, triangle, order = qr(design, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(triangle))
    return np.sort(order[: len(sizes)][sizes > _TOLERANCE * sizes.max(initial=0)])
