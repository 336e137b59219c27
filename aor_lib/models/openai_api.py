"""Audio language models behind an API of the form of OpenAI's chat completions."""

import asyncio
import functools
import itertools
import logging
import os
import random
import threading
import time
import weakref
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import urlsplit

import aiohttp
import openai

from aor_lib.config.params import ModelCard, card_settings
from aor_lib.config.records import Generation
from aor_lib.models import api_messages, base
from aor_lib.models.api_messages import Request, build_request, prospect
from aor_lib.models.api_settings import ApiSettings, Budget
from aor_lib.models.base import Answer, Capabilities, Conversation, Failure, ModelError, Result

_AHEAD = 8  # requests prepared and kept in memory while others are under way
_ERRORS = (openai.OpenAIError, aiohttp.ClientError, OSError, RuntimeError, TypeError, ValueError)
"""Errors that libraries raise for an invalid file, connection or response."""
_LIKELIEST = 20  # tokens whose log-probabilities are requested: the maximum of OpenAI and vLLM
_STREAM = {"stream": True, "stream_options": {"include_usage": True}}
_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")
_PAUSE_S = 0.5  # maximum before the first retry; it doubles before each further retry
_log = logging.getLogger(__name__)


class OpenAIModel:
    """A model queried over HTTP, concurrently; its caps hold for all calls together."""

    kind_of_settings: ClassVar[type[ApiSettings]] = ApiSettings

    def __init__(self, card: ModelCard) -> None:
        self.card = card
        self.revision = f"{card.source}@{card.revision}"
        settings = self._settings = card_settings(card, self.kind_of_settings)
        # Requests beyond the concurrency are prepared meanwhile, so that the server never waits.
        self.calls_at_once = settings.concurrency + _AHEAD
        self.capabilities = self.capabilities_of(card)
        address, self._key = settings.address(card.id), settings.key(card.id)
        self._budget = Budget(settings.max_spend_usd, f"{card.id} at {address}")
        self._fingerprint: str | None = None
        self._came = 0  # number of responses
        self._away_since: float | None = None
        self._places = asyncio.Semaphore(settings.concurrency)
        # Without an address, the SDK uses this variable. A local server is reached without a proxy.
        host = urlsplit(address or os.environ.get("OPENAI_BASE_URL", "")).hostname
        self._client = openai.AsyncOpenAI(
            api_key=self._key or "none",  # else the SDK would use OpenAI's
            base_url=address,
            timeout=settings.timeout_s,
            max_retries=0,  # every try is counted here
            http_client=openai.DefaultAioHttpClient(trust_env=host not in _THIS_MACHINE),
        )
        if not self._client.base_url.host.endswith(".openai.com"):  # only OpenAI learns who asks
            self._client.organization = self._client.project = None
        _loop()  # here, because concurrent threads would each make a loop
        weakref.finalize(self, lambda client: _submit(client.close()), self._client)

    @classmethod
    def capabilities_of(cls, card: ModelCard) -> Capabilities:
        """Capabilities of a card's model."""
        settings = card_settings(card, cls.kind_of_settings)
        return Capabilities(
            text_only=settings.text_only,
            clips=settings.clips,
            longest_clip_s=settings.longest_clip_s,
        )

    @functools.cached_property
    def server(self) -> str:
        """Version and context length of the server that answered, as far as it states them."""
        # A provider lists all of its models, and says nothing about its servers.
        facts = [] if self._key else _submit(self._facts()).result()
        return ", ".join(filter(None, [*facts, self._fingerprint])) or "the provider's"

    async def _facts(self) -> list[str]:
        get = functools.partial(self._client.get, cast_to=object, options={"timeout": 10})
        asked = [get("/models"), get(str(self._client.base_url.join("/version")))]  # of vLLM
        return api_messages.facts_of(*await asyncio.gather(*asked, return_exceptions=True))

    def answer(self, conversations: Sequence[Conversation], generation: Generation) -> list[Result]:
        """See :class:`aor_lib.models.base.AudioModel`; ModelError only if no answer came."""
        future = _submit(self._answer_all(conversations, generation))
        try:
            return list(future.result())
        finally:
            if future.cancel():  # the wait was interrupted: the next one starts afresh
                _loop().call_soon_threadsafe(self._end_absence)

    def first_logprobs(self, conversation: Conversation) -> dict[str, float]:
        """Log-probabilities of the answer's likeliest first tokens; empty if the API gives none."""
        one_token = Generation(max_new_tokens=1)
        asked = self._ask(conversation, one_token, logprobs=True, top_logprobs=_LIKELIEST)
        try:
            response = _submit(asked).result()
            likeliest = response["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
            return {token["token"]: float(token["logprob"]) for token in likeliest}
        except (*_ERRORS, LookupError, TypeError):  # the server gives none
            return {}

    async def _answer_all(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Result]:
        asked = [self._answer_one(conversation, generation) for conversation in conversations]
        results = await asyncio.gather(*asked)
        came = any(isinstance(result, Answer) or result.blocked for result in results)
        if self._budget.closed and not came:
            raise ModelError(f"{self.card.id}: {self._budget.closed}")
        return results

    async def _answer_one(self, conversation: Conversation, generation: Generation) -> Result:
        try:
            response = await self._ask(conversation, generation)
        except _ERRORS as error:
            text = api_messages.describe(error, self._key)
            if isinstance(error, openai.APIStatusError) and api_messages.is_blocked(error.body):
                return Failure(f"content filter: {text}", blocked=True)
            closed = self._budget.closed
            return Failure(f"{self.card.id}: {closed}" if closed else text)
        return self._result(response, self._name(conversation))

    async def _ask(
        self, conversation: Conversation, generation: Generation, **further: object
    ) -> Any:
        settings = self._settings
        fields = {
            "model": self._name(conversation),
            "max_completion_tokens": generation.max_new_tokens,
            "temperature": generation.temperature,
            # vLLM would take an unset parameter from the checkpoint.
            **({"top_p": 1.0} if generation.temperature else {}),
            **({"seed": generation.seed} if settings.send_seed else {}),
            **(_STREAM if settings.stream else {}),
            **settings.extra,
            **further,
        }
        turns = conversation if settings.system_turn else base.without_system_turns(conversation)
        how = (settings.audio_part, settings.longest_clip_s)
        # In a thread, because reading and encoding a clip is slow.
        return await self._response(await asyncio.to_thread(build_request, turns, fields, *how))

    def _name(self, conversation: Conversation) -> str:
        adapter = self._settings.adapter
        return adapter if adapter and base.has_audio(conversation) else self.card.source

    async def _response(self, made: Request) -> Any:
        tries, came = self._settings.max_retries, self._came
        for number in itertools.count():
            try:
                async with self._places:
                    return await self._try(made)
            except (openai.APIConnectionError, openai.APIStatusError) as error:
                headers = error.response.headers if isinstance(error, openai.APIStatusError) else {}
                in_header = self._client._parse_retry_after_header(headers)
                asked_s = max(0.0, in_header or api_messages.retry_delay_s(error))
                self._close_if_in_vain(error, asked_s)
                hope = prospect(error)
                # A server that answers other requests is not away.
                if hope == "passing" or not self._settings.restart_s or self._came > came:
                    tries, came = tries - 1, self._came
                if tries < 0 or hope == "final" or self._budget.closed:
                    raise
            await asyncio.sleep(asked_s or random.random() * _PAUSE_S * 2 ** min(number, 5))

    async def _try(self, made: Request) -> Any:
        prices, most_usd = self._settings.usd_per_million_tokens, 0.0
        if prices:
            most_tokens = made.body["max_completion_tokens"]
            most_usd = prices.usd(made.max_text_tokens, made.audio_s, most_tokens)
        self._budget.reserve(most_usd)
        # An answer that arrived incomplete or too late may have been generated, and billed.
        cost_usd = most_usd
        try:
            # Not chat.completions.create, which rebuilds every message and validates nothing.
            response = await self._client.post("/chat/completions", cast_to=object, body=made.body)
            self._came += 1
            self._end_absence()
            if isinstance(response, str) and "data:" in response:
                response = api_messages.joined(response)
            billed = prices.billed_usd(response, made) if prices else None
            cost_usd = most_usd if billed is None else billed
            return response
        except openai.APIError as error:
            status = getattr(error, "status_code", 504)
            if status not in (408, 504, 524) or prospect(error) != "passing":
                cost_usd = 0.0
            raise
        finally:
            self._budget.settle(most_usd, cost_usd)

    def _close_if_in_vain(self, error: openai.APIError, asked_s: float) -> None:
        text, hope = api_messages.describe(error, self._key), prospect(error)
        where = f"the server at {self._client.base_url}"
        longest_s, now = self._settings.restart_s, time.monotonic()
        # Gemini answers an invalid key with status 400.
        if getattr(error, "status_code", 0) == 401 or "API_KEY_INVALID" in str(error.body):
            key = f"the key in ${self._settings.api_key_variable}" if self._key else "no key"
            self._budget.close(f"the API rejects requests with {key} (api_key_variable)")
        elif remedy := api_messages.remedy(error, asked_s):
            self._budget.close(f"{text}; {remedy}")
        elif hope == "no host" and not self._came:
            self._budget.close(f"cannot find the host of {where} ({text})")
        elif longest_s and hope in ("no host", "away"):
            if self._away_since is None:
                self._away_since = now
                _log.warning(f"{self.card.id}: waiting up to {longest_s:g} s for {where} ({text})")
            if now > self._away_since + longest_s:
                self._budget.close(f"{where} was away for {longest_s:g} s ({text})")
        elif isinstance(error, openai.APIStatusError):
            self._end_absence()

    def _end_absence(self) -> None:
        if self._away_since is not None:
            vars(self).pop("server", None)  # another server may have taken its place
        self._away_since = None

    def _result(self, response: Any, asked: str) -> Result:
        self._fingerprint = api_messages.named(response, "system_fingerprint", self._key)
        served = api_messages.as_mapping(response).get("model")
        served = served.strip() if isinstance(served, str) else ""
        if served and not api_messages.are_one_model(served, asked):
            other, ours = (api_messages.quote(name, self._key) for name in (served, asked))
            self._budget.close(
                f"the API says that {other!r} answered, not {ours!r}; name that model as the "
                "source of this card, or of another card"
            )
            return Failure(f"{self.card.id}: {self._budget.closed}")
        result = api_messages.read_response(response, self._key)
        if asked == self._settings.adapter and isinstance(result, Answer):
            # The card's model answered, under the name of its adapter.
            return replace(result, served_by=self.card.source)
        return result


def _submit(coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
    return asyncio.run_coroutine_threadsafe(coroutine, _loop())


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    # In a separate thread, because a notebook's loop runs in the caller's.
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="api", daemon=True).start()
    return loop
