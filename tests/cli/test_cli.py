import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import soundfile
import yaml

from aor_lib.cli import main
from aor_lib.config.params import PARAMS, load_model_cards, scene_ids
from aor_lib.models.base import Answer, Capabilities, Failure
from tests.audio.sounds import encoded, hiss, put
from tests.conftest import ScriptedModel

pytestmark = pytest.mark.slow

AOR = "from aor_lib.cli import main; main()"
BOOK = "runpy.run_module('book._ext.build', run_name='__main__')"


class TextModel(ScriptedModel):
    """Answers in capitals; one whose source is 'broken' fails."""

    capabilities = Capabilities(audio=False, multi_turn=False)

    def __init__(self, card):
        broken = card.source == "broken"
        super().__init__(lambda text: Failure("no [b]luck") if broken else Answer(text.upper(), 2))
        self.card = card


@pytest.fixture
def aor(monkeypatch, capsys):
    def aor(*arguments):
        monkeypatch.setattr(sys, "argv", ["aor", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return SimpleNamespace(code=ended.value.code, stdout=printed.out, stderr=printed.err)

    return aor


@pytest.fixture
def sounds(tmp_path, monkeypatch):
    monkeypatch.setenv("AOR_CACHE", str(tmp_path / "cache"))
    put(tmp_path / "sounds/LICENSE", "CC0")
    return put(tmp_path / "sounds/rain/a.wav", encoded(hiss(1, 3.0))).parents[1]


def one_line_error(done):
    assert done.code == 1
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("aor: error:"))
    return line


def test_what_is_missing_is_named(aor, write_profile, tmp_path):
    assert "no.yaml: cannot be read" in one_line_error(aor("data", tmp_path / "no.yaml"))
    for verb, first in (("run", "data"), ("status", "data"), ("judge", "run")):
        line = one_line_error(aor(verb, write_profile(), "--build", tmp_path / "none"))
        assert f"run 'aor {first}' first" in line


def test_a_corrupt_clip_stops_a_run_before_it_starts(aor, tiny_study):
    _, build = tiny_study
    clip = sorted((build / "clips").iterdir())[0]
    whole = clip.read_bytes()
    clip.write_bytes(whole[:-100])
    try:
        line = one_line_error(aor("run", build.parent / "tiny.yaml", "--build", build))
    finally:
        clip.write_bytes(whole)
    assert clip.name in line
    assert "run 'aor data' to make it again" in line
    assert not (build / "results.sqlite").exists()


def test_models_are_listed_with_those_that_can_run_here_first(aor, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "")
    done = aor("models", "list")
    assert done.code == 0
    assert "GPU" in done.stdout
    assert all(model in done.stdout for model in load_model_cards())
    rows = done.stdout.splitlines()[1:]
    states = [line.split()[-1] == "ready" for line in rows if line[0] != " "]
    assert states == sorted(states, reverse=True)
    assert "cannot run here" in one_line_error(aor("models", "list", PARAMS / "full.yaml"))


def test_a_model_is_checked_and_its_table_printed(aor, tmp_path):
    card = dict.fromkeys(("title", "family", "licence"), "none") | {"id": "mine"}
    card |= {"kind": "tests.cli.test_cli:TextModel"}
    for source, code, shown in (("sound", 0, "passed"), ("broken", 1, "no [b]luck")):
        file = put(tmp_path / "mine.yaml", yaml.safe_dump(card | {"source": source}))
        done = aor("models", "check", file)
        assert (done.code, done.stderr) == (code, "")
        assert shown in done.stdout


def test_a_models_server_takes_the_place_of_the_command(tmp_path, monkeypatch):
    put(tmp_path / "vllm", b'#!/bin/sh\necho $$ "$@"\n').chmod(0o755)
    put(tmp_path / "python", b"#!/bin/sh\necho /files\n").chmod(0o755)  # which the card asks
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    model = "phi-4-multimodal-instruct-served"
    launch = ["models", "launch", model, "--port", "8001", "--", "--seed=1"]
    command = [sys.executable, "-c", AOR, *launch]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    pid, *words = started.communicate()[0].split()
    assert int(pid) == started.pid, "so that whoever ends it ends the server"
    assert words[:2] == ["serve", "microsoft/Phi-4-multimodal-instruct"]
    assert "speech=/files/speech-lora" in words
    assert words[-3:] == ["--port", "8001", "--seed=1"]


def test_why_a_models_server_cannot_be_started_is_said(aor, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert "'vllm'" in one_line_error(aor("models", "launch", "voxtral-mini-3b-2507-served"))
    assert "has none" in one_line_error(aor("models", "launch", "ref-permissive"))
    assert "'ref-permissive'?" in one_line_error(aor("models", "launch", "ref-permissiv"))


@pytest.mark.parametrize(("content", "code"), [(b"no sound", 1), (encoded(hiss(1, 3.0)), 0)])
def test_an_import_ends_with_1_where_a_file_could_not_be_read(aor, sounds, content, code):
    put(sounds / "rain/b.wav", content)  # the same sound again is none that failed
    done = aor("import", sounds, "--sounds")
    assert done.code == code
    assert done.stdout.startswith(f"Sounds added to {sounds.parent / 'cache' / 'bank'}: 1")
    assert "rain/b.wav: " in done.stderr


def test_the_list_names_every_scene_and_what_sounds_are_synthesised_from(aor):
    assert all(name in aor("scenes", "list").stdout for name in scene_ids())
    assert "creak" in aor("scenes", "list", "--procedural").stdout


def test_a_scene_is_played_into_a_file_that_the_seed_decides(aor, tmp_path):
    files = [tmp_path / f"{name}.flac" for name in ("one", "again", "other")]
    for file, seed in zip(files, (1, 1, 2), strict=True):
        done = aor("scenes", "play", "dojo", "--out", file, "--seconds", 0.5, "--seed", seed)
        assert done.code == 0
    assert soundfile.info(files[0]).duration == 0.5
    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes()


INTERRUPTED = """
import subprocess, typer
from concurrent.futures import ThreadPoolExecutor
from aor_lib.cli.steps import run_app
from aor_lib.storage.workers import map_jobs

app, wait = typer.Typer(), [["sh", "-c", "echo ready; exec cat"]] * 2
app.command("threads")(lambda: list(ThreadPoolExecutor().map(subprocess.call, wait)))
app.command("processes")(lambda: list(map_jobs(subprocess.call, wait, 2)))
run_app(app, "aor")
"""


@pytest.mark.parametrize("verb", ["threads", "processes"])
def test_ctrl_c_ends_a_command_whose_work_goes_on_and_prints_nothing(verb):
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = [sys.executable, "-c", INTERRUPTED, verb]
    with subprocess.Popen(command, text=True, start_new_session=True, **pipes) as process:
        assert [process.stdout.readline(), process.stdout.readline()] == ["ready\n", "ready\n"]
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=20) == 130
        process.stdin.close()
        assert process.stderr.read() == ""


IMPORTING = """
import os, runpy, signal, sys
sys.addaudithook(lambda _, what: what[:1] == ("typer",) and os.kill(os.getpid(), signal.SIGINT))
"""


@pytest.mark.parametrize("start", [AOR, BOOK])
def test_ctrl_c_while_modules_are_imported_prints_nothing(start):
    done = subprocess.run([sys.executable, "-c", IMPORTING + start], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_without_a_writable_cache_one_line_says_what_to_do(aor, sounds, monkeypatch):
    monkeypatch.setenv("AOR_CACHE", str(put(sounds.parent / "file", b"") / "cache"))
    lines = [aor("import", sounds, "--sounds").stderr]
    monkeypatch.delenv("AOR_CACHE")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda _: Path("~nobody-here").expanduser())
    lines.append(aor("import", sounds, "--sounds").stderr)
    for said in lines:
        assert said.count("\n") == 1, said
        assert said.endswith("set AOR_CACHE to a folder that can be written\n")


def test_what_a_book_cannot_be_made_of_is_told_in_one_line(tmp_path):
    command = [sys.executable, "-m", "book._ext.build", tmp_path / "no.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=PARAMS.parent)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert done.stderr.startswith(f"make book: error: {tmp_path / 'no.yaml'}")
