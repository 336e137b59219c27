"""Answers that inspect_ai asked for, in a study's store."""

import json

import pytest
from typer.testing import CliRunner

from aor_lib.cli import app
from aor_lib.config.records import Status
from aor_lib.inference.bundles import BundleError
from aor_lib.inference.bundles.inspect_log import read_inspect_log
from aor_lib.inference.forecast import absent
from aor_lib.inference.inspect_trials import InspectTrials
from aor_lib.inference.planning import plan_trials
from aor_lib.inference.store import STORE, Store
from aor_lib.models.openai_api import OpenAIModel
from aor_lib.stimuli.manifest import load_stimuli
from tests.inspected import mock_model, write_study
from tests.models.loopback import completion, serving

pytest.importorskip("inspect_ai", reason="needs 'make inspect'")
pytestmark = pytest.mark.slow


def answer(messages):
    """An answer to each, but an error, an empty and a withheld one."""
    from inspect_ai.model import ModelOutput

    last = messages[-1].text
    if last == "text 0":
        raise RuntimeError("the line is dead")
    if last == "text 1":
        return "  "
    if messages[0].role == "system":
        return ModelOutput.from_content("model", "Blocked.", stop_reason="content_filter")
    return f"An answer after {len(messages)} messages."


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return write_study(tmp_path_factory.mktemp("inspected"))


@pytest.fixture(scope="module")
def log(made):
    """Path of the log of a run on the study."""
    return made.eval(mock_model(answer)).location


@pytest.fixture
def edited(log, tmp_path):
    """Write the log with one thing in it changed."""
    from inspect_ai.log import read_eval_log, write_eval_log

    def edited(change):
        content = read_eval_log(log, resolve_attachments=True)
        change(content)
        write_eval_log(content, str(tmp_path / "edited.eval"))
        return tmp_path / "edited.eval"

    return edited


def spoken_call(log, mitigation="none"):
    """The first call of the model about the clip."""
    [sample] = [sample for sample in log.samples if sample.id == f"s2.{mitigation}"]
    return next(event for event in sample.events if event.event == "model")


def put(target, path, value):
    """Set what a dotted path leads to."""
    *way, last = path.split(".")
    for name in way:
        target = target[int(name)] if name.isdigit() else getattr(target, name)
    setattr(target, last, value)


def responses_in(log, made):
    """Responses in a log, by stimulus and mitigation."""
    bundle = read_inspect_log(log, made.study, made.build)
    trials = {row.trial_key: row.trial for row in bundle.trials}
    return {
        (trials[one.trial_key].stimulus_id, trials[one.trial_key].arm.mitigation): one
        for one in bundle.responses
    }


def refused(log, made, card=None):
    """Why a log is refused."""
    with pytest.raises(BundleError) as error:
        read_inspect_log(log, made.study, made.build, card)
    return str(error.value)


def test_answers_are_those_of_the_trials_that_aor_run_would_ask(log, tmp_path):
    here = write_study(tmp_path / "here")
    arguments = ["import-log", log, str(here.profile), "--build", str(here.build)]
    done = CliRunner().invoke(app, ["results", *arguments])
    assert "mock: 7 of 7 trials, 4 of them without an answer; 7 responses added" in done.output
    (card,) = here.study.models
    planned = plan_trials(here.study, load_stimuli(here.build), [absent(card, {})])
    with Store(here.build / STORE) as store:
        frame = store.frame("speech-acts")
    assert set(frame["trial_key"]) == {trial.key for trial in planned}
    answered = frame[frame["status"] == "ok"].set_index("mitigation")["response"]
    # The second step is asked with the answer to the first.
    assert answered["scene_first"] == "An answer after 3 messages."
    assert answered["none"] == "An answer after 1 messages."


def test_what_ended_in_an_error_or_in_nothing_is_no_answer(log, made):
    responses = responses_in(log, made)
    dead, empty = responses["s0", "none"], responses["s1", "none"]
    assert (dead.status, empty.status) == (Status.FAILED, Status.FAILED)
    assert "the line is dead" in dead.error
    assert "empty answer" in empty.error
    assert responses["s2", "context_reminder"].status is Status.BLOCKED


