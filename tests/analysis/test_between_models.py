import pandas as pd
import pytest

from aor_lib.analysis.stats import between_models


@pytest.fixture
def refusing(answers):
    def make(model, harmful, pseudo_harmful, asked=60):
        kinds = [answers(harmful, asked, intent="harmful"), answers(pseudo_harmful, asked)]
        return pd.concat(kinds, ignore_index=True).assign(model=model)

    return make


def test_two_models_are_compared_over_the_utterances_that_both_answered(refusing):
    a, b = refusing("a", 30, 30, 40), refusing("b", 30, 10, 40)
    b.loc[40:49, "label"] = "unjudged"  # the pseudo-harmful ones that it refused
    table = between_models.model_rates(pd.concat([a, b])).set_index("intent")
    row = table.loc["pseudo_harmful"]
    assert (row["model"], row["against"], row["utterances"]) == ("a", "b", 30)
    assert row["difference"] == pytest.approx(20 / 30)
    assert (row["lowest"], row["highest"]) == (0.5, 0.75)


def test_differences_between_models_have_no_verdicts_as_they_may_be_the_judges(refusing):
    table = between_models.model_rates(pd.concat([refusing("a", 40, 20), refusing("b", 40, 26)]))
    assert not {"p_value", "p_holm"} & set(table)
    assert table["low"].notna().all()


@pytest.fixture
def by_model(answers):
    def make(**refused):
        return pd.concat([answers(n, 12, model=model) for model, n in refused.items()])

    return make


@pytest.mark.parametrize(
    ("scenario", "differ"), [([0] * 6 + [1] * 6, True), ([0, 1] * 6, False)], ids=["apart", "mixed"]
)
def test_groups_differ_where_refusals_go_with_them(by_model, scenario, differ):
    trials = by_model(a=6).assign(scenario=scenario)
    assert (between_models.groups_differ(trials, "scenario")["a"] < 0.05) == differ


def test_scenarios_are_one_family_over_models(by_model):
    scenario = {f"{n}": n >= 6 for n in range(12)}
    alone, among = by_model(a=6), by_model(a=6, b=6, c=0)
    p_values = [
        between_models.groups_differ(
            trials.assign(scenario=trials["utterance_id"].map(scenario)), "scenario"
        )
        for trials in (alone, among)
    ]
    assert p_values[1]["a"] == pytest.approx(3 * p_values[0]["a"])
