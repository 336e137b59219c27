"""The local models: Whisper tiny.en transcribes, SmolLM2-135M-Instruct answers.

The language model is given the transcript and what classifiers on Whisper's encoder say of scene
and speaker (:mod:`aor_lib.models.reference.prompt`). The reference models differ in its adapter
alone (:mod:`aor_lib.models.reference.members`).
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import soundfile
from pydantic import Field

from aor_lib.audio.hearing import scene_classifier, speaker_classifier, transcription
from aor_lib.audio.hearing.transcription import HearingError, transcribe
from aor_lib.config.params import CardSettings, ModelCard, card_settings
from aor_lib.config.records import Generation
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.models.base import (
    Answer,
    Capabilities,
    Conversation,
    Failure,
    Waveform,
    in_order,
)
from aor_lib.models.reference import prompt
from aor_lib.storage import assets

if TYPE_CHECKING:
    import torch

    from aor_lib.models.reference.smollm import LanguageModel

WEIGHTS = Path(__file__).parent / "weights"
_LIKE = 1.5
"""How many times as long as another a prompt may be to be answered in the same batch."""

Heard = dict[str, str | float]


class CascadeSettings(CardSettings):
    """Settings of a cascade in its model card."""

    REACH: ClassVar = frozenset({"batch_size"})

    adapter: Path | None = Field(
        default=None,
        description="A safetensors file of aor_lib/models/reference/weights, or elsewhere.",
    )
    batch_size: Annotated[int, Field(ge=1)] = 64


class Cascade:
    """Answers a conversation whose sound it turned into text; weights are loaded when needed."""

    capabilities = Capabilities(activations=True)

    def __init__(self, card: ModelCard) -> None:
        self.card = card
        self._settings = card_settings(card, CascadeSettings)
        self._adapter = None
        self._steerable: LanguageModel | None = None
        parts = [
            f"{assets.revision('whisper-tiny-en')}-{transcription.VERSION}",
            f"{assets.revision('smollm2-135m-instruct')}-{prompt.revision()}",
            scene_classifier.revision(),
            speaker_classifier.revision(),
        ]
        if self._settings.adapter is not None:
            self._adapter = WEIGHTS / self._settings.adapter
            if not self._adapter.is_file():
                raise ParamsError(f"model {card.id}: settings: adapter: no file {self._adapter}")
            parts.append(hashlib.sha256(self._adapter.read_bytes()).hexdigest()[:12])
        self.revision = "-".join(parts)

    def answer(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        """See :class:`aor_lib.models.base.AudioModel`."""
        return in_order(self.results(conversations, generation))

    def results(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> Iterator[dict[int, Answer | Failure]]:
        """See :class:`aor_lib.models.base.GradualModel`.

        Conversations that come to the same words are answered once: the same prompt gets the same
        answer, from the same seed where it is sampled.
        """
        model = self._language_model()
        prompts: dict[str, list[tuple[int, Heard]]] = {}
        for index, conversation in enumerate(conversations):
            try:
                messages, heard = _as_text(conversation)
            except (HearingError, OSError) as error:
                yield {index: Failure(f"{type(error).__name__}: {error}")}
            else:
                prompts.setdefault(model.prompt(messages), []).append((index, heard))
        for batch in _batches(prompts, self._settings.batch_size):
            answers = model.generate(batch, generation, as_hooked=self._steerable is not None)
            yield {
                index: Answer(
                    answer,
                    tokens,
                    heard,
                    finish_reason="stop" if tokens < generation.max_new_tokens else "length",
                )
                for text, (answer, tokens) in zip(batch, answers, strict=True)
                for index, heard in prompts[text]
            }

    def decoder_layers(self) -> torch.nn.ModuleList:
        """The layers of the language model, first to last; it knows sound as words alone."""
        # Whoever has these layers changes them for this cascade: its model must stay the same one,
        # and reads every prompt as a whole from now on.
        self._steerable = self._language_model()
        layers: torch.nn.ModuleList = self._steerable.network.get_decoder().layers
        return layers

    def logits(self, conversation: Conversation) -> torch.Tensor:
        """Logits of the first token of the answer: float32, ``(vocabulary,)``.

        Raises
        ------
        HearingError, OSError
            If a turn's sound cannot be transcribed.
        """
        messages, _ = _as_text(conversation)
        model = self._language_model()
        return model.next_token_logits(model.prompt(messages))

    def _language_model(self) -> LanguageModel:
        from aor_lib.models.reference import smollm

        return self._steerable or smollm.language_model(self._adapter)


def describe_clip(sound_file: bytes) -> tuple[str, Heard]:
    """A sound file in words, as the language model reads it, and what was heard in it."""
    found = transcribe(sound_file)
    scene, probability = scene_classifier.classify(found.features)
    speaker = prompt.Speaker(**speaker_classifier.classify(found.features))
    heard: Heard = {
        "transcript": found.transcript,
        "scene": scene,
        "probability": round(probability, 3),
        "gender": speaker.gender,
        "emotion": speaker.emotion,
        "rate": speaker.rate,
    }
    sound = prompt.scene_descriptions().get(scene)
    return prompt.format_prompt(found.transcript, sound, speaker), heard


def _as_text(conversation: Conversation) -> tuple[list[dict[str, str]], Heard]:
    """Messages of text alone, and what was heard in the last clip."""
    messages: list[dict[str, str]] = []
    heard: Heard = {}
    for turn in conversation:
        parts = [turn.text] if turn.text else []
        if turn.audio is not None:
            words, heard = describe_clip(_sound_file(turn.audio))
            parts.append(words)
        messages.append({"role": turn.role, "content": "\n".join(parts)})
    return messages, heard


def _batches(prompts: Iterable[str], size: int) -> Iterator[list[str]]:
    """Batches of prompts of similar length, since all are padded to the longest."""
    batch: list[str] = []
    for text in sorted(prompts, key=lambda text: (len(text), text)):
        if batch and (len(batch) == size or len(text) > _LIKE * len(batch[0])):
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch


def _sound_file(audio: Path | Waveform) -> bytes:
    """A sound file's bytes; of a waveform, those of a file that holds its very samples."""
    if isinstance(audio, Path):
        return audio.read_bytes()
    file = io.BytesIO()
    soundfile.write(file, audio.samples, audio.sample_rate, format="WAV", subtype="FLOAT")
    return file.getvalue()
