"""Chat completions: conversations as requests, and responses and errors as results."""

import base64
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import aiohttp
import numpy as np
import openai
import soundfile
import soxr

from aor_lib.audio.clip import Clip
from aor_lib.models.base import Answer, Conversation, Failure

AudioPart = Literal["input_audio", "audio_url"]
"""How a message holds sound: as OpenAI has it, or as a data URL, as vLLM and SGLang have it too."""

SAMPLE_RATE = 16_000
"""Of sound that is sent, in Hz: what the models hear at, so that no server has to resample."""

_TOKENS_PER_TURN = 16
_LONGEST_WAIT_S = 120
"""The SDK sits out no longer Retry-After."""
_WITHHELD = re.compile(
    # OpenAI's and Azure's; Amazon Bedrock's;
    "content_filter|content_policy_violation|invalid_prompt|responsibleaipolicyviolation"
    "|guardrail_intervened"
    # Gemini's FinishReason and BlockReason, which its compatible API may pass on; "other" where it
    # withholds an answer without saying why.
    "|safety|recitation|blocklist|prohibited_content|spii|image_safety|language|other"
    # Anthropic's, where its classifiers stop an answer.
    "|refusal",
    re.IGNORECASE,
)
_BROKEN_OFF = ("abort", "error")
"""Finish reasons of vLLM and SGLang where the server itself gave up, with whatever text it had."""
_FINISH_REASONS = ("finish_reason", "finishReason", "native_finish_reason")
"""OpenAI's name, Google's own, and OpenRouter's for what the provider behind it gave."""

_DATE = re.compile(r"(-preview)?[-@](\d{4}-\d\d-\d\d|\d{8}|\d\d-\d{2,4}|\d{4}|00\d)")
"""As providers put it behind a model's name, or a number in its place (Google's 001)."""


@dataclass(frozen=True)
class Request:
    """The JSON body of a request, and upper bounds of what it holds."""

    body: dict[str, Any]
    max_text_tokens: int
    audio_s: float


def build_request(
    conversation: Conversation, fields: dict[str, Any], audio_part: AudioPart = "input_audio"
) -> Request:
    """Build the request for a conversation: its messages, and further ``fields``."""
    messages, text_bytes, audio_s = [], 0, 0.0
    for turn in conversation:
        content: list[dict[str, Any]] = []
        if turn.text:
            text_bytes += len(turn.text.encode())  # a token is at least a byte
            content.append({"type": "text", "text": turn.text})
        if turn.audio is not None:
            data, seconds = as_wav(turn.audio)
            audio_s += seconds
            sound = base64.b64encode(data).decode()
            forms = {
                "input_audio": {"data": sound, "format": "wav"},
                "audio_url": {"url": f"data:audio/wav;base64,{sound}"},
            }
            content.append({"type": audio_part, audio_part: forms[audio_part]})
        messages.append({"role": turn.role, "content": content})
    most = text_bytes + _TOKENS_PER_TURN * len(messages)
    return Request({"messages": messages, **fields}, most, audio_s)


def as_wav(audio: Path | Clip) -> tuple[bytes, float]:
    """Sound as a 16-bit WAV file at 16 kHz, which all such APIs take; its seconds."""
    clip = Clip(*soundfile.read(audio, dtype="float32")) if isinstance(audio, Path) else audio
    samples = np.clip(soxr.resample(clip.samples, clip.sample_rate, SAMPLE_RATE), -1, 1)
    wav = io.BytesIO()
    soundfile.write(wav, samples, SAMPLE_RATE, format="WAV", subtype="PCM_16")
    return wav.getvalue(), len(samples) / SAMPLE_RATE


def joined(events: str) -> dict[str, Any]:
    """The response whose pieces came as server-sent events; one without an end is broken off."""
    whole: dict[str, Any] = {}
    choice: dict[str, Any] = {"finish_reason": "abort"}
    message: dict[str, str] = {}
    for line in events.split("\n"):
        data = line.removeprefix("data:").strip()
        if data == line.strip() or data == "[DONE]":
            continue
        event = as_mapping(json.loads(data))
        piece = as_mapping(_first(event.get("choices")))
        for name in ("content", "refusal"):
            if text := as_mapping(piece.get("delta")).get(name):
                message[name] = message.get(name, "") + (_text(text) or "")
        choice |= {name: value for name, value in piece.items() if value is not None}
        whole |= {name: value for name, value in event.items() if value is not None}
    return whole | {"choices": [choice | {"message": message}]}


