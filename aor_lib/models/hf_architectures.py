"""Differences between architectures of Hugging Face checkpoints in loading and prompting.

Image and video parts are not loaded: they are unused, and need torchvision and timm. A processor
is therefore assembled from its tokenizer and its audio part, whatever is installed.
"""

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import transformers

from aor_lib.config.params import PARAMS
from aor_lib.config.typed_yaml import Params, mapping, validated


class Architecture(Params):
    """How an architecture is loaded and prompted. Class names are those that transformers exports.

    ``multiple_of_s``: only clips of equal length share a batch, as the encoder attends to padded
    frames; silence pads each to a multiple of it. ``ends_in_silence``: half a window of silence is
    appended, as the last frames would reflect a clip on its own but see padding in a batch.
    """

    processor: str = ""
    features: str = ""
    model: str = "AutoModelForMultimodalLM"
    multiple_of_s: int | None = None
    truncates: bool = False  # the extractor truncates a clip at the end of its window
    ends_in_silence: bool = False
    words_only: bool = False  # the chat template takes only text; an audio token stands for a clip
    pads_to_longest: bool = False  # features may be padded to the longest clip, not the window
    adapter_hears: bool = False  # the LoRA adapter is only for conversations with audio
    system_turn: bool = True  # False: the instruction opens the first turn


ARCHITECTURES = {
    name: validated(keys, Architecture, f"architectures.yaml: {name}")
    for name, keys in mapping(PARAMS / "architectures.yaml").items()
}
"""Architectures by their names in a card's settings (params/architectures.yaml)."""


def load_processor(name: str, folder: Path) -> Any:
    """Load the processor of a checkpoint for text and audio."""
    architecture = ARCHITECTURES[name]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    if name == "text":
        return TextProcessor(tokenizer)
    audio = getattr(transformers, architecture.features).from_pretrained(folder)
    parts = {"tokenizer": tokenizer, "feature_extractor": audio, "audio_processor": audio}
    kind = _listening(architecture.processor)
    settings, _ = kind.get_processor_dict(folder)
    return kind.from_args_and_dict([parts.get(part) for part in kind.get_attributes()], settings)


class TextProcessor:
    """A tokenizer with the interface of a processor."""

    _audio_processor = None

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.apply_chat_template = tokenizer.apply_chat_template
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token

    def __call__(self, text: list[str], return_tensors: str, text_kwargs: dict[str, Any]) -> Any:
        """Tokenize prompts."""
        tokens = self.tokenizer(text, return_tensors=return_tensors, **text_kwargs)
        return transformers.BatchFeature(dict(tokens))


def load_network(name: str, folder: Path, adapter: str | None, **options: Any) -> Any:
    """Load a checkpoint's model for inference, with the LoRA adapter in its folder ``adapter``.

    ``options`` are those of ``from_pretrained``. ValueError if the checkpoint's architecture
    is not ``name``, or if weights are missing.
    """
    stated = transformers.AutoConfig.from_pretrained(folder).model_type
    if name != "text" and stated not in (name, f"{name}_thinker"):
        raise ValueError(f"settings.architecture is {name}, but the checkpoint's is {stated}")
    if name == "gemma3n":
        leave_out_gemma3n_vision()
    network, loading = getattr(transformers, ARCHITECTURES[name].model).from_pretrained(
        folder, use_safetensors=True, output_loading_info=True, **options
    )
    _require_all_weights(loading["missing_keys"])
    if adapter is not None:
        _require_all_weights(network.load_adapter(str(folder / adapter)).missing_keys)
    elif ARCHITECTURES[name].adapter_hears and network._hf_peft_config_loaded:
        raise ValueError(
            "its LoRA adapter is only for audio, but would also apply to text: move it to a folder "
            "of the checkpoint, and name that folder in settings.adapter"
        )
    return network.eval()


@functools.cache
def leave_out_gemma3n_vision() -> None:
    """Make Gemma 3n load without its vision tower, which needs timm."""

    class NoVision(transformers.PreTrainedModel):
        config_class = transformers.Gemma3nVisionConfig

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.post_init()

    transformers.AutoModel.register(transformers.Gemma3nVisionConfig, NoVision, exist_ok=True)


def _require_all_weights(missing: Iterable[str]) -> None:
    # transformers initialises missing weights at random and only warns.
    if names := sorted(missing):
        raise ValueError(f"{len(names)} weights are missing; the first is {names[0]}")


@functools.cache
def _listening(name: str) -> Any:
    base: Any = getattr(transformers, name)

    class Listening(base):
        def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> Any:
            if argument is None:
                return None
            return super().check_argument_for_proper_class(argument_name, argument)

        def validate_inputs(self, *args: Any, **kwargs: Any) -> None:
            # Audio Flamingo's own check requires one clip per conversation, but its model takes any
            # number of clips, in order.
            if name != "AudioFlamingo3Processor":
                super().validate_inputs(*args, **kwargs)

    return Listening
