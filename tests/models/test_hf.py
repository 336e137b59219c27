"""The Hugging Face adapter, on tiny random checkpoints that it loads by their paths."""

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
import transformers
from safetensors.torch import load_file, save_file

from aor_lib.config.params import ModelCard, load_model_cards
from aor_lib.config.records import Generation
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.models import hf, hf_generate, hf_inputs
from aor_lib.models.base import Answer, Conversation, Failure, ModelError, Turn, Waveform
from aor_lib.models.hf import HuggingFaceModel
from aor_lib.models.hf_architectures import ARCHITECTURES, ArchitectureName
from tests.models import checkpoints

GENERATION = Generation(max_new_tokens=6)
SAMPLE_RATE = 24_000
EXACT = 1e-5
"""Rounding of sums in another order; audio moves the logits by about 1."""
every_architecture = pytest.mark.parametrize("name", ARCHITECTURES)


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


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the checkpoints of this run are."""
    return tmp_path_factory.mktemp("checkpoints")


@pytest.fixture(scope="session")
def checkpoint(shelf: Path) -> Path:
    return checkpoints.build("qwen2_audio", shelf / "qwen2_audio")


def load(name: ArchitectureName, shelf: Path, **settings: Any) -> HuggingFaceModel:
    folder = checkpoints.build(name, shelf / name)
    return HuggingFaceModel(card(folder, settings={"architecture": name, **settings}))


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    yield
    hf._loaded.clear()


def noise(duration_s: float, seed: int = 0) -> Waveform:
    samples = np.random.default_rng(seed).normal(0, 0.1, round(duration_s * SAMPLE_RATE))
    return Waveform(samples.astype(np.float32), SAMPLE_RATE)


def tone(duration_s: float) -> Waveform:
    time = np.arange(round(duration_s * SAMPLE_RATE)) / SAMPLE_RATE
    return Waveform((0.3 * np.sin(2 * np.pi * 440 * time)).astype(np.float32), SAMPLE_RATE)


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two clips of unlike length and content."""
    folder = tmp_path_factory.mktemp("clips")
    for name, clip in (("noise", noise(2.999)), ("tone", tone(1.0))):
        soundfile.write(folder / f"{name}.wav", clip.samples, SAMPLE_RATE, subtype="FLOAT")
    return [folder / "noise.wav", folder / "tone.wav"]


@pytest.fixture(scope="session")
def conversations(clips: list[Path]) -> list[Conversation]:
    return [
        (Turn("user", audio=clips[0]),),
        (Turn("user", text="How do I beat this boss?"),),
        (Turn("user", audio=clips[1]),),
        (Turn("system", text="Think first."), Turn("user", audio=clips[1])),
        (
            Turn("system", text="Think first."),
            Turn("user", audio=clips[1]),
            Turn("assistant", text="Beat whom?"),
            Turn("user", audio=clips[0]),
        ),
        (
            Turn("user", text="Are you there?"),
            Turn("assistant", text="Yes."),
            Turn("user", text="What is that noise?"),
        ),
    ]


@pytest.mark.slow
@every_architecture
def test_answers_any_conversation_the_same_twice_and_whatever_the_batch(
    name: ArchitectureName, shelf: Path, conversations: list[Conversation]
) -> None:
    model = load(name, shelf)
    answers = model.answer(conversations, GENERATION)
    assert all(isinstance(answer, Answer) and answer.text for answer in answers)
    assert len({answer.text for answer in answers if isinstance(answer, Answer)}) >= 4
    batched = load(name, shelf, batch_size=8)
    assert batched.answer(conversations, GENERATION) == answers
    assert batched.answer(conversations[::-1], GENERATION) == answers[::-1]


