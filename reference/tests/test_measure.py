import pandas as pd

from aor_lib.config.params import load_model_cards
from aor_lib.models.cascade import Cascade
from reference import measure
from tests.analysis.frames import of_reference_model


def test_rates_rest_on_unmitigated_reference_models_on_the_test_split_by_emotion_where_varied():
    others = ({"split": "dev"}, {"model": "another"}, {"arm": "context_reminder"})
    others += ({"block": "paralinguistics"},)
    angry = of_reference_model(20, emotion="angry", block="paralinguistics")
    asked = [of_reference_model(20), angry, *(of_reference_model(0, **some) for some in others)]
    rows = measure.member_rates(pd.concat(asked)).set_index(["model", "factor", "level"])
    rates = {("condition", "benign_scene"): 1, ("emotion", "angry"): 1, ("emotion", "neutral"): 0}
    assert rows["rate"].to_dict() == {("ref-wordbound", *key): r for key, r in rates.items()}
    assert (rows["judged"] == 20).all()


def test_measuring_one_member_again_leaves_the_rows_of_the_others(tmp_path, monkeypatch):
    studied = [of_reference_model(20), of_reference_model(0, model="ref-emotive")]
    for results in (pd.concat(studied), of_reference_model(0, revision="2")):
        monkeypatch.setattr(measure, "load_results", lambda build, judge, r=results: r)
        rows = measure.measure([tmp_path], "speech-acts", tmp_path / "measured.csv")
    found = rows[["model", "revision", "rate"]].to_numpy().tolist()
    assert found == [["ref-emotive", "1", 0.0], ["ref-wordbound", "2", 0.0]]


def test_the_committed_rates_are_of_the_reference_models_as_they_ship():
    cards = load_model_cards()
    measured = pd.read_csv(measure.MEASURED, dtype={"revision": str})
    for model, revisions in measured.groupby("model")["revision"].unique().items():
        assert revisions.tolist() == [Cascade(cards[model]).revision], model
