"""Tiny checkpoints with random weights, one of each architecture, laid out as on the hub.

Their parts are listed in tests/data/tiny_checkpoints.yaml. The tokenizers are byte-level, the
feature extractors the family's own, and the weights large enough that audio moves the logits.
"""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
import yaml
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from aor_lib.config.params import ModelCard
from aor_lib.models import hf_architectures
from aor_lib.models.hf import HuggingFaceModel

WIDTH = 32
STD = 0.12
EVERY_DAY = ("qwen2_audio", "phi4_multimodal")
"""Tested by `make test`: one that pads audio and one that must not. The others are nightly."""

_PARTS = Path(__file__).parents[1] / "data/tiny_checkpoints.yaml"
_TEMPLATE = """\
{% for message in messages %}<|im_start|>{{ message['role'] }}
{% if message['content'] is string %}{{ message['content'] }}{% else %}\
{% for item in message['content'] %}\
{% if item['type'] == 'audio' %}AUDIO{% else %}{{ item['text'] }}{% endif %}{% endfor %}\
{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
_WORDS_ONLY = """\
{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}\
{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"""


def each_architecture() -> pytest.MarkDecorator:
    """Parametrise a test by ``name``, of those that hear; some are nightly."""
    names = [
        pytest.param(name, marks=() if name in EVERY_DAY else pytest.mark.nightly)
        for name in hf_architectures.ARCHITECTURES
        if name != "text"
    ]
    return pytest.mark.parametrize("name", names)


def build(architecture: str, folder: Path) -> Path:
    """Save a tiny checkpoint in ``folder``, if there is none yet, and return the folder."""
    if (folder / "config.json").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    parts = yaml.safe_load(_PARTS.read_text())[architecture]
    config_class, model_class, processor = parts["classes"]
    if architecture == "voxtral":
        tokenizer = _mistral_tokenizer(folder)
    else:
        tokenizer = _tokenizer(parts.get("tokens", []), parts.get("named", {}))
        tokenizer.chat_template = _chat_template(parts.get("template"))
    tokenizer.save_pretrained(folder)
    if architecture == "gemma3n":
        hf_architectures.leave_out_gemma3n_vision()
    torch.manual_seed(0)
    config = getattr(transformers, config_class)(**_resolved(parts["config"], tokenizer))
    _save(getattr(transformers, model_class)(config), folder)
    if architecture == "text":
        return folder
    features = hf_architectures.ARCHITECTURES[architecture].features
    getattr(transformers, features)(**parts["features"]).save_pretrained(folder)
    named = {"processor_class": processor, **parts.get("processor_config", {})}
    _write_json(folder / "processor_config.json", named)
    return folder


def card(architecture: str, source: Path | str, **fields: Any) -> ModelCard:
    about = {"id": "tiny", "title": "Tiny", "family": "Test", "kind": "hf", "licence": "none"}
    fields["settings"] = {"architecture": architecture} | fields.get("settings", {})
    return ModelCard(**about, source=str(source), **fields)


def load(architecture: str, source: Path, batch_size: int = 1, **settings: Any) -> HuggingFaceModel:
    """The model of a checkpoint in a folder; ``settings`` are its card's."""
    reach = {"batch_size": batch_size}
    return HuggingFaceModel(card(architecture, source, settings=settings, reach=reach))


def script(folder: Path, text: str) -> None:
    """Make a checkpoint say what follows a prompt's last token in ``text``, and go round in it.

    Each token decides on the next one alone, so that none may occur twice; after the last comes
    the first.
    """
    tokens = transformers.AutoTokenizer.from_pretrained(folder)(text)["input_ids"]
    weights = load_file(folder / "model.safetensors")
    for name in (name for name in weights if name.endswith(("o_proj.weight", "down_proj.weight"))):
        weights[name].zero_()
    (head,) = (name for name in weights if name.endswith("lm_head.weight"))
    (embedding,) = (name for name in weights if name.endswith("embed_tokens.weight"))
    rows = torch.nn.functional.normalize(weights[embedding], dim=1)
    weights[head].zero_()[tokens[1:] + tokens[:1]] = rows[tokens]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def add_adapter(network: Any, module: str) -> None:
    """Put a LoRA adapter that moves the logits on a module of the first layer's attention."""
    import peft

    with torch.random.fork_rng():
        torch.manual_seed(0)
        network.add_adapter(peft.LoraConfig(r=2, target_modules=[f"layers.0.self_attn.{module}"]))
        for parameter, weights in network.named_parameters():
            if "lora_B" in parameter:
                torch.nn.init.normal_(weights, std=0.5)


def _resolved(value: Any, tokenizer: Any) -> Any:
    """A configuration with the tokenizer's ids and size in place of their descriptions."""
    if isinstance(value, dict):
        return {key: _resolved(item, tokenizer) for key, item in value.items()}
    if isinstance(value, str) and value.startswith("id of "):
        return tokenizer.convert_tokens_to_ids(value.removeprefix("id of "))
    if isinstance(value, str) and value.startswith("vocabulary"):
        return len(tokenizer) + int(value.removeprefix("vocabulary").replace("+", "") or 0)
    return value


def _chat_template(audio: str | None) -> str | None:
    if audio is None:
        return None  # the processor's default
    return _WORDS_ONLY if audio == "words_only" else _TEMPLATE.replace("AUDIO", audio)


def _tokenizer(tokens: list[str], named: dict[str, str]) -> Any:
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


def _save(model: Any, folder: Path) -> None:
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.normal_(std=STD)
    model.save_pretrained(folder)


def _mistral_tokenizer(folder: Path) -> Any:
    """A tokenizer as of Voxtral, with bytes for words."""
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer
    from transformers.tokenization_mistral_common import MistralCommonBackend

    known = {token["rank"]: token["token_str"] for token in Tekkenizer.DEPRECATED_SPECIAL_TOKENS}
    known |= {24: "[AUDIO]", 25: "[BEGIN_AUDIO]", 34: "[TRANSCRIBE]"}
    letters = [chr(byte) if byte < 128 else None for byte in range(256)]
    encoded = [base64.b64encode(bytes([byte])).decode() for byte in range(256)]
    content = yaml.safe_load(_PARTS.read_text())["voxtral"]["tekken"]
    content["vocab"] = [
        {"rank": byte, "token_bytes": encoded[byte], "token_str": letters[byte]}
        for byte in range(256)
    ]
    content["special_tokens"] = [
        {"rank": rank, "token_str": known.get(rank, f"<SPECIAL_{rank}>"), "is_control": True}
        for rank in range(40)
    ]
    _write_json(folder / "tekken.json", content)
    return MistralCommonBackend(folder / "tekken.json")


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2))