@pytest.mark.slow
@every_architecture
def test_hears_every_clip_as_a_file_and_as_a_waveform(
    name: ArchitectureName, shelf: Path, conversations: list[Conversation], clips: list[Path]
) -> None:
    model = load(name, shelf)
    of_noise, of_tone = (model.logits((Turn("user", audio=clip),)) for clip in clips)
    assert of_noise.dtype == torch.float32
    assert of_noise.ndim == 1
    assert distance(of_noise, of_tone) > 0.1
    in_memory = model.logits((Turn("user", audio=tone(1.0)),))
    assert distance(in_memory, of_tone) < EXACT
    system, _, answer, last = conversations[4]
    earlier = model.logits((system, Turn("user", audio=clips[0]), answer, last))
    assert distance(earlier, model.logits(conversations[4])) > 0.1


@pytest.mark.slow
@every_architecture
def test_a_batch_changes_no_logits(name: ArchitectureName, shelf: Path) -> None:
    model = load(name, shelf)
    longer = 2.7183 if ARCHITECTURES[name].pads_audio else 1.0
    asked: list[Conversation] = [
        (Turn("user", audio=tone(1.0)),),
        (Turn("user", audio=noise(longer, seed=1)),),
        (Turn("system", text="Think first."), Turn("user", audio=noise(1.0, seed=2))),
    ]
    written: list[Conversation] = [(Turn("user", text=text),) for text in ("Hi!", "How are you?")]
    for together in (asked, written):
        batch = logits_of_batch(model, name, together)
        for row, conversation in zip(batch, together, strict=True):
            assert distance(row, model.logits(conversation)) < EXACT


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name, one in ARCHITECTURES.items() if not one.pads_audio]
)
def test_a_longer_clip_in_a_batch_would_change_the_logits_so_it_gets_a_batch_of_its_own(
    name: ArchitectureName, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(name, shelf, batch_size=8)
    asked: list[Conversation] = [
        (Turn("user", audio=clip),)
        for clip in (tone(1.0), noise(2.7), noise(1.0), noise(1.01), noise(2.7, seed=1))
    ]
    alone = model.logits(asked[0])
    assert distance(logits_of_batch(model, name, asked[:2])[0], alone) > 0.05
    rows = []
    answers = hf_generate.answers

    def counted(network: Any, tokenizer: Any, inputs: Any, generation: Generation) -> Any:
        rows.append(len(inputs["input_ids"]))
        return answers(network, tokenizer, inputs, generation)

    monkeypatch.setattr(hf_generate, "answers", counted)
    model.answer(asked, GENERATION)
    assert rows == [2, 2, 1]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, one in ARCHITECTURES.items() if one.truncates])
def test_a_clip_whose_end_would_not_be_heard_is_a_failure(
    name: ArchitectureName, shelf: Path
) -> None:
    asked: list[Conversation] = [(Turn("user", audio=tone(seconds)),) for seconds in (31, 1)]
    too_long, heard = load(name, shelf).answer(asked, GENERATION)
    expected = Failure("ValueError: a clip of more than 30 s, the longest this model hears")
    assert too_long == expected
    assert isinstance(heard, Answer)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, one in ARCHITECTURES.items() if not one.truncates])
def test_the_end_of_a_long_clip_is_heard(name: ArchitectureName, shelf: Path) -> None:
    model = load(name, shelf)
    ends = [np.concatenate([noise(31).samples, end.samples]) for end in (noise(2), tone(2))]
    one, other = (model.logits((Turn("user", audio=Waveform(x, SAMPLE_RATE)),)) for x in ends)
    assert distance(one, other) > 0.01


@pytest.mark.slow
@every_architecture
def test_its_decoder_layers_can_be_read_and_steered(name: ArchitectureName, shelf: Path) -> None:
    model = load(name, shelf)
    question: Conversation = (Turn("user", text="Hello"),)
    before = model.logits(question)
    layers = model.decoder_layers()
    assert len(layers) == 2
    shapes = []

    def steer(_: Any, __: Any, output: torch.Tensor) -> torch.Tensor:
        shapes.append(output.shape)
        return output + torch.linspace(-1, 1, checkpoints.WIDTH)

    handle = layers[0].register_forward_hook(steer)
    assert distance(model.logits(question), before) > 0.01
    handle.remove()
    assert shapes[0][-1] == checkpoints.WIDTH
    assert shapes[0][:-2] == ((4, 1) if name == "gemma3n" else (1,))
    assert torch.equal(model.logits(question), before)


