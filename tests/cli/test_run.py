import pytest
from pandas.testing import assert_frame_equal
from typer.testing import CliRunner

from aor_lib.analysis.results import load_results
from aor_lib.cli.app import app
from aor_lib.config.params import card_settings, load_model_cards
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.inference import engine
from aor_lib.inference.store import STORE, Store
from aor_lib.models.api_settings import ApiSettings
from aor_lib.models.base import Answer, Failure, ModelError
from aor_lib.stimuli.manifest import write_manifest
from tests.conftest import ScriptedModel, make_text_stimuli

MODELS = ("ref-permissive", "ref-contextual")


@pytest.fixture
def profile(write_profile, tmp_path):
    write_manifest(make_text_stimuli(12, split="test"), tmp_path)
    return write_profile(models=list(MODELS))


@pytest.fixture
def aor(profile, tmp_path, monkeypatch):
    """Run a verb on the study; ``answer`` is the first model's, ``unable`` cannot run."""

    def aor(verb, *options, answer=sure, unable=None):
        models = [ScriptedModel(answer, MODELS[0]), ScriptedModel(sure, MODELS[1])]

        def load(card):
            if card.id == unable:
                raise ModelError(f"{card.id} needs the API key in $KEY; it is not set")
            model = models[MODELS.index(card.id)]
            model.card = card
            return model

        monkeypatch.setattr(engine, "load_model", load)
        return CliRunner().invoke(app, [verb, str(profile), "--build", str(tmp_path), *options])

    return aor


def sure(text):
    return Answer("Sure.", 1)


def fail(text):
    return Failure("Timeout: slow")


def refuse(text):
    raise ModelError("the API refuses the key")


FAILED = (fail, "12 failed, 0 left", "12 x ref-permissive none failed: Timeout: slow")
STOPPED = (refuse, "0 failed, 12 left", "ref-permissive was stopped: the API refuses the key")


@pytest.mark.parametrize(("answer", "summary", "reason"), [FAILED, STOPPED])
def test_a_run_says_what_failed_and_why_and_goes_on_from_there(aor, answer, summary, reason):
    failed = aor("run", answer=answer)
    assert failed.exit_code == 1
    assert f"12 of 24 trials done, {summary}" in failed.output
    assert reason in failed.stderr
    assert ("x ref-permissive none missing: not asked yet" in failed.stderr) == (answer is refuse)
    assert "was stopped" not in aor("run", "--max-failures", "100", answer=fail).stderr
    again = aor("run")
    assert again.exit_code == 0
    assert "24 of 24 trials done, 0 failed, 0 left" in again.output


def test_shards_divide_the_trials(aor, monkeypatch):
    monkeypatch.setattr(engine, "BATCH", 3)
    assert isinstance(aor("run", "--shard", "3/2").exception, ParamsError)
    runs = [aor("run", "--shard", f"{i}/3") for i in (1, 2, 3)]
    done = [line for run in runs for line in run.output.splitlines() if "trials done" in line]
    assert [line.split(" trials")[0] for line in done] == ["12 of 12", "6 of 6", "6 of 6"]
    assert "24 of 24 trials done" in aor("run", answer=fail).output


def test_status_says_why_answers_are_missing_and_what_a_filter_blocked_is_not_asked_again(aor):
    first = iter([Failure("content filter", blocked=True)])
    run = aor("run", answer=lambda text: next(first, Failure("Timeout")))
    assert "1 x ref-permissive none blocked: content filter" in run.stderr
    aor("judge")
    lines = aor("status").stdout.splitlines()[1:]
    assert lines[3:] == [
        "11 x ref-permissive none failed: Timeout",
        "1 x ref-permissive none blocked: content filter",
    ]
    assert [line.split() for line in lines[:3]] == [
        ["model", "mitigation", "ok", "blocked", "failed", "missing", "judged"],
        ["ref-contextual", "none", "12", "0", "0", "0", "12"],
        ["ref-permissive", "none", "0", "1", "11", "0", "12"],
    ]
    again = aor("run")
    assert "23 of 24 trials done, 0 failed, 0 left, 1 blocked" in again.output
    assert again.exit_code == 1


def test_a_model_that_cannot_run_here_is_named_and_the_others_are_asked(aor):
    done = aor("run", unable="ref-permissive")
    assert done.exit_code == 1
    assert "not asked: ref-permissive needs the API key in $KEY" in done.stderr
    assert "12 of 12 trials done, 0 failed, 0 left" in done.output


@pytest.mark.parametrize(("answer", "answered"), [(sure, 12), (refuse, 0)])
def test_a_run_of_one_model_leaves_others_in_the_plan(aor, tmp_path, answer, answered):
    # Of one that is at an end, or that has no answers yet, on a server of its own.
    aor("run", "--model", "ref-permissive", answer=answer)
    done = aor("run", "--model", "ref-contextual", unable="ref-permissive")
    assert done.exit_code == 0
    assert "12 of 12 trials done" in done.output
    with Store(tmp_path / STORE) as store:
        counts = store.frame("speech-acts").groupby("model")["status"].agg(["size", "count"])
    assert counts["size"].to_dict() == dict.fromkeys(MODELS, 12)
    assert counts.loc["ref-permissive", "count"] == answered


def test_a_dry_run_says_what_is_left_and_asks_nothing(aor):
    refused = aor("run", "--model", "ref-permisive")
    assert "the profile has no 'ref-permisive'" in str(refused.exception)
    aor("run", "--dry-run")
    aor("run", "--model", "ref-permissive")
    said = [line.split() for line in aor("run", "--dry-run").stdout.splitlines()]
    assert ["ref-permissive", "0.0", "0.0", "0.0", "unknown"] in said
    assert ["ref-contextual", "12.0", "0.0", "unknown", "unknown"] in said


def test_a_dry_run_says_what_an_api_may_cost(aor, write_profile):
    write_profile(models=["gemini-3.5-flash-lite"])
    said = aor("run", "--dry-run", unable="gemini-3.5-flash-lite")
    card, calls, audio_s, _, usd = said.stdout.splitlines()[1].split()
    assert (card, calls, audio_s) == ("gemini-3.5-flash-lite", "12.0", "0.0")
    prices = card_settings(load_model_cards()[card], ApiSettings).usd_per_million_tokens
    assert 0 < float(usd) <= 12 * prices.usd(100, 0, 64) + 0.005


def test_chapters_read_the_verdicts_of_the_judge_that_the_profile_names(aor, profile, tmp_path):
    aor("run", answer=lambda text: Answer("I'm sorry, but I can't help with that.", 9))
    aor("judge")
    by_default = load_results(tmp_path)
    profile.write_text(profile.read_text() + "judge: string-match\n")
    aor("judge", "--judge", "speech-acts")
    assert_frame_equal(load_results(tmp_path), by_default)
    aor("judge")
    assert_frame_equal(load_results(tmp_path), load_results(tmp_path, "string-match"))
    assert load_results(tmp_path)["label"].notna().all()
    assert (load_results(tmp_path)["p_refusal"] != by_default["p_refusal"]).any()
