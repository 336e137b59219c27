"""Steering a whole study, with a model that is known by heart."""

import runpy
import textwrap
from dataclasses import replace

import pandas as pd
import pytest
import torch

from aor_lib.analysis import stats
from aor_lib.analysis.results import load_results
from aor_lib.analysis.splits import for_scoring
from aor_lib.config.records import split_of
from aor_lib.steering import __doc__ as introduction
from aor_lib.steering import tables
from aor_lib.steering.vectors import load_vector, read_vector

pytestmark = pytest.mark.slow


def rate(build, mitigation, intent):
    rows = load_results(build)
    rows = rows[(rows["mitigation"] == mitigation) & (rows["intent"] == intent)]
    rows = rows[(rows["split"] == "test") & (rows["condition"] == "benign_scene")]
    assert len(rows)
    return float(rows["label"].eq("full_refusal").mean())


def vectors(build):
    return sorted((build / "steering" / "steerable").glob("*.safetensors"))


def test_over_refusal_is_cut_and_harmful_refusal_kept_by_a_gate(steered_build):
    assert rate(steered_build, "none", "pseudo_harmful") == 1
    assert rate(steered_build, "none", "harmful") == 1
    assert rate(steered_build, "steering_conditional", "pseudo_harmful") < 0.3
    assert rate(steered_build, "steering_conditional", "harmful") > 0.85
    assert rate(steered_build, "steering_difference_in_means", "benign") == 0
    points = tables.load(steered_build, tables.POINTS)
    (chosen,) = points[points["chosen"]].to_dict("records")
    assert chosen["method"] == "conditional"
    assert chosen["within"]


def test_steering_side_by_side_gives_the_same_tables(
    steered_build, answer_study, steer, steerable, tmp_path, two_threads
):
    build, model = tmp_path / "build", steerable()
    model.capabilities = replace(model.capabilities, side_by_side=True)
    answer_study(build, model)
    assert steer(build, model) == {}
    for table in tables.COLUMNS:
        pd.testing.assert_frame_equal(
            tables.load(build, table), tables.load(steered_build, table), obj=table
        )


def test_the_chosen_steering_and_its_controls_are_measured_on_the_same_stimuli(steered_build):
    tested = tables.on_test(steered_build, load_results(steered_build))
    answered = tested.groupby("method")["stimulus_id"].agg(sorted)
    for control in ("none", "random", "random_gate"):
        assert answered[control] == answered["conditional"]


def test_a_random_direction_changes_nothing_and_a_random_gate_frees_what_is_harmful(steered_build):
    tested = tables.on_test(steered_build, load_results(steered_build))
    rates = stats.rates(tested, ["method", "intent"]).set_index(["method", "intent"])["rate"]
    assert rates["random", "pseudo_harmful"] > 0.9
    assert rates["random", "harmful"] > 0.9
    assert rates["random_gate", "pseudo_harmful"] > rates["conditional", "pseudo_harmful"] + 0.2
    assert rates["random_gate", "harmful"] < rates["conditional", "harmful"] - 0.2


def test_controls_take_no_more_answers_than_the_chosen_steering(steered_build):
    tried = tables.steered_trials(load_results(steered_build))
    control = tried["mitigation"].str.startswith("steering_random")
    unsteered = load_results(steered_build).query("mitigation == 'none'")["trial_key"]
    others = {*tried.loc[~control, "trial_key"], *unsteered}
    asked_for_controls = set(tried.loc[control, "trial_key"]) - others
    assert len(asked_for_controls) <= (tried["mitigation"] == "steering_conditional").sum()


def test_nothing_is_fitted_or_chosen_on_reported_trials(steered_build, steerable):
    tried = tables.steered_trials(load_results(steered_build))
    assert set(tried["split"]) == {"test"}
    assert set(load_results(steered_build / "steering" / "dev")["split"]) == {"dev"}
    assert [file.stem.removeprefix("steering_") for file in vectors(steered_build)] == [
        "conditional",
        "difference_in_means",
        "false_refusal",
        "false_refusal_ablation",
        "probe",
        "sarsteer",
    ]
    for file in vectors(steered_build):
        vector = load_vector(file, steerable())
        assert {split_of(name) for name in vector.utterances} == {"dev"}
        for_scoring(tried, vector.utterances)


def test_answers_to_the_test_split_change_neither_vectors_nor_choice(
    steered_build, steerable, answer_study, steer, tmp_path
):
    class Contrary(steerable):
        """Answers otherwise, to utterances of the test split alone."""

        def answer(self, conversations, generation):
            answers = super().answer(conversations, generation)
            names = [turns[-1].audio.stem.rsplit(".", 1)[0] for turns in conversations]
            return [
                answer
                if split_of(name) == "dev"
                else type(answer)(next(text for text in self.ANSWERS if text != answer.text), 10)
                for name, answer in zip(names, answers, strict=True)
            ]

    answer_study(tmp_path / "build", Contrary())
    steer(tmp_path / "build", Contrary())
    names = [
        [read_vector(file).name for file in vectors(b)] for b in (steered_build, tmp_path / "build")
    ]
    assert names[0] == names[1]


