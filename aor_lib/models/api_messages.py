"""Chat completions: build requests from conversations, read results from responses."""

import base64
import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import aiohttp
import numpy as np
import openai

from aor_lib.audio.clip import Clip
from aor_lib.models.base import Answer, Conversation, Failure, waveform

AudioPart = Literal["input_audio", "audio_url", "input_audio_url"]
"""Format of audio in a message: OpenAI's, that of vLLM and SGLang, or Alibaba's."""

SAMPLE_RATE = 16_000  # Hz, of the audio sent: the models' own rate, so no server resamples

_TOKENS_PER_TURN = 16
_LONGEST_WAIT_S = 120  # an API that asks for a longer wait (Retry-After) ends the run
_WITHHELD = re.compile(
    # OpenAI's and Azure's; Amazon Bedrock's.
    "content_filter|content_policy_violation|invalid_prompt|responsibleaipolicyviolation"
    "|guardrail_intervened"
    # Gemini's FinishReason and BlockReason, which its compatible API may pass on; "other" if it
    # withholds an answer without giving a reason.
    "|safety|recitation|blocklist|prohibited_content|spii|image_safety|language|other"
    # Anthropic's, if its classifiers stop an answer.
    "|refusal"
    # Alibaba's.
    "|data_?inspection_?failed",
    re.IGNORECASE,
)
_BROKEN_OFF = {"abort", "cancelled", "error", "insufficient_system_resource", "timeout"}
"""Finish reasons of answers that the server itself aborted, with or without partial text."""
_OF_GATEWAY = re.compile(r"\[(?:gateway|proxy|error)\]", re.IGNORECASE)
"""Prefix of the text that some gateways return as an answer if the server behind them fails."""
_FINISH_REASONS = ("finish_reason", "finishReason", "native_finish_reason")
"""Field names: OpenAI's, Google's, and OpenRouter's for its provider's finish reason."""
_BLOCK_REASONS = ("block_reason", "blockReason")  # Gemini's, in responses without a message

_DATE = re.compile(r"(-preview)?[-@](\d{4}-\d\d-\d\d|\d{8}|\d\d-\d{2,4}|\d{4}|00\d)")
"""Date that providers append to a model's name, or a number in its place (Google's 001)."""


@dataclass(frozen=True)
class Request:
    """The JSON body of a request, an upper bound of its text tokens, and its seconds of audio."""

    body: dict[str, Any]
    max_text_tokens: int
    audio_s: float


def build_request(
    conversation: Conversation,
    fields: dict[str, Any],
    audio_part: AudioPart = "input_audio",
    longest_clip_s: float = math.inf,
) -> Request:
    """Build the request for a conversation: its messages and the further ``fields`` of the body.

    ValueError if a clip is empty or longer than ``longest_clip_s``.
    """
    messages, text_bytes, audio_s = [], 0, 0.0
    for turn in conversation:
        content: list[dict[str, Any]] = []
        if turn.text:
            text_bytes += len(turn.text.encode())  # a token is at least a byte
            content.append({"type": "text", "text": turn.text})
        if turn.audio is not None:
            data, seconds = as_wav(turn.audio)
            if seconds > longest_clip_s:
                file = turn.audio if isinstance(turn.audio, Path) else "a clip in memory"
                raise ValueError(f"{file}: {seconds:.1f} s, but the limit is {longest_clip_s:g} s")
            audio_s += seconds
            sound = base64.b64encode(data).decode()
            url = f"data:audio/wav;base64,{sound}"
            kind, form = {
                "input_audio": ("input_audio", {"data": sound, "format": "wav"}),
                "audio_url": ("audio_url", {"url": url}),
                "input_audio_url": ("input_audio", {"data": url, "format": "wav"}),
            }[audio_part]
            content.append({"type": kind, kind: form})
        messages.append({"role": turn.role, "content": content})
    most = text_bytes + _TOKENS_PER_TURN * len(messages)
    return Request({"messages": messages, **fields}, most, audio_s)


