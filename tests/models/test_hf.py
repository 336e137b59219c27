from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from aor_lib.audio.clip import Clip
from aor_lib.config.records import Generation
from aor_lib.models.base import Answer, Failure, ModelError, Turn
from aor_lib.models.hf import HuggingFaceModel
from aor_lib.models.hf_architectures import ARCHITECTURES
from tests.audio.sounds import hiss
from tests.models import checkpoints
from tests.models.checkpoints import each_architecture

GENERATION, LONGER = Generation(max_new_tokens=6), Generation(max_new_tokens=24)
SAMPLE_RATE = 24_000
EXACT = 1e-5
"""Rounding of sums in another order; audio moves the logits by about 1."""
COMMIT = "0123456789abcdef0123456789abcdef01234567"
HELLO = (Turn("user", text="Hello"),)

pytestmark = pytest.mark.slow


def on_the_hub(**fields):
    return HuggingFaceModel(checkpoints.card("qwen2_audio", "some/model", **fields))


def noise(duration_s, seed=0):
    return Clip(hiss(seed, duration_s, level=0.1).astype(np.float32), SAMPLE_RATE)


def tone(duration_s):
    time = np.arange(round(duration_s * SAMPLE_RATE)) / SAMPLE_RATE
    return Clip((0.3 * np.sin(2 * np.pi * 440 * time)).astype(np.float32), SAMPLE_RATE)


def says(audio):
    return (Turn("user", audio=audio),)


def distance(some, other):
    return float((some - other).abs().max())


@each_architecture()
def test_sound_changes_the_embeddings_where_the_audios_tokens_are_and_nowhere_else(name, tiny):
    model, embedded = tiny(name), []
    hook = model.decoder_layers()[0].register_forward_pre_hook(
        lambda layer, given, named: embedded.append(given[0] if given else named["hidden_states"]),
        with_kwargs=True,
    )
    for clip in (tone(1.0), noise(1.0)):
        model.logits(says(clip))
    hook.remove()
    one, other = (stream.reshape(-1, *stream.shape[-2:])[0] for stream in embedded)
    changed = (one - other).abs().amax(dim=-1).gt(1e-6).nonzero()[:, 0].tolist()
    network, inputs = model._asked(says(tone(1.0)))
    whole = network.config
    config = whole if hasattr(whole, "audio_token_id") else whole.audio_config
    is_audio = inputs["input_ids"][0] == config.audio_token_id
    # All are, but for those of padding.
    assert set() < set(changed) <= set(is_audio.nonzero()[:, 0].tolist())


@each_architecture()
def test_the_end_of_a_long_clip_is_heard_or_the_clip_is_a_failure(name, tiny):
    model = tiny(name)
    ends = [np.concatenate([noise(31).samples, end.samples]) for end in (noise(2), tone(2))]
    one, other = (says(Clip(samples, SAMPLE_RATE)) for samples in ends)
    if ARCHITECTURES[name].truncates:
        too_long, heard = model.answer([one, says(tone(1))], GENERATION)
        assert "a clip of more than 30 s" in too_long.error
        assert isinstance(heard, Answer)
    else:
        assert distance(model.logits(one), model.logits(other)) > 0.01


def test_samples_from_the_seed_whatever_else_is_asked(tiny, conversations):
    model = tiny("qwen2_audio", batch_size=4)
    sampled = Generation(max_new_tokens=6, temperature=1.0, seed=3)
    answers = model.answer(conversations, sampled)
    assert model.answer(conversations[2:], sampled) == answers[2:]
    assert model.answer(conversations, sampled.model_copy(update={"seed": 4})) != answers


def test_silence_brings_clips_to_a_common_length_at_which_they_share_a_batch(tiny):
    model = tiny("phi4_multimodal", batch_size=4)
    asked = [says(noise(duration_s, seed=3)) for duration_s in (1.0, 1.7, 2.0, 2.3)]
    assert [list(some) for some in model.results(asked, GENERATION)] == [[0, 1, 2], [3]]
    clip = np.random.default_rng(0).normal(0, 0.1, 24_001).astype(np.float32)
    silent = says(Clip(np.pad(clip, (0, 7_999)), 16_000))
    assert distance(model.logits(says(Clip(clip, 16_000))), model.logits(silent)) < EXACT


