"""Audio language models behind an API that speaks OpenAI's chat completions."""

import asyncio
import functools
import threading
import weakref
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import aiohttp
import openai

from aor_lib.config.params import ModelCard, card_settings
from aor_lib.config.records import Generation
from aor_lib.models import api_messages
from aor_lib.models.api_budget import Budget, BudgetError, MeteredClient, sending
from aor_lib.models.api_messages import Request, as_mapping
from aor_lib.models.api_settings import ApiSettings
from aor_lib.models.base import (
    Answer,
    Capabilities,
    Conversation,
    Failure,
    ModelError,
    has_audio,
    without_system_turns,
)

_AHEAD = 8
"""Requests that are read, encoded and kept in memory while others are under way."""
_MALFORMED = (RuntimeError, TypeError, ValueError)
"""What libraries raise at a file or a response that is not what it should be."""
_STREAM = {"stream": True, "stream_options": {"include_usage": True}}
_PAUSE_S = 1
"""Between two rounds of retries while the server is away."""


class OpenAIModel:
    """Asks a model over HTTP, several conversations at once; caps hold for all calls together."""

    def __init__(self, card: ModelCard) -> None:
        self.card = card
        self.revision = card.revision
        settings = self._settings = card_settings(card, ApiSettings)
        # Those beyond the concurrency are made ready meanwhile, so that the server never waits.
        self.calls_at_once = settings.concurrency + _AHEAD
        self.capabilities = self.capabilities_of(card)
        address, self._key = settings.address(card.id), settings.key(card.id)
        self._budget = Budget(settings.max_spend_usd)
        self._fingerprint: str | None = None
        self._made = asyncio.Semaphore(self.calls_at_once)
        # The SDK wants a key, or a request that says that it has none.
        self._options: Any = {} if self._key else {"headers": {"Authorization": openai.Omit()}}
        self._client = openai.AsyncOpenAI(
            api_key=self._key or "none",
            base_url=address,
            timeout=settings.timeout_s,
            max_retries=settings.max_retries,
            http_client=MeteredClient(
                self._budget, settings.usd_per_million_tokens, settings.concurrency
            ),
        )
        weakref.finalize(self, lambda client: _submit(client.close()), self._client)

    @staticmethod
    def capabilities_of(card: ModelCard) -> Capabilities:
        """Capabilities of a card's model."""
        settings = card_settings(card, ApiSettings)
        # A lock of a run on more trials than are under way would keep other runs from them.
        return Capabilities(
            text_only=settings.text_only, at_once=settings.concurrency, clips=settings.clips
        )

    @property
    def server(self) -> str:
        """Version and context length of the server, as far as it says them."""
        return ", ".join(filter(None, (self._own_server, self._fingerprint))) or "the provider's"

    @functools.cached_property
    def _own_server(self) -> str:
        # A provider's list is of all its models, and says nothing of its servers.
        return "" if self._key else str(_submit(self._describe_server()).result())

    async def _describe_server(self) -> str:
        sending.set((Request({}, 0, 0.0), 0.0))
        options: Any = {**self._options, "max_retries": 0, "timeout": 10}
        paths = ("/models", str(self._client.base_url.join("/version")))  # vLLM has the second
        asked = [self._client.get(path, cast_to=object, options=options) for path in paths]
        listed, version = map(as_mapping, await asyncio.gather(*asked, return_exceptions=True))
        return ", ".join(api_messages.facts_of({**listed, **version}))

    def answer(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        """See :class:`aor_lib.models.base.AudioModel`; ModelError only where nothing came."""
        future = _submit(self._answer_all(conversations, generation))
        try:
            answers: list[Answer | Failure] = future.result()
            return answers
        finally:
            future.cancel()  # where the wait was interrupted

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
        heard = has_audio(conversation)
        if not settings.system_turn:
            conversation = without_system_turns(conversation)
        fields = {
            "model": settings.adapter if settings.adapter and heard else self.card.source,
            "max_completion_tokens": generation.max_new_tokens,
            "temperature": generation.temperature,
            # vLLM would take what is not said from the checkpoint.
            **({"top_p": 1.0} if generation.temperature else {}),
            **({"seed": generation.seed} if settings.send_seed else {}),
            **(_STREAM if settings.stream else {}),
            **settings.extra,
        }
        async with self._made:
            if self._budget.closed:
                return Failure(f"{self.card.id}: {self._budget.closed}")
            build = functools.partial(
                api_messages.build_request, conversation, fields, settings.audio_part
            )
            try:
                # Reading and encoding a clip takes longer than handing it to another thread.
                made = await asyncio.to_thread(build) if heard else build()
            except (OSError, *_MALFORMED) as error:
                return Failure(api_messages.describe(error, self._key))
            prices, most = settings.usd_per_million_tokens, generation.max_new_tokens
            most_usd = prices.usd(made.max_text_tokens, made.audio_s, most) if prices else 0.0
            sending.set((made, most_usd))
            return await self._send(made)

    async def _post(self, body: dict[str, Any]) -> object:
        loop, away_s = asyncio.get_running_loop(), self._settings.restart_s
        until = loop.time() + away_s
        while True:
            try:
                # Not chat.completions.create: it rebuilds every message, and checks nothing.
                return await self._client.post(
                    "/chat/completions", cast_to=object, body=body, options=self._options
                )
            except openai.APIError as error:
                if not away_s or not api_messages.is_away(error):
                    raise
                if loop.time() > until:
                    text = api_messages.describe(error, self._key)
                    self._budget.close(f"its server was away for {away_s:g} s ({text})")
                if self._budget.closed:
                    raise BudgetError(self._budget.closed) from error
            await asyncio.sleep(_PAUSE_S)

    async def _send(self, made: Request) -> Answer | Failure:
        try:
            response = await self._post(made.body)
        except BudgetError as error:
            return Failure(f"{self.card.id}: {error}")
        except openai.APIStatusError as error:
            return self._refused(error)
        except (openai.OpenAIError, aiohttp.ClientError, *_MALFORMED) as error:
            return Failure(api_messages.describe(error, self._key))
        self._fingerprint = api_messages.named(response, "system_fingerprint", self._key)
        served = api_messages.named(response, "model", self._key)
        asked = made.body["model"]
        if served and not api_messages.are_one_model(served, asked):
            text = (
                f"the API says that {served!r} answers, and not {asked!r}; name that model as the "
                "source of this card, or of another one"
            )
            self._budget.close(text)
            return Failure(f"{self.card.id}: {text}")
        result = api_messages.read_response(response, self._key)
        if asked == self._settings.adapter and isinstance(result, Answer):
            # The card's model has answered, whose adapter has a name of its own.
            return replace(result, served_by=self.card.source)
        return result

    def _refused(self, error: openai.APIStatusError) -> Failure:
        text = api_messages.describe(error, self._key)
        wait_s = self._client._parse_retry_after_header(error.response.headers) or 0.0
        if api_messages.is_blocked(error):
            return Failure(f"content filter: {text}", blocked=True)
        # Gemini answers a wrong key with 400.
        if error.status_code == 401 or "API_KEY_INVALID" in str(error.body):
            self._budget.close(f"the API refuses the key in ${self._settings.api_key_variable}")
        elif remedy := api_messages.remedy(error, wait_s):
            self._budget.close(f"{text}; {remedy}")
        return Failure(f"{self.card.id}: {self._budget.closed}" if self._budget.closed else text)


def _submit(coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
    return asyncio.run_coroutine_threadsafe(coroutine, _loop())


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    # In a thread of its own: a notebook's loop runs in the caller's.
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="api", daemon=True).start()
    return loop