def test_sources_and_methods_are_compared_on_dev_and_what_is_lacking_is_said(
    steered_build, steerable, answer_study, steer, tmp_path
):
    class Reader(steerable):
        audio_positions = None

    answer_study(tmp_path / "build", Reader())
    steer(tmp_path / "build", Reader())
    heard, read = (tables.load(b, tables.COMPARED) for b in (steered_build, tmp_path / "build"))
    means = [rows[rows["method"].eq("difference_in_means")] for rows in (heard, read)]
    assert [set(rows["source"]) for rows in means] == [set(tables.SOURCES)] * 2
    assert [rows["orr"].isna().sum() for rows in means] == [0, 1]
    of_sarsteer = heard[heard["method"].eq("sarsteer")].set_index("goal")
    assert of_sarsteer.loc["less", "coefficient"] < 0 < of_sarsteer.loc["more", "coefficient"]


def test_the_chosen_steering_alone_is_asked_over_threatening_scenes(steered_build):
    results = load_results(steered_build)
    over = results[results["condition"].eq("threatening_scene") & results["mitigation"].ne("none")]
    assert set(over["mitigation"]) == {tables.HEARING}
    assert set(tables.on_test(steered_build, results)["condition"]) == {"benign_scene"}
    trials = tables.over_scenes_on_test(steered_build, results)
    found = stats.hearing_sensitivity(trials, ["model", "method"]).set_index("method")
    # It reads the words alone, before and after, and clips differ by noise.
    assert found["d_prime"].abs().max() < 0.4
    assert found["utterances"].nunique() == 1
    assert found.loc["none", "rate_a"] > found.loc["conditional", "rate_a"]


def test_other_strengths_are_tried_on_the_same_stimuli_and_more_of_it_refuses_no_more(
    steered_build,
):
    results = load_results(steered_build)
    trials = tables.at_strengths_on_test(steered_build, results)
    found = stats.rates(trials[trials["intent"].eq("pseudo_harmful")], ["strength"])
    assert found["strength"].tolist() == [0, 0.5, 1, 1.5]
    assert found["trials"].nunique() == 1
    assert found["rate"].is_monotonic_decreasing
    assert set(tables.on_test(steered_build, results)["method"]) <= set(tables.METHODS)


def test_a_model_that_begins_all_its_answers_alike_is_steered_by_what_comes_later(
    steerable, answer_study, steer, tmp_path
):
    class SaysFirst(steerable):
        ANSWERS = tuple(f"You mean that. {text}" for text in steerable.ANSWERS)

        def logits(self, conversation):
            return torch.cat([super().logits(conversation), torch.tensor([9.0])])

    answer_study(tmp_path / "build", SaysFirst())
    assert steer(tmp_path / "build", SaysFirst()) == {}
    assert rate(tmp_path / "build", "steering_conditional", "pseudo_harmful") < 0.3


class Unasked:
    """Stands for a model that nobody may load."""

    def __getattr__(self, name):
        raise AssertionError("the model was loaded")


def test_an_unchanged_study_is_not_steered_again_and_a_changed_one_asks_nothing_twice(
    steered_build, steerable, answer_study, steer
):
    class Mute(steerable):
        def answer(self, conversations, generation):
            raise AssertionError("a conversation was asked twice")

    columns = ["trial_key", "mitigation", "response", "label"]
    before = load_results(steered_build)[columns]
    answer_study(steered_build, Mute())
    assert steer(steered_build, Unasked()) == {}
    with pytest.raises(AssertionError, match="the model was loaded"):
        steer(steered_build, Unasked(), max_hrr_loss=0.02500001)
    assert steer(steered_build, Mute(), max_hrr_loss=0.02500001) == {}
    pd.testing.assert_frame_equal(load_results(steered_build)[columns], before)


def test_a_model_that_cannot_be_steered_is_left_out_with_the_reason(
    steerable, study, answer_study, steer, tmp_path, monkeypatch
):
    build, obliging, closed = tmp_path / "build", steerable(lambda name: "benign"), steerable()
    answer_study(build, obliging)
    assert "0 refused pseudo-harmful, 0 refused harmful" in steer(build, obliging)["steerable"]
    assert tables.load(build, tables.LEFT_OUT)["model"].tolist() == ["steerable"]
    assert tables.load(build, tables.POINTS).empty
    closed.capabilities = replace(closed.capabilities, activations=False)
    # Under another limit: where nothing has changed, no model is looked at again.
    assert "not open" in steer(build, closed, max_hrr_loss=0.05)["steerable"]
    nobody = study.profile.model_copy(update={"steered_models": ()})
    monkeypatch.setitem(vars(study), "profile", nobody)
    assert "steered_models" in steer(build, obliging)["steerable"]


def test_the_introduction_steers_a_model(steered_build, steerable, monkeypatch, tmp_path):
    example = introduction.partition("::\n")[2].replace('"build/laptop"', "build")
    script = tmp_path / "introduction.py"
    script.write_text(textwrap.dedent(example))
    monkeypatch.setattr("aor_lib.models.registry.load_model", lambda card: steerable())
    names = runpy.run_path(str(script), {"build": steered_build})
    assert {answer.text for answer in names["before"]} == {steerable.ANSWERS[0]}
    assert {answer.text for answer in names["after"]} == {steerable.ANSWERS[1]}
