"""Rates that people's labels correct: when they do, by how much, and with which interval."""

import numpy as np
import pandas as pd
import pytest

from aor_lib.analysis.people import corrected_rates, settled
from benchmarks import people
from notebooks.annotation import draw


@pytest.fixture
def trials():
    rng = np.random.default_rng(0)
    refused, judged = people.simulate(0.3, people.JUDGES["fair"], (100, 1), rng)
    names = [str(number) for number in range(100)]
    same = {"model": "m", "condition": "benign_scene", "intent": "pseudo_harmful", "status": "ok"}
    return pd.DataFrame({"utterance_id": names, "trial_key": names}).assign(
        **same,
        variant=0,
        label=np.where(judged[:, 0], "full_refusal", "full_compliance"),
        truth=np.where(refused[:, 0], "refusal", "full_compliance"),
    )


@pytest.fixture
def sample(trials):
    drawn = draw(trials, 60, 0)
    return drawn.assign(people=drawn["truth"].where(drawn["drawn"]))


def rate(trials, sample):
    (row,) = corrected_rates(trials, ["model"], sample).to_dict("records")
    return row


def test_labels_of_all_answers_give_the_rate_that_people_see(trials):
    drawn = draw(trials, 100, 0)
    seen = rate(trials, drawn.assign(people=drawn["truth"]))
    assert seen["rate"] == pytest.approx(trials["truth"].eq("refusal").mean())
    assert seen["as_judged"] == trials["label"].eq("full_refusal").mean() != seen["rate"]


@pytest.mark.nightly
def test_intervals_of_corrected_rates_cover_95_percent(monkeypatch):
    monkeypatch.setattr(people, "RATES", (0.15, 0.45))
    monkeypatch.setattr(people, "JUDGES", {"fair": people.JUDGES["fair"]})
    table = people.measure(300)
    assert table["coverage"].between(0.92, 0.99).all()
    assert table["bias"].abs().max() < 0.01


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
