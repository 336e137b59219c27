"""What goes wrong with an API, and what it means: withheld, over for good, or worth another try."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import openai

_WITHHELD = {
    # OpenAI's and Azure's; Amazon Bedrock's;
    "content_filter",
    "content_policy_violation",
    "invalid_prompt",
    "responsibleaipolicyviolation",
    "guardrail_intervened",
    # Gemini's FinishReason and BlockReason, which its compatible API may pass on.
    "safety",
    "recitation",
    "blocklist",
    "prohibited_content",
    "spii",
}
_PASSING_STATUS = {408, 409, 425, 429}
_FIRST_DELAY_S = 0.5
_LONGEST_DELAY_S = 60.0


def is_withheld(reason: object) -> bool:
    """Whether a finish reason or an error code says that a content filter withheld the answer."""
    # Gemini's compatible API writes "content_filter: PROHIBITED_CONTENT".
    return isinstance(reason, str) and reason.split(":")[0].strip().lower() in _WITHHELD


def is_blocked(error: openai.APIStatusError) -> bool:
    """Whether a provider's content filter refused the request."""
    body = _body(error)
    inner, metadata = (_mapping(body.get(name)) for name in ("innererror", "metadata"))
    codes = (error.code, body.get("code"), inner.get("code"))
    # OpenRouter's moderation gives reasons and quotes what it flagged.
    return any(map(is_withheld, codes)) or "flagged_input" in metadata


def refuses_key(error: openai.APIStatusError) -> bool:
    """Whether no request with this key will be answered."""
    # Gemini answers a wrong key with 400.
    return error.status_code == 401 or "API_KEY_INVALID" in str(error.body)


def refuses_all(error: openai.APIStatusError) -> str | None:
    """Why no request will be answered until a person does something, and what; or None."""
    if error.status_code == 404:
        return "check the source in its card and the address of its API"
    code = error.code or _body(error).get("code")
    if error.status_code == 402 or code in ("insufficient_quota", "billing_hard_limit_reached"):
        return "pay for more, then run again"
    return None


def is_passing(error: openai.APIStatusError) -> bool:
    """Whether the same request may be answered at another try."""
    said = error.response.headers.get("x-should-retry")
    if said in ("true", "false"):
        return bool(said == "true")
    return error.status_code in _PASSING_STATUS or error.status_code >= 500


def is_never_sent(error: Exception) -> bool:
    """Whether there was no connection that a request could have been sent by."""
    return isinstance(_cause(error), aiohttp.ClientConnectorError)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that a response asks to wait, or None if it does not say (RFC 9110, 10.2.3).

    A date is read by the server's own clock, if the response tells it.
    """
    try:
        if "retry-after-ms" in headers:
            wait = float(headers["retry-after-ms"]) / 1000
        else:
            wait = float(headers.get("retry-after", "nan"))
    except ValueError:
        try:
            now = parsedate_to_datetime(headers["date"]) if "date" in headers else datetime.now(UTC)
            wait = (parsedate_to_datetime(headers["retry-after"]) - now).total_seconds()
        except (KeyError, TypeError, ValueError):
            return None
    return None if math.isnan(wait) else max(wait, 0.0)


def delay_s(tries: int) -> float:
    """Seconds before the next try after ``tries`` tries: doubling, and not all at once."""
    longest = min(_FIRST_DELAY_S * 2.0 ** (tries - 1), _LONGEST_DELAY_S)
    return longest * random.uniform(0.75, 1)


def words(error: Exception, key: str) -> str:
    """What kind of error it is and what it says, as :func:`quoted`."""
    text = str(error)
    if isinstance(error, openai.APIStatusError) and " - " not in text:
        text = f"{text} - {error.body}"
    elif isinstance(error, openai.APIConnectionError):
        # The SDK calls it a timeout when a server hangs up.
        cause = _cause(error)
        return quoted(f"APIConnectionError: {type(cause).__name__}: {cause}", key)
    return quoted(f"{type(error).__name__}: {text}", key)


def quoted(said: object, key: str) -> str:
    """What an API said, in one line of at most 500 characters without the key."""
    text = str(said).encode(errors="replace").decode().replace(key, "[key]")
    return " ".join(text.split())[:500]


def _cause(error: BaseException) -> BaseException:
    """What aiohttp met with, whatever the layers above it call that."""
    while not isinstance(error, aiohttp.ClientError) and error.__cause__:
        error = error.__cause__
    return error


def _body(error: openai.APIStatusError) -> Mapping[str, Any]:
    """The error in a response; Gemini's compatible API puts it in a list."""
    body = error.body[0] if isinstance(error.body, list) and error.body else error.body
    return _mapping(_mapping(body).get("error", body))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
