"""Charts of what a scene changes."""

import pandas as pd
import pytest

from aor_lib.report import scene_charts
from tests.report.conftest import inside, rows_of

ALONE, BENIGN = "speech_only", "benign_scene"


@pytest.fixture
def trials():
    """Three utterances, alone and in their scene: one is freed, the others are refused alike."""
    refused = {("a", ALONE): 1, ("a", BENIGN): 0, ("b", ALONE): 1, ("b", BENIGN): 1}
    refused |= {("c", ALONE): 0, ("c", BENIGN): 0, ("d", ALONE): 1}
    rows = [
        (name, condition, "full_refusal" if no else "full_compliance")
        for (name, condition), no in refused.items()
    ]
    frame = pd.DataFrame(rows, columns=["utterance_id", "condition", "label"])
    return frame.assign(model="m", intent="pseudo_harmful", status="ok", snr_db=6.0)


def test_each_utterance_judged_both_ways_is_a_line_that_says_what_its_scene_changed(trials):
    figure = scene_charts.slopes(trials, title="T", names={"m": "Model M"})
    lines = pd.DataFrame(rows_of(figure))
    assert lines.groupby("utterance_id").size().to_dict() == {"a": 2, "b": 2, "c": 2}
    freed = lines[lines["change"] == "Refused less in its scene"]
    assert set(freed["utterance_id"]) == {"a"}
    ends = freed.set_index("condition")["place"]
    assert ends["Speech only"] > 1 > ends["Benign scene"]
    assert "Model M, refused less in its scene 1" in figure.alt_text


def test_both_changes_of_a_condition_are_one_point():
    changes = pd.DataFrame({"intent": ["harmful", "pseudo_harmful"], "difference": [0, 0.1]})
    changes = changes.assign(model="m", level="noise", low=-0.5, high=0.5)
    (point,) = rows_of(scene_charts.changes_in_both(changes, title="T"))
    assert (point["difference_harmful"], point["difference_pseudo_harmful"]) == (0, 0.1)
    assert "T" in scene_charts.changes_in_both(changes.head(1), title="T").markdown


def test_a_sweep_of_snr_marks_each_utterance_and_says_how_many_there_are(trials):
    swept = pd.concat([trials.assign(snr_db=snr) for snr in (-3.0, 6.0)])
    swept = swept[swept["condition"] == BENIGN]
    figure = scene_charts.over_snr(swept, title="Quieter")
    above = sorted(mark["rate"] > 1 for mark in inside(figure, "utterances"))
    assert above == [False] * 4 + [True] * 2
    assert "n = 3" in figure.title


@pytest.mark.parametrize("draw", [scene_charts.slopes, scene_charts.over_snr])
def test_without_trials_there_is_a_note(trials, draw):
    assert "A title" in draw(trials.head(0), title="A title").markdown
