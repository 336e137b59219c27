"""What a model is to the study: something that answers a list of conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from aor_lib.params import ModelCard
from aor_lib.records import Generation


@dataclass(frozen=True)
class Turn:
    """One message: text, or a sound file, or both."""

    role: Literal["system", "user", "assistant"]
    text: str | None = None
    audio: Path | None = None


Conversation = tuple[Turn, ...]
"""Turns in their order; the last one is the user's."""


@dataclass(frozen=True)
class Answer:
    """A model's answer to one conversation.

    ``heard`` is for models that can say what they took from the audio; it is shown, not judged.
    """

    text: str
    tokens: int
    heard: dict[str, str | float] | None = None


@dataclass(frozen=True)
class Failure:
    """Why a model gave no answer to one conversation. Never counted as refusal or compliance."""

    error: str


class ModelError(RuntimeError):
    """A model that cannot run here at all; the message says what it needs."""


class AudioModel(Protocol):
    """A model that can be asked. An adapter's constructor takes the model's card."""

    card: ModelCard
    revision: str
    """What exactly answers: a commit, or a hash of the weights."""

    def answer(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        """One result for each conversation, in their order.

        A problem with one conversation is its ``Failure``; only what makes all further answers
        impossible is raised, as ``ModelError``.
        """
        ...
