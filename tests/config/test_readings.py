import pytest

from aor_lib.analysis.results import load_readings, marks
from aor_lib.config.params import load_scenarios

UTTERANCES = {u.id: u for scenario in load_scenarios().values() for u in scenario.utterances}
THREATENED = [u.id for u in UTTERANCES.values() if u.threatening_scenes]
READINGS = load_readings()


@pytest.mark.parametrize("reader", ["a", "b"])
def test_each_reader_read_all_utterances_once_and_most_are_what_they_claim_to_be(reader):
    read = READINGS[READINGS["reader"] == reader].set_index("id")
    assert sorted(read.index) == sorted(UTTERANCES)
    sounding = read[read.index.str.contains("-ph-")]
    threats = sounding.loc[sounding.index.intersection(THREATENED), "threat"]
    assert (sounding["words"] != "no").mean() >= 0.95
    assert (sounding["words"] == "yes").mean() >= 0.65
    assert (sounding["scene"] == "yes").mean() >= 0.90
    assert (sounding["natural"] == "yes").mean() >= 0.85
    assert (sounding["domain"] != "none").mean() <= 0.15
    assert (threats == "yes").mean() >= 0.80
    assert (read[read.index.str.contains("-h-")]["always"] == "yes").mean() >= 0.95


def test_marks_follow_from_both_readings():
    strict = (READINGS.pivot(index="id", columns="reader")["words"] == "yes").all(axis=1)
    assert marks()["strict"].to_dict() == strict.to_dict()
    assert 0 < marks()["told_by_words"].mean() < 0.15


def test_only_requests_with_a_threatening_scene_have_an_answer_on_it():
    answered = READINGS.loc[READINGS["threat"].notna(), "id"]
    assert set(answered) <= set(THREATENED)
    assert {name for name in THREATENED if "-ph-" in name} <= set(answered)
