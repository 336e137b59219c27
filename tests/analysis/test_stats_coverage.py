"""How often nominal 95 % intervals hold the truth, over simulated studies of this study's size."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import binom, norm

from aor_lib.analysis import stats
from aor_lib.analysis.stats import intervals
from aor_lib.analysis.stats.detection import sensitivity

NOMINAL = (0.93, 0.97)


def share_within(bounds: np.ndarray, truth: float | np.ndarray) -> float:
    """``bounds``: one row a study, its lower and upper limit."""
    return float(np.mean((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])))


def within(share: float) -> bool:
    return NOMINAL[0] <= share <= NOMINAL[1]


def refusals(rng, utterances: int, answers: int, rate: float, likeness: float) -> np.ndarray:
    """How many answers to each utterance are refusals; ``likeness`` is their correlation."""
    shape = 1 / likeness - 1
    return rng.binomial(answers, rng.beta(rate * shape, (1 - rate) * shape, size=utterances))


@pytest.mark.parametrize("trials", [24, 72, 150, 600])
def test_wilsons_interval_on_average_over_rates(trials):
    # Exactly: each number of refusals counts with its probability. At a single rate the coverage
    # of any interval of a proportion leaps with the trials (L. D. Brown, T. T. Cai & A. DasGupta,
    # Statistical Science 16(2):101-133, 2001).
    bounds = np.array([stats.wilson(k, trials) for k in range(trials + 1)])
    truth = np.linspace(0.02, 0.98, 193)[:, None]
    held = (bounds[:, 0] <= truth) & (truth <= bounds[:, 1])
    shares = (binom.pmf(np.arange(trials + 1), trials, truth) * held).sum(axis=1)
    assert within(shares.mean())


def bootstrap_coverage(utterances: int, answers: int, rate: float, likeness: float) -> float:
    rng = np.random.default_rng(utterances)
    sizes = np.full(utterances, float(answers))
    bounds = [
        intervals.rate_interval(
            refusals(rng, utterances, answers, rate, likeness).astype(float), sizes
        )[:2]
        for _ in range(1500)
    ]
    return share_within(np.array(bounds), rate)


@pytest.fixture
def few_resamples(monkeypatch):
    """Fewer resamples make the limits less exact and no less right."""
    monkeypatch.setattr(intervals, "RESAMPLES", 500)


@pytest.mark.parametrize(
    ("utterances", "answers", "rate"),
    [(24, 5, 0.3), (72, 2, 0.5), (72, 5, 0.3), (150, 4, 0.9), (300, 5, 0.05)],
)
def test_the_cluster_bootstrap(utterances, answers, rate, few_resamples):
    assert within(bootstrap_coverage(utterances, answers, rate, 0.4))


@pytest.mark.parametrize(("utterances", "rate"), [(24, 0.05), (72, 0.02)])
def test_the_cluster_bootstrap_where_hardly_an_utterance_is_refused(
    utterances, rate, few_resamples
):
    # One or two such utterances are expected: little for any interval. Percentiles hold 85 %.
    assert bootstrap_coverage(utterances, 5, rate, 0.5) >= 0.90


def paired_coverage(utterances: int, answers: int, before: float, after: float) -> float:
    """Each utterance is judged once at the baseline and some times at the level."""
    rng = np.random.default_rng(7)
    own = np.sqrt(0.5) * rng.standard_normal((1500, utterances, 1))
    drawn = own + np.sqrt(0.5) * rng.standard_normal((1500, utterances, 1 + answers))
    refused = drawn < norm.ppf([before] + [after] * answers)
    differences = refused[..., 1:].mean(axis=-1) - refused[..., 0]
    bounds = [stats.difference_interval(of_study) for of_study in differences]
    return share_within(np.array(bounds), after - before)


@pytest.mark.parametrize(
    ("utterances", "answers", "before", "after"),
    [
        (24, 1, 0.5, 0.3),
        (72, 1, 0.8, 0.5),
        (72, 5, 0.5, 0.3),
        (150, 1, 0.3, 0.3),
        (300, 5, 0.1, 0.05),
    ],
)
def test_paired_differences(utterances, answers, before, after):
    assert within(paired_coverage(utterances, answers, before, after))


def test_paired_differences_where_hardly_an_utterance_is_refused():
    # Too wide rather than too narrow. Percentiles of a bootstrap hold 80 %.
    assert paired_coverage(24, 5, 0.05, 0.02) >= 0.95


def detection_coverage(
    harmful: int, pseudo: int, answers: int, hrr: float, orr: float
) -> tuple[float, float]:
    """Of d' and of c."""
    rng = np.random.default_rng(harmful)
    measured = []
    for _ in range(1000):
        clusters = [
            pd.DataFrame({"refused": refusals(rng, n, answers, rate, 0.4), "judged": answers})
            for n, rate in ((harmful, hrr), (pseudo, orr))
        ]
        measured.append(sensitivity(*clusters))
    found = pd.DataFrame(measured)
    z_hit, z_false = norm.ppf([hrr, orr])
    truth = {"d_prime": z_hit - z_false, "criterion": -(z_hit + z_false) / 2}
    d_prime, criterion = (
        share_within(found[[f"{name}_low", f"{name}_high"]].to_numpy(), true)
        for name, true in truth.items()
    )
    return d_prime, criterion


