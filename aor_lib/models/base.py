"""The protocol of a model, which answers a list of conversations, and what it exchanges."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, Self, runtime_checkable

import numpy as np
import soundfile
import soxr

from aor_lib.audio.clip import Clip
from aor_lib.config.params import ModelCard
from aor_lib.config.records import Generation
from aor_lib.config.typed_yaml import AorError, one_line


@dataclass(frozen=True)
class Turn:
    """One turn of a conversation: text, sound (a file or a clip in memory), or both.

    Examples
    --------
    >>> conversation = (Turn("system", "Mind the sound."), Turn("user", audio=Path("clip.flac")))
    >>> has_audio(conversation)
    True
    """

    role: Literal["system", "user", "assistant"]
    text: str | None = None
    audio: Path | Clip | None = None


Conversation = tuple[Turn, ...]  # turns in their order; the last one is the user's


def has_audio(conversation: Conversation) -> bool:
    """True if there is a clip in a conversation."""
    return any(turn.audio is not None for turn in conversation)


def waveform(audio: Path | Clip, sample_rate: int) -> Clip:
    """Read a turn's sound as the mean of its channels, resampled; ValueError if it is empty."""
    if isinstance(audio, Path):
        with audio.open("rb") as file:
            samples, rate = soundfile.read(file, dtype="float32", always_2d=True)
        audio = Clip(samples.mean(axis=1), rate)
    resampled = soxr.resample(audio.samples, audio.sample_rate, sample_rate)
    if not len(resampled) or not np.isfinite(resampled).all():
        raise ValueError("a clip that is empty, or has samples that are no numbers")
    return Clip(np.asarray(resampled, dtype=np.float32), sample_rate)


def without_system_turns(conversation: Conversation) -> Conversation:
    """Move the words of system turns to the start of the first other turn."""
    system = [turn.text for turn in conversation if turn.role == "system" and turn.text]
    first, *rest = [turn for turn in conversation if turn.role != "system"]
    text = "\n".join([*system, *([first.text] if first.text else [])])
    return (Turn(first.role, text or None, first.audio), *rest)


@dataclass(frozen=True)
class Answer:
    """A model's answer to one conversation."""

    text: str
    tokens: int
    heard: dict[str, str | float] | None = None  # in the audio; it is shown, not judged
    finish_reason: str | None = None  # "stop", or "length" where the text was cut off
    served_by: str | None = None  # what a provider calls the model that answered


@dataclass(frozen=True)
class Failure:
    """Reason for a missing answer to one conversation. Never counted as refusal or compliance."""

    error: str
    blocked: bool = False  # by the provider's content filter, which would do so again

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Describe an error as the failure of a conversation."""
        return cls(f"{type(error).__name__}: {one_line(error, 500)}")


Result = Answer | Failure  # of one conversation


class ModelError(AorError):
    """A model that cannot run here at all; the message says what it needs."""


@dataclass(frozen=True)
class Capabilities:
    """Abilities that a model claims; trials that need more are not planned."""

    audio: bool = True
    text_only: bool = True
    multi_turn: bool = True
    activations: bool = False  # its decoder layers can be read and steered
    at_once: int | None = None  # conversations in one call, at most
    clips: int | None = None  # sound files in one conversation, at most
    longest_clip_s: float = math.inf
    side_by_side: bool = False  # many calls are faster in threads, on one core each


class AudioModel(Protocol):
    """A model that can be asked. An adapter's constructor takes the model's card."""

    card: ModelCard
    revision: str  # identity of the weights: a commit, or a hash of them
    capabilities: Capabilities

    def answer(self, conversations: Sequence[Conversation], generation: Generation) -> list[Result]:
        """Answer conversations: one result for each, in their order.

        ModelError only where all further answers are impossible; else a ``Failure`` is a result.
        """


@runtime_checkable
class GradualModel(AudioModel, Protocol):
    """A model that gives its results as they come: they are kept before the others are there."""

    def results(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> Iterator[Mapping[int, Result]]:
        """Yield what :meth:`answer` returns, by the conversations' places, some at a time."""

    def answer(self, conversations: Sequence[Conversation], generation: Generation) -> list[Result]:
        """See :class:`AudioModel`."""
        came = dict(
            pair for some in self.results(conversations, generation) for pair in some.items()
        )
        return [came[place] for place in sorted(came)]


@runtime_checkable
class ConcurrentModel(AudioModel, Protocol):
    """A model that several threads may ask at once, which keeps a service busy."""

    calls_at_once: int
