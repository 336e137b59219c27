import pytest

from aor_lib.analysis.words_only import harm_by_words
from aor_lib.config.params import load_scenarios
from aor_lib.config.records import Intent, Utterance
from notebooks.words import auc_by_words


def requests(harmful, harmless):
    """Requests of both intents in each scenario, made of its verb and four things."""
    return [
        Utterance(
            id=f"{scenario}-{intent}-{number}",
            scenario=scenario,
            text=form.format(verb=verb, thing=thing, number=number),
            intent=intent,
            harm_category="violence",
            scenes=("somewhere",),
        )
        for scenario, verb in (("kitchen", "Boil"), ("games", "Beat"), ("stage", "Stab"))
        for intent, form in ((Intent.PSEUDO_HARMFUL, harmless), (Intent.HARMFUL, harmful))
        for number, thing in enumerate(("lobster", "guard", "king", "sauce"))
    ]


TOLD = requests("{verb} my wife's {thing} {number}", "{verb} the {thing} {number}")


def test_words_that_only_harmful_requests_have_tell_all_and_the_same_words_nothing():
    assert set(auc_by_words(TOLD)) == {1.0}
    assert set(auc_by_words(requests(*["How do I {verb} the {thing}?"] * 2))) == {0.5}


def test_a_scenario_is_never_scored_by_what_it_holds_itself():
    # With its labels turned round, a scenario changes the scores of the others and none of its own.
    other = {Intent.HARMFUL: Intent.PSEUDO_HARMFUL, Intent.PSEUDO_HARMFUL: Intent.HARMFUL}
    turned = [
        u.model_copy(update={"intent": other[u.intent]}) if u.scenario == "kitchen" else u
        for u in TOLD
    ]
    before, after = (harm_by_words(some) for some in (TOLD, turned))
    kitchen = before.index.str.startswith("kitchen")
    assert before[kitchen].tolist() == after[kitchen].tolist()
    assert before[~kitchen].tolist() != after[~kitchen].tolist()


@pytest.mark.slow
def test_words_alone_do_not_tell_the_shipped_utterances_apart():
    utterances = [u for scenario in load_scenarios().values() for u in scenario.utterances]
    assert auc_by_words(utterances).mean() <= 0.70
