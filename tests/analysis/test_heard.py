"""Models' own reports of what they heard, checked against the manifest."""

import json

import pandas as pd

from aor_lib.analysis.heard import heard


def trial(**changes):
    """Make a trial over a barbecue, of which the model says something or nothing."""
    row = {
        "stimulus_id": "s",
        "model": "m",
        "mitigation": "none",
        "block": "core",
        "condition": "benign_scene",
        "background_scene": "barbecue",
        "events": json.dumps([{"name": "sizzle"}]),
        "text": "How long do I grill him?",
        "heard": None,
        "response": "Sure.",
        "status": "ok",
    }
    return row | changes


def test_what_a_model_heard_is_what_it_says_to_a_probe_of_the_same_clip_or_beside_its_answer():
    said = json.dumps({"transcript": "How long do I grill him?", "sounds": "sizzling meat"})
    results = pd.DataFrame([trial(model=model) for model in ("one", "other", "silent")])
    results = pd.concat([results, pd.DataFrame([trial(model="unasked", heard=said)])])
    probes = pd.DataFrame(
        [
            trial(model="one", mitigation="probe_background", response="Meat is sizzling."),
            trial(model="other", mitigation="probe_background", response="A train."),
            trial(model="silent", mitigation="probe_background", response=None, status="failed"),
        ]
    )
    rows = heard(results.reset_index(drop=True), probes).set_index("model")
    assert rows["recognised"].to_dict() == {"one": True, "other": False, "unasked": True}
