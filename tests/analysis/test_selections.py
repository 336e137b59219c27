import itertools

import pandas as pd
import pytest

from aor_lib.analysis import selections


@pytest.fixture
def trials():
    """One trial for each combination of split, mitigation, part of the design and condition."""
    rows = itertools.product(
        ["dev", "test"],
        ["none", "describe_first"],
        ["core", "snr_sweep", "paralinguistics"],
        ["matched", "speech_only", "noise"],
    )
    frame = pd.DataFrame(rows, columns=["split", "mitigation", "block", "condition"])
    imported = {"split": "dev", "mitigation": "none", "block": "imported", "condition": "as_found"}
    frame = pd.concat([frame, pd.DataFrame([imported])], ignore_index=True)
    return frame.assign(
        utterance_id=frame["split"] + "_utterance",
        stimulus_id=frame["split"] + "." + frame["block"] + "." + frame["condition"],
    )


def test_rates_are_reported_on_the_test_split_and_on_imported_clips(trials):
    chosen = selections.report_split(trials)
    assert set(chosen.loc[chosen["block"] != "imported", "split"]) == {"test"}
    assert (chosen["block"] == "imported").sum() == 1
    assert len(chosen) == (trials["split"] == "test").sum() + 1


def test_headline_rates_rest_on_unmitigated_matched_test_clips_and_imported_ones(trials):
    columns = ["split", "mitigation", "block", "condition"]
    assert selections.headline(trials)[columns].to_numpy().tolist() == [
        ["test", "none", "core", "matched"],
        ["dev", "none", "imported", "as_found"],
    ]


@pytest.mark.parametrize(
    ("select", "condition", "blocks"),
    [
        (selections.snr_sweep, "matched", {"core", "snr_sweep"}),
        (selections.varied_speech, "speech_only", {"core", "paralinguistics"}),
    ],
)
def test_a_varied_block_is_joined_by_the_core_trials_of_its_utterances(
    trials, select, condition, blocks
):
    unvaried = trials[(trials["block"] == "core") & (trials["split"] == "test")]
    chosen = select(pd.concat([trials, unvaried.assign(utterance_id="not_varied")]))
    assert set(chosen["condition"]) == {condition}
    assert set(chosen["block"]) == blocks
    assert set(chosen["utterance_id"]) == {"dev_utterance", "test_utterance"}


def test_mitigations_are_compared_on_the_stimuli_that_were_given_with_them(trials):
    without = trials[trials["mitigation"] == "none"].assign(stimulus_id="test.never_mitigated")
    chosen = selections.compared_mitigations(
        pd.concat([trials, without], ignore_index=True), ["describe_first"]
    )
    assert chosen["mitigation"].tolist() == ["none", "describe_first"]
    assert set(chosen["stimulus_id"]) == {"test.core.matched"}


def test_a_clip_after_a_history_is_paired_with_the_same_clip_alone():
    trials = pd.DataFrame(
        [
            ("a.matched", "core", "clip a", "none"),
            ("a.matched", "core", "clip a", "describe_first"),
            ("a.matched.after_film_set", "multi_turn", "clip a", "none"),
            ("b.matched", "core", "clip b", "none"),
            ("c.matched.after_film_set", "multi_turn", "clip c", "none"),
        ],
        columns=["stimulus_id", "block", "sha256", "mitigation"],
    )
    paired = selections.paired_with_histories(trials)
    assert paired["history_id"].tolist() == [selections.NO_HISTORY, "film_set"]
    assert set(paired["sha256"]) == {"clip a"}