def as_wav(audio: Path | Clip) -> tuple[bytes, float]:
    """Encode sound as 16-bit WAV at 16 kHz, which all such APIs take; also return its seconds."""
    samples = np.clip(waveform(audio, SAMPLE_RATE).samples, -1, 1)
    return Clip(samples, SAMPLE_RATE).encoded("WAV", "PCM_16"), len(samples) / SAMPLE_RATE


def joined(events: str) -> dict[str, Any]:
    """Join server-sent events into a response; one without a finish reason counts as aborted."""
    whole: dict[str, Any] = {}
    choice: dict[str, Any] = {"finish_reason": "abort"}
    message: dict[str, str] = {}
    for data in re.findall(r"^data:(?!\s*\[DONE\])(.*)", events, re.MULTILINE):
        event = as_mapping(json.loads(data))
        piece = as_mapping(_first(event.get("choices")))
        for name in ("content", "refusal"):
            message[name] = message.get(name, "") + _text(as_mapping(piece.get("delta")).get(name))
        choice |= {k: value for k, value in piece.items() if value not in (None, "", "null")}
        whole |= {name: value for name, value in event.items() if value not in (None, "")}
    return whole | {"choices": [choice | {"message": message}]}


def read_response(response: Any, key: str) -> Answer | Failure:
    """Read a model's answer from a response, or the reason why there is none."""
    blocked = next(filter(None, _stated(response, _BLOCK_REASONS)), None)
    ends = list(_stated(response, _FINISH_REASONS))
    if reason := blocked or next(filter(_is_withheld, ends), None):
        notice = quote(reason, key)[:40]
        return Failure(f"content filter: the provider withheld the answer ({notice})", blocked=True)
    choice = as_mapping(_first(as_mapping(response).get("choices")))
    # Gateways pass on an error of the server behind them as an ordinary response.
    if error := as_mapping(response).get("error") or choice.get("error"):
        return Failure(f"error in a response: {quote(error, key)}", is_blocked(error))
    if broken_off := _BROKEN_OFF.intersection(str(end).lower() for end in ends):
        return Failure(f"the server broke the answer off (finish_reason {min(broken_off)})")
    reason, message = choice.get("finish_reason"), as_mapping(choice.get("message"))
    # A refusal in a field of its own is also the model's answer.
    texts = [_text(message.get(name)).strip() for name in ("content", "refusal")]
    text = next((text for text in texts if "".join(filter(str.isprintable, text)).strip()), "")
    tokens = as_mapping(as_mapping(response).get("usage")).get("completion_tokens")
    if not message:
        return Failure(f"malformed response: {quote(response, key)}")
    if not text:
        return Failure(f"empty answer: no text (finish_reason {str(reason)[:40]})")
    if _OF_GATEWAY.match(text):
        return Failure(f"a gateway's error in place of an answer: {quote(text, key)}")
    # JSON can hold half a surrogate pair, which text cannot, and integers too large to store.
    text = text.encode(errors="replace").decode()
    tokens = tokens if isinstance(tokens, int) and 0 <= tokens < 2**31 else 0
    ended = quote(reason, key)[:40] if isinstance(reason, str) else None
    return Answer(text, tokens, finish_reason=ended, served_by=named(response, "model", key))


def named(response: Any, field: str, key: str) -> str | None:
    """Return a response's text field, such as its model's name; None if it has none."""
    name = as_mapping(response).get(field)
    return quote(name, key)[:100] or None if isinstance(name, str) else None


def facts_of(models: Any, version: Any) -> list[str]:
    """Owner, version and context length that a server states in its model list and version."""
    model = as_mapping(_first(as_mapping(models).get("data")))
    length = as_mapping(model.get("meta")).get("n_ctx") or model.get("max_model_len")
    facts = (named(model, "owned_by", ""), named(version, "version", ""))
    return [*filter(None, facts), *([f"context of {length} tokens"] if length else [])]


