"""The study as a task of inspect_ai, asked of its mock model, and the import of its logs."""

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aor_lib.cli import app
from aor_lib.config.records import Status
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.inference.bundle import BundleError
from aor_lib.inference.planning import absent, conversation, plan_trials
from aor_lib.inference.store import STORE, Store
from aor_lib.models.openai_api import OpenAIModel
from aor_lib.stimuli.manifest import load_stimuli
from tests.inspected import mock_model, write_study
from tests.models.loopback import completion, serving

pytest.importorskip("inspect_ai", reason="needs 'make inspect'")
pytestmark = pytest.mark.slow

REFUSAL = "I'm sorry, but I can't help with that."


def answer(messages):
    """A refusal to each, but an error, an empty and a withheld answer."""
    from inspect_ai.model import ModelOutput

    last = messages[-1].text
    if last == "text 0":
        raise RuntimeError("the line is dead")
    if last == "text 1":
        return "  "
    if messages[0].role == "system":
        return ModelOutput.from_content("model", "Blocked.", stop_reason="content_filter")
    return f"{REFUSAL} {len(messages)}"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return write_study(tmp_path_factory.mktemp("inspected"))


@pytest.fixture(scope="module")
def run(made):
    """The log of a run on the study."""
    return made.eval(mock_model(answer))


@pytest.fixture
def edited(run, tmp_path):
    """Write the log with what a dotted path leads to set, in the sample about the clip alone."""
    from inspect_ai.log import read_eval_log, write_eval_log

    def edited(path, value, mitigation="none"):
        log = read_eval_log(run.location, resolve_attachments=True)
        samples = {sample.id: sample for sample in log.samples}
        target = log if path.startswith(("eval", "samples")) else samples[f"s2.{mitigation}"]
        *way, last = path.split(".")
        for name in way:
            target = target[int(name)] if name.isdigit() else getattr(target, name)
        setattr(target, last, value)
        write_eval_log(log, str(tmp_path / "edited.eval"))
        return tmp_path / "edited.eval"

    return edited


def read(log, made):
    from aor_lib.inference.inspect_task import read_log

    return read_log(Path(log), made.study, made.build)


def refused(log, made):
    """Why a log is refused."""
    with pytest.raises(BundleError) as error:
        read(log, made)
    return str(error.value)


def test_the_studys_judge_scores_and_what_is_unjudged_has_no_score(run):
    scores = {sample.id: sample.scores["refusal"] for sample in run.samples if sample.scores}
    assert scores["s2.none"].value == 1
    assert scores["s2.none"].answer == "full_refusal"
    assert math.isnan(scores["s1.none"].value)
    metrics = {name: one.value for name, one in run.results.scores[0].metrics.items()}
    assert metrics["ORR"] == 1
    assert math.isnan(metrics["HRR"])  # the harmful one is a text: not in the benign scene


@pytest.mark.parametrize(
    ("card", "options", "field"),
    [
        ({"source": "another"}, {"card": "mock"}, "another"),
        ({"kind": "cascade"}, {}, "kind: 'cascade'"),
        ({"settings": {"adapter": "speech"}}, {}, "adapter: 'speech'"),
        ({"settings": {"extra": {"top_k": 1}}}, {}, "extra"),
    ],
)
def test_a_card_that_inspect_cannot_ask_is_refused(tmp_path, card, options, field):
    study = write_study(tmp_path / "study", card)
    with pytest.raises(ParamsError, match=field):
        study.eval(mock_model(lambda messages: "Sure."), **options)


def test_answers_are_those_of_the_trials_that_aor_run_would_ask(run, tmp_path):
    here = write_study(tmp_path / "here")
    arguments = [run.location, str(here.profile), "--build", str(here.build)]
    done = CliRunner().invoke(app, ["import", *arguments])
    assert "mock: 8 trials, 8 responses added" in done.output
    (card,) = here.study.models
    planned = plan_trials(here.study, load_stimuli(here.build), [absent(card, {})])
    with Store(here.build / STORE) as store:
        frame = store.frame("speech-acts")
    assert set(frame["trial_key"]) == {trial.key for trial in planned}
    answered = frame[frame["status"] == "ok"].set_index("mitigation")["response"]
    # The second step is asked with the answer to the first.
    assert answered["scene_first"] == f"{REFUSAL} 3"
    assert answered["none"].to_list() == [f"{REFUSAL} 1", f"{REFUSAL} 3"]


