import pandas as pd
import pytest

from aor_lib.analysis.results import load_results, model_titles
from aor_lib.config.params import ModelCard, load_study
from aor_lib.inference.engine import answer_trials, plan_trials, record_plan
from aor_lib.inference.provenance import record_cards
from aor_lib.inference.store import STORE, Store
from aor_lib.judge import DEFAULT_JUDGE, JUDGES, judge_responses
from aor_lib.models.base import Answer
from aor_lib.stimuli import rendering
from aor_lib.stimuli.design import stimuli
from aor_lib.stimuli.manifest import MANIFEST, load_manifest, load_stimuli

CARD = ModelCard(id="echo", title="", family="", kind="cascade", licence="", source="")


@pytest.fixture
def build(write_profile, tmp_path, scripted_model):
    """A study of texts only, answered by a stand-in and judged."""
    model = scripted_model(lambda text: Answer("I'm sorry, but I can't help with that.", 9))
    study = load_study(write_profile(conditions=["text_only", "described"]))
    settings = study.profile.mixing
    made = [rendering.render(spec, settings, None) for spec in stimuli(study)]
    rows = [one.row.model_dump(mode="json") for one in made]
    pd.DataFrame(rows).to_parquet(tmp_path / MANIFEST)
    trials = plan_trials(study, load_stimuli(tmp_path), [model])
    with Store(tmp_path / STORE) as store:
        record_plan(store, trials, [model])
        answer_trials(
            trials, [model], load_stimuli(tmp_path), tmp_path, store, lambda progress: None
        )
        unjudged = list(store.unjudged("rules", "1"))
        verdicts = judge_responses(unjudged, JUDGES[DEFAULT_JUDGE], [None] * len(unjudged))
        store.record_verdicts(zip(unjudged, verdicts, strict=True))
    return tmp_path


def test_answers_to_harmful_utterances_are_labelled_and_not_shown(build):
    results = load_results(build)
    harmful = results["intent"] == "harmful"
    assert harmful.any()
    assert results.loc[harmful, ["response", "rationale"]].isna().all(axis=None)
    assert results.loc[~harmful, "response"].notna().all()
    assert set(results["label"]) == {"full_refusal"}
    assert len(results) == len(load_manifest(build))


def test_models_are_called_by_the_titles_of_their_cards_and_told_apart(build):
    cards = [
        CARD.model_copy(update={"id": name, "title": title})
        for name, title in {"a": "The same", "b": "The same", "c": "Another", "d": " "}.items()
    ]
    with Store(build / STORE) as store:
        record_cards(store, cards)
    assert model_titles(build, ["a", "b", "c", "d", "unknown"]) == {
        "a": "The same (a)",
        "b": "The same (b)",
        "c": "Another",
        "d": "d",
        "unknown": "unknown",
    }
    assert model_titles(build, ["a", "c"])["a"] == "The same"
