"""The Hugging Face adapter, on a tiny random Qwen2-Audio checkpoint that it loads from a folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from aor_lib.models import hf
from aor_lib.models.base import Answer, Conversation, Failure, ModelError, Turn
from aor_lib.models.hf import HuggingFaceModel
from aor_lib.params import ModelCard, load_model_cards
from aor_lib.records import Generation
from aor_lib.typed_yaml import ParamsError

GENERATION = Generation(max_new_tokens=6)
SPECIAL_TOKENS = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|AUDIO|>",
    "<|audio_bos|>",
    "<|audio_eos|>",
]


def card(source: Path | str, **changes: Any) -> ModelCard:
    """A card of the tiny model; ``settings`` are added to the architecture."""
    settings = {"architecture": "qwen2_audio", **changes.pop("settings", {})}
    return ModelCard(
        id="tiny",
        title="Tiny",
        family="Test",
        kind="hf",
        licence="none",
        source=str(source),
        settings=settings,
        **{"memory_gib": 0.1, **changes},
    )


def save_checkpoint(folder: Path) -> None:
    from transformers import (
        PreTrainedTokenizerFast,
        Qwen2AudioConfig,
        Qwen2AudioForConditionalGeneration,
        Qwen2AudioProcessor,
        WhisperFeatureExtractor,
    )

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    raw = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, merges=[]))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    raw.add_special_tokens(SPECIAL_TOKENS)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<|endoftext|>", eos_token="<|im_end|>"
    )
    small = {"num_hidden_layers": 2, "num_attention_heads": 4}
    config = Qwen2AudioConfig(
        audio_config={
            "model_type": "qwen2_audio_encoder",
            "d_model": 32,
            "encoder_layers": 2,
            "encoder_attention_heads": 4,
            "encoder_ffn_dim": 64,
            "num_mel_bins": 80,
        },
        text_config={
            "model_type": "qwen2",
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_key_value_heads": 4,
            "vocab_size": len(tokenizer),
            **small,
        },
        audio_token_index=tokenizer.convert_tokens_to_ids("<|AUDIO|>"),
    )
    torch.manual_seed(0)
    model = Qwen2AudioForConditionalGeneration(config)
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.normal_(std=0.12)
    model.save_pretrained(folder)
    Qwen2AudioProcessor(WhisperFeatureExtractor(), tokenizer).save_pretrained(folder)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    save_checkpoint(folder)
    return folder


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    yield
    hf._loaded.clear()


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two clips of unlike length and content."""
    folder = tmp_path_factory.mktemp("clips")
    noise = np.random.default_rng(0).normal(0, 0.1, 3 * 24_000)
    tone = 0.3 * np.sin(2 * np.pi * 440 * np.arange(24_000) / 24_000)
    for name, samples in (("noise", noise), ("tone", tone)):
        soundfile.write(folder / f"{name}.flac", samples, 24_000)
    return [folder / "noise.flac", folder / "tone.flac"]


@pytest.fixture(scope="module")
def conversations(clips: list[Path]) -> list[Conversation]:
    return [
        (Turn("user", audio=clips[0]),),
        (Turn("user", text="How do I beat this boss?"),),
        (Turn("user", audio=clips[1]),),
        (Turn("system", text="Think first."), Turn("user", audio=clips[1])),
    ]


@pytest.mark.slow
def test_answers_in_order_the_same_twice_and_whatever_the_batch(
    checkpoint: Path, conversations: list[Conversation]
) -> None:
    model = HuggingFaceModel(card(checkpoint))
    answers = model.answer(conversations, GENERATION)
    assert all(isinstance(answer, Answer) and answer.text for answer in answers)
    assert len({answer.text for answer in answers if isinstance(answer, Answer)}) == 4
    assert model.answer(conversations, GENERATION) == answers
    assert model.answer(conversations[::-1], GENERATION) == answers[::-1]
    batched = HuggingFaceModel(card(checkpoint, settings={"batch_size": 4}))
    assert batched.answer(conversations, GENERATION) == answers


@pytest.mark.slow
def test_samples_from_the_seed_whatever_else_is_asked(
    checkpoint: Path, conversations: list[Conversation]
) -> None:
    model = HuggingFaceModel(card(checkpoint, settings={"batch_size": 4}))
    sampled = Generation(max_new_tokens=6, temperature=1.0, seed=3)
    answers = model.answer(conversations, sampled)
    assert model.answer(conversations[2:], sampled) == answers[2:]
    assert model.answer(conversations, sampled.model_copy(update={"seed": 4})) != answers


@pytest.mark.slow
def test_a_broken_conversation_fails_alone(
    checkpoint: Path, conversations: list[Conversation], tmp_path: Path
) -> None:
    corrupt = tmp_path / "corrupt.flac"
    corrupt.write_bytes(b"fLaC, or so it says")
    asked = [
        *conversations,
        (Turn("user", audio=corrupt),),
        (Turn("user", audio=tmp_path / "missing.flac"),),
    ]
    model = HuggingFaceModel(card(checkpoint, settings={"batch_size": 8}))
    *answers, of_corrupt, of_missing = model.answer(asked, GENERATION)
    assert answers == model.answer(conversations, GENERATION)
    assert isinstance(of_corrupt, Failure)
    assert "Error: " in of_corrupt.error
    assert isinstance(of_missing, Failure)
    assert of_missing.error.startswith("FileNotFoundError: ")


