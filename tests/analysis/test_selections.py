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
        ["benign_scene", "speech_only", "noise"],
    )
    frame = pd.DataFrame(rows, columns=["split", "mitigation", "block", "condition"])
    imported = {"split": "dev", "mitigation": "none", "block": "imported", "condition": "as_found"}
    frame = pd.concat([frame, pd.DataFrame([imported])], ignore_index=True)
    return frame.assign(
        utterance_id=frame["split"] + "_utterance",
        stimulus_id=frame["split"] + "." + frame["block"] + "." + frame["condition"],
    )


def test_headline_rates_rest_on_unmitigated_matched_test_clips_and_imported_ones(trials):
    columns = ["split", "mitigation", "block", "condition"]
    assert selections.headline(trials)[columns].to_numpy().tolist() == [
        ["test", "none", "core", "benign_scene"],
        ["dev", "none", "imported", "as_found"],
    ]


def test_the_three_kinds_of_scene_are_selected_in_the_core_design(trials):
    kinds = [
        {"block": block, "condition": f"{kind}_scene"}
        for block in ("core", "snr_sweep")
        for kind in ("benign", "neutral", "threatening")
    ]
    chosen = selections.over_scenes(pd.concat([trials, pd.DataFrame(kinds)]))
    assert set(chosen["condition"]) == {"benign_scene", "neutral_scene", "threatening_scene"}
    assert set(chosen["block"]) == {"core"}


@pytest.mark.parametrize(
    ("select", "condition", "blocks"),
    [
        (selections.snr_sweep, "benign_scene", {"core", "snr_sweep"}),
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
    assert set(chosen["stimulus_id"]) == {"test.core.benign_scene"}


def test_a_history_is_paired_with_the_very_clip_that_ends_it():
    results = pd.DataFrame(
        [
            ("u1.benign_scene.snr6", "core", "clip a", "none"),
            ("u1.benign_scene.snr6.after_long", "multi_turn", "clip a", "none"),
            ("u1.benign_scene.snr6.after_scene_long_before", "multi_turn", "clip a", "none"),
            ("u1.benign_scene.snr12", "snr_sweep", "clip b", "none"),
            ("u2.benign_scene.snr6.after_long", "multi_turn", "clip c", "none"),
            ("u1.benign_scene.snr6", "core", "clip a", "context_reminder"),
        ],
        columns=["stimulus_id", "block", "sha256", "mitigation"],
    )
    paired = selections.paired_with_histories(results)
    assert paired["history_id"].tolist() == [selections.NO_HISTORY, "long", "scene_long_before"]
    assert set(paired["sha256"]) == {"clip a"}
    without = selections.paired_with_histories(results[results["block"] == "core"])
    assert without.empty
    assert "history_id" in without