@pytest.mark.parametrize(
    ("harmful", "pseudo", "answers", "hrr", "orr"),
    [
        (50, 100, 1, 0.5, 0.5),
        (50, 100, 4, 0.8, 0.3),
        (150, 600, 1, 0.9, 0.7),
        (150, 600, 5, 0.95, 0.1),
    ],
)
def test_sensitivity_and_criterion(harmful, pseudo, answers, hrr, orr):
    assert all(map(within, detection_coverage(harmful, pseudo, answers, hrr, orr)))


def test_sensitivity_and_criterion_of_few_utterances_near_0_and_100_percent():
    # Too wide rather than too narrow. Percentiles of a bootstrap hold 84 %.
    assert min(detection_coverage(24, 72, 1, 0.95, 0.05)) >= 0.95


def asked(rng, utterances: int) -> pd.DataFrame:
    """Each utterance in half of the cells of gender and emotion, with one answer to each.

    Refusal is logistic in the factors; what the answers to an utterance share is a normal latent.
    """
    cells = [(g, e) for g in ("female", "male") for e in ("angry", "neutral", "sad")]
    chosen = np.concatenate([rng.permutation(6)[:3] for _ in range(utterances)])
    frame = pd.DataFrame(np.array(cells)[chosen], columns=["gender", "emotion"])
    frame["utterance_id"] = np.repeat(np.arange(utterances), 3)
    own = np.sqrt(0.4) * np.repeat(rng.standard_normal(utterances), 3)
    drawn = own + np.sqrt(0.6) * rng.standard_normal(len(frame))
    refused = norm.cdf(drawn) < expit(log_odds(frame["gender"], frame["emotion"]))
    label = np.where(refused, "full_refusal", "full_compliance")
    return frame.assign(status="ok", label=label, model="m")


def log_odds(gender, emotion):
    return -0.8 + 0.6 * (gender == "male") + 0.9 * (emotion == "angry")


@pytest.mark.slow
def test_marginal_differences_of_factors():
    rng = np.random.default_rng(8)
    genders, emotions = np.array(["female", "male"]), np.array(["angry", "neutral", "sad"])
    of_emotion = {e: expit(log_odds(genders, e)).mean() for e in emotions}
    truth = {
        "male": np.mean(expit(log_odds("male", emotions)) - expit(log_odds("female", emotions))),
        "angry": of_emotion["angry"] - of_emotion["neutral"],
        "sad": 0.0,
    }
    factors = {"gender": "female", "emotion": "neutral"}
    held = []
    for _ in range(160):
        table = stats.factor_effects(asked(rng, 40), factors, ["model"])
        assert (table["status"] == "estimated").all()
        true = table["level"].map(truth)
        held.append((table["low"] <= true) & (true <= table["high"]))
    assert within(np.mean(held))
