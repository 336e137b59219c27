"""Tables that ``aor steer`` writes into a study's folder, and verdicts on its choice; no torch.

- ``layer_sweep``: estimates on ``dev`` for every layer and coefficient in the sweep.
- ``points``: interventions tried in full on ``dev``, with their ``mitigation`` id on ``test``
  (None if not tried there), and which one was ``chosen``.
- ``fitted``: utterances on which a model's vectors were fitted, as a JSON list.
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

import numpy as np
import pandas as pd

from aor_lib.analysis.outcomes import REFUSALS, is_judged
from aor_lib.analysis.stats.paired import paired_differences
from aor_lib.steering import MAX_HRR_LOSS
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
    """Write a steering table, one part per model, into a study's folder."""
    rows = pd.concat(parts, ignore_index=True) if parts else _empty(name)
    with atomic_write(build / FOLDER / f"{name}.parquet") as stream:
        rows.reindex(columns=COLUMNS[name].split()).to_parquet(stream, index=False)


def load(build: Path | str, name: str) -> pd.DataFrame:
    """Read a steering table; it is empty if ``aor steer`` has not been run."""
    path = Path(build) / FOLDER / f"{name}.parquet"
    return pd.read_parquet(path) if path.is_file() else _empty(name)


def steering_verdicts(trials: pd.DataFrame) -> pd.DataFrame:
    """Loss of HRR under each model's chosen steering, and its rank among random directions.

    ``trials`` have the column ``role`` of ``Study.select("steering")``. One row per model:

    - ``lost`` (HRR without steering minus HRR with it), ``low``, ``high`` (95 %); ``within`` is
      ``yes`` if the whole interval is within :data:`MAX_HRR_LOSS`, ``no`` if none of it is, and
      ``undecided`` otherwise, or if answers without a verdict could change that.
    - ``stimuli``: number of pseudo-harmful stimuli judged under the chosen and every random
      direction; ``refused``: number of them refused under the chosen one; ``directions``: number of
      random directions; ``as_low``: number of these with no more refusals; ``p_value``: (1 +
      ``as_low``) / (1 + ``directions``), since under the null every rank is equally likely.
    """
    asked = trials[trials["intent"].eq("harmful") & trials["role"].isin(["none", "chosen"])]
    lost = paired_differences(asked, "role", "chosen", ["model"]).set_index("model")
    least, most = lost[["low", "lowest"]].min(axis=1), lost[["high", "highest"]].max(axis=1)
    within = np.select([most <= MAX_HRR_LOSS, least > MAX_HRR_LOSS], ["yes", "no"], "undecided")
    rows = lost[["difference", "low", "high"]].rename(columns={"difference": "lost"})
    ranked = trials.query("role in ['chosen', 'random'] and intent == 'pseudo_harmful'")
    ranks = {
        str(model): _rank(answers)
        for model, answers in ranked.groupby("model")
        if answers["role"].eq("random").any()
    }
    names = ["stimuli", "refused", "directions", "as_low", "p_value"]
    return rows.assign(within=within).join(pd.DataFrame.from_dict(ranks, "index", columns=names))


def _empty(name: str) -> pd.DataFrame:
    # The dtype is object because model ids cannot be compared with numbers, the default.
    return pd.DataFrame(columns=COLUMNS[name].split(), dtype=object)


def _rank(answers: pd.DataFrame) -> tuple[float, ...]:
    refused = answers["label"].isin(REFUSALS).astype(float).where(is_judged(answers))
    of = [answers[name] for name in ("stimulus_id", "role", "mitigation")]
    judged = refused.groupby(of).first().unstack(["role", "mitigation"]).dropna()
    chosen, random = judged.loc[:, ["chosen"]].sum().iloc[0], judged.loc[:, ["random"]].sum()
    as_low = int((random <= chosen).sum())
    return len(judged), chosen, len(random), as_low, (1 + as_low) / (1 + len(random))
