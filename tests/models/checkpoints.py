"""Tiny checkpoints with random weights, one of each architecture, laid out as on the hub.

Two layers, 32 wide, a byte-level tokenizer with the architecture's special tokens, the family's
feature extractor at its defaults. The weights are large enough that audio visibly moves the logits.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from aor_lib.models import hf_architectures
from aor_lib.models.hf_architectures import leave_out_gemma3n_vision

WIDTH = 32
STD = 0.12
EVERY_DAY = ("qwen2_audio", "phi4_multimodal")
"""Tested by `make test`: one that pads audio and one that must not. The others are nightly."""

_CHATML = """\
{% for message in messages %}<|im_start|>{{ message['role'] }}
{% if message['content'] is string %}{{ message['content'] }}{% else %}\
{% for item in message['content'] %}\
{% if item['type'] == 'audio' %}AUDIO{% else %}{{ item['text'] }}{% endif %}{% endfor %}\
{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
# Of checkpoints whose template takes a turn's words only: the audio token stands in them.
_WORDS_ONLY = """\
{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}\
{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"""


def each_architecture(
    where: Callable[[hf_architectures.Architecture], bool] = lambda one: True,
) -> pytest.MarkDecorator:
    """Parametrise a test by ``name``: those architectures of which ``where`` holds."""
    nightly = pytest.mark.nightly
    names = [name for name, one in hf_architectures.ARCHITECTURES.items() if where(one)]
    marked = [pytest.param(x, marks=() if x in EVERY_DAY else nightly) for x in names]
    return pytest.mark.parametrize("name", marked)


def build(architecture: str, folder: Path) -> Path:
    """Save a tiny checkpoint in ``folder``, if there is none yet, and return the folder."""
    if not (folder / "config.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(0)
        ARCHITECTURES[architecture](folder)
    return folder


def _qwen2_audio(folder: Path) -> None:
    tokenizer = _tokenizer(["<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"])
    config = transformers.Qwen2AudioConfig(
        audio_config={**_whisper_encoder(80), "model_type": "qwen2_audio_encoder"},
        text_config={**_decoder(tokenizer), "model_type": "qwen2"},
        audio_token_index=tokenizer.convert_tokens_to_ids("<|AUDIO|>"),
    )
    _save(transformers.Qwen2AudioForConditionalGeneration(config), folder)
    extractor = transformers.WhisperFeatureExtractor()
    transformers.Qwen2AudioProcessor(extractor, tokenizer).save_pretrained(folder)


def _audioflamingo3(folder: Path) -> None:
    tokenizer = _tokenizer(["<sound>"])
    config = transformers.AudioFlamingo3Config(
        audio_config={**_whisper_encoder(128), "model_type": "audioflamingo3_encoder"},
        text_config={**_decoder(tokenizer), "model_type": "qwen2"},
        audio_token_id=tokenizer.convert_tokens_to_ids("<sound>"),
    )
    _save(transformers.AudioFlamingo3ForConditionalGeneration(config), folder)
    transformers.AudioFlamingo3Processor(
        transformers.WhisperFeatureExtractor(feature_size=128, return_attention_mask=True),
        tokenizer,
        chat_template=_CHATML.replace("AUDIO", "<sound>"),
    ).save_pretrained(folder)


def _voxtral(folder: Path) -> None:
    from transformers.tokenization_mistral_common import MistralCommonBackend

    vocabulary = _write_tekken(folder / "tekken.json")
    config = transformers.VoxtralConfig(
        # The projector joins four frames: as wide as the encoder's feed-forward layer.
        audio_config={**_whisper_encoder(128), "encoder_ffn_dim": 4 * WIDTH},
        text_config={
            "model_type": "llama",
            "hidden_size": WIDTH,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 4,
            "head_dim": 8,
            "vocab_size": vocabulary,
        },
        audio_token_id=24,
    )
    _save(transformers.VoxtralForConditionalGeneration(config), folder)
    transformers.VoxtralProcessor(
        transformers.WhisperFeatureExtractor(feature_size=128),
        MistralCommonBackend(folder / "tekken.json"),
    ).save_pretrained(folder)


def _qwen2_5_omni(folder: Path) -> None:
    tokenizer = _omni_tokenizer()
    thinker = {
        "audio_config": {**_whisper_encoder(128), "output_dim": WIDTH},
        "vision_config": {
            "depth": 1,
            "hidden_size": WIDTH,
            "intermediate_size": 64,
            "num_heads": 4,
            "out_hidden_size": WIDTH,
            "fullatt_block_indexes": [0],
        },
        "text_config": {
            **_decoder(tokenizer),
            "rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2]},
        },
        "audio_token_index": tokenizer.audio_token_id,
        "image_token_index": tokenizer.image_token_id,
        "video_token_index": tokenizer.video_token_id,
        "audio_start_token_id": tokenizer.audio_bos_token_id,
        "vision_start_token_id": tokenizer.vision_bos_token_id,
        "audio_end_token_id": tokenizer.audio_eos_token_id,
    }
    config = transformers.Qwen2_5OmniConfig(thinker_config=thinker, enable_audio_output=False)
    _save(transformers.Qwen2_5OmniForConditionalGeneration(config), folder)
    _save_parts(folder, "Qwen2_5OmniProcessor", tokenizer, _omni_extractor())


def _qwen3_omni_moe(folder: Path) -> None:
    tokenizer = _omni_tokenizer()
    thinker = {
        "audio_config": {**_whisper_encoder(128), "output_dim": WIDTH, "downsample_hidden_size": 8},
        "vision_config": {
            "depth": 1,
            "hidden_size": WIDTH,
            "intermediate_size": 64,
            "num_heads": 4,
            "out_hidden_size": WIDTH,
            "deepstack_visual_indexes": [0],
            "num_position_embeddings": 16,
        },
        "text_config": {
            **_decoder(tokenizer),
            "head_dim": 8,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 32,
            "rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2]},
        },
        "audio_token_id": tokenizer.audio_token_id,
        "image_token_id": tokenizer.image_token_id,
        "video_token_id": tokenizer.video_token_id,
        "audio_start_token_id": tokenizer.audio_bos_token_id,
        "vision_start_token_id": tokenizer.vision_bos_token_id,
    }
    config = transformers.Qwen3OmniMoeConfig(thinker_config=thinker, enable_audio_output=False)
    _save(transformers.Qwen3OmniMoeForConditionalGeneration(config), folder)
    _save_parts(folder, "Qwen3OmniMoeProcessor", tokenizer, _omni_extractor())


def _gemma3n(folder: Path) -> None:
    tokenizer = _tokenizer(
        ["<start_of_image>", "<end_of_image>", "<end_of_audio>"],
        image_token="<image_soft_token>",
        audio_token="<audio_soft_token>",
        boi_token="<start_of_image>",
        eoi_token="<end_of_image>",
        boa_token="<start_of_audio>",
        eoa_token="<end_of_audio>",
    )
    words = len(tokenizer)
    config = transformers.Gemma3nConfig(
        text_config={
            **_decoder(tokenizer),
            "head_dim": 8,
            "intermediate_size": [64, 64],
            "vocab_size": words + 16,
            "vocab_size_per_layer_input": words + 16,
            "hidden_size_per_layer_input": 8,
            "laurel_rank": 4,
            "num_kv_shared_layers": 0,
            "activation_sparsity_pattern": [0.0, 0.0],
            "layer_types": ["sliding_attention", "full_attention"],
        },
        vision_config={"hidden_size": WIDTH, "vocab_size": 8, "vocab_offset": words},
        audio_config={
            "hidden_size": WIDTH,
            "vocab_size": 8,
            "vocab_offset": words + 8,
            "conf_num_attention_heads": 4,
            "conf_num_hidden_layers": 2,
            "sscp_conv_channel_size": [8, 4],
        },
        image_token_id=tokenizer.image_token_id,
        audio_token_id=tokenizer.audio_token_id,
    )
    leave_out_gemma3n_vision()
    _save(transformers.Gemma3nForConditionalGeneration(config), folder)
    # A checkpoint of the hub has the vision tower's weights.
    weights = load_file(folder / "model.safetensors")
    weights["model.vision_tower.timm_model.conv_stem.conv.weight"] = torch.zeros(4, 3, 3, 3)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    _save_parts(
        folder,
        "Gemma3nProcessor",
        tokenizer,
        transformers.Gemma3nAudioFeatureExtractor(),
        _CHATML.replace("AUDIO", "<audio_soft_token>"),
    )


def _gemma4(folder: Path) -> None:
    tokenizer = _tokenizer(
        [],
        image_token="<|image|>",
        audio_token="<|audio|>",
        boi_token="<|image>",
        eoi_token="<image|>",
        boa_token="<|audio>",
        eoa_token="<audio|>",
    )
    config = transformers.Gemma4Config(
        text_config={
            **_decoder(tokenizer),
            "head_dim": 8,
            "global_head_dim": 8,
            "vocab_size_per_layer_input": len(tokenizer),
            "hidden_size_per_layer_input": 8,
            "layer_types": ["sliding_attention", "full_attention"],
        },
        vision_config={
            "hidden_size": WIDTH,
            "intermediate_size": 64,
            "num_hidden_layers": 1,
            "num_attention_heads": 4,
            "num_key_value_heads": 4,
            "head_dim": 8,
            "position_embedding_size": 64,
        },
        audio_config={
            "hidden_size": WIDTH,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "subsampling_conv_channels": [128, 4],
            "output_proj_dims": WIDTH,
        },
        image_token_id=tokenizer.image_token_id,
        audio_token_id=tokenizer.audio_token_id,
        boa_token_id=tokenizer.boa_token_id,
        eoa_token_index=tokenizer.eoa_token_id,
    )
    _save(transformers.Gemma4ForConditionalGeneration(config), folder)
    _save_parts(
        folder,
        "Gemma4Processor",
        tokenizer,
        transformers.Gemma4AudioFeatureExtractor(),
        _CHATML.replace("AUDIO", "<|audio|>"),
    )


def _phi4_multimodal(folder: Path) -> None:
    tokenizer = _tokenizer(
        ["<|user|>", "<|assistant|>", "<|system|>", "<|end|>"],
        image_token="<|image|>",
        audio_token="<|audio|>",
    )
    tokenizer.chat_template = _WORDS_ONLY
    config = transformers.Phi4MultimodalConfig(
        **_decoder(tokenizer),
        audio_config={
            "hidden_size": WIDTH,
            "intermediate_size": 64,
            "num_blocks": 2,
            "num_attention_heads": 4,
            "ext_pw_out_channel": WIDTH,
            "depthwise_separable_out_channel": WIDTH,
            "nemo_conv_channels": 8,
            "audio_token_id": tokenizer.audio_token_id,
        },
        vision_config={
            "hidden_size": WIDTH,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "image_token_id": tokenizer.image_token_id,
        },
        bos_token_id=tokenizer.pad_token_id,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    _save(transformers.Phi4MultimodalForCausalLM(config), folder)
    _save_parts(
        folder, "Phi4MultimodalProcessor", tokenizer, transformers.Phi4MultimodalFeatureExtractor()
    )


def _granite_speech(folder: Path) -> None:
    tokenizer = _tokenizer(["<|audio|>"])
    tokenizer.chat_template = _WORDS_ONLY
    config = transformers.GraniteSpeechConfig(
        text_config={**_decoder(tokenizer), "model_type": "granite"},
        encoder_config={
            "num_layers": 2,
            "hidden_dim": WIDTH,
            "num_heads": 4,
            "context_size": 20,
            "max_pos_emb": 32,
        },
        projector_config={
            "model_type": "blip_2_qformer",
            "hidden_size": WIDTH,
            "encoder_hidden_size": WIDTH,
            "intermediate_size": 64,
            "num_hidden_layers": 1,
            "num_attention_heads": 4,
        },
        audio_token_index=tokenizer.convert_tokens_to_ids("<|audio|>"),
        has_lora_adapter=False,
    )
    _save(transformers.GraniteSpeechForConditionalGeneration(config), folder)
    tokenizer.save_pretrained(folder)
    extractor = {
        "feature_extractor_type": "GraniteSpeechFeatureExtractor",
        "sampling_rate": 16_000,
        "melspec_kwargs": {
            "hop_length": 160,
            "n_fft": 512,
            "n_mels": 80,
            "sample_rate": 16_000,
            "win_length": 400,
        },
        "projector_downsample_rate": 5,
        "projector_window_size": 15,
    }
    _write_json(folder / "preprocessor_config.json", extractor)
    _write_json(
        folder / "processor_config.json",
        {"processor_class": "GraniteSpeechProcessor", "audio_token": "<|audio|>"},
    )


ARCHITECTURES: dict[str, Callable[[Path], None]] = {
    "qwen2_audio": _qwen2_audio,
    "qwen2_5_omni": _qwen2_5_omni,
    "qwen3_omni_moe": _qwen3_omni_moe,
    "voxtral": _voxtral,
    "audioflamingo3": _audioflamingo3,
    "gemma3n": _gemma3n,
    "gemma4": _gemma4,
    "phi4_multimodal": _phi4_multimodal,
    "granite_speech": _granite_speech,
}


def _tokenizer(tokens: list[str], **named: str) -> Any:
    """A byte-level tokenizer; ``named`` special tokens become its attributes."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    raw = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, merges=[]))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    raw.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>", *tokens])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
        extra_special_tokens=named,
    )


def _omni_tokenizer() -> Any:
    tokenizer = _tokenizer(
        [],
        audio_token="<|AUDIO|>",
        image_token="<|IMAGE|>",
        video_token="<|VIDEO|>",
        audio_bos_token="<|audio_bos|>",
        audio_eos_token="<|audio_eos|>",
        vision_bos_token="<|vision_bos|>",
        vision_eos_token="<|vision_eos|>",
    )
    tokenizer.chat_template = _CHATML.replace("AUDIO", "<|audio_bos|><|AUDIO|><|audio_eos|>")
    return tokenizer


def _omni_extractor() -> Any:
    return transformers.WhisperFeatureExtractor(feature_size=128, return_attention_mask=True)


def _whisper_encoder(mel_bins: int) -> dict[str, Any]:
    return {
        "d_model": WIDTH,
        "encoder_layers": 2,
        "encoder_attention_heads": 4,
        "encoder_ffn_dim": 64,
        "num_mel_bins": mel_bins,
    }


def _decoder(tokenizer: Any) -> dict[str, Any]:
    return {
        "hidden_size": WIDTH,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "vocab_size": len(tokenizer),
    }


def _save(model: Any, folder: Path) -> None:
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.normal_(std=STD)
    model.save_pretrained(folder)


def _save_parts(
    folder: Path, processor: str, tokenizer: Any, extractor: Any, template: str | None = None
) -> None:
    """What a processor's folder holds, without the image and video parts that need torchvision."""
    tokenizer.save_pretrained(folder)
    extractor.save_pretrained(folder)
    _write_json(folder / "processor_config.json", {"processor_class": processor})
    if template is not None:
        (folder / "chat_template.jinja").write_text(template)


def _write_tekken(path: Path) -> int:
    """A tokenizer file as of Voxtral, with bytes for words; returns the size of its vocabulary."""
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    known = {token["rank"]: token["token_str"] for token in Tekkenizer.DEPRECATED_SPECIAL_TOKENS}
    known |= {24: "[AUDIO]", 25: "[BEGIN_AUDIO]", 34: "[TRANSCRIBE]"}
    special = 40
    content = {
        "config": {
            "pattern": r"[\s\S]",
            "num_vocab_tokens": 256,
            "default_vocab_size": 256 + special,
            "default_num_special_tokens": special,
            "version": "v7",
        },
        "vocab": [
            {
                "rank": byte,
                "token_bytes": base64.b64encode(bytes([byte])).decode(),
                "token_str": chr(byte) if byte < 128 else None,
            }
            for byte in range(256)
        ],
        "special_tokens": [
            {
                "rank": rank,
                "token_str": known.get(rank, f"<SPECIAL_{rank}>"),
                "is_control": True,
            }
            for rank in range(special)
        ],
        "audio": {
            "sampling_rate": 16_000,
            "frame_rate": 12.5,
            "audio_encoding_config": {"num_mel_bins": 128, "hop_length": 160, "window_size": 400},
            "chunk_length_s": 30.0,
        },
    }
    _write_json(path, content)
    return 256 + special


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2))
