"""Conversations as requests for chat completions, and responses as answers."""

from __future__ import annotations

import base64
import io
import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import soundfile

from aor_lib.models.api_errors import is_withheld
from aor_lib.models.base import Answer, Conversation, Failure, Waveform


@dataclass(frozen=True)
class Request:
    """A conversation that is ready to be sent, and how much it holds."""

    content: bytes
    texts: tuple[str, ...]
    turns: int
    audio_s: float


def request(conversation: Conversation, fields: dict[str, Any]) -> Request:
    """A conversation as the JSON of a request: its messages, and further fields.

    Raises
    ------
    OSError, RuntimeError
        A sound file is missing or cannot be read.
    """
    messages, texts, sounds, audio_s = [], [], {}, 0.0
    for turn in conversation:
        content: list[dict[str, Any]] = []
        if turn.text:
            texts.append(turn.text)
            content.append({"type": "text", "text": turn.text})
        if turn.audio is not None:
            data, seconds = _wav(turn.audio)
            audio_s += seconds
            mark = uuid.uuid4().hex
            sounds[mark.encode()] = base64.b64encode(data)
            sound = {"data": mark, "format": "wav"}
            content.append({"type": "input_audio", "input_audio": sound})
        messages.append({"role": turn.role, "content": content})
    body = json.dumps({"messages": messages, **fields}).encode()
    # Put in afterwards: it has nothing to escape, and looking for that takes longer than all else.
    for place, sound_data in sounds.items():
        body = body.replace(place, sound_data)
    return Request(body, tuple(texts), len(messages), audio_s)


def read(response: Any) -> Answer | Failure | None:
    """What a model answered; None where a response does not have the form of one."""
    try:
        choice = response["choices"][0]
        reason = choice.get("finish_reason")
        if is_withheld(reason):
            # Gemini leaves out the message then.
            return Failure(
                f"content filter: the provider withheld the answer ({reason[:40]})", blocked=True
            )
        message = choice["message"]
        # A refusal in the field of its own is the model's answer as much as any.
        text = (message.get("content") or message.get("refusal") or "").strip()
        tokens = (response.get("usage") or {}).get("completion_tokens")
    except (AttributeError, IndexError, KeyError, TypeError):
        return None
    if not text:
        return Failure(f"empty answer: no text (finish_reason {str(reason)[:40]})")
    # JSON can hold what no text can: half a surrogate pair; and numbers that no store takes.
    text = text.encode(errors="replace").decode()
    return Answer(text, tokens if isinstance(tokens, int) and 0 <= tokens < 2**31 else 0)


def _wav(audio: Path | Waveform) -> tuple[bytes, float]:
    """Sound as a 16-bit WAV file, the one format that all such APIs take; its seconds."""
    if isinstance(audio, Waveform):
        samples, rate = audio.samples, audio.sample_rate
    else:
        samples, rate = soundfile.read(audio, dtype="int16")
    wav = io.BytesIO()
    soundfile.write(wav, samples, rate, format="WAV", subtype="PCM_16")
    return wav.getvalue(), len(samples) / rate