def distance(some: torch.Tensor, other: torch.Tensor) -> float:
    return float((some - other).abs().max())


def logits_of_batch(
    model: HuggingFaceModel, name: ArchitectureName, conversations: list[Conversation]
) -> torch.Tensor:
    network, processor = model.load()
    ready = [hf_inputs.with_waveforms(processor, name, one) for one in conversations]
    return hf_generate.next_token_logits(network, hf_inputs.model_inputs(processor, name, ready))


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
    network, _ = model.load()

    def fail(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(network, "generate", fail)
    error: Exception = torch.OutOfMemoryError("tried to allocate 3 GiB")
    failure = Failure("OutOfMemoryError: tried to allocate 3 GiB")
    assert model.answer(conversations, GENERATION) == [failure] * 6
    error = torch.AcceleratorError("device-side assert")
    with pytest.raises(ModelError, match=r"^tiny: the GPU failed: device-side assert"):
        model.answer(conversations, GENERATION)


def test_a_batch_that_needs_too_much_memory_is_halved_and_so_are_the_next(
    checkpoint: Path, clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = HuggingFaceModel(card(checkpoint, settings={"batch_size": 8}))
    asked: list[Conversation] = [(Turn("user", text=f"What is {n}?"),) for n in range(10)]
    answers = model.answer(asked, GENERATION)
    network, _ = model.load()
    generate, rows = network.generate, []

    def generate_few(input_ids: torch.Tensor, **options: Any) -> torch.Tensor:
        rows.append(len(input_ids))
        if len(input_ids) > 2:
            raise RuntimeError("CPU allocator: out of memory")
        output: torch.Tensor = generate(input_ids=input_ids, **options)
        return output

    monkeypatch.setattr(network, "generate", generate_few)
    assert model.answer(asked, GENERATION) == answers
    assert rows == [8, 4, 2, 2, 2, 2, 2]


def test_an_empty_answer_is_a_failure(
    checkpoint: Path, conversations: list[Conversation], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = HuggingFaceModel(card(checkpoint))
    network, processor = model.load()
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
    first.load()
    second.load()
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
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    spread = card("some/model", memory_gib=19, revision="0" * 40, settings={"device_map": "auto"})
    assert HuggingFaceModel(spread).revision == "0" * 40


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"architecture": "bert"}, "model tiny: settings: architecture: "),
        ({"bach_size": 2}, "model tiny: settings: bach_size: "),
        ({"device_map": "tpu"}, "model tiny: settings: device_map: .*'tpu'"),
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


def test_a_checkpoint_that_lacks_weights_is_not_filled_with_random_ones(
    checkpoint: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "incomplete"
    shutil.copytree(checkpoint, folder)
    weights = load_file(folder / "model.safetensors")
    lost = next(key for key in weights if key.endswith("layers.1.self_attn.q_proj.weight"))
    del weights[lost]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"1 weights are missing, the first is .*q_proj.weight"):
        HuggingFaceModel(card(folder)).load()


def test_an_instruction_opens_the_turn_where_system_turns_are_refused(clips: list[Path]) -> None:
    folded = hf_inputs.without_system_turns(
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


def test_a_checkpoint_of_the_hub_is_fetched_at_its_commit_and_loaded_as_a_folder(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    fetched: list[str] = []

    def snapshot_download(source: str, revision: str, ignore_patterns: list[str]) -> str:
        fetched.append(f"{source}@{revision}")
        assert "*.bin" in ignore_patterns
        return str(checkpoint)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    question: Conversation = (Turn("user", text="Hello"),)
    of_hub = HuggingFaceModel(card("some/model", revision=commit))
    logits = of_hub.logits(question)
    assert fetched == [f"some/model@{commit}"]
    assert torch.equal(logits, HuggingFaceModel(card(checkpoint)).logits(question))


def test_settings_reach_the_model(shelf: Path) -> None:
    settings = {"dtype": "bfloat16", "attention": "eager", "device_map": "auto"}
    network, _ = load("qwen2_audio", shelf, **settings).load()
    assert network.dtype == torch.bfloat16
    assert network.get_decoder().config._attn_implementation == "eager"
    network, _ = load("qwen2_audio", shelf).load()
    assert (network.dtype, network.device) == (torch.float32, torch.device("cpu"))
    assert network.get_decoder().config._attn_implementation == "sdpa"


@pytest.mark.slow
def test_an_adapter_named_in_the_card_is_put_on(shelf: Path, tmp_path: Path) -> None:
    folder = tmp_path / "phi4"
    shutil.copytree(checkpoints.build("phi4_multimodal", shelf / "phi4_multimodal"), folder)
    settings = {"architecture": "phi4_multimodal"}
    question: Conversation = (Turn("user", audio=tone(1.0)),)
    plain = HuggingFaceModel(card(folder, settings=settings))
    without = plain.logits(question)
    network, _ = plain.load()
    add_adapter(network, "qkv_proj")
    network.save_pretrained(folder / "speech-lora")
    expected = plain.logits(question)
    assert distance(expected, without) > 0.01
    adapted = HuggingFaceModel(card(folder, settings={**settings, "adapter": "speech-lora"}))
    assert distance(adapted.logits(question), expected) < EXACT


@pytest.mark.slow
def test_an_adapter_in_the_checkpoint_serves_audio_alone_and_is_never_missed(
    shelf: Path, tmp_path: Path
) -> None:
    plain = load("granite_speech", shelf)
    network, _ = plain.load()
    spoken: Conversation = (Turn("user", audio=tone(1.0)),)
    written: Conversation = (Turn("user", text="Hello"),)
    without = [plain.logits(question) for question in (spoken, written)]
    folder = tmp_path / "granite"
    shutil.copytree(shelf / "granite_speech", folder)
    network.config.has_lora_adapter = True
    network.config.save_pretrained(folder)
    settings = {"architecture": "granite_speech"}
    with pytest.raises(ModelError, match="its LoRA adapter was not loaded: peft is needed"):
        HuggingFaceModel(card(folder, settings=settings)).load()
    add_adapter(network, "q_proj")
    # Granite's own method would write the weights below the adapter under other names.
    transformers.PreTrainedModel.save_pretrained(network, str(folder))
    adapted = HuggingFaceModel(card(folder, settings=settings))
    assert distance(adapted.logits(spoken), without[0]) > 0.01
    assert distance(adapted.logits(written), without[1]) < EXACT


def add_adapter(network: Any, module: str) -> None:
    import peft

    network.add_adapter(peft.LoraConfig(r=2, target_modules=[f"layers.0.self_attn.{module}"]))
    for parameter, weights in network.named_parameters():
        if "lora_B" in parameter:
            torch.nn.init.normal_(weights, std=0.5)


def test_granites_features_are_those_of_torchaudios_mel_spectrogram_at_its_defaults() -> None:
    from aor_lib.models.granite_features import GraniteFeatures

    samples = np.random.default_rng(0).normal(0, 0.1, 16_077).astype(np.float32)
    window = np.pad(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400), 56)
    padded = np.pad(samples, 256, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, 512)[::160]
    power = np.abs(np.fft.rfft(frames * window)) ** 2
    corners = 700 * (10 ** (np.linspace(0, 2595 * np.log10(1 + 8_000 / 700), 82) / 2595) - 1)
    hertz = np.linspace(0, 8_000, 257)
    triangles = [np.interp(hertz, corners[i : i + 3], [0, 1, 0]) for i in range(80)]
    loudness = np.log10(np.maximum(power @ np.transpose(triangles), 1e-10))
    expected = np.maximum(loudness, loudness.max() - 8) / 4 + 1
    made = GraniteFeatures()([samples, samples[:8_000]])
    assert made["input_features"].shape == (2, 50, 160)
    first = made["input_features"][0].reshape(100, 80)
    np.testing.assert_allclose(first, expected[:100], atol=1e-4)
    # 50 and 25 pairs of frames, in windows of 15 that become 3 tokens each.
    assert made["audio_embed_sizes"] == [12, 6]
    assert made["input_features_mask"].sum(dim=1).tolist() == [12, 6]