def are_one_model(name: str, other: str) -> bool:
    """True if two model names differ at most in a date at the end and in folders before them."""
    short, long = sorted((name.rpartition("/")[2], other.rpartition("/")[2]), key=len)
    rest = long.removeprefix(short)
    return long.startswith(short) and (not rest or _DATE.fullmatch(rest) is not None)


def _stated(response: Any, names: Collection[str]) -> Iterator[Any]:
    """Yield the values of these keys, at any depth."""
    if isinstance(response, list):
        for part in response:
            yield from _stated(part, names)
    elif isinstance(response, Mapping):
        for name, value in response.items():
            yield from [value] if name in names else _stated(value, names)


def retry_delay_s(error: openai.APIError) -> float:
    """Seconds that an error from Gemini asks to wait; 0 if it states none."""
    delays = (re.fullmatch(r"([\d.]+)s", str(of)) for of in _stated(error.body, ("retryDelay",)))
    return next((float(delay[1]) for delay in delays if delay), 0.0)


def _is_withheld(reason: object) -> bool:
    # Gemini's compatible API writes "content_filter: PROHIBITED_CONTENT".
    return isinstance(reason, str) and bool(_WITHHELD.fullmatch(reason.split(":")[0].strip()))


def prospect(error: openai.APIError) -> Literal["no host", "away", "passing", "final"]:
    """Classify an error by whether a retry may help: no host, server away, passing, or final."""
    causes = {type(cause) for cause in _causes(error)}
    if aiohttp.ClientConnectorDNSError in causes:
        return "no host"
    status = getattr(error, "status_code", 500)
    if status in (502, 503) or aiohttp.ClientConnectorError in causes:
        return "away"
    return "passing" if status in (408, 409, 429) or status >= 500 else "final"


def is_blocked(error: Any) -> bool:
    """True if an error in a response says that a content filter blocked the request."""
    # OpenRouter's moderation gives reasons and quotes the flagged input.
    is_flagged = any(_stated(error, ("flagged_input",)))
    return is_flagged or any(map(_is_withheld, _stated(error, ("code",))))


def remedy(error: openai.APIError, wait_s: float) -> str | None:
    """Remedy for an error that would affect every request; None for other errors."""
    status = getattr(error, "status_code", None)
    if status == 404:
        return "check the source in its card and the address of its API"
    unpaid = ("insufficient_quota", "billing_hard_limit_reached")
    if status == 402 or any(code in unpaid for code in _stated(error.body, ("code",))):
        return "add credit to the account, then run again"
    too_long = wait_s > _LONGEST_WAIT_S
    return f"the API asks to wait {wait_s:.0f} s; run again after that" if too_long else None


def describe(error: Exception, key: str) -> str:
    """Type and message of an error's first cause, cleaned by :func:`quote`."""
    # The SDK reports a timeout even if a server hangs up or cannot be reached.
    *_, cause = _causes(error)
    text = f"{type(cause).__name__}: {cause}"
    if isinstance(cause, openai.APIStatusError) and " - " not in text:
        text = f"{text} - {cause.body}"
    return quote(text, key)


def quote(text: object, key: str) -> str:
    """Clean an API's message: one line of at most 500 characters, with the key removed."""
    clean = str(text).encode(errors="replace").decode()
    clean = clean.replace(key, "[key]") if key else clean
    return " ".join(clean.split())[:500]


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is a mapping, else an empty mapping."""
    return value if isinstance(value, Mapping) else {}


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _text(content: Any) -> str:
    # Content is a string, or a list of parts: text, reasoning or a refusal.
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    readable = [part for part in map(as_mapping, parts) if part.get("type") in ("text", "refusal")]
    return "".join(text for part in readable if isinstance(text := part.get(part["type"]), str))


def _first(items: object) -> object:
    return items[0] if isinstance(items, list) and items else None
