import pandas as pd

from aor_lib.analysis import reference_rates
from aor_lib.analysis.reference_rates import load_measured, measure, member_rates
from aor_lib.analysis.splits import REFERENCE_MODELS
from aor_lib.config.params import load_model_cards
from aor_lib.models.reference.cascade import Cascade


def test_rates_rest_on_reference_models_on_the_test_split_without_mitigation(asked):
    results = pd.concat(
        [
            asked(20),
            asked(0, split="dev"),
            asked(0, model="another"),
            asked(0, mitigation="context_reminder"),
        ]
    )
    (row,) = member_rates(results).to_dict("records")
    assert (row["model"], row["level"]) == ("ref-wordbound", "benign_scene")
    assert (row["judged"], row["rate"]) == (20, 1.0)


def test_emotions_are_compared_where_they_are_varied(asked):
    results = pd.concat(
        [
            asked(0),
            asked(20, block="paralinguistics", emotion="angry"),
            asked(0, block="paralinguistics"),
        ]
    )
    rows = member_rates(results).set_index(["factor", "level"])["rate"]
    assert rows["emotion", "angry"] == 1.0
    assert rows["emotion", "neutral"] == rows["condition", "benign_scene"] == 0.0


def test_rates_of_a_study_of_unseen_scenes_are_kept_apart_from_those_of_all(asked):
    results = pd.concat([asked(20, unseen_scene=True), asked(20, condition="noise")])
    assert set(member_rates(results)["factor"]) == {"unseen_scene"}
    results = pd.concat([results, asked(20)])
    assert set(member_rates(results)["factor"]) == {"condition"}


def test_measuring_one_member_again_leaves_the_rows_of_the_others(asked, tmp_path, monkeypatch):
    studied = [asked(20), asked(0, model="ref-emotive")]
    again = asked(0, revision="2")
    for results in (pd.concat(studied), again):
        monkeypatch.setattr(reference_rates, "load_results", lambda build, judge, r=results: r)
        rows = measure([tmp_path], "speech-acts", tmp_path / "measured.csv")
    assert rows[["model", "revision", "rate"]].to_numpy().tolist() == [
        ["ref-emotive", "1", 0.0],
        ["ref-wordbound", "2", 0.0],
    ]


def test_the_committed_rates_are_of_the_reference_models_as_they_ship():
    cards = load_model_cards()
    assert load_measured().groupby("model")["revision"].unique().map(list).to_dict() == {
        model: [Cascade(cards[model]).revision] for model in REFERENCE_MODELS
    }
