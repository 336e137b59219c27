"""Tables that ``aor steer`` leaves in a study's folder, for charts and reports; needs no torch.

- ``layer_sweep``: estimates on ``dev`` of every layer and coefficient that was looked at.
- ``points``: what was tried in full on ``dev``, the ``mitigation`` as which it was tried on
  ``test`` (None if it was not), and which was ``chosen``.
- ``fitted``: utterances that a model's vectors were fitted on, as a JSON list.
- ``left_out``: models that could not be steered, and why.

Arms of the steered trials (the column ``arm`` of :attr:`aor_lib.study.Study.trials`):

- ``steering``: the best intervention of each method, on ``test`` in benign scenes:
  ``difference_in_means``, ``linear_probe``, ``false_refusal`` (orthogonal
  to true refusal), ``false_refusal_ablation`` and ``conditional`` (behind a gate).
  Controls of the chosen one (``is_control``): ``random`` directions and ``random_gate``.
- ``steering_hearing``: the chosen one on pseudo-harmful requests in benign and threatening scenes.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from aor_lib.storage.atomic_write import atomic_write

FOLDER = "steering"
TESTED, HEARING = "steering", "steering_hearing"
LAYER_SWEEP, POINTS, FITTED, LEFT_OUT = "layer_sweep", "points", "fitted", "left_out"
COLUMNS = {
    LAYER_SWEEP: "model method source layer coefficient projected_share orr hrr",
    POINTS: "model method found_by source layer coefficient projected_share gate_layer "
    "threshold orr hrr plain degenerate mitigation chosen",
    FITTED: "model fitted_on",
    LEFT_OUT: "model reason",
}


def write(build: Path, name: str, parts: Sequence[pd.DataFrame]) -> None:
    """Keep a table of steering, one part per model, in a study's folder."""
    folder = build / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    rows = pd.concat(parts, ignore_index=True) if parts else _empty(name)
    with atomic_write(folder / f"{name}.parquet") as stream:
        rows.reindex(columns=COLUMNS[name].split()).to_parquet(stream, index=False)


def load(build: Path | str, name: str) -> pd.DataFrame:
    """A table of steering; empty where ``aor steer`` has not been run."""
    path = Path(build) / FOLDER / f"{name}.parquet"
    return pd.read_parquet(path) if path.is_file() else _empty(name)


def _empty(name: str) -> pd.DataFrame:
    # Of objects: numbers, the default, cannot be compared with the ids of models.
    return pd.DataFrame(columns=COLUMNS[name].split(), dtype=object)
