"""A language model for text, run here with transformers: a hub id, or a folder."""

import functools
import threading
from collections.abc import Sequence
from typing import Any, Literal

import torch
from pydantic import Field

from aor_lib.config.params import CardSettings, ModelCard, card_settings
from aor_lib.config.records import Generation
from aor_lib.config.typed_yaml import one_line
from aor_lib.models.base import (
    Answer,
    Capabilities,
    Conversation,
    Failure,
    ModelError,
    failure_of,
)
from aor_lib.models.hf_checkpoint import local_folder


class LocalModelSettings(CardSettings):
    """Settings of a local model in its judge's card."""

    dtype: Literal["auto", "bfloat16", "float32"] = "auto"
    chat_template: str | None = Field(
        default=None, description="Jinja; None: the tokenizer's own, which it must then have."
    )


class LocalModel:
    """Answers conversations in text, one at a time; loaded at the first question.

    ``revision`` is what the card says: name a commit there to pin the weights.
    """

    capabilities = Capabilities(audio=False)

    def __init__(self, card: ModelCard) -> None:
        self.card, self.revision = card, card.revision
        self._settings = card_settings(card, LocalModelSettings)
        self._alone = threading.Lock()  # the seed of what is sampled is the process's
        self._source = str(local_folder(card) or card.source)

    def answer(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        """See :class:`aor_lib.models.base.AudioModel`; greedy at temperature 0."""
        with self._alone:
            tokenizer, model = self._loaded
            return [self._answer(tokenizer, model, turns, generation) for turns in conversations]

    def _answer(
        self, tokenizer: Any, model: Any, turns: Conversation, generation: Generation
    ) -> Answer | Failure:
        try:
            inputs = tokenizer.apply_chat_template(
                [{"role": turn.role, "content": turn.text or ""} for turn in turns],
                chat_template=self._settings.chat_template,
                add_generation_prompt=True,
                return_tensors="pt",
                return_dict=True,
            ).to(model.device)
            sampling: dict[str, Any] = {"do_sample": False}
            if generation.temperature > 0:
                sampling = {"do_sample": True, "temperature": generation.temperature}
                torch.manual_seed(generation.seed)
            with torch.inference_mode():
                output = model.generate(
                    **inputs, max_new_tokens=generation.max_new_tokens, **sampling
                )
        except Exception as error:  # noqa: BLE001 - checkpoints and templates raise anything
            return failure_of(error)
        tokens = output[0, inputs["input_ids"].shape[1] :]
        return Answer(tokenizer.decode(tokens, skip_special_tokens=True).strip(), len(tokens))

    @functools.cached_property
    def _loaded(self) -> tuple[Any, Any]:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            tokenizer = AutoTokenizer.from_pretrained(self._source, revision=self.revision)
            model: Any = AutoModelForCausalLM.from_pretrained(
                self._source, revision=self.revision, dtype=self._settings.dtype
            )
        except (OSError, ValueError, ImportError) as error:
            why = f"{self.card.source} cannot be loaded: {one_line(error, 300)}"
            raise ModelError(f"{self.card.id}: {why}") from error
        return tokenizer, model.to(device).eval()
