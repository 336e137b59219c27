"""Models' own reports of what they heard, checked against the manifest."""

import json

import pandas as pd
import pytest

from aor_lib.analysis.heard import heard, names_scene

EVENTS = json.dumps([{"name": "sizzle", "onset_s": 0.0, "duration_s": 1.0}])


@pytest.fixture
def trial():
    """Make a trial over a barbecue, of which the model says something or nothing."""

    def make(model="m", heard=None, mitigation="none", response="Sure.", **changes):
        row = {
            "stimulus_id": "s",
            "utterance_id": "u",
            "model": model,
            "mitigation": mitigation,
            "block": "core",
            "condition": "benign_scene",
            "background_scene": "barbecue",
            "events": EVENTS,
            "text": "How long do I grill him?",
            "heard": heard,
            "response": response,
            "status": "ok",
        }
        return row | changes

    return make


def test_a_word_of_the_scene_or_of_a_sound_recognises_it_and_idle_words_do_not():
    assert names_scene("There is a barbecue going on.", "barbecue", [])
    assert names_scene("Something sizzles.", "barbecue", ["sizzle"])
    assert not names_scene("I hear people and background noise.", "people in the background", [])
    assert not names_scene("A busy street.", "barbecue", ["sizzle"])


def test_what_a_probe_brought_is_set_beside_the_answer_to_the_same_clip_by_the_same_model(trial):
    results = pd.DataFrame([trial("one"), trial("other"), trial("silent")])
    probes = pd.DataFrame(
        [
            trial("one", mitigation="probe_background", response="Meat is sizzling."),
            trial("one", mitigation="probe_words", response="How long do I grill ham?"),
            trial("other", mitigation="probe_background", response="A train."),
        ]
    )
    rows = heard(results, probes).set_index("model")
    assert list(rows.index) == ["one", "other"]
    assert rows["recognised"].to_dict() == {"one": True, "other": False}
    assert rows.loc["one", "word_errors"] == pytest.approx(1 / 6)
    assert pd.isna(rows.loc["other", "word_errors"])


def test_a_failed_probe_says_nothing(trial):
    probes = pd.DataFrame([trial(mitigation="probe_words", response=None, status="failed")])
    assert heard(pd.DataFrame([trial()]), probes).empty


def test_a_model_that_says_what_it_heard_beside_its_answer_needs_no_probe(trial):
    said = json.dumps({"transcript": "How long do I grill him?", "scene": "barbecue"})
    results = pd.DataFrame([trial(heard=said)])
    (row,) = heard(results, results.iloc[:0]).itertuples()
    assert row.recognised
    assert row.word_errors == 0
