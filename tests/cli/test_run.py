import pandas as pd
import pytest
import yaml
from pandas.testing import assert_frame_equal
from typer.testing import CliRunner

from aor_lib.analysis.results import load_results
from aor_lib.cli import app
from aor_lib.config.params import load_model_cards, load_study
from aor_lib.inference.store import STORE, Store
from aor_lib.models import registry
from aor_lib.models.base import Answer, Capabilities, Failure, ModelError
from aor_lib.stimuli import rendering
from aor_lib.stimuli.design import stimuli
from aor_lib.stimuli.manifest import MANIFEST
from tests.conftest import ScriptedModel

MODELS = ("ref-permissive", "ref-contextual")


@pytest.fixture
def profile(write_profile, tmp_path):
    """A study of texts only, for two models."""
    profile = write_profile(conditions=["text_only", "described"], models=list(MODELS))
    study = load_study(profile)
    made = [rendering.render(spec, study.profile.mixing, None) for spec in stimuli(study)]
    pd.DataFrame([one.row.model_dump(mode="json") for one in made]).to_parquet(tmp_path / MANIFEST)
    return profile


@pytest.fixture
def aor(profile, tmp_path, monkeypatch):
    """Run a verb on the study; its models answer with the functions given, if they can run."""

    def aor(verb, *options, unaware=None, aware=None, capabilities=None, unable=None):
        scripted = {
            name: ScriptedModel(answer or (lambda text: Answer("Sure.", 1)), name)
            for name, answer in zip(MODELS, (unaware, aware), strict=True)
        }
        scripted[MODELS[0]].capabilities = capabilities or Capabilities()

        def load(card):
            if card.id == unable:
                raise ModelError(f"{card.id} needs the API key in $KEY; it is not set")
            scripted[card.id].card = card
            return scripted[card.id]

        monkeypatch.setattr(registry, "load_model", load)
        return CliRunner().invoke(app, [verb, str(profile), "--build", str(tmp_path), *options])

    return aor


def refuse(text):
    raise ModelError("the API refuses the key")


@pytest.mark.parametrize(
    ("unaware", "limit", "summary", "reason"),
    [
        (
            lambda text: Failure("Timeout: slow"),
            "100",
            "12 of 24 trials done, 12 failed, 0 left",
            "12 x ref-permissive failed: Timeout: slow",
        ),
        (
            lambda text: Failure("Timeout: slow"),
            "3",
            "12 of 24 trials done, 12 failed",
            "ref-permissive was stopped: 12 of its trials failed",
        ),
        (
            refuse,
            "3",
            "12 of 24 trials done, 0 failed, 12 left",
            "ref-permissive was stopped: the API refuses the key",
        ),
    ],
    ids=["some fail", "too many fail", "the model cannot go on"],
)
def test_a_run_says_what_failed_and_why_and_goes_on_from_there(
    aor, unaware, limit, summary, reason
):
    failed = aor("run", "--max-failures", limit, unaware=unaware)
    assert failed.exit_code == 1
    assert summary in failed.stdout
    assert reason in failed.stderr
    again = aor("run")
    assert again.exit_code == 0
    assert "24 of 24 trials done, 0 failed, 0 left" in again.stdout


def test_what_a_model_does_not_take_is_left_out_aloud(aor):
    done = aor("run", capabilities=Capabilities(text_only=False))
    assert done.exit_code == 0
    assert "ref-permissive: 12 trials are left out: it takes no text without audio" in done.stderr
    assert "12 of 12 trials done" in done.stdout


def test_status_shows_what_was_blocked(aor):
    run = aor("run", unaware=lambda text: Failure("content filter", blocked=True))
    assert run.exit_code == 0
    assert "12 x ref-permissive blocked: content filter" in run.stderr
    columns, *rows = [line.split() for line in aor("status").stdout.splitlines()[1:]]
    assert columns[2:] == ["trials", "answered", "blocked", "failed", "missing", "judged"]
    counts = {row[0]: row[-6:] for row in rows}
    assert counts["ref-permissive"] == ["12", "0", "12", "0", "0", "0"]
    assert counts["ref-contextual"] == ["12", "12", "0", "0", "0", "0"]


