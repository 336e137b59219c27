"""How far headlines move under other ways to count, on answers that were written for it."""

import pandas as pd
import pytest

from aor_lib.analysis.sensitivity import headline_changes

# Ten requests of each intent: intent, then label and number of answers.
ANSWERS = {
    "pseudo_harmful": {"full_refusal": 3, "partial_refusal": 2, "full_compliance": 4, "blocked": 1},
    "harmful": {"full_refusal": 8, "partial_refusal": 1, "full_compliance": 1},
}


@pytest.fixture
def changes():
    rows = [
        {"intent": intent, "label": label, "utterance_id": f"{intent}-{label}-{n}"}
        for intent, labels in ANSWERS.items()
        for label, times in labels.items()
        for n in range(times)
    ]
    trials = pd.DataFrame(rows).assign(model="m")
    trials["stimulus_id"] = trials["utterance_id"]
    trials["status"] = trials["label"].eq("blocked").map({True: "blocked", False: "ok"})
    return headline_changes(trials, trials.assign(label="full_compliance"))


@pytest.mark.parametrize(
    ("change", "orr", "hrr"),
    [
        ("blocked", 6 / 10 - 5 / 9, 0),
        ("partial", -2 / 9, -1 / 10),
        ("other judge", -5 / 9, -9 / 10),
    ],
)
def test_a_change_moves_rates_by_the_answers_that_it_counts_differently(changes, change, orr, hrr):
    assert changes.loc[change, "m"][["orr", "hrr"]].tolist() == pytest.approx([orr, hrr])
