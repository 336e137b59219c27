"""Audio language models behind an API that speaks OpenAI's chat completions.

The SDK sends each request once. Retries are made here, because the caps must count them, because
the SDK gives up where Retry-After asks for more than two minutes, and because it does not try again
when a body is not JSON.
"""

from __future__ import annotations

import asyncio
import functools
import threading
import time
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import aiohttp
import openai

from aor_lib.config.params import ModelCard, card_settings
from aor_lib.config.records import Generation
from aor_lib.models import api_errors, api_settings
from aor_lib.models.api_budget import Budget, BudgetError
from aor_lib.models.api_messages import Request, read, request
from aor_lib.models.base import Answer, Capabilities, Conversation, Failure, ModelError

_MADE_READY = 16
_APART_S = 0.001


@dataclass(frozen=True)
class _Passing:
    """Why a request got no answer that another try may get; when, if the server says."""

    error: str
    retry_after_s: float | None = None


class OpenAIModel:
    """Asks a model over HTTP, several conversations at once.

    What answers under a name is the provider's choice, so ``revision`` is only what the card says.
    The caps and the number of requests under way hold for all calls of one object together.
    """

    calls_at_once = 4

    def __init__(self, card: ModelCard) -> None:
        self.card = card
        self.revision = card.revision
        self._settings = card_settings(card, api_settings.Settings)
        # Answers are paid for: a run that is killed should lose few of them.
        self.capabilities = Capabilities(
            text_only=self._settings.text_only, at_once=self._settings.concurrency
        )
        address = api_settings.address(self._settings, card.id)
        self._key = api_settings.key(self._settings, card.id)
        self._budget = Budget(self._settings.max_requests, self._settings.max_spend_usd)
        self._sending = asyncio.Semaphore(self._settings.concurrency)
        # A few more are made ready meanwhile: sound takes a while to encode.
        self._ready = asyncio.Semaphore(self._settings.concurrency + _MADE_READY)
        self._next_begins = 0.0
        self._client = openai.AsyncOpenAI(
            api_key=self._key,
            base_url=address,
            timeout=None,
            max_retries=0,
            # With the SDK's usual client a request takes twice the CPU time.
            http_client=openai.DefaultAioHttpClient(timeout=None),
        )
        weakref.finalize(self, _close, self._client)
        self._resume_at = 0.0
        self._end: str | None = None

    def answer(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        """See :class:`aor_lib.models.base.AudioModel`.

        When further answers become impossible during a call, it sends nothing more and returns
        what came, with failures for the rest; the next call raises.

        Raises
        ------
        ModelError
            Nothing can be answered: the API refuses the key or knows no such model, the account is
            used up, a cap is reached, or Retry-After asks for more than ``max_wait_s``.
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
        if self._end:
            raise ModelError(self._end)
        fields = {
            "model": self.card.source,
            "max_completion_tokens": generation.max_new_tokens,
            "temperature": generation.temperature,
            **({"seed": generation.seed} if self._settings.send_seed else {}),
            **self._settings.extra,
        }

        async def ask(conversation: Conversation) -> Answer | Failure:
            async with self._ready:
                try:
                    if any(turn.audio for turn in conversation):
                        made = await asyncio.to_thread(request, conversation, fields)
                    else:
                        made = request(conversation, fields)
                except (OSError, RuntimeError, ValueError, TypeError) as error:
                    return Failure(api_errors.words(error, self._key))
                async with self._sending:
                    await self._pace()
                    return await self._ask(made, generation.max_new_tokens)

        results = await asyncio.gather(*map(ask, conversations))
        came = any(isinstance(result, Answer) or result.blocked for result in results)
        if self._end and not came:
            raise ModelError(self._end)
        return results

    async def _pace(self) -> None:
        """Let no two requests begin together: they would end together, and the next ones queue."""
        begins = max(self._next_begins, time.monotonic())
        self._next_begins = begins + _APART_S
        await asyncio.sleep(begins - time.monotonic())

    async def _ask(self, made: Request, max_new_tokens: int) -> Answer | Failure:
        """Send one request until it is answered, or another try is no use."""
        prices = self._settings.usd_per_million_tokens
        most_usd = prices.most_usd(made, max_new_tokens) if prices else 0.0
        tries = 0
        while True:
            if end := await self._reserve(most_usd):
                return Failure(end)
            result = await self._send(made, most_usd)
            tries += 1
            if not isinstance(result, _Passing):
                return result
            if result.retry_after_s:
                self._pause(result.retry_after_s)
            if tries > self._settings.max_retries:
                return Failure(result.error + (f" ({tries} tries)" if tries > 1 else ""))
            if not result.retry_after_s:
                await asyncio.sleep(api_errors.delay_s(tries))

    async def _reserve(self, most_usd: float) -> str | None:
        """Wait as the server asks and the budget needs; why nothing is to be sent, or None."""
        while not self._end and (wait := self._resume_at - time.monotonic()) > 0:
            await asyncio.sleep(min(wait, 1))
        if self._end:
            return self._end
        try:
            await self._budget.reserve(most_usd)
        except BudgetError as error:
            self._ends(f"{error}; run again to go on, or raise it in the model's card")
        else:
            if self._end:
                self._budget.settle(most_usd, 0.0)
        return self._end

    async def _send(self, made: Request, most_usd: float) -> Answer | Failure | _Passing:
        """Send one request once, and settle what it cost."""
        # An answer that did not arrive whole may have been made, and be billed.
        cost_usd = most_usd
        prices = self._settings.usd_per_million_tokens
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                # Not chat.completions.create: it rebuilds every message, which takes a quarter of
                # a request's CPU time, and does not check what comes back.
                response = await self._client.post(
                    "/chat/completions", cast_to=object, content=made.content
                )
            if prices and (billed := prices.of(response, made)) is not None:
                cost_usd = billed
            if (result := read(response)) is not None:
                return result
            said = response.get("error") if isinstance(response, dict) else None
            said = api_errors.quoted(said or "no answer", self._key)
            return _Passing(f"malformed response: it holds {said}")
        except TimeoutError:
            return _Passing(f"timeout: no answer within {self._settings.timeout_s:g} s")
        except openai.APIStatusError as error:
            cost_usd = 0.0
            return self._refused(error)
        except (openai.APIConnectionError, aiohttp.ClientError) as error:
            # The SDK passes on what aiohttp says of a response that is no HTTP.
            if api_errors.is_never_sent(error):
                cost_usd = 0.0
            return _Passing(api_errors.words(error, self._key))
        except (openai.OpenAIError, RuntimeError, TypeError, ValueError) as error:
            # The SDK passes on what its JSON parser says, that it is nested too deep among it.
            return _Passing(f"malformed response: {api_errors.words(error, self._key)}")
        finally:
            self._budget.settle(most_usd, cost_usd)

    def _refused(self, error: openai.APIStatusError) -> Failure | _Passing:
        said = api_errors.words(error, self._key)
        if api_errors.is_blocked(error):
            return Failure(f"content filter: {said}", blocked=True)
        if api_errors.refuses_key(error):
            self._ends(f"the API refuses the key in ${self._settings.api_key_variable}")
        elif remedy := api_errors.refuses_all(error):
            self._ends(f"{said}; {remedy}")
        elif api_errors.is_passing(error):
            return _Passing(said, api_errors.retry_after_s(error.response.headers))
        return Failure(self._end or said)

    def _pause(self, seconds: float) -> None:
        """Send nothing for a while: Retry-After speaks to a client, not of one request."""
        if seconds > self._settings.max_wait_s:
            self._ends(
                f"the API asks to wait {seconds:.0f} s, longer than max_wait_s "
                f"({self._settings.max_wait_s:g}); run again after that"
            )
        else:
            self._resume_at = max(self._resume_at, time.monotonic() + seconds)

    def _ends(self, why: str) -> None:
        """Nothing more is sent, in this call and after it."""
        self._end = self._end or f"{self.card.id}: {why}"


def _close(client: openai.AsyncOpenAI) -> None:
    asyncio.run_coroutine_threadsafe(client.close(), _loop())


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    """The event loop that all requests are sent in, in a thread of its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="api", daemon=True).start()
    return loop
