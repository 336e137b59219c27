import numpy as np
import pandas as pd
import pytest

from aor_lib.analysis import stats
from aor_lib.analysis.stats.between_models import d_prime_difference


def answered(model, harmful, pseudo, unjudged=()):
    """Trials of families of a harmful and a pseudo-harmful utterance, refused as told."""
    frames = [
        pd.DataFrame(
            {
                "utterance_id": [f"{prefix}{family}" for family in range(len(refused))],
                "contrast_of": [f"ph{n}" if prefix == "h" else None for n in range(len(refused))],
                "label": np.where(refused, "full_refusal", "full_compliance"),
                "intent": intent,
            }
        )
        for prefix, intent, refused in (
            ("h", "harmful", harmful),
            ("ph", "pseudo_harmful", pseudo),
        )
    ]
    trials = pd.concat(frames, ignore_index=True).assign(model=model, status="ok")
    trials.loc[trials["utterance_id"].isin(unjudged), "label"] = "unjudged"
    return trials


def first(refused, asked):
    return np.arange(asked) < refused


def test_two_models_are_compared_over_the_utterances_that_both_answered():
    unjudged = [f"ph{n}" for n in range(10)]
    both = [
        answered("a", first(30, 40), first(30, 40)),
        answered("b", first(30, 40), first(10, 40), unjudged),
    ]
    table = stats.model_rates(pd.concat(both)).set_index("intent")
    row = table.loc["pseudo_harmful"]
    assert (row["model"], row["against"], row["utterances"]) == ("a", "b", 30)
    assert row["difference"] == pytest.approx(20 / 30)
    assert row["p_holm"] < 0.001
    assert table.loc["harmful", "p_holm"] == 1


def test_a_difference_shows_although_the_intervals_of_the_models_overlap():
    # Each of a's refusals is b's, too: marginal intervals overlap, the paired test tells.
    a, b = (answered(m, first(40, 60), first(n, 60)) for m, n in (("a", 20), ("b", 32)))
    trials = pd.concat([a, b])
    low, high = (
        stats.rates(trials[trials["intent"] == "pseudo_harmful"], ["model"])[name]
        for name in ("low", "high")
    )
    assert low[1] < high[0]
    assert stats.model_rates(trials).set_index("intent").loc["pseudo_harmful", "p_holm"] < 0.001
    row = stats.model_d_primes(trials).iloc[0]
    assert row["p_holm"] < 0.05
    assert 0 < row["low"] < row["d_prime"] < row["high"]


def test_the_pairs_of_a_measure_are_a_family():
    models = [
        answered(m, first(40, 60), first(n, 60)) for m, n in (("a", 20), ("b", 26), ("c", 26))
    ]
    two, three = stats.model_rates(pd.concat(models[:2])), stats.model_rates(pd.concat(models))
    p_value, alone = two.loc[two["intent"] == "pseudo_harmful", ["p_value", "p_holm"]].iloc[0]
    beside = three.query("intent == 'pseudo_harmful' and model == 'a' and against == 'b'").iloc[0]
    assert (alone, beside["p_value"]) == (p_value, p_value)
    assert beside["p_holm"] > alone


def test_models_that_share_too_few_utterances_are_not_tested():
    models = [answered("a", first(3, 3), first(0, 3)), answered("b", first(0, 3), first(3, 3))]
    trials = pd.concat(models)
    for table in (stats.model_rates(trials), stats.model_d_primes(trials)):
        assert table["p_holm"].isna().all()
        assert table["low"].notna().all()
    assert stats.model_d_primes(models[0]).empty
    apart = pd.concat([models[0], models[1].assign(utterance_id="other")])
    assert stats.model_d_primes(apart)["d_prime"].isna().all()


def of_equal_d_prime(rng, families):
    """Cells of two models that tell alike and are not as quick to refuse, on the same families."""
    own = np.sqrt(0.6) * rng.standard_normal(families)
    cells = []
    for z, asked in (
        (1.1, families // 2),
        (-0.1, families),
        (0.1, families // 2),
        (-1.1, families),
    ):
        refused = own + np.sqrt(0.4) * rng.standard_normal(families) < z
        cells.append(pd.DataFrame({"refused": refused * 1.0, "judged": 1.0}).head(asked))
    return cells


@pytest.mark.nightly
@pytest.mark.parametrize("families", [12, 80])
def test_equal_d_primes_are_told_apart_5_times_in_100(families):
    # With 1000 studies the standard error of a share of 5 % is 0.7 %.
    rng = np.random.default_rng(4)
    rows = [d_prime_difference(of_equal_d_prime(rng, families)) for _ in range(1000)]
    table = pd.DataFrame(rows)
    assert (table["p_value"] < 0.05).mean() <= 0.075
    assert 0.925 <= table["low"].le(0).mul(table["high"].ge(0)).mean() <= 0.975
