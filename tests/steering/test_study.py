from dataclasses import replace

import pandas as pd
import pytest

from aor_lib.analysis.results import load_results
from aor_lib.analysis.selections import steering, unmitigated
from aor_lib.analysis.stats import intervals
from aor_lib.config.records import Split, split_of
from aor_lib.models.base import Answer, Failure, ModelError
from aor_lib.steering import SteeringError, tables
from aor_lib.steering.study import steer_model
from aor_lib.steering.trials import RANDOM, as_mitigation
from aor_lib.stimuli.manifest import MANIFEST, load_manifest, write_manifest
from tests.steering.conftest import STIMULI, STUDY, Steerable, answer_study, steer, trials_in

pytestmark = pytest.mark.slow


@pytest.fixture
def tested(steered_build):
    return steering(load_results(steered_build))


def test_a_gate_cuts_over_refusal_alone_and_random_ones_do_not(tested, steered_build):
    rates = intervals.rates(tested, ["method", "intent"]).set_index(["method", "intent"])["rate"]
    assert rates["none", "pseudo_harmful"] == rates["none", "harmful"] == 1
    assert rates["conditional", "pseudo_harmful"] < 0.3
    assert rates["conditional", "harmful"] > 0.85
    points = tables.load(steered_build, tables.POINTS)
    (chosen,) = points[points["chosen"]].to_dict("records")
    assert chosen["mitigation"] == "steering_conditional"
    assert rates["random", "pseudo_harmful"] > 0.9
    assert rates["random_gate", "pseudo_harmful"] > rates["conditional", "pseudo_harmful"] + 0.2
    assert rates["random_gate", "harmful"] < rates["conditional", "harmful"] - 0.2


def test_every_method_and_its_controls_are_asked_on_the_same_stimuli(tested):
    answered = tested.groupby("method")["stimulus_id"].agg(sorted)
    assert {"linear_probe", "random", "random_gate"} < set(answered.index)
    assert all(stimuli == answered["none"] for stimuli in answered.drop("random"))
    assert set(tested["split"]) == {"test"}
    assert set(tested.loc[tested["is_control"], "method"]) == {"random", "random_gate"}
    assert tested.loc[tested["method"].ne("none"), "label"].notna().all()
    random = tested[tested["method"] == "random"]
    assert set(random["intent"]) == {"pseudo_harmful"}
    stimuli = random.groupby("mitigation")["stimulus_id"].agg(lambda ids: tuple(sorted(ids)))
    assert (len(stimuli), stimuli.nunique()) == (RANDOM, 1)


def test_answers_to_the_test_split_change_neither_vectors_nor_choice(steered_build, tmp_path):
    class Contrary(Steerable):
        """Answers otherwise, to utterances of the test split alone."""

        def answer(self, conversations, generation):
            answers = super().answer(conversations, generation)
            names = [turns[-1].audio.stem.rsplit(".", 1)[0] for turns in conversations]
            other = dict(zip(self.ANSWERS, reversed(self.ANSWERS), strict=True))
            return [
                answer if split_of(name) == "dev" else replace(answer, text=other[answer.text])
                for name, answer in zip(names, answers, strict=True)
            ]

    answer_study(tmp_path / "build", Contrary())
    steer(tmp_path / "build", Contrary())
    # A trial's key holds what is asked under which vector.
    before, after = (load_results(one) for one in (steered_build, tmp_path / "build"))
    assert set(after["trial_key"]) == set(before["trial_key"])


def test_the_chosen_steering_is_asked_over_threatening_scenes(steered_build):
    over = steering(load_results(steered_build), tables.HEARING)
    assert set(over["method"]) == {"none", "conditional"}
    assert set(over["condition"]) == {"benign_scene", "threatening_scene"}
    assert over.groupby(["method", "condition"]).size().nunique() == 1


def test_an_unchanged_study_is_not_steered_again_and_a_changed_or_partial_one_asks_nothing_twice(
    steered_build, monkeypatch
):
    class Wordier(Steerable):
        ANSWERS = tuple(f"{text} Again." for text in Steerable.ANSWERS)

    columns = ["trial_key", "mitigation", "response", "label"]
    before = load_results(steered_build)[columns]
    assert steer(steered_build, None) == {}  # no model is loaded
    monkeypatch.setattr("aor_lib.steering.study.VERSION", "another")
    assert steer(steered_build, Wordier()) == {}
    (steered_build / tables.FOLDER / f"{tables.FITTED}.parquet").unlink()
    assert steer(steered_build, Wordier()) == {}
    assert not tables.load(steered_build, tables.FITTED).empty
    pd.testing.assert_frame_equal(load_results(steered_build)[columns], before)


def test_a_model_that_cannot_be_steered_is_left_out_with_the_reason(tmp_path):
    build, obliging = tmp_path / "build", Steerable(lambda name: "benign")
    card = obliging.card.model_copy(update={"kind": "openai_api"})
    closed = STUDY.model_copy(update={"models": (card,)})
    assert tables.load(build, tables.POINTS).empty
    answer_study(build, obliging)
    assert "'refused pseudo-harmful': 0" in steer(build, obliging)["steerable"]
    assert tables.load(build, tables.LEFT_OUT)["model"].tolist() == ["steerable"]
    assert tables.load(build, tables.POINTS).empty
    # Where nothing has changed, no model is looked at again.
    for column, value, study, reason in (
        ("intent", "benign", closed, "not open"),
        ("utterance_id", "another", STUDY, "'refused pseudo-harmful': 0"),
        ("split", "test", closed, "not open"),
    ):
        load_manifest(build).assign(**{column: value}).to_parquet(build / MANIFEST)
        assert reason in steer(build, obliging, study)["steerable"], column
    tried = []

    def unable(card):
        tried.append(card.id)
        raise ModelError("there is no GPU")

    for _ in range(2):  # and is tried again
        with pytest.raises(ModelError, match="no GPU"):
            steer(build, unable)
    assert len(tried) == 2
    nobody = STUDY.profile.model_copy(update={"steered_models": ()})
    study = STUDY.model_copy(update={"profile": nobody})
    assert "steered_models" in steer(build, obliging, study)["steerable"]


@pytest.mark.parametrize("intent", ["pseudo_harmful", "harmful"])
def test_what_was_asked_nothing_of_a_kind_over_benign_scenes_is_not_steered(steered_build, intent):
    answers = unmitigated(load_results(steered_build))
    condition = answers["condition"].mask(answers["intent"] == intent, "threatening_scene")
    with pytest.raises(SteeringError, match="benign scenes"):
        steer_model(trials_in(steered_build, Steerable()), answers.assign(condition=condition))


def test_failures_are_asked_once_more_and_counted_and_stop_nothing(tmp_path, caplog):
    model, failed, answered = Steerable(), Failure("empty answer"), Answer("Sure!", 1)
    passes = iter([[failed] * 4, [answered, failed, answered, failed]])
    model.answer = lambda asked, generation: next(passes)
    write_manifest(STIMULI, tmp_path)
    part = (as_mitigation("all", "linear_probe"), None, STIMULI[:4])
    rows = trials_in(tmp_path, model).ask([part], Split.TEST)
    assert rows["status"].value_counts().to_dict() == {"ok": 2, "failed": 2}
    assert "2 steered trials" in caplog.text
