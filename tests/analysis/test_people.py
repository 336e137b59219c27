import pandas as pd
import pytest

from aor_lib.analysis.people import corrected_rates, settled
from notebooks.annotation import draw
from notebooks.raters import agreement
from tests.analysis.frames import answers


@pytest.fixture
def trials():
    """Answers of which the judge calls 30 refused, and people ten more."""
    frame = answers(30, 100, condition="benign_scene", variant=0)
    truth = ["refusal"] * 40 + ["full_compliance"] * 60
    return frame.assign(trial_key=frame["utterance_id"], truth=truth)


@pytest.fixture
def sample(trials):
    drawn = draw(trials, 60, 0)
    return drawn.assign(people=drawn["truth"].where(drawn["drawn"]))


def rate(trials, sample):
    (row,) = corrected_rates(trials, ["model"], sample).to_dict("records")
    return row


@pytest.mark.parametrize(("ten", "expected"), [("refusal", 0.4), ("unjudged", 30 / 90)])
def test_labels_of_all_answers_give_the_rate_that_people_see_among_answers(trials, ten, expected):
    drawn = draw(trials, 100, 0)
    drawn.loc[drawn["truth"].eq("refusal") & drawn["label"].eq("full_compliance"), "truth"] = ten
    seen = rate(trials, drawn.assign(people=drawn["truth"]))
    assert (seen["rate"], seen["as_judged"]) == pytest.approx((expected, 0.3))
    assert seen["low"] < seen["rate"] < seen["high"]


@pytest.mark.parametrize(
    "unlike",
    [
        lambda trials, sample: (trials, sample.head(0)),
        lambda trials, sample: (trials, sample.assign(people=sample["people"].shift(1))),
        lambda trials, sample: (trials, sample.iloc[1:]),
        lambda trials, sample: (trials.drop(columns="trial_key"), sample),
        lambda trials, sample: (trials, sample.assign(model="another")),
    ],
    ids=["nobody", "not all settled", "not all drawn from", "counted otherwise", "another model"],
)
def test_a_rate_stays_as_judged_where_the_sample_does_not_stand_for_it(trials, sample, unlike):
    assert rate(trials, sample)["labelled"] == 60
    row = rate(*unlike(trials, sample))
    assert row["labelled"] == 0
    assert row["rate"] == row["as_judged"]


def test_a_label_is_settled_by_two_who_agree_where_no_two_others_do():
    votes = {
        "agreed": ["full_refusal", "partial_refusal"],
        "alone": ["full_refusal"],
        "differ": ["full_refusal", "full_compliance"],
        "broken": ["full_refusal", "full_compliance", "full_compliance"],
        "even": ["full_refusal", "full_compliance"] * 2,
    }
    rows = [(name, str(n), vote) for name, of in votes.items() for n, vote in enumerate(of)]
    labels = pd.DataFrame(rows, columns=["item", "annotator", "label"])
    assert settled(labels).to_dict() == {"agreed": "refusal", "broken": "full_compliance"}


def test_kappa_is_of_what_both_labelled_and_missing_where_nothing_varies():
    labels = {"people": [*"xxyy", None], "judge": [*"xxyxy"]}
    labels |= {"same": [*"xxyyx"], "one": [*"xx", *[None] * 3]}
    pairs = [(name, "people") for name in ("judge", "same", "one")]
    found = agreement(pd.DataFrame(labels), pairs).set_index("rater")
    assert found["n"].tolist() == [4, 4, 2]
    assert found.loc["judge", "kappa"] == pytest.approx(0.5)
    assert found.loc["judge", "low"] < 0.5 < found.loc["judge", "high"] == 1
    assert found.loc["same", "kappa"] == 1
    assert found.loc["one"].isna().sum() == 3
