import pandas as pd
import pytest

from aor_lib.analysis import stats, words_only
from aor_lib.analysis.words_only import auc_by_words, harm_by_words
from aor_lib.config.params import load_scenarios
from aor_lib.config.records import Intent, Utterance

SCENARIOS = ("kitchen", "games", "stage")


def requests(harmful, harmless):
    """Requests of both intents in each scenario, made of its verb and four things."""
    return [
        Utterance(
            id=f"{scenario}-{intent}-{number}",
            scenario=scenario,
            text=form.format(verb=verb, thing=thing, number=number),
            intent=intent,
            scenes=("somewhere",),
        )
        for scenario, verb in zip(SCENARIOS, ("Boil", "Beat", "Stab"), strict=True)
        for intent, form in ((Intent.PSEUDO_HARMFUL, harmless), (Intent.HARMFUL, harmful))
        for number, thing in enumerate(("lobster", "guard", "king", "sauce"))
    ]


@pytest.fixture
def told():
    """Requests whose harmful ones are about somebody's own, with a verb of their scenario."""
    return requests("{verb} my wife's {thing} {number}", "{verb} the {thing} {number}")


def test_words_that_only_harmful_requests_have_tell_all_and_the_same_words_nothing(told):
    alike = requests(*["How do I {verb} the {thing}?"] * 2)
    assert set(auc_by_words(told)["auc"]) == {1.0}
    assert set(auc_by_words(alike)["auc"]) == {0.5}


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
    changes = {"id": "benign", "intent": Intent.BENIGN, "text": "Stab my wife's potatoes"}
    benign = told[-1].model_copy(update=changes)
    harm = harm_by_words([*told, benign], "TF-IDF of words")
    assert harm[benign.id] > 0.5
    assert harm[[u.id for u in told]].equals(harm_by_words(told, "TF-IDF of words"))


@pytest.fixture
def headline(told):
    """Answers of two models to each request and to one imported clip."""
    rows = [(u.id, u.intent.value) for u in told] + [("found", "unlabelled")]
    frame = pd.DataFrame(rows, columns=["utterance_id", "intent"])
    frame = frame.assign(stimulus_id="of " + frame["utterance_id"], status="failed", label=None)
    return pd.concat([frame.assign(model=model, response="No.") for model in ("a", "b")])


def test_the_reader_of_words_answers_every_stimulus_of_the_models_once(told, headline):
    trials = words_only.words_only_trials(headline, told)
    assert trials["stimulus_id"].is_unique
    assert set(trials["stimulus_id"]) == set(headline["stimulus_id"]) - {"of found"}
    assert set(trials["model"]) == {"words_only"}
    assert trials["response"].isna().all()
    rates = stats.rates(trials, ["intent"]).set_index("intent")["rate"]
    assert rates.to_dict() == {"harmful": 1.0, "pseudo_harmful": 0.0}


@pytest.mark.slow
def test_words_alone_do_not_tell_the_shipped_utterances_apart():
    utterances = [u for scenario in load_scenarios().values() for u in scenario.utterances]
    table = auc_by_words(utterances)
    assert (table["auc"] <= 0.70).all(), table
