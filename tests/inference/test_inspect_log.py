"""Answers that inspect_ai asked for, in a study's store."""

import json
import shutil

import pandas as pd
import pytest
import yaml
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
from tests.inspected import CARD, Inspected, mock_model, write_study
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
def logged(tmp_path_factory):
    """A study, and the log of a run on it."""
    made = write_study(tmp_path_factory.mktemp("inspected"))
    return made, made.eval(mock_model(answer))


@pytest.fixture
def here(logged, tmp_path):
    """A copy of the study, whose files a test may change."""
    return Inspected(shutil.copytree(logged[0].folder, tmp_path / "here"))


@pytest.fixture
def import_log(here, logged):
    def import_log(*options):
        arguments = ["results", "import-log", logged[1].location, here.profile]
        arguments += ["--build", here.build, *options]
        return CliRunner().invoke(app, list(map(str, arguments)))

    return import_log


@pytest.fixture
def edited(logged, tmp_path):
    """Write the log with one thing in it changed."""
    from inspect_ai.log import read_eval_log, write_eval_log

    def edited(change):
        log = read_eval_log(logged[1].location, resolve_attachments=True)
        change(log)
        write_eval_log(log, str(tmp_path / "edited.eval"))
        return tmp_path / "edited.eval"

    return edited


def spoken_call(log, mitigation="none"):
    """The first call of the model about the clip."""
    (sample,) = [
        s
        for s in log.samples
        if s.metadata["stimulus_id"] == "s2" and s.metadata["mitigation"] == mitigation
    ]
    return next(event for event in sample.events if event.event == "model")


def rows(build):
    with Store(build / STORE) as store:
        return {
            table: sorted(store.read(f"SELECT * FROM {table}"), key=repr)
            for table in ("trials", "plan", "responses", "cards", "provenance")
        }


def test_answers_are_those_of_the_trials_that_aor_run_would_ask(import_log, here):
    done = import_log()
    assert done.exit_code == 0, done.output
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


def test_a_log_that_is_imported_again_adds_nothing(import_log, here):
    import_log()
    before = rows(here.build)
    again = import_log()
    assert "0 responses added" in again.output
    assert rows(here.build) == before


def test_what_ended_in_an_error_or_in_nothing_is_no_answer(logged):
    study, log = logged
    bundle = read_inspect_log(log.location, study.study, study.build)
    names = {row.trial_key: (row.trial.stimulus_id, row.trial.arm) for row in bundle.trials}
    found = {names[one.trial_key][0]: one for one in bundle.responses}
    assert found["s0"].status is Status.FAILED
    assert "the line is dead" in found["s0"].error
    assert found["s1"].status is Status.FAILED
    assert "empty answer" in found["s1"].error
    reminded = [one for one in bundle.responses if names[one.trial_key][1].instruction]
    assert {one.status for one in reminded} == {Status.BLOCKED}


@pytest.mark.parametrize(
    ("reason", "status", "finish_reason"),
    [
        ("stop", Status.OK, "stop"),
        ("max_tokens", Status.OK, "length"),
        ("model_length", Status.FAILED, None),  # inspect_ai has the error in place of the text
        ("unknown", Status.FAILED, None),
    ],
)
def test_an_answer_is_one_that_ended_or_was_cut_at_its_limit(
    logged, edited, reason, status, finish_reason
):
    def end(log):
        spoken_call(log).output.choices[0].stop_reason = reason

    study, _ = logged
    bundle = read_inspect_log(edited(end), study.study, study.build)
    (key,) = [
        row.trial_key
        for row in bundle.trials
        if (row.trial.stimulus_id, row.trial.arm.mitigation) == ("s2", "none")
    ]
    (response,) = [one for one in bundle.responses if one.trial_key == key]
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
    here, import_log, logged, card, profile, field, value
):
    (here.folder / "models/mock.yaml").write_text(yaml.safe_dump(CARD | card))
    changed = yaml.safe_load(here.profile.read_text()) | profile
    here.profile.write_text(yaml.safe_dump(changed))
    refused = import_log()
    assert refused.exit_code == 1
    for part in (logged[1].location, f"{field}: ", value):
        assert part in str(refused.exception)
    assert not (here.build / STORE).exists()


def test_a_log_of_other_clips_is_refused_by_the_clips_hash(import_log, here):
    manifest = here.build / "manifest.parquet"
    stimuli = pd.read_parquet(manifest)
    stimuli.loc[stimuli["path"].notna(), "sha256"] = "f" * 64
    stimuli.to_parquet(manifest)
    refused = import_log()
    assert "stimulus_sha256: " in str(refused.exception)
    assert "f" * 64 in str(refused.exception)


def test_a_card_that_is_not_the_logs_is_refused(import_log):
    assert "eval.metadata.card: 'mock'" in str(import_log("--model", "gpt-audio").exception)


def put(target, path, value):
    """Set what a dotted path leads to."""
    *way, last = path.split(".")
    for name in way:
        target = target[int(name)] if name.isdigit() else getattr(target, name)
    setattr(target, last, value)


SOUND = "data:audio/wav;base64,UklGRg=="


@pytest.mark.parametrize(
    ("mitigation", "field", "value", "message"),
    [
        (None, "samples", [], "samples: None"),
        (None, "eval.task", "gsm8k", "eval.task: 'gsm8k'"),
        ("none", "config.temperature", 1.0, "config.temperature: 1.0: the trial's is 0.0"),
        ("none", "config.top_p", 0.5, "config.top_p: 0.5: the trial's is None"),
        ("context_reminder", "input.0.content", "Refuse.", r"input\[0\]: .system: \['Refuse.'"),
        ("none", "input.0.content.0.audio", SOUND, r"input\[0\]: "),
        ("none", "input.0.content", "No clip.", r"input\[0\]: .user: \['No clip.'"),
        ("none", "output.model", "model-mini", "output.model: 'model-mini'"),
        ("none", "output.model", "model-2026-01-01", "output.model: 'model, model-2026-01-01'"),
    ],
)
def test_what_was_asked_otherwise_than_aor_run_asks_is_refused(
    logged, edited, mitigation, field, value, message
):
    study, _ = logged
    log = edited(lambda log: put(spoken_call(log, mitigation) if mitigation else log, field, value))
    with pytest.raises(BundleError, match=message):
        read_inspect_log(log, study.study, study.build)


def test_a_file_that_is_no_log_is_named(logged, tmp_path):
    (tmp_path / "some.eval").write_text("nothing")
    with pytest.raises(BundleError, match=r"some\.eval: cannot be read"):
        read_inspect_log(tmp_path / "some.eval", logged[0].study, logged[0].build)


def test_a_server_gets_through_inspect_what_aor_run_sends(tmp_path):
    from inspect_ai.model import get_model

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
    fields = ("messages", "temperature", "seed", "repetition_penalty", "model")
    assert sorted(_plain(one, fields) for one in through_inspect) == sorted(
        _plain(one, fields) for one in server.bodies
    )
    bundle = read_inspect_log(log.location, study, made.build)
    assert [one.text for one in bundle.responses] == ["Sure."] * 5


def _plain(body, fields):
    """The fields of a request; a text by itself is the same as a list of one text."""
    messages = [
        message | {"content": [{"type": "text", "text": message["content"]}]}
        if isinstance(message["content"], str)
        else message
        for message in body["messages"]
    ]
    return json.dumps({name: (body | {"messages": messages})[name] for name in fields})
