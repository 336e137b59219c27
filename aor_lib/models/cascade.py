"""The local models: Whisper tiny.en hears and transcribes, SmolLM2-135M-Instruct answers.

The language model reads the transcript and, if the model hears sound, audio tokens before it
(:mod:`aor_lib.models.smollm`). The reference models differ only in this and in their adapters.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from aor_lib.audio.clip import Clip
from aor_lib.audio.hearing import tagger_revision, transcription
from aor_lib.audio.hearing.transcription import HearingError, transcribe
from aor_lib.config.params import CardSettings, ModelCard, card_settings
from aor_lib.config.records import Generation
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.models.base import Capabilities, Conversation, Failure, GradualModel, Result
from aor_lib.storage import assets

if TYPE_CHECKING:
    import torch

    from aor_lib.audio.hearing.sound_tagger import SoundTags
    from aor_lib.models.smollm import LanguageModel, Prompt

VERSION = 4  # part of the revision; raise it if a clip's prompt, or its reading, changes
WEIGHTS = Path(__file__).parent / "weights"
_EMPTY = Failure("empty answer: no text was generated")

_preparing = threading.Lock()
"""Held while weights load, so that they load only once, and while a clip is transcribed and tagged,
which briefly changes the process's number of threads."""


class CascadeSettings(CardSettings):
    """Settings of a cascade in its model card."""

    adapter: Path | None = None  # folder of a PEFT adapter, in aor_lib/models/weights or elsewhere
    hears_sound: bool = True  # False: only the transcript is read


class Cascade(GradualModel):
    """A model that answers from transcripts and audio tokens; weights load when needed."""

    capabilities = Capabilities(activations=True, at_once=64, side_by_side=True)

    def __init__(self, card: ModelCard) -> None:
        self.card = card
        self._settings = card_settings(card, CascadeSettings)
        self._adapter = None
        self._steerable: LanguageModel | None = None
        parts = [
            f"{assets.revision('whisper-tiny-en')}-{transcription.VERSION}",
            f"{assets.revision('smollm2-135m-instruct')}-{VERSION}",
            tagger_revision() if self._settings.hears_sound else "words",
        ]
        if self._settings.adapter is not None:
            self._adapter = WEIGHTS / self._settings.adapter
            weights = self._adapter / "adapter_model.safetensors"
            if not weights.is_file():
                raise ParamsError(f"model {card.id}: settings: adapter: no file {weights}")
            parts.append(hashlib.sha256(weights.read_bytes()).hexdigest()[:12])
        self.revision = "-".join(parts)

    def results(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> Iterator[dict[int, Result]]:
        """See :class:`aor_lib.models.base.GradualModel`; identical prompts are answered once."""
        model = self._language_model()
        prompts: dict[Prompt, list[tuple[int, dict[str, str | float]]]] = {}
        for index, conversation in enumerate(conversations):
            try:
                asked, account = self._prompt(model, conversation)
            except (HearingError, OSError) as error:
                yield {index: Failure.of(error)}
            else:
                prompts.setdefault(asked, []).append((index, account))
        steered = model is self._steerable
        for answers in model.answers(list(prompts), generation, steered=steered):
            yield {
                index: replace(answer, heard=account) if answer.text else _EMPTY
                for asked, answer in answers.items()
                for index, account in prompts[asked]
            }

    def decoder_layers(self) -> torch.nn.ModuleList:
        """Decoder layers of the language model, first to last."""
        # A caller may change these layers, so this cascade keeps this model from now on.
        self._steerable = self._language_model()
        return self._steerable.network.get_decoder().layers

    def logits(self, conversation: Conversation) -> torch.Tensor:
        """Logits of the first token of the answer: float32, ``(vocabulary,)``."""
        model = self._language_model()
        return model.next_token_logits(self._prompt(model, conversation)[0])

    def _prompt(
        self, model: LanguageModel, conversation: Conversation
    ) -> tuple[Prompt, dict[str, str | float]]:
        from aor_lib.models.smollm import format_clip, plain

        messages: list[dict[str, str]] = []
        heard: list[SoundTags] = []
        account: dict[str, str | float] = {}
        for turn in conversation:
            parts = [plain(turn.text)] if turn.text else []
            if turn.audio is not None:
                words, clip = self._hear(turn.audio)
                account = {"transcript": words}
                if clip is not None:
                    heard.append(clip)
                    emotion, probability = max(clip.emotion, key=lambda pair: pair[1])
                    account["sounds"] = ", ".join(clip.top(4)) or "nothing"
                    account |= {"emotion": emotion, "probability": probability}
                parts.append(plain(words) if clip is None else format_clip(words))
            messages.append({"role": turn.role, "content": "\n".join(parts)})
        return model.prompt(messages, heard), account

    def _hear(self, audio: Path | Clip) -> tuple[str, SoundTags | None]:
        from aor_lib.audio.hearing.sound_tagger import sound_tagger

        with _preparing:
            heard = transcribe(audio.encoded() if isinstance(audio, Clip) else audio.read_bytes())
            if not self._settings.hears_sound:
                return heard.transcript, None
            return heard.transcript, sound_tagger().tag(heard.encoded, heard.spectrogram)

    def _language_model(self) -> LanguageModel:
        from aor_lib.models.smollm_weights import language_model

        with _preparing:
            return self._steerable or language_model(self._adapter)