def test_what_ended_in_an_error_or_in_nothing_is_no_answer(made, edited):
    def outcomes(log):
        bundle = read(log, made)
        arms = {trial.key: (trial.stimulus_id, trial.arm.mitigation) for trial in bundle.trials}
        return {arms[one.trial_key]: (one.status, one.error) for one in bundle.responses}

    found = outcomes(edited("output.choices.0.stop_reason", "max_tokens"))
    assert found["s2", "none"][0] is Status.OK
    assert found["s2", "context_reminder"][0] is Status.BLOCKED
    assert "the line is dead" in found["s0", "none"][1]
    assert "empty answer" in found["s1", "none"][1]
    # inspect_ai has the error in place of the text
    found = outcomes(edited("output.choices.0.stop_reason", "model_length"))
    assert found["s2", "none"][0] is Status.FAILED


@pytest.mark.parametrize(
    ("card", "profile", "field", "value"),
    [
        ({"source": "another"}, {}, "model", "mockllm/model"),
        ({"revision": "2"}, {}, "revision", "1"),
        ({"settings": {"send_seed": False}}, {}, "settings_sha256", ""),
        ({}, {"generation": {"max_new_tokens": 9}}, "generation", "'max_new_tokens': 8"),
        ({}, {"mitigations": ["none", "scene_first"]}, "sample", "context_reminder"),
    ],
)
def test_a_log_of_another_study_is_refused_by_file_field_and_value(
    run, tmp_path, card, profile, field, value
):
    reason = refused(run.location, write_study(tmp_path / "other", card, **profile))
    for part in (run.location, field, value):
        assert part in reason


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("samples", [], "samples: 0"),
        ("eval.task", "gsm8k", "eval.task: 'gsm8k'"),
        ("eval.model_generate_config.top_p", 0.5, "top_p: 0.5"),
        ("messages.0.content.0.audio", "data:audio/wav;base64,UklGRg==", "messages"),
        ("messages.0.content", "Refuse.", "messages"),
        ("output.model", "model-mini", "output.model: 'model-mini'"),
        ("output.model", "model-2026-01-01", "'model', 'model-2026-01-01'"),
    ],
)
def test_what_was_asked_otherwise_than_aor_run_asks_is_refused(made, edited, field, value, message):
    assert message in refused(edited(field, value), made)


def test_a_file_that_is_no_log_is_named(made, tmp_path):
    (tmp_path / "some.eval").write_text("nothing")
    assert "some.eval" in refused(tmp_path / "some.eval", made)


def test_a_server_gets_through_inspect_what_aor_run_sends(tmp_path):
    from inspect_ai.model import get_model

    def sent(body):
        for one in body["messages"]:
            if isinstance(one["content"], str):  # the same as a list of one text
                one["content"] = [{"type": "text", "text": one["content"]}]
        fields = ("messages", "temperature", "seed", "repetition_penalty", "model")
        return json.dumps([body[name] for name in fields])

    card = {"settings": {"extra": {"repetition_penalty": 1.0}}}
    with serving() as server:
        named = {"id": "1", "object": "chat.completion", "created": 1, "model": "model"}
        server.reply = lambda _: completion("Sure.", **named)
        card["reach"] = {"base_url": server.url, "api_key_variable": None}
        made = write_study(tmp_path / "study", card, mitigations=["none", "context_reminder"])
        model = get_model(
            "openai-api/loopback/model", base_url=server.url, api_key="none", memoize=False
        )
        log = made.eval(model, log_images=False)
        through_inspect = server.bodies
        server.requests = []
        study, stimuli = made.study, {one.stimulus_id: one for one in load_stimuli(made.build)}
        trials = plan_trials(study, list(stimuli.values()), [absent(study.models[0], {})])
        asked = [
            conversation(stimuli[t.stimulus_id], made.build, t.arm.instruction, t.arm.steps)
            for t in trials
        ]
        OpenAIModel(study.models[0]).answer(asked, study.profile.generation)
    assert len(through_inspect) == len(asked) == 6
    assert sorted(map(sent, through_inspect)) == sorted(map(sent, server.bodies))
    assert [one.text for one in read(log.location, made).responses] == ["Sure."] * 6
