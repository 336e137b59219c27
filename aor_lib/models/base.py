"""The protocol of a model that answers conversations, and the types that it exchanges."""

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
    """True if a conversation contains a clip."""
    return any(turn.audio is not None for turn in conversation)


def waveform(audio: Path | Clip, sample_rate: int) -> Clip:
    """Read a turn's sound, averaged to mono and resampled; ValueError if empty or not finite."""
    if isinstance(audio, Path):
        with audio.open("rb") as file:
            samples, rate = soundfile.read(file, dtype="float32", always_2d=True)
        audio = Clip(samples.mean(axis=1), rate)
    resampled = soxr.resample(audio.samples, audio.sample_rate, sample_rate)
    if not len(resampled) or not np.isfinite(resampled).all():
        raise ValueError("the clip is empty, or has samples that are not finite")
    return Clip(np.asarray(resampled, dtype=np.float32), sample_rate)


def without_system_turns(conversation: Conversation) -> Conversation:
    """Move the text of system turns to the start of the first other turn."""
    system = [turn.text for turn in conversation if turn.role == "system" and turn.text]
    first, *rest = [turn for turn in conversation if turn.role != "system"]
    text = "\n".join([*system, *([first.text] if first.text else [])])
    return (Turn(first.role, text or None, first.audio), *rest)


@dataclass(frozen=True)
class Answer:
    """A model's answer to one conversation."""

    text: str
    tokens: int
    heard: dict[str, str | float] | None = None  # what the model reports hearing; shown, not judged
    finish_reason: str | None = None  # "stop", or "length" if the text was truncated
    served_by: str | None = None  # provider's name for the model that answered


@dataclass(frozen=True)
class Failure:
    """Reason for a missing answer to one conversation. Counts neither as refusal nor compliance."""

    error: str
    blocked: bool = False  # by the provider's content filter; a retry would be blocked, too

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Make a failure from an exception."""
        return cls(f"{type(error).__name__}: {one_line(error, 500)}")


Result = Answer | Failure  # of one conversation


class ModelError(AorError):
    """Error for a model that cannot run here; the message says what it needs."""


@dataclass(frozen=True)
class Capabilities:
    """Abilities that a model claims; trials that need more are not planned."""

    audio: bool = True
    text_only: bool = True
    multi_turn: bool = True
    activations: bool = False  # its decoder layers can be read and steered
    at_once: int | None = None  # maximum number of conversations in one call
    clips: int | None = None  # maximum number of sound files in one conversation
    longest_clip_s: float = math.inf
    side_by_side: bool = False  # calls are faster in parallel threads, one core each


class AudioModel(Protocol):
    """A model that answers conversations. An adapter's constructor takes the model's card."""

    card: ModelCard
    revision: str  # identity of the weights: a commit, or a hash of them
    capabilities: Capabilities

    def answer(self, conversations: Sequence[Conversation], generation: Generation) -> list[Result]:
        """Answer conversations, and return one result for each, in order.

        ModelError only if no further answer is possible; any other error is a ``Failure``.
        """


@runtime_checkable
class GradualModel(AudioModel, Protocol):
    """A model that yields results as they come, so that each is stored before the next."""

    def results(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> Iterator[Mapping[int, Result]]:
        """Yield the results of :meth:`answer` in parts, by position of the conversation."""

    def answer(self, conversations: Sequence[Conversation], generation: Generation) -> list[Result]:
        """See :class:`AudioModel`."""
        came = dict(
            pair for some in self.results(conversations, generation) for pair in some.items()
        )
        return [came[place] for place in sorted(came)]


@runtime_checkable
class ConcurrentModel(AudioModel, Protocol):
    """A model that several threads may call at once, to keep a service busy."""

    calls_at_once: int
