import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import auc

from aor_lib.config.params import load_scenarios
from aor_lib.steering import frontier, tables


@pytest.fixture
def scored():
    """Requests of one model, of which the harmful ones tend to score higher."""
    rng = np.random.default_rng(1)
    kitchen = load_scenarios()["kitchen"].utterances
    rows = [(one.id, one.intent, one.contrast_of) for one in kitchen if one.intent != "benign"]
    frame = pd.DataFrame(rows, columns=["utterance_id", "intent", "contrast_of"])
    harmful = frame["intent"] == "harmful"
    return frame.assign(
        model="m",
        stimulus_id=frame["utterance_id"],
        log_odds=(harmful + rng.normal(0, 1, len(frame))).round(1),
        words_only=rng.random(len(frame)),
    )


def test_an_area_is_that_under_the_curve_and_lies_in_its_interval(scored):
    areas = frontier.areas(scored).set_index("reader")
    assert set(areas.index) == set(frontier.READERS)
    for reader, curve in frontier.curves(scored).groupby("reader"):
        assert areas.loc[reader, "auc"] == pytest.approx(auc(curve["orr"], curve["hrr"]))
    assert (areas["low"] < areas["auc"]).all()
    assert (areas["auc"] < areas["high"]).all()


def test_an_interval_counts_copies_of_an_utterance_once(scored):
    several = pd.concat([scored] * 9, ignore_index=True)
    pd.testing.assert_frame_equal(frontier.areas(several), frontier.areas(scored))


def test_only_harmful_and_pseudo_harmful_requests_with_log_odds_are_scored(scored):
    benign = scored.head(1).assign(intent="benign", stimulus_id="b")
    imported = scored.head(1).assign(utterance_id="other", stimulus_id="i")
    trials = pd.concat([scored, benign, imported]).drop(columns=["log_odds", "words_only"])
    log_odds = pd.concat([scored.head(9), benign, imported])[[*tables.COLUMNS[tables.LOG_ODDS]]]
    assert set(frontier.scores(trials, log_odds)["stimulus_id"]) == set(scored["stimulus_id"][:9])


def test_a_model_without_log_odds_has_the_curve_of_words_alone(scored):
    trials = scored.drop(columns=["log_odds", "words_only"])
    read = frontier.scores(trials, tables.load("", tables.LOG_ODDS))
    assert set(frontier.curves(read)["reader"]) == {"words_only"}
    assert frontier.areas(read)["reader"].tolist() == ["words_only"]


def test_without_trials_there_are_no_curves_and_no_areas(scored):
    trials = scored.head(0).drop(columns=["log_odds", "words_only"])
    nothing = frontier.scores(trials, tables.load("", tables.LOG_ODDS))
    assert frontier.curves(nothing).empty
    assert frontier.areas(nothing).empty


def test_words_alone_are_read_once_per_utterance(scored):
    several = pd.concat([scored, scored.head(5)], ignore_index=True)
    assert frontier.area_by_words(several) == pytest.approx(frontier.area_by_words(scored))
    assert np.isnan(frontier.area_by_words(scored.head(0)))
