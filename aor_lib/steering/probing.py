"""Probes of the layers: how well each tells what is harmful from what only sounds so.

A probe may also do well because it can learn anything. Beside it stands the same probe on a control
task: labels that mean nothing, dealt to the utterances at random, each keeping its own in all of
its clips. What the probe does better on the requests' kinds than on those is what it reads.

References
----------
J. Hewitt & P. Liang, "Designing and Interpreting Probes with Control Tasks", EMNLP 2019.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from aor_lib.steering.candidates import Requests
from aor_lib.steering.gates import folds, held_out_scores
from aor_lib.steering.spacing import spaced

CONTROLS = 19
"""Control tasks: the requests' kinds exceed all of them by chance one time in twenty."""
LAYERS = 12
"""Layers that are probed at most, evenly spaced from the first to the last."""


def probe_layers(requests: Requests, families: Sequence[str]) -> pd.DataFrame:
    """AUC of a probe of each layer, and of the same probe on :data:`CONTROLS` control tasks.

    Every request is scored by a probe of other ``families``, and the scores of all folds are
    pooled. A control task has folds of its own, as balanced.

    Returns
    -------
    One row per layer and ``task``, ``harm`` or ``control``: ``layer``, ``auc``, and for the control
    tasks, whose ``auc`` is the mean, the lowest and the highest of them as ``low`` and ``high``.
    """
    asked = np.flatnonzero(requests.pseudo_harmful | requests.harmful)
    utterances = requests.answers["utterance_id"].iloc[asked].to_numpy()
    of_asked = np.array(families)[asked]
    kinds = pd.Series(requests.harmful[asked]).groupby(utterances).first()
    rng = np.random.default_rng(0)
    dealt = [kinds, *(pd.Series(rng.permutation(kinds), kinds.index) for _ in range(CONTROLS))]
    labels = [of_utterance[utterances].to_numpy(bool) for of_utterance in dealt]
    splits = [folds(label, of_asked) for label in labels]
    rows = []
    for layer in map(int, spaced(requests.layers, LAYERS)):
        values = requests.at(layer)[asked]
        harm, *control = (
            float(roc_auc_score(label, held_out_scores(values, label, split)))
            for label, split in zip(labels, splits, strict=True)
        )
        rows.append((layer, "harm", harm, np.nan, np.nan))
        rows.append((layer, "control", float(np.mean(control)), min(control), max(control)))
    return pd.DataFrame(rows, columns=["layer", "task", "auc", "low", "high"])
