"""Caps on what a model behind an API may be sent and may cost."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from pydantic import Field

from aor_lib.config.typed_yaml import Params
from aor_lib.models.api_messages import Request

_MILLION = 1e6
_TOKENS_A_TURN = 16
_POLL_S = 0.02

Usd = Annotated[float, Field(ge=0)]


class Prices(Params):
    """What a provider asks, in US dollars for a million tokens."""

    text_input: Usd
    audio_input: Usd
    output: Usd
    audio_tokens_per_s: Annotated[float, Field(gt=0)] = Field(
        description="Of input, at most: what a request may cost is known before it is sent."
    )

    def most_usd(self, request: Request, max_new_tokens: int) -> float:
        """The most that a request can cost: a token is at least a byte of text."""
        text = sum(len(text.encode()) for text in request.texts) + _TOKENS_A_TURN * request.turns
        audio = self.audio_tokens_per_s * request.audio_s
        millionths = (
            text * self.text_input + audio * self.audio_input + max_new_tokens * self.output
        )
        return millionths / _MILLION

    def of(self, response: Any, request: Request) -> float | None:
        """What a request cost by the ``usage`` in its response; None if that does not say.

        Where the usage does not tell the tokens of sound from the text's, all have the dearer
        price.
        """
        usage = _mapping(_mapping(response).get("usage"))
        details = _mapping(usage.get("prompt_tokens_details"))
        prompt = usage.get("prompt_tokens") or 0
        completion = usage.get("completion_tokens") or 0
        total = usage.get("total_tokens") or 0
        audio = details.get("audio_tokens") or (prompt if request.audio_s else 0)
        if not all(isinstance(n, int) and n >= 0 for n in (prompt, completion, total, audio)):
            return None
        if prompt + completion == 0:
            return None
        # Some providers count what a model thinks in the total alone.
        output = max(completion, total - prompt)
        dearer = max(self.audio_input, self.text_input)
        text = max(prompt - audio, 0)
        return (text * self.text_input + audio * dearer + output * self.output) / _MILLION


class BudgetError(RuntimeError):
    """A cap is reached; the message says which, and what was sent and spent."""


class Budget:
    """Counts requests and dollars, and lets through only what the caps surely allow.

    A request is reserved before it is sent, at the most that it can cost, and settled afterwards at
    what it did cost; many at once therefore never exceed a cap together. For one event loop at a
    time.
    """

    def __init__(self, max_requests: int | None, max_spend_usd: float | None) -> None:
        self.requests = 0
        self.spent_usd = 0.0
        self._max_requests = max_requests
        self._max_spend_usd = max_spend_usd
        self._reserved_usd = 0.0
        self._under_way = 0

    async def reserve(self, most_usd: float) -> None:
        """Count one request; wait while requests under way may still turn out cheap enough.

        Raises
        ------
        BudgetError
            A cap does not allow it.
        """
        while True:
            if self._max_requests is not None and self.requests >= self._max_requests:
                raise BudgetError(f"max_requests ({self._max_requests}) is reached")
            if (
                self._max_spend_usd is None
                or self.spent_usd + self._reserved_usd + most_usd <= self._max_spend_usd
            ):
                break
            if not self._under_way:
                raise BudgetError(
                    f"max_spend_usd ({self._max_spend_usd:g}) does not allow another request: "
                    f"{self.requests} cost up to {self.spent_usd:.4f} USD, and the next one may "
                    f"cost {most_usd:.4f}"
                )
            await asyncio.sleep(_POLL_S)
        self.requests += 1
        self._under_way += 1
        self._reserved_usd += most_usd

    def settle(self, most_usd: float, cost_usd: float) -> None:
        """A request that was reserved at ``most_usd`` is over and cost ``cost_usd``."""
        self._under_way -= 1
        # Not a running difference alone: its rounding errors would add up.
        self._reserved_usd = self._reserved_usd - most_usd if self._under_way else 0.0
        self.spent_usd += cost_usd


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
