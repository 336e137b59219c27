import numpy as np
import pandas as pd
import pytest

from aor_lib.analysis import stats
from aor_lib.analysis.stats.between_models import _d_prime_difference


@pytest.fixture
def refusing(answers):
    """Make a model that refuses so many harmful requests, and of those that they differ from."""

    def make(model, harmful, pseudo_harmful, asked=60):
        kinds = [answers(harmful, asked, intent="harmful"), answers(pseudo_harmful, asked)]
        return pd.concat(kinds, ignore_index=True).assign(model=model)

    return make


def test_two_models_are_compared_over_the_utterances_that_both_answered(refusing):
    a, b = refusing("a", 30, 30, 40), refusing("b", 30, 10, 40)
    b.loc[40:49, "label"] = "unjudged"  # the pseudo-harmful ones that it refused
    table = stats.model_rates(pd.concat([a, b])).set_index("intent")
    row = table.loc["pseudo_harmful"]
    assert (row["model"], row["against"], row["utterances"]) == ("a", "b", 30)
    assert row["difference"] == pytest.approx(20 / 30)
    assert row["p_holm"] < 0.001
    assert table.loc["harmful", "p_holm"] == 1


def test_a_difference_shows_although_the_intervals_of_the_models_overlap(refusing):
    # Each of a's refusals is b's, too: marginal intervals overlap, the paired test tells.
    trials = pd.concat([refusing("a", 40, 20), refusing("b", 40, 32)])
    assert stats.model_rates(trials).set_index("intent").loc["pseudo_harmful", "p_holm"] < 0.001
    row = stats.model_d_primes(trials).iloc[0]
    assert row["p_holm"] < 0.05
    assert 0 < row["low"] < row["d_prime"] < row["high"]


def test_the_pairs_of_a_measure_are_a_family(refusing):
    models = [refusing(*refused) for refused in (("a", 40, 20), ("b", 40, 26), ("c", 40, 26))]
    two, three = stats.model_rates(pd.concat(models[:2])), stats.model_rates(pd.concat(models))
    p_value, alone = two.loc[two["intent"] == "pseudo_harmful", ["p_value", "p_holm"]].iloc[0]
    beside = three.query("intent == 'pseudo_harmful' and model == 'a' and against == 'b'").iloc[0]
    assert (alone, beside["p_value"]) == (p_value, p_value)
    assert beside["p_holm"] > alone


def test_models_that_share_too_few_utterances_are_not_tested(refusing):
    models = [refusing("a", 3, 0, 3), refusing("b", 0, 3, 3)]
    trials = pd.concat(models)
    for table in (stats.model_rates(trials), stats.model_d_primes(trials)):
        assert table["p_holm"].isna().all()
        assert table["low"].notna().all()
    assert stats.model_d_primes(models[0]).empty
    apart = pd.concat([models[0], models[1].assign(utterance_id="other")])
    assert stats.model_d_primes(apart)["d_prime"].isna().all()


def of_equal_d_prime(rng, families):
    """Cells of two models that tell alike and are not as quick to refuse, on the same families."""
    own, half = np.sqrt(0.6) * rng.standard_normal(families), families // 2
    cells = []
    for z, asked in ((1.1, half), (-0.1, families), (0.1, half), (-1.1, families)):
        refused = own + np.sqrt(0.4) * rng.standard_normal(families) < z
        cells.append(pd.DataFrame({"refused": refused * 1.0, "judged": 1.0}).head(asked))
    return cells


@pytest.mark.nightly
@pytest.mark.parametrize("families", [12, 80])
def test_equal_d_primes_are_told_apart_5_times_in_100(families):
    # With 1000 studies the standard error of a share of 5 % is 0.7 %.
    rng = np.random.default_rng(4)
    rows = [_d_prime_difference(of_equal_d_prime(rng, families)) for _ in range(1000)]
    table = pd.DataFrame(rows)
    assert (table["p_value"] < 0.05).mean() <= 0.075
    assert 0.925 <= table["low"].le(0).mul(table["high"].ge(0)).mean() <= 0.975


@pytest.fixture
def by_model(answers):
    """Make models that refuse the first so many of twelve utterances."""

    def make(**refused):
        return pd.concat([answers(n, 12, model=model) for model, n in refused.items()])

    return make


@pytest.mark.parametrize(
    ("scenario", "differ"), [([0] * 6 + [1] * 6, True), ([0, 1] * 6, False)], ids=["apart", "mixed"]
)
def test_groups_differ_where_refusals_go_with_them(by_model, scenario, differ):
    trials = by_model(a=6).assign(scenario=scenario)
    assert (stats.groups_differ(trials, "scenario")["a"] < 0.05) == differ


def test_nothing_is_tested_where_there_is_one_group(by_model):
    trials = by_model(a=6).assign(scenario="kitchen")
    assert stats.groups_differ(trials, "scenario").isna().all()
