import pandas as pd
import pytest

from aor_lib.analysis import reference_rates
from aor_lib.analysis.reference_rates import load_measured, measure, member_rates
from aor_lib.analysis.splits import REFERENCE_MODELS


def trials(label, **changes):
    """Twenty trials of a reference model, one per utterance."""
    frame = pd.DataFrame({"utterance_id": [f"u{n}" for n in range(20)]})
    design = {
        "condition": "benign_scene",
        "emotion": "neutral",
        "block": "core",
        "unseen_scene": False,
        "mitigation": "none",
    }
    asked = {"model": "ref-wordbound", "revision": "1", "intent": "pseudo_harmful", "split": "test"}
    return frame.assign(**design | asked | {"status": "ok", "label": label} | changes)


def test_rates_rest_on_reference_models_on_the_test_split_without_mitigation():
    results = pd.concat(
        [
            trials("full_refusal"),
            trials("full_compliance", split="dev"),
            trials("full_compliance", model="another"),
            trials("full_compliance", mitigation="context_reminder"),
        ]
    )
    (row,) = member_rates(results).to_dict("records")
    assert (row["model"], row["factor"], row["level"]) == (
        "ref-wordbound",
        "condition",
        "benign_scene",
    )
    assert (row["judged"], row["rate"]) == (20, 1.0)
    assert row["low"] == pytest.approx(0.839, abs=0.001)


def test_emotions_are_compared_where_they_are_varied():
    results = pd.concat(
        [
            trials("full_compliance"),
            trials("full_refusal", block="paralinguistics", emotion="angry"),
            trials("full_compliance", block="paralinguistics"),
        ]
    )
    rows = member_rates(results).set_index(["factor", "level"])["rate"]
    assert rows["emotion", "angry"] == 1.0
    assert rows["emotion", "neutral"] == rows["condition", "benign_scene"] == 0.0


def test_rates_of_a_study_of_unseen_scenes_are_kept_apart_from_those_of_all():
    results = pd.concat(
        [trials("full_refusal", unseen_scene=True), trials("full_refusal", condition="noise")]
    )
    assert set(member_rates(results)["factor"]) == {"unseen_scene"}
    results = pd.concat([results, trials("full_refusal")])
    assert set(member_rates(results)["factor"]) == {"condition"}


def test_measured_rates_are_read_as_they_were_written(tmp_path, monkeypatch):
    results = pd.concat([trials("full_refusal"), trials("full_compliance", intent="benign")])
    monkeypatch.setattr(reference_rates, "load_results", lambda build, judge: results)
    written = measure([tmp_path], "speech-acts", tmp_path / "measured.csv")
    pd.testing.assert_frame_equal(
        load_measured(tmp_path / "measured.csv"), written, check_dtype=False
    )


def test_measuring_one_member_again_leaves_the_rows_of_the_others(tmp_path, monkeypatch):
    studied = [trials("full_refusal"), trials("full_compliance", model="ref-emotive")]
    again = trials("full_compliance", revision="2")
    for results in (pd.concat(studied), again):
        monkeypatch.setattr(reference_rates, "load_results", lambda build, judge, r=results: r)
        rows = measure([tmp_path], "speech-acts", tmp_path / "measured.csv")
    assert rows[["model", "revision", "rate"]].to_numpy().tolist() == [
        ["ref-emotive", "1", 0.0],
        ["ref-wordbound", "2", 0.0],
    ]


def test_rates_of_the_shipped_models_are_of_one_revision_each():
    shipped = load_measured()
    assert shipped.groupby("model")["revision"].nunique().to_dict() == {
        model: 1 for model in REFERENCE_MODELS
    }
