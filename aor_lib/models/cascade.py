"""The local reference model: Whisper hears, SmolLM2-135M-Instruct answers.

Two forms: unaware (the language model gets the transcript alone) and scene-aware (it is also told
the scene that a classifier on Whisper's encoder heard). Their difference is what hearing the
background does, all else equal.

Speech: Whisper tiny.en; language: https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import soundfile
import torch
from pydantic import Field
from tokenizers import Tokenizer

from aor_lib import assets, scene_classifier
from aor_lib.cache import Arrays, load_or_make
from aor_lib.hearing import HearingError, hear
from aor_lib.models.base import Answer, Capabilities, Conversation, Failure, ModelError, Waveform
from aor_lib.params import ModelCard, card_settings, load_scenarios
from aor_lib.records import Generation
from aor_lib.typed_yaml import Params

_LANGUAGE = "smollm2-135m-instruct"
_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


class Settings(Params):
    """Settings of a cascade in its model card."""

    scene_aware: bool
    batch_size: Annotated[int, Field(ge=1)] = 64


class Cascade:
    """Answers a conversation whose sound it turned into text."""

    capabilities = Capabilities(activations=True)

    def __init__(self, card: ModelCard) -> None:
        self.card = card
        self._settings = card_settings(card, Settings)
        parts = [assets.revision("whisper-tiny-en"), assets.revision(_LANGUAGE)]
        if self._settings.scene_aware:
            parts.append(scene_classifier.revision())
        self.revision = "-".join(parts)

    def answer(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        """See :class:`aor_lib.models.base.AudioModel`.

        Conversations that come to the same words are answered once: greedy decoding gives the same
        answer to the same prompt.
        """
        if generation.temperature > 0:
            raise ModelError(
                f"{self.card.id}: generation.temperature: only 0 (greedy) is supported"
            )
        results: list[Answer | Failure | None] = [None] * len(conversations)
        prompts: dict[str, list[tuple[int, dict[str, str | float]]]] = {}
        for index, conversation in enumerate(conversations):
            try:
                messages, heard = self._as_text(conversation)
            except (HearingError, OSError) as error:
                results[index] = Failure(f"{type(error).__name__}: {error}")
            else:
                prompts.setdefault(self._prompt(messages), []).append((index, heard))
        # Prompts of like length share a batch: less padding, less work.
        ordered = sorted(prompts, key=lambda prompt: (len(prompt), prompt))
        size = self._settings.batch_size
        for start in range(0, len(ordered), size):
            batch = ordered[start : start + size]
            for prompt, (text, tokens) in zip(batch, _generate(batch, generation), strict=True):
                for index, heard in prompts[prompt]:
                    results[index] = Answer(text, tokens, heard)
        return [result or Failure("no answer was generated") for result in results]

    def decoder_layers(self) -> torch.nn.ModuleList:
        """The layers of the language model, first to last; it knows sound as words alone."""
        _, model = _language_model()
        layers: torch.nn.ModuleList = model.get_decoder().layers
        return layers

    def logits(self, conversation: Conversation) -> torch.Tensor:
        """Of the first token of the answer: float32, ``(vocabulary,)``.

        Raises
        ------
        HearingError, OSError
            A turn's sound cannot be heard.
        """
        messages, _ = self._as_text(conversation)
        tokenizer, model = _language_model()
        inputs = tokenizer(self._prompt(messages), return_tensors="pt", add_special_tokens=False)
        with torch.inference_mode():
            logits: torch.Tensor = model(**inputs, logits_to_keep=1).logits[0, -1]
        return logits

    def _as_text(
        self, conversation: Conversation
    ) -> tuple[list[dict[str, str]], dict[str, str | float]]:
        messages: list[dict[str, str]] = []
        noticed: dict[str, str | float] = {}
        for turn in conversation:
            parts = [turn.text] if turn.text else []
            if turn.audio is not None:
                words, noticed = self._listen(_sound_file(turn.audio))
                parts.append(words)
            messages.append({"role": turn.role, "content": "\n".join(parts)})
        return messages, noticed

    def _listen(self, sound_file: bytes) -> tuple[str, dict[str, str | float]]:
        heard = hear(sound_file)
        noticed: dict[str, str | float] = {"transcript": heard.transcript}
        if not self._settings.scene_aware:
            return heard.transcript, noticed
        scene, probability = scene_classifier.classify(heard.features)
        noticed |= {"scene": scene, "probability": round(probability, 3)}
        if scene == scene_classifier.QUIET:
            return heard.transcript, noticed
        return f"In the background one hears {_descriptions()[scene]}.\n{heard.transcript}", noticed

    def _prompt(self, messages: list[dict[str, str]]) -> str:
        tokenizer, _ = _language_model()
        prompt: str = tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
        return prompt


def _sound_file(audio: Path | Waveform) -> bytes:
    """A sound file's bytes; of a waveform, those of a file that holds its very samples."""
    if isinstance(audio, Path):
        return audio.read_bytes()
    file = io.BytesIO()
    soundfile.write(file, audio.samples, audio.sample_rate, format="WAV", subtype="FLOAT")
    return file.getvalue()