def test_a_folders_revision_is_its_content_and_a_hub_models_is_its_commit(
    tiny, copied, monkeypatch
):
    revision = tiny("qwen2_audio").revision
    folder = copied("qwen2_audio")
    (folder / ".cache").mkdir()
    (folder / ".cache/model.safetensors.metadata").write_text("downloaded at 1759212345.6")
    assert tiny("qwen2_audio", folder).revision == revision
    assert tiny("qwen2_audio").load() is tiny("qwen2_audio").load(), "not once for each question"
    weights = folder / "model.safetensors"
    weights.write_bytes(bytes(weights.stat().st_size))
    assert tiny("qwen2_audio", folder).revision != revision
    info = SimpleNamespace(sha=COMMIT)
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *_, **__: info)
    assert on_the_hub().revision == on_the_hub(revision="v1").revision == COMMIT


def test_too_little_memory_is_said_before_anything_is_loaded(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ModelError, match="19 GiB"):
        on_the_hub(memory_gib=19)


def test_a_checkpoint_that_lacks_weights_is_not_filled_with_random_ones(tiny, copied):
    folder = copied("qwen2_audio")
    weights = load_file(folder / "model.safetensors")
    lost = next(key for key in weights if key.endswith("layers.1.self_attn.q_proj.weight"))
    del weights[lost]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match="q_proj"):
        tiny("qwen2_audio", folder).load()


def test_a_speech_adapter_named_in_the_card_serves_conversations_with_audio_alone(tiny, copied):
    adapted_phi4 = copied("phi4_multimodal")
    network, _ = tiny("phi4_multimodal", adapted_phi4).load()
    checkpoints.add_adapter(network, "qkv_proj")
    network.save_pretrained(adapted_phi4 / "speech-lora")
    questions = (says(tone(1.0)), HELLO)
    plain = tiny("phi4_multimodal", adapted_phi4)
    spoken, written = (plain.logits(question) for question in questions)
    answers = plain.answer(questions, GENERATION)
    checkpoints.add_adapter(plain.load()[0], "qkv_proj")
    heard = plain.logits(questions[0])
    assert distance(heard, spoken) > 0.01
    adapted = tiny("phi4_multimodal", adapted_phi4, adapter="speech-lora", batch_size=2)
    # Twice: a written question leaves the adapter off for the next spoken one.
    for _ in range(2):
        assert distance(adapted.logits(questions[0]), heard) < EXACT
        assert distance(adapted.logits(questions[1]), written) < EXACT
    both = adapted.answer(questions, GENERATION)
    assert both[0] != answers[0]
    assert both[1] == answers[1]


@pytest.mark.parametrize(
    ("name", "tokenizers_end"),
    [
        ("qwen2_5_omni", "<|im_end|>"),
        pytest.param("qwen3_omni_moe", "<|im_end|>", marks=pytest.mark.nightly),
        ("qwen2_audio", "<|endoftext|>"),
    ],
)
def test_an_answer_stops_where_its_turn_ends(name, tokenizers_end, tiny, copied):
    folder = copied(name, "tokenizer_config.json", eos_token=tokenizers_end)
    # If nothing stops it there, the next turn follows.
    checkpoints.script(folder, "\nNo<|im_end|>\r<|im_start|>user")
    assert tiny(name, folder).answer([HELLO], LONGER) == [Answer("No", 3, finish_reason="stop")]


def test_a_checkpoints_own_settings_leave_greedy_decoding_as_it_is(tiny, copied):
    asked = [(Turn("user", text=f"What is {number}?"),) for number in range(4)]
    plain = tiny("qwen2_audio").answer(asked, LONGER)
    folder = copied("qwen2_audio", "generation_config.json", repetition_penalty=1.1, num_beams=3)
    assert tiny("qwen2_audio", folder).answer(asked, LONGER) == plain


def test_an_empty_answer_is_a_failure(tiny, copied):
    folder = copied("qwen2_audio")
    checkpoints.script(folder, "\n<|im_end|>")
    nothing = Failure("empty answer: no text was generated")
    assert tiny("qwen2_audio", folder).answer([HELLO], LONGER) == [nothing]


def test_a_dead_gpu_stops_its_model_and_fails_no_trial(tiny, monkeypatch):
    def fail(*_, **__):
        raise torch.AcceleratorError("CUDA error: device-side assert triggered")

    model = tiny("qwen2_audio", batch_size=2)
    monkeypatch.setattr(model.load()[0], "generate", fail)
    with pytest.raises(ModelError, match="device-side assert"):
        model.answer([HELLO] * 5, GENERATION)


def test_what_cannot_be_loaded_is_named(tiny, checkpoint, tmp_path):
    with pytest.raises(ModelError, match="nowhere"):
        tiny("qwen2_audio", tmp_path / "nowhere")
    with pytest.raises(ModelError, match=r"voxtral.*qwen2_audio"):
        tiny("voxtral", checkpoint("qwen2_audio")).answer([HELLO], GENERATION)
