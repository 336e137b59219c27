import pandas as pd
import pytest

from aor_lib.steering.tables import steering_verdicts
from aor_lib.steering.trials import RANDOM
from tests.analysis.frames import answers


def asked(intent, role, refused, of, mitigation=None):
    rows = answers(refused, of, intent=intent, role=role, mitigation=mitigation or role)
    return rows.assign(stimulus_id=rows["utterance_id"])


def verdict(*parts):
    (row,) = steering_verdicts(pd.concat(parts, ignore_index=True)).to_dict("records")
    return row


@pytest.mark.parametrize(
    ("utterances", "lost", "unjudged", "within"),
    [
        (12, 0, 0, "undecided"),
        (200, 0, 0, "yes"),
        (200, 40, 0, "no"),
        (200, 8, 0, "undecided"),
        (200, 0, 10, "undecided"),
    ],
)
def test_a_loss_is_within_the_limit_if_its_whole_interval_is(utterances, lost, unjudged, within):
    kept = asked("harmful", "chosen", utterances - lost, utterances)
    kept.loc[kept.index[:unjudged], "label"] = "unjudged"
    row = verdict(asked("harmful", "none", utterances, utterances), kept)
    assert row["lost"] == lost / utterances
    assert row["within"] == within


@pytest.mark.parametrize(("refused", "p_value"), [(5, 0.05), (12, 0.2), (20, 1)])
def test_a_chosen_direction_is_ranked_among_random_ones_on_the_same_stimuli(refused, p_value):
    harmful = [asked("harmful", role, 9, 9) for role in ("none", "chosen")]
    random = [
        asked("pseudo_harmful", "random", min(10 + n, 20), 20, f"random_{n}") for n in range(RANDOM)
    ]
    random[3].loc[19, "label"] = "unjudged"  # and was compliance under no other direction
    row = verdict(*harmful, asked("pseudo_harmful", "chosen", refused, 24), *random)
    assert (row["stimuli"], row["directions"]) == (19, RANDOM)
    assert row["p_value"] == pytest.approx(p_value)
