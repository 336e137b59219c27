"""Audio language models behind an API that speaks OpenAI's chat completions.

The SDK retries what may pass: lost connections, time limits, rate limits (it sits out a Retry-After
of up to two minutes) and errors of the server. Every try is counted by the caps.
"""

from __future__ import annotations

import asyncio
import functools
import os
import re
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Annotated, Any, ClassVar

import aiohttp
import openai
from pydantic import Field, model_validator

from aor_lib.config.params import CardSettings, ModelCard, card_settings
from aor_lib.config.records import Generation
from aor_lib.models import api_messages
from aor_lib.models.api_budget import Budget, BudgetError, MeteredClient, Prices, sending
from aor_lib.models.api_messages import Request
from aor_lib.models.base import Answer, Capabilities, Conversation, Failure, ModelError

_KEY = re.compile(r"[!#-&(-\[\]-~]+")
"""ASCII without what JSON or Python write in another way: it must be found in what is quoted."""


class ApiSettings(CardSettings):
    """Settings and reach of a model behind an API in its model card. Keys are never among them."""

    REACH: ClassVar = frozenset(
        {
            "base_url",
            "base_url_variable",
            "api_key_variable",
            "concurrency",
            "timeout_s",
            "max_retries",
            "max_requests",
            "max_spend_usd",
            "usd_per_million_tokens",
            "text_only",
            "served_as",
        }
    )
    base_url: str | None = Field(default=None, description="None: the SDK's default.")
    base_url_variable: str | None = Field(
        default=None, description="Environment variable that holds the address, if base_url is None"
    )
    api_key_variable: str = "OPENAI_API_KEY"
    concurrency: Annotated[int, Field(ge=1)] = 8
    timeout_s: Annotated[float, Field(gt=0)] = Field(
        default=120, description="The longest that a server may be silent in one try."
    )
    max_retries: Annotated[int, Field(ge=0)] = 5
    max_requests: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="Of one process, retries too: a resumed run starts anew."
    )
    max_spend_usd: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="Of one process; needs usd_per_million_tokens."
    )
    usd_per_million_tokens: Prices | None = None
    text_only: bool = Field(default=True, description="False where the API wants audio.")
    send_seed: bool = Field(default=True, description="False where the API refuses a seed.")
    served_as: str | None = Field(
        default=None, description="The API's name of the model that answers, if not the source."
    )
    extra: dict[str, Any] = Field(
        default_factory=dict, description="Further fields of every request."
    )

    @model_validator(mode="after")
    def _spend_has_prices(self) -> ApiSettings:
        if self.max_spend_usd is not None and self.usd_per_million_tokens is None:
            raise ValueError("max_spend_usd needs usd_per_million_tokens")
        return self


