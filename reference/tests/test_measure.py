import pandas as pd

from aor_lib.config.params import load_model_cards
from aor_lib.models.cascade import Cascade
from reference import measure
from tests.analysis.frames import of_reference_model


def test_rates_rest_on_reference_models_on_the_test_split_without_mitigation():
    others = ({"split": "dev"}, {"model": "another"}, {"arm": "context_reminder"})
    asked = [of_reference_model(20), *(of_reference_model(0, **changes) for changes in others)]
    (row,) = measure.member_rates(pd.concat(asked)).to_dict("records")
    assert (row["model"], row["level"]) == ("ref-wordbound", "benign_scene")
    assert (row["judged"], row["rate"]) == (20, 1.0)


def test_emotions_are_compared_where_they_are_varied():
    varied = {"block": "paralinguistics"}
    angry = of_reference_model(20, emotion="angry", **varied)
    results = pd.concat([of_reference_model(0), angry, of_reference_model(0, **varied)])
    rows = measure.member_rates(results).set_index(["factor", "level"])["rate"]
    assert rows["emotion", "angry"] == 1.0
    assert rows["emotion", "neutral"] == rows["condition", "benign_scene"] == 0.0


def test_measuring_one_member_again_leaves_the_rows_of_the_others(tmp_path, monkeypatch):
    studied = [of_reference_model(20), of_reference_model(0, model="ref-emotive")]
    for results in (pd.concat(studied), of_reference_model(0, revision="2")):
        monkeypatch.setattr(measure, "load_results", lambda build, judge, r=results: r)
        rows = measure.measure([tmp_path], "speech-acts", tmp_path / "measured.csv")
    assert rows[["model", "revision", "rate"]].to_numpy().tolist() == [
        ["ref-emotive", "1", 0.0],
        ["ref-wordbound", "2", 0.0],
    ]


def test_the_committed_rates_are_of_the_reference_models_as_they_ship():
    cards = load_model_cards()
    measured = pd.read_csv(measure.MEASURED, dtype={"revision": str})
    for model, revisions in measured.groupby("model")["revision"].unique().items():
        assert revisions.tolist() == [Cascade(cards[model]).revision], model
