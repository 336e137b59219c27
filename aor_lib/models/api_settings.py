"""Settings of a model behind an API: what its card says, and what only the environment does."""

from __future__ import annotations

import math
import os
from typing import Annotated, Any, ClassVar

from pydantic import Field, PositiveInt, model_validator

from aor_lib.config.params import CardSettings
from aor_lib.models.api_budget import Prices
from aor_lib.models.api_messages import AudioPart
from aor_lib.models.base import ModelError


class ApiReach(CardSettings):
    """Settings of an API that can change no answer. Keys are never among them."""

    base_url: str | None = Field(default=None, description="None: the SDK's default.")
    base_url_variable: str | None = Field(
        default=None, description="Environment variable that holds the address, if base_url is None"
    )
    api_key_variable: str | None = Field(
        default="OPENAI_API_KEY", description="None where the server asks for no key."
    )
    concurrency: PositiveInt = 8
    timeout_s: Annotated[float, Field(gt=0)] = Field(
        default=120, description="The longest that a server may be silent in one try."
    )
    max_retries: Annotated[int, Field(ge=0)] = 5
    restart_s: Annotated[float, Field(ge=0)] = Field(
        default=0, description="The longest that a server may be away: it loads, or is restarted."
    )
    max_spend_usd: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="Of one process, retries too; needs usd_per_million_tokens."
    )
    usd_per_million_tokens: Prices | None = None
    text_only: bool = Field(default=True, description="False where the API wants audio.")
    clips: PositiveInt | None = Field(
        default=None, description="The most sound files that one conversation may hold."
    )
    longest_clip_s: Annotated[float, Field(gt=0)] = Field(
        default=math.inf, description="Of a longer one, servers cut off the rest without a word."
    )
    audio_part: AudioPart = "input_audio"

    @model_validator(mode="after")
    def _spend_has_prices(self) -> ApiReach:
        if self.max_spend_usd is not None and self.usd_per_million_tokens is None:
            raise ValueError("max_spend_usd needs usd_per_million_tokens")
        return self

    def address(self, model: str) -> str | None:
        """Base URL for ``model``, or None for the SDK's; ModelError if it is missing or no URL."""
        url = self.base_url
        if url is None and self.base_url_variable:
            url = _from_environment(self.base_url_variable, model, "the address of its API")
        if url and not url.startswith(("http://", "https://")):
            raise ModelError(f"{model}: the address of its API must begin with http(s)://")
        return url

    def key(self, model: str) -> str:
        """API key for ``model``, empty where none is asked for; ModelError if it can be none."""
        if self.api_key_variable is None:
            return ""
        return _from_environment(self.api_key_variable, model, "the API key")


class ApiSettings(ApiReach):
    """Settings and reach of a model behind an API in its model card."""

    REACH: ClassVar = frozenset(ApiReach.model_fields)

    system_turn: bool = Field(
        default=True, description="False where an instruction has to open the first turn instead."
    )
    adapter: str | None = Field(
        default=None, description="Name of the model's LoRA adapter, asked where there is audio."
    )
    send_seed: bool = Field(default=True, description="False where the API refuses a seed.")
    stream: bool = Field(default=False, description="True where the API gives pieces only.")
    extra: dict[str, Any] = Field(default={}, description="Further fields of every request.")


def _from_environment(variable: str, model: str, what: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        raise ModelError(f"{model} needs {what} in ${variable}; it is not set")
    return value
