"""Audio language models behind an API that speaks OpenAI's chat completions.

Retries are the SDK's: connection errors, timeouts, 408, 409, 429 and 5xx, with exponential delays
or those that the server's Retry-After asks for.
"""

from __future__ import annotations

import asyncio
import base64
import io
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import openai
import soundfile
from openai.types.chat import ChatCompletion
from pydantic import Field

from aor_lib.models.base import Answer, Capabilities, Conversation, Failure, ModelError
from aor_lib.params import ModelCard, card_settings
from aor_lib.records import Generation
from aor_lib.typed_yaml import Params

_FILTERED = "content_filter"


class Settings(Params):
    """Settings of a model behind an API in its model card. Keys are never among them."""

    base_url: str | None = Field(default=None, description="None: the SDK's default.")
    base_url_variable: str | None = Field(
        default=None, description="Environment variable that holds the address, if base_url is None"
    )
    api_key_variable: str = "OPENAI_API_KEY"
    concurrency: Annotated[int, Field(ge=1)] = 8
    timeout_s: Annotated[float, Field(gt=0)] = 120
    max_retries: Annotated[int, Field(ge=0)] = 4
    send_seed: bool = Field(default=True, description="False where the API refuses a seed.")
    extra: dict[str, Any] = Field(
        default_factory=dict, description="Further fields of every request."
    )


class OpenAIModel:
    """Asks a model over HTTP, several conversations at once.

    What answers under a name is the provider's choice, so ``revision`` is only what the card says.
    """

    capabilities = Capabilities()

    def __init__(self, card: ModelCard) -> None:
        self.card = card
        self.revision = card.revision
        self._settings = card_settings(card, Settings)
        self._base_url = self._settings.base_url
        if self._base_url is None and self._settings.base_url_variable:
            self._base_url = self._from_environment(
                self._settings.base_url_variable, "the address of its API"
            )
        self._key = self._from_environment(self._settings.api_key_variable, "the API key")
        if not (self._key.isascii() and self._key.isprintable()):
            # An HTTP client would quote it in its complaint.
            raise ModelError(
                f"{card.id} needs the API key in ${self._settings.api_key_variable}; "
                "what is set there has characters that no key has"
            )

    def answer(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        """See :class:`aor_lib.models.base.AudioModel`.

        Raises
        ------
        ModelError
            The API refuses the key.
        """
        # In a thread of its own: notebooks (and others) have a running event loop in theirs.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, self._answer_all(conversations, generation)).result()

    async def _answer_all(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        turnstile = asyncio.Semaphore(self._settings.concurrency)
        async with openai.AsyncOpenAI(
            api_key=self._key,
            base_url=self._base_url,
            timeout=self._settings.timeout_s,
            max_retries=self._settings.max_retries,
        ) as client:

            async def ask(conversation: Conversation) -> Answer | Failure:
                async with turnstile:
                    return await self._answer_one(client, conversation, generation)

            return await asyncio.gather(*map(ask, conversations))

    async def _answer_one(
        self, client: openai.AsyncOpenAI, conversation: Conversation, generation: Generation
    ) -> Answer | Failure:
        try:
            # Plain dictionaries: the SDK's types for messages have one class a role.
            messages: Any = _messages(conversation)
            completion = await client.chat.completions.create(
                model=self.card.source,
                messages=messages,
                max_completion_tokens=generation.max_new_tokens,
                temperature=generation.temperature,
                seed=generation.seed if self._settings.send_seed else openai.omit,
                extra_body=self._settings.extra,
            )
            return _read(completion)
        except openai.AuthenticationError:
            raise ModelError(
                f"{self.card.id}: the API refuses the key in ${self._settings.api_key_variable}"
            ) from None
        except (openai.OpenAIError, OSError, RuntimeError, ValueError, TypeError) as error:
            text = " ".join(str(error).replace(self._key, "[key]").split())[:500]
            filtered = getattr(error, "code", None) == _FILTERED
            return Failure(f"{'content filter' if filtered else type(error).__name__}: {text}")

    def _from_environment(self, variable: str, what: str) -> str:
        value = os.environ.get(variable, "").strip()
        if not value:
            raise ModelError(f"{self.card.id} needs {what} in ${variable}; it is not set")
        return value


def _messages(conversation: Conversation) -> list[dict[str, Any]]:
    messages = []
    for turn in conversation:
        content: list[dict[str, Any]] = []
        if turn.text:
            content.append({"type": "text", "text": turn.text})
        if turn.audio is not None:
            sound = {"data": _wav_base64(turn.audio), "format": "wav"}
            content.append({"type": "input_audio", "input_audio": sound})
        messages.append({"role": turn.role, "content": content})
    return messages


def _wav_base64(path: Path) -> str:
    """A sound file as 16-bit WAV, the one format that all such APIs take."""
    samples, rate = soundfile.read(path, dtype="int16")
    wav = io.BytesIO()
    soundfile.write(wav, samples, rate, format="WAV", subtype="PCM_16")
    return base64.b64encode(wav.getvalue()).decode()


def _read(completion: ChatCompletion) -> Answer | Failure:
    # The SDK does not check that a response has the form that its types promise.
    try:
        choice = completion.choices[0]
        if choice.finish_reason == _FILTERED:
            return Failure("content filter: the provider withheld the answer")
        # A refusal in the field of its own is the model's answer as much as any.
        text = (choice.message.content or choice.message.refusal or "").strip()
        tokens = int(completion.usage.completion_tokens) if completion.usage else 0
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return Failure("malformed response: it holds no answer")
    if not text:
        return Failure(f"empty answer: no text (finish_reason {choice.finish_reason})")
    return Answer(text, tokens)
