"""The :class:`Voice` protocol, and the card of a voice behind an API."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import Field

from aor_lib.config.records import Identifier
from aor_lib.config.typed_yaml import AorError, Params

SAMPLE_RATE = 24_000
"""Of all speech, and so of every clip, in Hz."""
RATES: dict[str, float] = {"slow": 0.8, "normal": 1.0, "fast": 1.25}
"""Speaking rates as multiples of the voice's own."""

Gender = Literal["female", "male"]


class Voice(Protocol):
    """A speaker.

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


class SpeechSettings(Params):
    """How a voice behind an API is asked for. Keys are never among the settings."""

    model: str
    voice: str  # the speaker's name with the provider
    base_url: str | None = None  # None: $OPENAI_BASE_URL, or else OpenAI's
    api_key_variable: str | None = "OPENAI_API_KEY"  # None where the server asks for no key
    extra: dict[str, Any] = Field(default={})  # further fields of every request
    timeout_s: Annotated[float, Field(gt=0)] = 120
    max_retries: Annotated[int, Field(ge=0)] = 4


class VoiceCard(Params):
    """A voice behind an API (params/voices/ID.yaml): whose it is and how it is reached."""

    id: Identifier
    gender: Gender
    licence: Annotated[str, Field(min_length=1)]  # under which its speech may be used
    settings: SpeechSettings
    note: str | None = None
