import pandas as pd
import pytest

from aor_lib.analysis import reference_rates as measured
from aor_lib.analysis.reference_rates import MEMBERS, load_measured, measure, member_rates


def trials(label, **changes):
    """Twenty trials of a member, one an utterance."""
    row = {
        **{"model": "ref-wordbound", "intent": "pseudo_harmful", "condition": "matched"},
        **{"emotion": "neutral", "block": "core", "split": "test", "mitigation": "none"},
        **{"status": "ok", "label": label},
    }
    return pd.DataFrame([row | {"utterance_id": f"u{n}"} | changes for n in range(20)])


def test_rates_are_of_members_on_the_test_split_without_mitigation():
    results = pd.concat(
        [
            trials("full_refusal"),
            trials("full_compliance", split="dev"),
            trials("full_compliance", model="another"),
            trials("full_compliance", mitigation="context_reminder"),
        ]
    )
    (row,) = member_rates(results).to_dict("records")
    assert (row["model"], row["factor"], row["level"]) == ("ref-wordbound", "condition", "matched")
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
    assert rows["emotion", "neutral"] == rows["condition", "matched"] == 0.0


def test_a_study_without_members_has_no_rates():
    assert member_rates(trials("full_refusal", model="another")).empty
    assert len(MEMBERS) == 4


def test_what_was_measured_is_read_as_it_was_written(tmp_path, monkeypatch):
    results = pd.concat([trials("full_refusal"), trials("full_compliance", intent="benign")])
    monkeypatch.setattr(measured, "load_results", lambda build, judge: results.assign(revision="1"))
    written = measure(tmp_path, "speech-acts", tmp_path / "measured.json")
    read = load_measured(tmp_path / "measured.json")
    assert set(read["revision"]) == {"1"}
    assert set(read["judge"]) == {"speech-acts"}
    pd.testing.assert_frame_equal(read[written.columns], written, rtol=1e-3)


def test_where_nothing_was_measured_there_are_columns_without_rows(tmp_path):
    read = load_measured(tmp_path / "measured.json")
    assert read.empty
    assert set(member_rates(trials("full_refusal"))) < set(read.columns)
