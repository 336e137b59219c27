"""The :class:`Voice` protocol, and the card of a voice that is plugged in."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import Field

from aor_lib.config.records import Identifier
from aor_lib.config.typed_yaml import AorError, Params

SAMPLE_RATE = 24_000
"""Of all speech, and so of every clip, in Hz."""
RATES: dict[str, float] = {"slow": 0.8, "normal": 1.0, "fast": 1.25}
"""Speech rates as multiples of the voice's own."""

Gender = Literal["female", "male"]


class Voice(Protocol):
    """A speaker. Another text-to-speech system is plugged in by implementing this.

    ``revision`` changes whenever something can change the samples of the same text and rate.
    """

    id: str
    revision: str

    def synthesise(self, text: str, rate: str) -> npt.NDArray[np.float32]:
        """Speech, float32, ``(samples,)``, mono, at :data:`SAMPLE_RATE`, without silent margins.

        ``rate`` is a key of :data:`RATES`. Raises ``SpeechError`` when nothing comes out.
        """
        ...


class SpeechError(AorError):
    """A text that could not be spoken, or speech that could not be changed or measured."""


class VoiceCard(Params):
    """A voice that is plugged in (params/voices/ID.yaml): whose it is and how it is reached."""

    id: Identifier
    kind: Literal["openai_api"]
    gender: Gender
    licence: str = Field(min_length=1, description="Under which its speech may be used.")
    settings: dict[str, Any] = Field(
        default_factory=dict, description="Of the adapter; it refuses those that it does not know."
    )
    note: str | None = None