@pytest.mark.parametrize(
    ("reason", "status", "finish_reason"),
    [
        ("max_tokens", Status.OK, "length"),
        ("model_length", Status.FAILED, None),  # inspect_ai has the error in place of the text
        ("unknown", Status.FAILED, None),
    ],
)
def test_an_answer_is_one_that_ended_or_was_cut_at_its_limit(
    made, edited, reason, status, finish_reason
):
    log = edited(lambda log: put(spoken_call(log), "output.choices.0.stop_reason", reason))
    response = responses_in(log, made)["s2", "none"]
    assert (response.status, response.finish_reason) == (status, finish_reason)


@pytest.mark.parametrize(
    ("card", "profile", "field", "value"),
    [
        ({"source": "another"}, {}, "eval.model", "mockllm/model"),
        ({"settings": {"extra": {"top_k": 1}}}, {}, "eval.model", "does not send"),
        ({"revision": "2"}, {}, "revision", "1"),
        ({"settings": {"send_seed": False}}, {}, "settings_sha256", ""),
        ({}, {"generation": {"max_new_tokens": 9}}, "generation", "'max_new_tokens': 8"),
        ({}, {"mitigations": ["none", "scene_first"]}, "mitigation", "context_reminder"),
    ],
)
def test_a_log_of_another_study_is_refused_by_file_field_and_value(
    log, tmp_path, card, profile, field, value
):
    reason = refused(log, write_study(tmp_path / "other", card, **profile))
    for part in (log, f"{field}: ", value):
        assert part in reason


def test_a_card_that_is_not_the_logs_is_refused(log, made):
    assert "eval.metadata.card: 'mock'" in refused(log, made, "gpt-audio")


SOUND = "data:audio/wav;base64,UklGRg=="


@pytest.mark.parametrize(
    ("mitigation", "field", "value", "message"),
    [
        (None, "samples", [], "samples: None"),
        (None, "eval.task", "gsm8k", "eval.task: 'gsm8k'"),
        ("none", "config.temperature", 1.0, "config.temperature: 1.0: the trial's is 0.0"),
        ("none", "config.top_p", 0.5, "config.top_p: 0.5: the trial's is None"),
        ("context_reminder", "input.0.content", "Refuse.", "input[0]: \"system: ['Refuse.'"),
        ("none", "input.0.content.0.audio", SOUND, "input[0]: "),
        ("none", "output.model", "model-mini", "output.model: 'model-mini'"),
        ("none", "output.model", "model-2026-01-01", "output.model: 'model, model-2026-01-01'"),
    ],
)
def test_what_was_asked_otherwise_than_aor_run_asks_is_refused(
    made, edited, mitigation, field, value, message
):
    log = edited(lambda log: put(spoken_call(log, mitigation) if mitigation else log, field, value))
    assert message in refused(log, made)


def test_a_file_that_is_no_log_is_named(made, tmp_path):
    (tmp_path / "some.eval").write_text("nothing")
    assert "some.eval: cannot be read" in refused(tmp_path / "some.eval", made)


def test_a_server_gets_through_inspect_what_aor_run_sends(tmp_path):
    from inspect_ai.model import get_model

    def sent(body):
        for one in body["messages"]:
            if isinstance(one["content"], str):  # the same as a list of one text
                one["content"] = [{"type": "text", "text": one["content"]}]
        fields = ("messages", "temperature", "seed", "repetition_penalty", "model")
        return json.dumps([body[name] for name in fields])

    card = {"settings": {"system_turn": False, "extra": {"repetition_penalty": 1.0}}}
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
        study = made.study
        trials = InspectTrials(study, study.models[0], made.build)
        asked = [trials.conversation(trial) for trial in trials.plan]
        OpenAIModel(study.models[0]).answer(asked, study.profile.generation)
    assert len(through_inspect) == len(asked) == 5
    assert sorted(map(sent, through_inspect)) == sorted(map(sent, server.bodies))
    bundle = read_inspect_log(log.location, study, made.build)
    assert [one.text for one in bundle.responses] == ["Sure."] * 5