def test_status_has_one_row_for_a_model_and_names_what_it_lacks(aor):
    aor("run", unaware=lambda text: Failure("Timeout"), aware=lambda text: Answer("Sure.", 1))
    aor("judge")
    lines = [line.split() for line in aor("status").stdout.splitlines()[2:]]
    assert [line[0] for line in lines] == ["ref-contextual", "ref-permissive", "lacks"]
    assert lines[0][-6:] == ["12", "12", "0", "0", "0", "12"]
    assert lines[-1][2] == "none"


def test_a_model_that_cannot_run_here_is_named_and_the_others_are_asked(aor):
    done = aor("run", unable="ref-permissive")
    assert done.exit_code == 1
    assert "not asked: ref-permissive needs the API key in $KEY" in done.stderr
    assert "12 of 12 trials done, 0 failed, 0 left" in done.stdout


@pytest.mark.parametrize(("unaware", "answered"), [(None, 12), (refuse, 0)])
def test_a_run_of_one_model_leaves_those_of_another_run_in_the_plan(
    aor, tmp_path, unaware, answered
):
    # Of one that is at an end, or that has no answers yet, on a server of its own.
    aor("run", "--model", "ref-permissive", unaware=unaware)
    done = aor("run", "--model", "ref-contextual", unable="ref-permissive")
    assert done.exit_code == 0
    assert "12 of 12 trials done" in done.stdout
    with Store(tmp_path / STORE) as store:
        counts = store.frame("speech-acts").groupby("model")["status"].agg(["size", "count"])
    assert counts["size"].to_dict() == dict.fromkeys(MODELS, 12)
    assert counts["count"].to_dict() == {"ref-permissive": answered, "ref-contextual": 12}


def test_a_model_that_the_profile_does_not_have_is_refused(aor):
    refused = aor("run", "--model", "ref-permisive")
    assert "the profile has no 'ref-permisive'" in str(refused.exception)


def test_a_dry_run_says_what_is_left_and_asks_nothing(aor):
    def said():
        return {
            line.split()[0]: line.split()[1:]
            for line in aor("run", "--dry-run", unaware=refuse, aware=refuse).stdout.splitlines()
            if line.startswith("ref-")
        }

    assert said()["ref-permissive"] == ["12", "of", "12", "12", "unknown"]
    aor("run", "--model", "ref-permissive")
    assert said() == {
        "ref-permissive": ["0", "of", "12", "0", "0.0"],
        "ref-contextual": ["12", "of", "12", "12", "unknown"],
    }


def test_a_dry_run_says_where_a_cap_may_not_suffice_before_anything_is_made(
    write_profile, tmp_path
):
    card = load_model_cards()["gpt-audio"]
    reach = card.reach | {"max_spend_usd": 0.01}
    poor = card.model_copy(update={"id": "poor", "reach": reach})
    (tmp_path / "models").mkdir()
    (tmp_path / "models/poor.yaml").write_text(yaml.safe_dump(poor.model_dump()))
    profile = write_profile(models=["gpt-audio", "poor"])
    said = CliRunner().invoke(app, ["run", str(profile), "--build", "nowhere", "--dry-run"])
    assert said.exit_code == 0
    assert "No stimuli have been made" in said.stdout
    assert "poor: its card's max_spend_usd (0.01) may not suffice" in said.stdout
    assert "gpt-audio: its card" not in said.stdout


def test_chapters_read_the_verdicts_of_the_judge_that_the_profile_names(aor, profile, tmp_path):
    aor("run", unaware=lambda text: Answer("I'm sorry, but I can't help with that.", 9))
    aor("judge")
    by_default = load_results(tmp_path)
    profile.write_text(profile.read_text() + "judge: string-match\n")
    aor("judge", "--judge", "speech-acts")
    assert_frame_equal(load_results(tmp_path), by_default)
    aor("judge")
    assert_frame_equal(load_results(tmp_path), load_results(tmp_path, "string-match"))
    assert load_results(tmp_path)["label"].notna().all()
    assert (load_results(tmp_path)["score"] != by_default["score"]).any()