def read_response(response: Any, key: str) -> Answer | Failure:
    """Read a model's answer from a response, or say why there is none."""
    if reason := _withheld(as_mapping(response)):
        return Failure(
            f"content filter: the provider withheld the answer ({quote(reason, key)[:40]})",
            blocked=True,
        )
    choice = as_mapping(_first(as_mapping(response).get("choices")))
    # Gateways pass on an error of the server behind them as a response like others.
    if error := as_mapping(response).get("error") or choice.get("error"):
        return Failure(f"error in a response: {quote(error, key)}")
    reason = choice.get("finish_reason")
    try:
        message = choice["message"]
        # A refusal in the field of its own is the model's answer as much as any.
        text = (_text(message.get("content")) or message.get("refusal") or "").strip()
        tokens = (response.get("usage") or {}).get("completion_tokens")
    except (AttributeError, KeyError, TypeError):
        return Failure("malformed response: it holds no answer")
    if reason in _BROKEN_OFF:
        return Failure(f"the server broke the answer off (finish_reason {reason})")
    if not text:
        return Failure(f"empty answer: no text (finish_reason {str(reason)[:40]})")
    # JSON can hold what no text can: half a surrogate pair; and numbers that no store takes.
    text = text.encode(errors="replace").decode()
    tokens = tokens if isinstance(tokens, int) and 0 <= tokens < 2**31 else 0
    ended = quote(reason, key)[:40] if isinstance(reason, str) else None
    return Answer(text, tokens, finish_reason=ended, served_by=named(response, "model", key))


def named(response: Any, field: str, key: str) -> str | None:
    """What a response says in a field of text, such as the model that answered; None if nothing."""
    name = as_mapping(response).get(field)
    return quote(name, key)[:100] or None if isinstance(name, str) else None


def facts_of(server: Mapping[str, Any]) -> list[str]:
    """What a server says of itself: whose it is, its version, the tokens that it reads."""
    model = as_mapping(_first(server.get("data")))
    length = as_mapping(model.get("meta")).get("n_ctx") or model.get("max_model_len")
    facts = (named(model, "owned_by", ""), named(server, "version", ""))
    return [*filter(None, facts), *([f"context of {length} tokens"] if length else [])]


def are_one_model(name: str, other: str) -> bool:
    """True if two names differ at most in a date at their end and in folders before them."""
    short, long = sorted((name.rpartition("/")[2], other.rpartition("/")[2]), key=len)
    rest = long.removeprefix(short)
    return long.startswith(short) and (not rest or _DATE.fullmatch(rest) is not None)


def _withheld(response: Mapping[str, Any]) -> str | None:
    choice = as_mapping(_first(response.get("choices")))
    for part in (response, _googles(response)):
        for feedback in (part.get("prompt_feedback"), part.get("promptFeedback")):
            reasons = as_mapping(feedback)
            if reason := reasons.get("block_reason") or reasons.get("blockReason"):
                return str(reason)
    # Gemini leaves out the message then.
    given = [part.get(name) for part in (choice, _googles(choice)) for name in _FINISH_REASONS]
    return next((reason for reason in given if _is_withheld(reason)), None)


def _googles(part: Mapping[str, Any]) -> Mapping[str, Any]:
    return as_mapping(as_mapping(part.get("extra_content")).get("google"))


def _is_withheld(reason: object) -> bool:
    # Gemini's compatible API writes "content_filter: PROHIBITED_CONTENT".
    return isinstance(reason, str) and bool(_WITHHELD.fullmatch(reason.split(":")[0].strip()))


def is_away(error: openai.APIError) -> bool:
    """True if there is no server at the address, or one that is not ready."""
    if isinstance(error, openai.APIStatusError):
        return error.status_code in (502, 503)
    return any(isinstance(cause, aiohttp.ClientConnectorError) for cause in _causes(error))


def is_blocked(error: openai.APIStatusError) -> bool:
    """True if a provider's content filter refused the request."""
    body = _body(error)
    inner, metadata = as_mapping(body.get("innererror")), as_mapping(body.get("metadata"))
    codes = (error.code, body.get("code"), inner.get("code"))
    # OpenRouter's moderation gives reasons and quotes what it flagged.
    return any(map(_is_withheld, codes)) or "flagged_input" in metadata


def remedy(error: openai.APIStatusError, wait_s: float) -> str | None:
    """Remedy without which no request will be answered, which may be to wait; None if none."""
    if error.status_code == 404:
        return "check the source in its card and the address of its API"
    code = error.code or _body(error).get("code")
    if error.status_code == 402 or code in ("insufficient_quota", "billing_hard_limit_reached"):
        return "pay for more, then run again"
    if wait_s > _LONGEST_WAIT_S:
        return f"it asks to wait {wait_s:.0f} s; run again after that"
    return None


def describe(error: Exception, key: str) -> str:
    """Type and message of an error's first cause, as :func:`quote`."""
    # The SDK calls it a timeout when a server hangs up or cannot be reached.
    *_, cause = _causes(error)
    text = f"{type(cause).__name__}: {cause}"
    if isinstance(cause, openai.APIStatusError) and " - " not in text:
        text = f"{text} - {cause.body}"
    return quote(text, key)


def quote(text: object, key: str) -> str:
    """One line of at most 500 characters from an API's message, without the key if there is one."""
    clean = str(text).encode(errors="replace").decode()
    if key:
        clean = clean.replace(key, "[key]")
    return " ".join(clean.split())[:500]


def as_mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _body(error: openai.APIStatusError) -> Mapping[str, Any]:
    # Gemini's compatible API puts the error in a list.
    body = _first(error.body) or error.body
    return as_mapping(as_mapping(body).get("error", body))


def _text(content: Any) -> Any:
    # A string, or parts of text and of reasoning.
    if not isinstance(content, list):
        return content
    return "".join(part["text"] for part in content if part.get("type") == "text")


def _first(items: object) -> object:
    return items[0] if isinstance(items, list) and items else None
