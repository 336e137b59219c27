"""How a reference model reads a clip: a token for what sounds in each segment, one for the mood.

These audio tokens stand before the transcript. Each is a vector in the language model's space of
embeddings: the sum of those of the names of what is heard, by their probabilities. No word says
what is heard, and no name is that of a scene.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aor_lib.audio.hearing.ear import SEGMENTS, Heard

if TYPE_CHECKING:
    import torch

VERSION = 4
"""Raised with every change to what is read of the same clip, or how; part of a model's revision."""
AUDIO = "<file_sep>"
"""Stands for an audio token in a prompt: a token of the vocabulary that no text needs."""
AUDIO_TOKENS = SEGMENTS + 1


@dataclass(frozen=True)
class Prompt:
    """Text of a prompt in the chat format, and what is heard in the clips that stand in it."""

    text: str
    heard: tuple[Heard, ...] = ()


def format_clip(words: str) -> str:
    """The places of a clip's audio tokens, then what is said."""
    return f"{AUDIO * AUDIO_TOKENS}\n{plain(words)}"


def plain(words: str) -> str:
    """Words without anything that would be taken for an audio token.

    Examples
    --------
    >>> plain("How <file_sep>late is it?")
    'How late is it?'
    """
    return words.replace(AUDIO, "")


def audio_tokens(heard: Sequence[Heard], embedding: Callable[[str], torch.Tensor]) -> torch.Tensor:
    """Audio tokens of clips, one after the other: float32, ``(AUDIO_TOKENS * clips, width)``.

    ``embedding`` gives a name's vector, ``(width,)``.
    """
    import torch

    rows = [tokens for clip in heard for tokens in (*clip.segments, clip.mood)]
    names = {name: embedding(name) for row in rows for name, _ in row}
    nothing = torch.zeros_like(embedding("nothing"))
    return torch.stack([sum((p * names[name] for name, p in row), nothing) for row in rows])
