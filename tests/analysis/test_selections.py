import itertools

import pandas as pd
import pytest

from aor_lib.analysis import selections


@pytest.fixture
def trials():
    blocks = ["core", "snr_sweep", "paralinguistics"]
    conditions = ["benign_scene", "speech_only", "noise"]
    rows = itertools.product(["dev", "test"], ["none", "describe_first"], blocks, conditions)
    frame = pd.DataFrame(rows, columns=["split", "arm", "block", "condition"])
    imported = {"split": "dev", "arm": "none", "block": "imported", "condition": "as_found"}
    frame = pd.concat([frame, pd.DataFrame([imported])], ignore_index=True)
    return frame.assign(
        variant=0,
        method=frame["arm"].replace("describe_first", "prompt"),
        is_control=False,
        utterance_id=frame["split"] + "_utterance",
        stimulus_id=frame["split"] + "." + frame["block"] + "." + frame["condition"],
    )


def test_a_split_is_never_mixed_with_the_other_and_imported_clips_are_of_test(trials):
    assert set(selections.of_split(trials, "test")["split"]) == {"test", "dev"}
    assert set(selections.of_split(trials, "test").query("split == 'dev'")["block"]) == {"imported"}
    assert "imported" not in set(selections.of_split(trials, "dev")["block"])


def test_conditions_are_compared_by_one_clip_each_and_quoted_rates_rest_on_all_of_them(trials):
    both = pd.concat([trials, trials[trials["condition"] == "benign_scene"].assign(variant=1)])
    assert set(selections.context(both)["variant"]) == {0}
    assert set(selections.headline(both)["variant"]) == {0, 1}


@pytest.mark.parametrize(
    ("select", "condition", "blocks"),
    [
        (selections.snr, "benign_scene", {"core", "snr_sweep"}),
        (selections.speaker, "speech_only", {"core", "paralinguistics"}),
    ],
)
def test_a_varied_block_is_joined_by_its_core_trials(trials, select, condition, blocks):
    unvaried = trials[(trials["block"] == "core") & (trials["split"] == "test")]
    chosen = select(pd.concat([trials, unvaried.assign(utterance_id="not_varied")]))
    assert set(chosen["condition"]) == {condition}
    assert set(chosen["block"]) == blocks
    assert set(chosen["utterance_id"]) == {"dev_utterance", "test_utterance"}


def test_mitigations_are_compared_on_the_stimuli_that_were_given_with_them(trials):
    trials = trials[trials["split"] == "test"]
    without = trials[trials["arm"] == "none"].assign(stimulus_id="test.never_mitigated")
    control = trials[trials["arm"] == "describe_first"].assign(is_control=True)
    chosen = selections.mitigation(pd.concat([trials, without, control], ignore_index=True))
    assert chosen["kind"].tolist() == ["none", "prompt", "control"]
    assert set(chosen["stimulus_id"]) == {"test.core.benign_scene"}


def test_a_history_is_paired_with_the_very_clip_that_ends_it():
    results = pd.DataFrame(
        [
            ("core", "clip a", "none", None),
            ("multi_turn", "clip a", "none", "long"),
            ("multi_turn", "clip a", "none", "scene_long_before"),
            ("snr_sweep", "clip b", "none", None),
            ("multi_turn", "clip c", "none", "long"),
            ("core", "clip a", "context_reminder", None),
        ],
        columns=["block", "sha256", "arm", "history_id"],
    )
    paired = selections.histories(results)
    assert paired["history_id"].tolist() == ["no_history", "long", "scene_long_before"]
    assert set(paired["sha256"]) == {"clip a"}
    assert selections.histories(results[results["block"] == "core"]).empty
