"""Settings of a model behind an API, its prices, and a cap on spend, counted at every try."""

from __future__ import annotations

import math
import os
import re
from collections import defaultdict
from typing import Annotated, Any, ClassVar

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from aor_lib.config.params import CardSettings
from aor_lib.config.typed_yaml import Params
from aor_lib.models.api_messages import AudioPart, Request, as_mapping
from aor_lib.models.base import ModelError

Usd = Annotated[float, Field(ge=0)]
committed_usd = defaultdict[str, float](float)  # spent or reserved in this process, by account


class Prices(Params):
    """A provider's prices in US dollars per million tokens."""

    text_input: Usd
    audio_input: Usd
    output: Usd
    # Of input, at most: what a request may cost is known before it is sent.
    audio_tokens_per_s: PositiveFloat

    def usd(self, text_tokens: float, audio_s: float, output_tokens: float) -> float:
        """Cost of text and sound that are sent, and of what comes back."""
        audio = audio_s * self.audio_tokens_per_s * self.audio_input
        return (text_tokens * self.text_input + audio + output_tokens * self.output) / 1e6

    def billed_usd(self, response: Any, request: Request) -> float | None:
        """Cost of a request, at most, by its response's ``usage``; None if that does not say."""
        usage = as_mapping(as_mapping(response).get("usage"))
        names = ("prompt_tokens", "completion_tokens", "total_tokens")
        prompt, completion, total = (usage.get(name) or 0 for name in names)
        details = as_mapping(usage.get("prompt_tokens_details"))
        audio = details.get("audio_tokens") or (prompt if request.audio_s else 0)
        counts = (prompt, completion, total, audio)
        if not all(isinstance(n, int) and n >= 0 for n in counts) or prompt + completion == 0:
            return None
        # Some providers count a model's reasoning in the total alone.
        output = max(completion, total - prompt)
        dearer = max(self.audio_input, self.text_input)
        text = max(prompt - audio, 0)
        return (text * self.text_input + audio * dearer + output * self.output) / 1e6


class ApiReach(CardSettings):
    """Settings of an API that can change no answer. Keys are never among them."""

    base_url: str | None = None  # may name an environment variable, as $NAME; None: the SDK's
    api_key_variable: str | None = "OPENAI_API_KEY"  # None where the server asks for no key
    concurrency: PositiveInt = 8
    timeout_s: PositiveFloat = 120  # that a server may be silent in one try
    max_retries: NonNegativeInt = 5
    restart_s: Annotated[float, Field(ge=0)] = 0  # that a server may be away, to load or restart
    max_spend_usd: PositiveFloat | None = None  # of one process, retries too
    usd_per_million_tokens: Prices | None = None  # without prices there is no cap on spend
    text_only: bool = True  # False where the API wants audio
    clips: PositiveInt | None = None  # the most sound files that one conversation may hold
    # Of a longer one, servers cut off the rest without a word.
    longest_clip_s: PositiveFloat = math.inf
    audio_part: AudioPart = "input_audio"

    @model_validator(mode="after")
    def _spend_has_prices(self) -> ApiReach:
        if self.max_spend_usd is not None and self.usd_per_million_tokens is None:
            raise ValueError("max_spend_usd needs usd_per_million_tokens")
        return self

    def address(self, model: str) -> str | None:
        """Base URL for ``model``, or None for the SDK's; ModelError if it is none to use."""
        stated = self.base_url or ""
        url = os.path.expandvars(stated).strip()
        if re.search(r"^(\w+://)?[^/]*@|\?", url):
            raise ModelError(f"{model}: base_url has a password or a query, which logs would show")
        if stated and not url.startswith(("http://", "https://")):
            raise ModelError(f"{model} needs the address of its API, http(s)://...: {stated}")
        return url or None

    def key(self, model: str) -> str:
        """API key for ``model``, empty where none is asked for; ModelError if it can be none."""
        variable = self.api_key_variable or ""
        key = os.environ.get(variable, "").strip()
        if variable and not key:
            raise ModelError(f"{model} needs the API key in ${variable}; it is not set")
        return key


class ApiSettings(ApiReach):
    """Settings and reach of a model behind an API in its model card."""

    REACH: ClassVar = frozenset(ApiReach.model_fields)

    system_turn: bool = True  # False where an instruction has to open the first turn instead
    adapter: str | None = None  # name of the model's LoRA adapter, asked where there is audio
    send_seed: bool = True  # False where the API refuses a seed
    stream: bool = False  # True where the API gives pieces only
    extra: dict[str, Any] = Field(default={})  # further fields of every request


class Budget:
    """Lets through only what the cap surely allows, and nothing once it is closed.

    A request is reserved at the most that it can cost, and settled at what it did cost: many at
    once never exceed the cap together, nor do all budgets of an account. For one event loop.
    """

    def __init__(self, max_spend_usd: float | None, account: str) -> None:
        self.closed: str | None = None
        self._max_spend_usd, self._account = max_spend_usd, account

    def close(self, reason: str) -> None:
        """Let nothing through from now on; the first reason is kept."""
        self.closed = self.closed or reason

    def reserve(self, most_usd: float) -> None:
        """Count one request; RuntimeError if it may be too much, with those under way."""
        cap, committed = self._max_spend_usd, committed_usd[self._account]
        if cap is not None and committed + most_usd > cap:
            self.close(
                f"max_spend_usd ({cap:g}) does not allow another request, which may cost "
                f"{most_usd:.4f} USD beside {committed:.4f}; raise it, or go on in a new process"
            )
        if self.closed:
            raise RuntimeError(self.closed)
        committed_usd[self._account] += most_usd

    def settle(self, most_usd: float, cost_usd: float) -> None:
        """End a request that was reserved at ``most_usd`` and cost ``cost_usd``."""
        committed_usd[self._account] += cost_usd - most_usd