class OpenAIModel:
    """Asks a model over HTTP, several conversations at once.

    What answers under a name is the provider's choice, so ``revision`` is only what the card says;
    the name that comes with an answer is kept, and must be the card's.
    The caps and the number of requests under way hold for all calls of one object together.
    """

    def __init__(self, card: ModelCard) -> None:
        self.card = card
        self.revision = card.revision
        settings = self._settings = card_settings(card, ApiSettings)
        self.calls_at_once = settings.concurrency
        self.capabilities = self.capabilities_of(card)
        address = _address(settings, card.id)
        self._key = _key(settings, card.id)
        self._budget = Budget(settings.max_requests, settings.max_spend_usd)
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._client = openai.AsyncOpenAI(
            api_key=self._key,
            base_url=address,
            timeout=settings.timeout_s,
            max_retries=settings.max_retries,
            http_client=MeteredClient(self._budget, settings.usd_per_million_tokens),
        )
        weakref.finalize(self, _close, self._client)

    @staticmethod
    def capabilities_of(card: ModelCard) -> Capabilities:
        """Capabilities of a card's model."""
        settings = card_settings(card, ApiSettings)
        # A lock of a run on more trials than are under way would keep other runs from them.
        return Capabilities(text_only=settings.text_only, at_once=settings.concurrency)

    def answer(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        """See :class:`aor_lib.models.base.AudioModel`.

        When further answers become impossible during a call, it sends nothing more and returns
        what came, with failures for the rest; the next call raises.

        Raises
        ------
        ModelError
            If nothing can be answered: the API refuses the key, knows no such model or has another
            one answer, the account is used up, a cap is reached, or Retry-After asks for more than
            two minutes.
        """
        future = self.submit(conversations, generation)
        try:
            return future.result()
        finally:
            future.cancel()  # where the wait was interrupted

    def submit(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> Future[list[Answer | Failure]]:
        """See :class:`aor_lib.models.base.ConcurrentModel`; the future raises as :meth:`answer`."""
        # In a loop of its own: notebooks have one running in the thread that calls.
        return asyncio.run_coroutine_threadsafe(
            self._answer_all(conversations, generation), _loop()
        )

    async def _answer_all(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        asked = [self._answer_one(conversation, generation) for conversation in conversations]
        results = await asyncio.gather(*asked)
        came = any(isinstance(result, Answer) or result.blocked for result in results)
        if self._budget.closed and not came:
            raise ModelError(f"{self.card.id}: {self._budget.closed}")
        return results

    async def _answer_one(
        self, conversation: Conversation, generation: Generation
    ) -> Answer | Failure:
        settings = self._settings
        fields = {
            "model": self.card.source,
            "max_completion_tokens": generation.max_new_tokens,
            "temperature": generation.temperature,
            **({"seed": generation.seed} if settings.send_seed else {}),
            **settings.extra,
        }
        async with self._slots:
            if self._budget.closed:
                return Failure(f"{self.card.id}: {self._budget.closed}")
            try:
                made = await asyncio.to_thread(api_messages.build_request, conversation, fields)
            except (OSError, RuntimeError, ValueError, TypeError) as error:
                return Failure(api_messages.describe(error, self._key))
            prices = settings.usd_per_million_tokens
            most_usd = prices.most_usd(made, generation.max_new_tokens) if prices else 0.0
            sending.set((made, most_usd))
            return await self._send(made)

    async def _send(self, made: Request) -> Answer | Failure:
        try:
            # Not chat.completions.create: it rebuilds every message, and checks nothing.
            response = await self._client.post("/chat/completions", cast_to=object, body=made.body)
        except BudgetError as error:
            return Failure(f"{self.card.id}: {error}")
        except openai.APIStatusError as error:
            return self._refused(error)
        except (openai.APIConnectionError, aiohttp.ClientError) as error:
            # The SDK passes on what aiohttp says of a response that is no HTTP.
            return Failure(api_messages.describe(error, self._key))
        except (openai.OpenAIError, RuntimeError, TypeError, ValueError) as error:
            # The SDK passes on what its JSON parser says, that it is nested too deep among it.
            return Failure(f"malformed response: {api_messages.describe(error, self._key)}")
        served = api_messages.served_by(response, self._key)
        expected = self._settings.served_as or self.card.source
        if served and not api_messages.are_one_model(served, expected):
            text = (
                f"the API says that {served!r} answers, and not {expected!r}; give that model a "
                "card of its own, or say served_as in this one if they are the same"
            )
            self._budget.close(text)
            return Failure(f"{self.card.id}: {text}")
        return api_messages.read_response(response, self._key)

    def _refused(self, error: openai.APIStatusError) -> Failure:
        text = api_messages.describe(error, self._key)
        if api_messages.is_blocked(error):
            return Failure(f"content filter: {text}", blocked=True)
        if api_messages.refuses_key(error):
            text = f"the API refuses the key in ${self._settings.api_key_variable}"
            self._budget.close(text)
        elif remedy := api_messages.remedy(error):
            self._budget.close(f"{text}; {remedy}")
        return Failure(f"{self.card.id}: {self._budget.closed}" if self._budget.closed else text)


def _address(settings: ApiSettings, model: str) -> str | None:
    """Base URL of the API, or None for the SDK's default."""
    url = settings.base_url
    if url is None and settings.base_url_variable:
        url = _from_environment(settings.base_url_variable, model, "the address of its API")
    if url and not url.startswith(("http://", "https://")):
        raise ModelError(f"{model}: the address of its API must begin with http(s)://")
    return url


def _key(settings: ApiSettings, model: str) -> str:
    variable = settings.api_key_variable
    value = _from_environment(variable, model, "the API key")
    if not _KEY.fullmatch(value):
        # An HTTP client would quote it in its complaint.
        raise ModelError(
            f"{model} needs the API key in ${variable}; "
            "what is set there has characters that no key has"
        )
    return value


def _from_environment(variable: str, model: str, what: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        raise ModelError(f"{model} needs {what} in ${variable}; it is not set")
    return value


def _close(client: openai.AsyncOpenAI) -> None:
    asyncio.run_coroutine_threadsafe(client.close(), _loop())


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    """The event loop that all requests are sent in, in a thread of its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="api", daemon=True).start()
    return loop
