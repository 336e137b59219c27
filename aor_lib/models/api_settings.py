"""Settings of a model behind an API, its prices, and a spending cap that counts every try."""

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
    # Upper bound for input, so that a request's maximum cost is known before it is sent.
    audio_tokens_per_s: PositiveFloat

    def usd(self, text_tokens: float, audio_s: float, output_tokens: float) -> float:
        """Cost in US dollars of the text and audio sent and of the output."""
        audio = audio_s * self.audio_tokens_per_s * self.audio_input
        return (text_tokens * self.text_input + audio + output_tokens * self.output) / 1e6

    def billed_usd(self, response: Any, request: Request) -> float | None:
        """Upper bound of a request's cost, from the response's ``usage``; None without counts."""
        usage = as_mapping(as_mapping(response).get("usage"))
        names = ("prompt_tokens", "completion_tokens", "total_tokens")
        prompt, completion, total = (usage.get(name) or 0 for name in names)
        details = as_mapping(usage.get("prompt_tokens_details"))
        audio = details.get("audio_tokens") or (prompt if request.audio_s else 0)
        counts = (prompt, completion, total, audio)
        if not all(isinstance(n, int) and n >= 0 for n in counts) or prompt + completion == 0:
            return None
        # Some providers count a model's reasoning only in the total.
        output = max(completion, total - prompt)
        dearer = max(self.audio_input, self.text_input)
        text = max(prompt - audio, 0)
        return (text * self.text_input + audio * dearer + output * self.output) / 1e6


class ApiReach(CardSettings):
    """Settings of an API that cannot change an answer. They never contain a key."""

    base_url: str | None = None  # may contain $NAME (environment variable); None: the SDK's default
    api_key_variable: str | None = "OPENAI_API_KEY"  # None if the server needs no key
    concurrency: PositiveInt = 8
    timeout_s: PositiveFloat = 120  # limit on a server's silence in one try
    max_retries: NonNegativeInt = 5
    restart_s: Annotated[float, Field(ge=0)] = 0  # limit on waiting for a server to (re)start
    max_spend_usd: PositiveFloat | None = None  # per process, including retries
    usd_per_million_tokens: Prices | None = None  # required for a spending cap
    text_only: bool = True  # False if the API requires audio
    clips: PositiveInt | None = None  # maximum number of sound files in a conversation
    # Servers silently truncate longer clips.
    longest_clip_s: PositiveFloat = math.inf
    audio_part: AudioPart = "input_audio"

    @model_validator(mode="after")
    def _spend_has_prices(self) -> ApiReach:
        if self.max_spend_usd is not None and self.usd_per_million_tokens is None:
            raise ValueError("max_spend_usd needs usd_per_million_tokens")
        return self

    def address(self, model: str) -> str | None:
        """Base URL for ``model``, or None for the SDK's default; ModelError if it is unusable."""
        stated = self.base_url or ""
        url = os.path.expandvars(stated).strip()
        if re.search(r"^(\w+://)?[^/]*@|\?", url):
            raise ModelError(f"{model}: base_url has a password or a query, which logs would show")
        if stated and not url.startswith(("http://", "https://")):
            raise ModelError(f"{model} needs the address of its API, http(s)://...: {stated}")
        return url or None

    def key(self, model: str) -> str:
        """API key for ``model``, empty if none is needed; ModelError if the variable is not set."""
        variable = self.api_key_variable or ""
        key = os.environ.get(variable, "").strip()
        if variable and not key:
            raise ModelError(f"{model} needs the API key in ${variable}; it is not set")
        return key


class ApiSettings(ApiReach):
    """Settings and reach in the model card of a model behind an API."""

    REACH: ClassVar = frozenset(ApiReach.model_fields)

    system_turn: bool = True  # False if an instruction must open the first turn instead
    adapter: str | None = None  # name of the LoRA adapter that answers if there is audio
    send_seed: bool = True  # False if the API rejects a seed
    stream: bool = False  # True if the API only streams
    extra: dict[str, Any] = Field(default={})  # further fields of every request


class Budget:
    """Budget for an account: admits requests that fit under the cap, and none once closed.

    A request reserves its maximum cost and is then settled at its actual cost, so that concurrent
    requests, also of several budgets of an account, never exceed the cap. For one event loop.
    """

    def __init__(self, max_spend_usd: float | None, account: str) -> None:
        self.closed: str | None = None
        self._max_spend_usd, self._account = max_spend_usd, account

    def close(self, reason: str) -> None:
        """Admit no further requests; the first reason given is kept."""
        self.closed = self.closed or reason

    def reserve(self, most_usd: float) -> None:
        """Reserve a request's maximum cost; RuntimeError if it may exceed the cap, or if closed."""
        cap, committed = self._max_spend_usd, committed_usd[self._account]
        if cap is not None and committed + most_usd > cap:
            self.close(
                f"max_spend_usd ({cap:g}) does not allow another request, which may cost "
                f"{most_usd:.4f} USD on top of {committed:.4f}; raise it, or use a new process"
            )
        if self.closed:
            raise RuntimeError(self.closed)
        committed_usd[self._account] += most_usd

    def settle(self, most_usd: float, cost_usd: float) -> None:
        """Replace a request's reserved cost, ``most_usd``, with its actual cost, ``cost_usd``."""
        committed_usd[self._account] += cost_usd - most_usd
