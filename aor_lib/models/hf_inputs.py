"""Inputs of a Hugging Face model for conversations: prompts, and features of their clips."""

import base64
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from aor_lib.audio.clip import Clip
from aor_lib.models.base import Conversation, Turn, waveform, without_system_turns
from aor_lib.models.hf_architectures import ARCHITECTURES

_WORDS = "words"


def with_waveforms(processor: Any, name: str, conversation: Conversation) -> Conversation:
    """Read every clip of a conversation, resampled to the processor's rate.

    ValueError if a clip is empty, or so long that the model would not hear its end.
    """
    features, architecture = processor._audio_processor, ARCHITECTURES[name]
    heard = []
    for turn in conversation:
        if turn.audio is not None:
            clip = waveform(turn.audio, features.sampling_rate)
            window_s = getattr(features, "chunk_length", 30)
            if architecture.truncates and len(clip.samples) > window_s * clip.sample_rate:
                raise ValueError(f"a clip of more than {window_s} s, the longest this model hears")
            if architecture.multiple_of_s is not None:
                clip = _with_silent_end(clip, 0, architecture.multiple_of_s * clip.sample_rate)
            if architecture.ends_in_silence:
                clip = _with_silent_end(clip, features.n_fft // 2, features.hop_length)
            turn = dataclasses.replace(turn, audio=clip)
        heard.append(turn)
    return tuple(heard)


def model_inputs(processor: Any, name: str, conversations: Sequence[Conversation]) -> Any:
    """Inputs of ``generate``, left-padded, for conversations from :func:`with_waveforms`."""
    if not ARCHITECTURES[name].system_turn:
        conversations = [without_system_turns(conversation) for conversation in conversations]
    messages = [
        [{"role": turn.role, "content": _content(processor, name, turn)} for turn in conversation]
        for conversation in conversations
    ]
    if name == "voxtral":
        # Mistral's tokenizer writes the prompt itself, and decodes the clips.
        return processor.apply_chat_template(messages, return_tensors="pt")
    tokenizer = processor.tokenizer
    template = _chat_template(processor)
    prompts = processor.apply_chat_template(
        messages, chat_template=template, tokenize=False, add_generation_prompt=True
    )
    started = tokenizer.bos_token is not None and prompts[0].startswith(tokenizer.bos_token)
    heard = [clip for conversation in conversations for clip in clips(conversation)]
    features = processor._audio_processor
    audio: dict[str, Any] = {}
    if heard:
        audio = {"audio": heard, "sampling_rate": features.sampling_rate}
        if ARCHITECTURES[name].pads_to_longest:
            # The last frame extends half a window past the clip, so the longest is padded, too.
            samples = max(map(len, heard)) + features.n_fft // 2
            whole_frames = -(-samples // features.hop_length) * features.hop_length
            audio["audio_kwargs"] = {"max_length": whole_frames}
    # As plain arguments, these would also apply to the audio features.
    padded = {"padding": True, "padding_side": "left", "add_special_tokens": not started}
    return processor(text=prompts, return_tensors="pt", text_kwargs=padded, **audio)


def end_of_turn(processor: Any) -> int | None:
    """Special token that the chat template puts after an assistant's words, or None."""
    template, tokenizer = _chat_template(processor), processor.tokenizer
    if template is None:
        return None  # Mistral's tokenizer writes prompts itself
    turns = [{"role": "user", "content": "?"}, {"role": "assistant", "content": _WORDS}]
    (written,) = processor.apply_chat_template([turns], chat_template=template, tokenize=False)
    after = tokenizer(written.rpartition(_WORDS)[2], add_special_tokens=False)["input_ids"][:1]
    return after[0] if after and not tokenizer.decode(after, skip_special_tokens=True) else None


def _chat_template(processor: Any) -> Any:
    # Some processors lose their template when they are saved; the tokenizer has it too.
    own = getattr(processor, "chat_template", None)
    return own or getattr(processor.tokenizer, "chat_template", None)


def _with_silent_end(clip: Clip, at_least: int, multiple_of: int) -> Clip:
    silence = at_least + -(len(clip.samples) + at_least) % multiple_of
    return Clip(np.pad(clip.samples, (0, silence)), clip.sample_rate)


def clips(conversation: Conversation) -> list[Any]:
    """Samples of each clip of a conversation from :func:`with_waveforms`, in order."""
    return [turn.audio.samples for turn in conversation if isinstance(turn.audio, Clip)]


def _content(processor: Any, name: str, turn: Turn) -> str | list[dict[str, str]]:
    words = turn.text or ""
    if not isinstance(turn.audio, Clip):
        return words  # a string: every chat template takes that
    if ARCHITECTURES[name].words_only:
        return words + str(processor.audio_token)
    clip = {"type": "audio"}
    if name == "voxtral":
        clip["base64"] = f"data:audio/wav;base64,{base64.b64encode(turn.audio.encoded()).decode()}"
    return [{"type": "text", "text": words}, clip] if words else [clip]