def test_running_out_of_memory_fails_the_conversation_and_a_broken_gpu_ends_the_run(
    checkpoint: Path, conversations: list[Conversation], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = HuggingFaceModel(card(checkpoint))
    network, _ = model._load()

    def fail(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(network, "generate", fail)
    error: Exception = torch.OutOfMemoryError("tried to allocate 3 GiB")
    failure = Failure("OutOfMemoryError: tried to allocate 3 GiB")
    assert model.answer(conversations, GENERATION) == [failure] * 4
    error = torch.AcceleratorError("device-side assert")
    with pytest.raises(ModelError, match=r"^tiny: the GPU failed: device-side assert"):
        model.answer(conversations, GENERATION)


def test_an_empty_answer_is_a_failure(
    checkpoint: Path, conversations: list[Conversation], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = HuggingFaceModel(card(checkpoint))
    network, processor = model._load()
    end = processor.tokenizer.eos_token_id

    def stop_at_once(input_ids: torch.Tensor, **_: Any) -> torch.Tensor:
        return torch.cat([input_ids, torch.full((len(input_ids), 1), end)], dim=1)

    monkeypatch.setattr(network, "generate", stop_at_once)
    assert model.answer(conversations[:1], GENERATION) == [
        Failure("empty answer: no text was generated")
    ]


def test_one_checkpoint_is_held_at_a_time(checkpoint: Path) -> None:
    first, second = HuggingFaceModel(card(checkpoint)), HuggingFaceModel(card(checkpoint))
    assert not hf._loaded
    first._load()
    second._load()
    assert list(hf._loaded) == [second]


def test_the_revision_of_a_folder_is_its_content(checkpoint: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(checkpoint, copy)
    revision = HuggingFaceModel(card(checkpoint)).revision
    assert HuggingFaceModel(card(copy)).revision == revision
    settings = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**settings, "rope_theta": 7}))
    assert HuggingFaceModel(card(copy)).revision != revision


def test_the_revision_of_a_hub_model_is_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    asked: list[str] = []

    def model_info(_: Any, source: str, revision: str, timeout: float) -> Any:
        asked.append(f"{source}@{revision}")
        if source == "some/unreachable":
            raise ConnectionError
        return SimpleNamespace(sha=commit)

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", model_info)
    assert HuggingFaceModel(card("some/model", revision=commit)).revision == commit
    assert asked == []
    assert HuggingFaceModel(card("some/model")).revision == commit
    assert HuggingFaceModel(card("some/unreachable")).revision == "main"
    assert asked == ["some/model@main", "some/unreachable@main"]


def test_too_little_memory_is_said_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ModelError) as none:
        HuggingFaceModel(card("some/model", memory_gib=19))
    assert str(none.value) == "tiny needs a GPU with 19 GiB of memory; none was found here"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(
        torch.cuda, "get_device_properties", lambda _: SimpleNamespace(total_memory=16 * 2**30)
    )
    with pytest.raises(ModelError) as little:
        HuggingFaceModel(card("some/model", memory_gib=19))
    assert str(little.value) == (
        "tiny needs a GPU with 19 GiB of memory; the one found here has 16 GiB"
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"architecture": "bert"}, "model tiny: settings: architecture: "),
        ({"bach_size": 2}, "model tiny: settings: bach_size: "),
        ({"architecture": "gemma3n", "batch_size": 2}, "batch_size must be 1"),
        ({"trust_remote_code": True}, "needs a commit .40 hexadecimal digits., not 'main'"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ParamsError, match=message):
        HuggingFaceModel(card("some/model", settings=settings))


def test_what_cannot_be_loaded_is_said_in_one_line(checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"needs the folder .*nowhere; there is none"):
        HuggingFaceModel(card(tmp_path / "nowhere"))
    empty = HuggingFaceModel(card(tmp_path))
    with pytest.raises(ModelError, match=r"^tiny could not be loaded from [^\n]*$"):
        empty.answer([(Turn("user", text="Hello"),)], GENERATION)
    other = HuggingFaceModel(card(checkpoint, settings={"architecture": "voxtral"}))
    with pytest.raises(ModelError, match="is voxtral, but the checkpoint is of qwen2_audio"):
        other.answer([(Turn("user", text="Hello"),)], GENERATION)


def test_an_instruction_opens_the_turn_where_system_turns_are_refused(clips: list[Path]) -> None:
    folded = hf._without_system_turns(
        (Turn("system", text="Think first."), Turn("user", audio=clips[0]))
    )
    assert folded == (Turn("user", text="Think first.", audio=clips[0]),)


def test_the_studys_cards_have_settings_that_fit_and_say_what_memory_they_need() -> None:
    cards = [card for card in load_model_cards().values() if card.kind == "hf"]
    assert len(cards) >= 9
    for shipped in cards:
        hf.Settings.model_validate(shipped.settings)
        # bfloat16 weights and a fifth more.
        assert shipped.parameters_b is not None
        assert shipped.memory_gib == pytest.approx(
            shipped.parameters_b * 2e9 / 2**30 * 1.2, abs=1.0
        )