@functools.cache
def _descriptions() -> dict[str, str]:
    scenes = [scene for scenario in load_scenarios().values() for scene in scenario.scenes]
    return {scene.id: scene.description for scene in scenes} | {
        scene_classifier.NOISE: "a steady noise"
    }


def _generate(prompts: list[str], generation: Generation) -> list[tuple[str, int]]:
    """Greedy continuations of chat prompts, each with its number of tokens."""
    tokenizer, model = _language_model()
    inputs = tokenizer(prompts, return_tensors="pt", padding=True, add_special_tokens=False)
    with torch.inference_mode():
        output = model.generate(**inputs, max_new_tokens=generation.max_new_tokens, do_sample=False)
    answers = output[:, inputs["input_ids"].shape[1] :]
    texts = tokenizer.batch_decode(answers, skip_special_tokens=True)
    lengths = (answers != tokenizer.pad_token_id).sum(dim=1).tolist()
    return list(zip((text.strip() for text in texts), lengths, strict=True))


@functools.cache
def _language_model() -> tuple[Any, Any]:
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    kept = load_or_make("language", [assets.revision(_LANGUAGE), "float32"], _read_gguf)
    settings = json.loads(str(kept.pop("tokenizer_settings")))
    fast: Any = PreTrainedTokenizerFast
    tokenizer = fast(tokenizer_object=Tokenizer.from_str(str(kept.pop("tokenizer"))), **settings)
    config = LlamaConfig.from_dict(json.loads(str(kept.pop("config"))))
    weights = {name: torch.from_numpy(array) for name, array in kept.items()}
    with _without_progress_bars():
        model: Any = LlamaForCausalLM.from_pretrained(None, config=config, state_dict=weights)
    model.eval()
    return tokenizer, model


@contextlib.contextmanager
def _without_progress_bars() -> Iterator[None]:
    import transformers

    logging: Any = transformers.utils.logging  # untyped
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _read_gguf() -> Arrays:
    """Weights, configuration and tokenizer of the GGUF file, which takes a while to unpack."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = str(assets.fetch(_LANGUAGE))
    # Unpacking has a progress bar of its own that cannot be turned off.
    with _without_progress_bars(), contextlib.redirect_stderr(io.StringIO()):
        tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=_GGUF)
        model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=_GGUF, dtype=torch.float32)
    settings = {
        "chat_template": tokenizer.chat_template,
        "eos_token": tokenizer.eos_token,
        "pad_token": tokenizer.pad_token,
        "padding_side": "left",
    }
    config = {k: v for k, v in model.config.to_dict().items() if k != "quantization_config"}
    weights = model.state_dict()
    if model.config.tie_word_embeddings:
        del weights["lm_head.weight"]
    return {
        "tokenizer": np.array(tokenizer.backend_tokenizer.to_str()),
        "tokenizer_settings": np.array(json.dumps(settings)),
        "config": np.array(json.dumps(config)),
        **{name: tensor.numpy() for name, tensor in weights.items()},
    }
