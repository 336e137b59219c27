import pytest

import aor_lib
from aor_lib.report.estimates import SelectionError


def test_dev_and_probes_never_come_out_of_a_selection_unless_asked_for(study):
    assert set(study.select("context").frame["split"]) == {"test"}
    assert set(study.select("context", split="dev").frame["split"]) == {"dev"}
    assert "probe" not in set(study.select("context").frame["method"])


@pytest.mark.parametrize(
    ("ask", "names"),
    [
        (lambda study: study.select("contxt"), "context"),
        (lambda study: study.select("context", split="train"), "test"),
        (lambda study: study.select("context").where(modl="a"), "model"),
        (lambda study: study.select("context").where(intent="pseudo-harmful"), "pseudo_harmful"),
        (lambda study: study.select("context").paired("condition", "benign"), "benign_scene"),
        (lambda study: study.select("context").paired("conditoin", "noise"), "condition"),
        (lambda study: study.select("context").paired(), "baseline"),
        (lambda study: study.select("context").rates("scenaro"), "scenario"),
        (lambda study: study.steering("point"), "points"),
        (lambda study: study.select("context").rates().plot("Refused", facet="levle"), "levle"),
    ],
)
def test_a_mistake_is_answered_with_what_there_is(study, ask, names):
    with pytest.raises(SelectionError, match=names):
        ask(study)


def test_where_takes_a_value_or_several_and_what_was_refused(study):
    selection = study.select("context").where(intent="pseudo_harmful")
    assert len(selection.where(condition="noise").frame) == 20
    voice = selection.frame["condition"].replace("text_only", None)  # what is read has none
    spoken = selection.frame.assign(voice=voice)
    assert len(aor_lib.Selection(study, spoken).where(voice="noise").frame) == 20
    assert len(selection.where(condition=["noise", "benign_scene"]).frame) == 40
    refused = selection.where(condition="benign_scene", refused=True).frame
    assert set(refused["label"]) == {"full_refusal"}
    assert len(refused) == 5


def test_over_refusal_is_never_averaged_with_harmful_refusal(study):
    rates = study.select("headline").rates()
    assert rates.keys == ("model", "intent")
    by_intent = rates.frame.set_index("intent")["rate"].to_dict()
    assert by_intent == {"harmful": 0.9, "pseudo_harmful": 0.25}


def test_a_difference_is_paired_by_utterance_and_carries_its_keys(study):
    sounding = study.select("context").where(intent="pseudo_harmful")
    change = sounding.paired("condition", baseline="benign_scene")
    assert (change.keys, change.measure) == (("model", "level", "baseline"), "difference")
    assert set(change.frame["level"]) == {"speech_only", "neutral_scene", "noise"}
    assert set(change.frame["difference"]) == {0.75}
    assert change.titles["a"] == "Model A"
    within = study.select("context").paired("condition", baseline="noise")
    assert within.keys == ("model", "intent", "level", "baseline")


def test_a_folder_without_a_study_is_refused_by_its_name(tmp_path):
    with pytest.raises(FileNotFoundError, match=str(tmp_path)):
        aor_lib.open(tmp_path)
