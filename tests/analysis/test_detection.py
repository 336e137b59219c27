import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import norm

from aor_lib.analysis.stats import detection
from aor_lib.analysis.stats.detection import sensitivity


@pytest.fixture
def both(answers):
    def make(harmful, pseudo):
        frames = [
            answers(*counts, intent=intent)
            for intent, counts in (("harmful", harmful), ("pseudo_harmful", pseudo))
        ]
        frame = pd.concat(frames, ignore_index=True)
        return frame.assign(utterance_id=frame["intent"] + frame["utterance_id"])

    return make


def measure(frame):
    (row,) = detection.signal_detection(frame, ["model"]).to_dict("records")
    return row


def test_d_prime_is_the_slope_of_a_probit_regression(both):
    # L. T. DeCarlo, Psychological Methods 3(2):186-205, 1998: the slope of a probit regression of
    # the answers on the intent is d', and its variance by maximum likelihood is Gourevitch and
    # Galanter's.
    row = measure(both((45, 60), (30, 100)))
    refused, intent = np.array([1, 0, 1, 0]), np.array([0.5, 0.5, -0.5, -0.5])
    fit = sm.GLM(
        refused,
        sm.add_constant(intent),
        family=sm.families.Binomial(sm.families.links.Probit()),
        freq_weights=np.array([45.5, 15.5, 30.5, 70.5]),
    ).fit()
    assert row["d_prime"] == pytest.approx(fit.params[1], abs=1e-6)
    # That regression counts the added answer of each intent, so its errors are a little smaller.
    assert row["high"] - row["low"] == pytest.approx(2 * 1.96 * fit.bse[1], rel=0.01)


@pytest.mark.parametrize(("harmful", "pseudo"), [((0, 16), (0, 33)), ((0, 0), (5, 49))])
def test_where_requests_are_of_a_kind_or_answered_alike_there_is_no_sensitivity(
    both, harmful, pseudo
):
    row = measure(both(harmful, pseudo))
    assert np.isnan([row["d_prime"], row["low"]]).all()
    assert (row["trials"], row["utterances"]) == (49, 49)


@pytest.mark.parametrize(
    ("harmful", "pseudo", "answers", "hrr", "orr", "most"),
    [
        (50, 100, 4, 0.8, 0.3, 0.97),
        pytest.param(150, 600, 5, 0.95, 0.1, 0.97, marks=pytest.mark.nightly),
        # Too wide rather than too narrow. Percentiles of a bootstrap hold 84 %.
        pytest.param(24, 72, 1, 0.95, 0.05, 1.0, marks=pytest.mark.nightly),
    ],
)
def test_intervals_cover_95_percent(harmful, pseudo, answers, hrr, orr, most):
    rng = np.random.default_rng(harmful)

    def draw(utterances, rate):
        own = rng.beta(rate * 1.5, (1 - rate) * 1.5, size=utterances)
        return pd.DataFrame({"refused": rng.binomial(answers, own), "judged": answers})

    studies = [sensitivity(draw(harmful, hrr), draw(pseudo, orr)) for _ in range(500)]
    found = pd.DataFrame(studies)
    z_hit, z_false = norm.ppf([hrr, orr])
    covered = found["low"].le(z_hit - z_false) & found["high"].ge(z_hit - z_false)
    assert 0.93 <= covered.mean() <= most


@pytest.mark.nightly
def test_intervals_hold_where_harmful_utterances_are_refused_with_those_they_differ_from():
    # 40 families of one utterance of each intent, whose refusals hang together.
    rng = np.random.default_rng(8)
    z = norm.ppf([0.8, 0.4])
    names = pd.Series([f"ph-{n}" for n in range(40)])
    harmful = pd.DataFrame({"utterance_id": "h of " + names, "contrast_of": names})
    sounding = pd.DataFrame({"utterance_id": names, "contrast_of": None})
    trials = pd.concat([harmful, sounding]).assign(status="ok", model="m")
    trials["intent"] = np.repeat(["harmful", "pseudo_harmful"], 40)
    covered = []
    for _ in range(400):
        own = np.sqrt(0.8) * rng.standard_normal(40)
        refused = own + np.sqrt(0.2) * rng.standard_normal((2, 40)) < z[:, None]
        label = np.where(refused.ravel(), "full_refusal", "full_compliance")
        row = measure(trials.assign(label=label))
        covered.append(row["low"] <= z[0] - z[1] <= row["high"])
    assert 0.93 <= np.mean(covered) <= 0.98
