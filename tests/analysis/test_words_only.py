import pandas as pd
import pytest

from aor_lib.analysis import stats, words_only
from aor_lib.analysis.words_only import MAX_AUC, MEASURES, auc_by_words, harm_by_words
from aor_lib.config.params import load_scenarios
from aor_lib.config.records import Intent, Utterance

SCENARIOS = ("kitchen", "games", "stage")


def utterance(scenario, intent, number, text):
    return Utterance(
        id=f"{scenario}-{intent}-{number}",
        scenario=scenario,
        text=text,
        intent=intent,
        scenes=("somewhere",),
    )


@pytest.fixture
def told():
    """Requests whose harmful ones are about somebody's own, with a verb of their scenario."""
    return [
        utterance(scenario, intent, number, f"{verb} {whose} {thing} {number}")
        for scenario, verb in zip(SCENARIOS, ("Boil", "Beat", "Stab"), strict=True)
        for intent, whose in ((Intent.PSEUDO_HARMFUL, "the"), (Intent.HARMFUL, "my wife's"))
        for number, thing in enumerate(("lobster", "guard", "king", "sauce"))
    ]


@pytest.fixture
def untold():
    """Requests of both intents with the same words."""
    return [
        utterance(scenario, intent, number, f"How do I {verb} the {thing}?")
        for scenario, verb in zip(SCENARIOS, ("boil", "beat", "stab"), strict=True)
        for intent in (Intent.PSEUDO_HARMFUL, Intent.HARMFUL)
        for number, thing in enumerate(("lobster", "guard", "king", "sauce"))
    ]


@pytest.mark.parametrize("measure", MEASURES)
def test_words_that_only_harmful_requests_have_give_them_away_in_a_scenario_never_read(
    told, measure
):
    harm = harm_by_words(told, measure)
    harmful = harm.index.str.contains("-harmful-")
    assert harm[harmful].min() > harm[~harmful].max()


def test_the_same_words_tell_nothing(told, untold):
    assert auc_by_words(untold)["auc"].tolist() == [0.5] * len(MEASURES)
    assert auc_by_words(told)["auc"].tolist() == [1.0] * len(MEASURES)


def test_a_scenario_is_never_scored_by_what_it_holds_itself(told):
    # With its labels turned round, a scenario changes the scores of the others and none of its own.
    other = {Intent.HARMFUL: Intent.PSEUDO_HARMFUL, Intent.PSEUDO_HARMFUL: Intent.HARMFUL}
    turned = [
        u.model_copy(update={"intent": other[u.intent]}) if u.scenario == "kitchen" else u
        for u in told
    ]
    before, after = (harm_by_words(some, "TF-IDF of words") for some in (told, turned))
    kitchen = before.index.str.startswith("kitchen")
    assert before[kitchen].tolist() == after[kitchen].tolist()
    assert before[~kitchen].tolist() != after[~kitchen].tolist()


def test_benign_requests_are_scored_and_not_learnt_from(told):
    benign = utterance("stage", Intent.BENIGN, 0, "Stab my wife's potatoes")
    harm = harm_by_words([*told, benign], "TF-IDF of words")
    assert harm[benign.id] > 0.5
    assert harm[[u.id for u in told]].equals(harm_by_words(told, "TF-IDF of words"))


@pytest.fixture
def headline(told):
    """Answers of two models to each request and to one imported clip."""
    rows = [
        (f"{u.id}.{condition}", u.id, u.intent.value, model)
        for u in told
        for condition in ("benign_scene", "threatening_scene")
        for model in ("a", "b")
    ]
    rows += [("found", "found", "unlabelled", model) for model in ("a", "b")]
    columns = ["stimulus_id", "utterance_id", "intent", "model"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.assign(
        condition=frame["stimulus_id"].str.rpartition(".")[2],
        voice="af_heart",
        status="failed",
        label=None,
        response="No.",
    )


def test_the_reader_of_words_answers_every_stimulus_of_the_models_once(told, headline):
    trials = words_only.words_only_trials(headline, told)
    assert trials["stimulus_id"].is_unique
    assert set(trials["stimulus_id"]) == set(headline["stimulus_id"]) - {"found"}
    assert set(trials["model"]) == {"words_only"}
    assert trials["response"].isna().all()
    rates = stats.rates(trials, ["intent"]).set_index("intent")["rate"]
    assert rates.to_dict() == {"harmful": 1.0, "pseudo_harmful": 0.0}


def test_the_reader_of_words_hears_nothing(told, headline):
    trials = words_only.words_only_trials(headline, told)
    (row,) = stats.hearing_sensitivity(trials, ["model"]).to_dict("records")
    assert row["d_prime"] == 0


def test_words_alone_do_not_tell_the_shipped_utterances_apart():
    utterances = [u for scenario in load_scenarios().values() for u in scenario.utterances]
    table = auc_by_words(utterances)
    assert (table["auc"] <= MAX_AUC).all(), table
