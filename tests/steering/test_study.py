"""Steering a whole study, with a model that is known by heart."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pandas as pd
import pytest
import yaml

from aor_lib.analysis.results import load_results
from aor_lib.analysis.splits import for_scoring
from aor_lib.config.params import load_study
from aor_lib.config.records import Stimulus, content_hash, split_of
from aor_lib.inference.engine import plan_trials, run_trials
from aor_lib.inference.store import STORE, Store
from aor_lib.judge import JUDGES
from aor_lib.judge.study import judge_study
from aor_lib.steering import tables
from aor_lib.steering.fitting import RANDOM
from aor_lib.steering.layer_sweep import COEFFICIENTS
from aor_lib.steering.study import steer_study
from aor_lib.steering.vectors import load_vector, read_vector
from aor_lib.stimuli.manifest import MANIFEST
from tests.cli.test_cli import aor, one_line_error
from tests.conftest import TINY
from tests.steering.steerable import ANSWERS, Steerable

JUDGE = JUDGES["speech-acts"]
INTENTS = {"pseudo_harmful": 90, "harmful": 60, "benign": 30}


@pytest.fixture(autouse=True, scope="module")
def nobody_reads():
    """Perplexity takes a language model; it is tested by itself."""
    columns = tables.COLUMNS[tables.FLUENCY][1:]
    unread = pd.DataFrame(columns=list(columns))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("aor_lib.steering.study.fluency", lambda results, report: unread)
        yield


def silent(_: str):
    return contextlib.nullcontext(lambda done, of: None)


def stimuli(counts: dict[str, int]) -> list[Stimulus]:
    """Clips that need not exist: each names what it means."""
    return [
        Stimulus.model_validate(
            dict.fromkeys(Stimulus.model_fields)
            | {
                "stimulus_id": f"{intent}.{n}.{condition}",
                "utterance_id": f"{intent}.{n}",
                "scenario": "kitchen",
                "intent": intent,
                "text": f"{intent} {n}",
                "events": "[]",
                "history": "[]",
                "seed": 0,
                "block": "core",
                "condition": condition,
                "path": f"clips/{intent}.{n}.{condition}.flac",
                "sha256": content_hash([intent, n, condition]),
                "split": split_of(f"{intent}.{n}"),
            }
        )
        for intent, count in counts.items()
        for n in range(count)
        for condition in ("matched", "speech_only")
    ]


def intent_of(name: str) -> str:
    return name.split(".")[0]


def answered(folder: Path, study, model, counts=INTENTS) -> None:
    """Answer and judge a study of such stimuli."""
    made = stimuli(counts)
    rows = [stimulus.model_dump(mode="json") for stimulus in made]
    folder.mkdir(exist_ok=True)
    pd.DataFrame(rows).to_parquet(folder / MANIFEST)
    with Store(folder / STORE) as store:
        run_trials(
            *(plan_trials(study, made, [model]), [model], made, folder, store),
            lambda progress: None,
        )
    judge_study(folder, JUDGE, lambda done, of: None)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("profile") / "tiny.yaml"
    path.write_text(yaml.safe_dump(TINY | {"models": ["ref-permissive"], "mitigations": ["none"]}))
    return load_study(path)


@pytest.fixture(scope="module")
def steered(study, tmp_path_factory):
    model = Steerable(intent_of)
    build = tmp_path_factory.mktemp("study") / "build"
    answered(build, study, model)
    assert steer_study(study, build, [model], JUDGE, silent) == {}
    return model, build


def rate(results, mitigation: str, intent: str, split: str = "test") -> float:
    rows = results[
        (results["mitigation"] == mitigation)
        & (results["intent"] == intent)
        & (results["split"] == split)
        & (results["condition"] == "matched")
    ]
    assert len(rows)
    return float(rows["label"].eq("full_refusal").mean())


def test_over_refusal_is_cut_and_harmful_refusal_kept_where_a_gate_can_tell_them_apart(steered):
    _, build = steered
    results = load_results(build)
    assert rate(results, "none", "pseudo_harmful") == rate(results, "none", "harmful") == 1
    assert rate(results, "steering_conditional", "pseudo_harmful") < 0.3
    assert rate(results, "steering_conditional", "harmful") > 0.85
    assert rate(results, "steering_difference_in_means", "benign") == 0
    points = tables.load(build, tables.POINTS)
    (chosen,) = points[points["chosen"]].to_dict("records")
    assert chosen["method"] == "conditional"
    assert chosen["within"]


def test_random_directions_in_the_place_of_the_chosen_one_change_nothing(steered):
    _, build = steered
    results = load_results(build)
    for seed in range(1, RANDOM + 1):
        assert rate(results, f"steering_random_{seed}", "pseudo_harmful") > 0.9
        assert rate(results, f"steering_random_{seed}", "harmful") > 0.9


def test_nothing_is_fitted_or_chosen_on_what_is_reported(steered):
    model, build = steered
    results = load_results(build)
    tried = results[results["mitigation"].str.startswith("steering_")]
    assert set(tried["split"]) == {"test"}
    assert set(load_results(build / "steering" / "dev")["split"]) == {"dev"}
    files = sorted((build / "steering" / "steerable").glob("*.safetensors"))
    assert [file.stem for file in files] == [
        *("steering_conditional", "steering_difference_in_means", "steering_false_refusal"),
        *("steering_false_refusal_ablation", "steering_probe"),
    ]
    for file in files:
        vector = load_vector(file, model)
        assert {split_of(name) for name in vector.utterances} == {"dev"}
        for_scoring(tried, vector.utterances)


def test_what_the_test_split_says_changes_neither_vectors_nor_choice(study, tmp_path):
    class Contrary(Steerable):
        """Answers otherwise, to utterances of the test split alone."""

        def answer(self, conversations, generation):
            answers = super().answer(conversations, generation)
            names = [turns[-1].audio.stem.rsplit(".", 1)[0] for turns in conversations]
            return [
                answer
                if split_of(name) == "dev"
                else type(answer)(next(text for text in ANSWERS if text != answer.text), 10)
                for name, answer in zip(names, answers, strict=True)
            ]

    found = []
    for kind in (Steerable, Contrary):
        build, model = tmp_path / kind.__name__, kind(intent_of)
        answered(build, study, model)
        steer_study(study, build, [model], JUDGE, silent)
        files = sorted((build / "steering" / "steerable").glob("*.safetensors"))
        found.append([read_vector(file).name for file in files])
    assert found[0] == found[1]


def test_answers_are_asked_once_and_stay_when_the_study_is_run_again(study, steered):
    _, build = steered
    before = load_results(build)
    asked = []

    class Counting(Steerable):
        def answer(self, conversations, generation):
            asked.extend(conversations)
            return super().answer(conversations, generation)

    again = Counting(intent_of)
    made = stimuli(INTENTS)
    with Store(build / STORE) as store:
        run_trials(
            *(plan_trials(study, made, [again]), [again], made, build, store),
            lambda progress: None,
        )
    pd.testing.assert_frame_equal(load_results(build), before)
    steer_study(study, build, [again], JUDGE, silent)
    assert asked == []
    columns = ["trial_key", "mitigation", "response", "label"]
    pd.testing.assert_frame_equal(load_results(build)[columns], before[columns])


def test_a_model_that_cannot_be_steered_is_left_out_and_said_why(study, tmp_path):
    build, model = tmp_path / "build", Steerable(lambda name: "benign", "obliging")
    answered(build, study, model)
    left_out = steer_study(study, build, [model], JUDGE, silent)
    assert "0 refused pseudo-harmful, 0 refused harmful" in left_out["obliging"]
    assert tables.load(build, tables.LEFT_OUT)["model"].tolist() == ["obliging"]
    assert tables.load(build, tables.POINTS).empty
    other = Steerable(intent_of, "unasked")
    assert "run 'aor run'" in steer_study(study, build, [other], JUDGE, silent)["unasked"]


@pytest.mark.slow
def test_the_verb_says_what_comes_before_it(write_profile, tmp_path):
    line = one_line_error(aor("steer", write_profile(), "--build", tmp_path / "b"))
    assert line.endswith("results.sqlite does not exist; run 'aor run' first")


def test_the_tables_hold_what_was_looked_at_and_the_rates_without_steering(steered):
    _, build = steered
    points = tables.load(build, tables.POINTS)
    (none,) = points[points["method"] == "none"].to_dict("records")
    assert (none["orr"], none["hrr"], none["plain"]) == (1, 1, 0)
    scan = tables.load(build, tables.SCAN)
    assert set(scan["method"]) >= {"difference_in_means", "probe", "false_refusal_ablation"}
    tried = scan.loc[scan["method"] == "difference_in_means", "coefficient"]
    assert set(tried) == set(COEFFICIENTS)
    projections = tables.load(build, tables.PROJECTIONS)
    assert set(projections["along"]) == {"refusal", "gate"}
    json.dumps(points.to_dict("records"))
