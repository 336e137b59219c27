"""A real server of llama.cpp: a small language model, with random weights to hear by."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import gguf
import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from aor_lib.cli.app import app
from aor_lib.config.params import ModelCard
from aor_lib.inference.store import STORE
from aor_lib.models import llama_cpp
from aor_lib.models.check import check_model
from aor_lib.models.llama_cpp import LlamaCppModel
from aor_lib.models.registry import ask
from aor_lib.storage.assets import fetch
from tests.inference.conftest import outcomes_in

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not importlib.util.find_spec("xllamacpp"), reason="needs 'make llama'"),
]

WIDTH, INNER, MELS, STACK, INTO = 16, 32, 80, 4, 576
SHAPES = {
    "a.conv1d.1": (WIDTH, MELS, 3),
    "a.conv1d.2": (WIDTH, WIDTH, 3),
    "a.position_embd": (1500, WIDTH),
    **{f"a.blk.0.attn_{part}": (WIDTH, WIDTH) for part in ("q", "k", "v", "out")},
    **{f"a.{norm}": (WIDTH,) for norm in ("blk.0.ln1", "blk.0.ln2", "post_ln")},
    "a.blk.0.ffn_up": (INNER, WIDTH),
    "a.blk.0.ffn_down": (WIDTH, INNER),
    "mm.a.norm_pre": (WIDTH * STACK,),
    "mm.a.mlp.1": (2 * WIDTH, WIDTH * STACK),
    "mm.a.norm_mid": (WIDTH,),
    "mm.a.mlp.2": (INTO, WIDTH),
}
"""Weights of Ultravox's projector, with the fewest numbers that llama.cpp takes."""
SIZES = {"num_mel_bins": MELS, "projector.stack_factor": STACK, "embedding_length": WIDTH}
SIZES |= {"feed_forward_length": INNER, "block_count": 1, "projection_dim": INTO}


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llama")
    [weights] = fetch("smollm2-135m-instruct").glob("*.gguf")
    (folder / weights.name).symlink_to(weights)
    writer = gguf.GGUFWriter(folder / "mmproj-random.gguf", "clip")
    writer.add_bool("clip.has_audio_encoder", True)
    writer.add_string("clip.projector_type", "ultravox")
    for name, size in (SIZES | {"attention.head_count": 1}).items():
        writer.add_uint32(f"clip.audio.{name}", size)
    writer.add_float32("clip.audio.attention.layer_norm_epsilon", 1e-5)
    generator = np.random.default_rng(0)
    for name, shape in SHAPES.items():
        numbers = generator.normal(0, 0.12, shape) if len(shape) > 1 else np.ones(shape)
        writer.add_tensor(f"{name}.weight", numbers.astype(np.float32))
        if name.startswith("a.") and name not in ("a.position_embd", "a.blk.0.attn_k"):
            bias = (WIDTH, 1) if "conv" in name else shape[:1]
            writer.add_tensor(f"{name}.bias", np.zeros(bias, np.float32))
    for write in ("header", "kv_data", "tensors"):
        getattr(writer, f"write_{write}_to_file")()
    writer.close()
    about = {"id": "tiny", "title": "T", "family": "T", "kind": "llama_cpp", "licence": "none"}
    settings = {"weights": "*Q4_1.gguf", "projector": "mmproj*.gguf", "threads": 1}
    return ModelCard(**about, source=str(folder), settings=settings)


def test_a_server_that_is_started_here_passes_the_check(card):
    rows = check_model(card)
    assert set(rows["outcome"]) <= {"passed", "skipped"}, rows
    assert "passed" in rows.set_index("check").loc["hears", "outcome"]
    Path(card.source, "README.md").write_text("It is not loaded.")
    running = dict(llama_cpp._running)
    ask(card, text="Hello")
    assert llama_cpp._running == running, "another question needs no other server"


def test_a_killed_run_and_a_crashed_server_lose_no_answer_and_a_finished_run_asks_nothing(
    card, tiny_study, write_profile, tmp_path, monkeypatch
):
    (tmp_path / "models").mkdir()
    (tmp_path / "models/tiny.yaml").write_text(yaml.safe_dump(card.model_dump(mode="json")))
    profile = write_profile(models=["tiny"], mitigations=["none"])
    (tmp_path / "build").symlink_to(tiny_study[1])
    command = ["run", str(profile), "--build", str(tmp_path / "build")]
    start, starts = LlamaCppModel._start, []

    def crash_once(model):
        starts.append(start(model))
        if len(starts) == 1:
            llama_cpp._running[model._identity][0].kill()
            llama_cpp._running[model._identity][0].wait()
        return starts[-1]

    def answers():
        return {row for row in outcomes_in(tmp_path / "build" / STORE) if row.status == "ok"}

    monkeypatch.setattr(LlamaCppModel, "_start", crash_once)
    code = "from aor_lib.cli import main; main()"
    with subprocess.Popen([sys.executable, "-c", code, *command]) as killed:
        while len(answers()) < 5:
            assert killed.poll() is None
        killed.kill()
    some = answers()
    for _ in range(2):
        assert CliRunner().invoke(app, command).exit_code == 0
        assert some < answers()
    assert len(starts) == 2, "after the crash, and not for the run that has nothing to ask"
