"""Text to speech: voices, and emotion by prosody."""

from pathlib import Path

from aor_lib.audio.speech.kokoro import KokoroVoice, kokoro_voices
from aor_lib.audio.speech.voice import RATES, SAMPLE_RATE, Gender, SpeechError, Voice, VoiceCard
from aor_lib.config.params import PARAMS
from aor_lib.config.typed_yaml import ParamsError, did_you_mean, read, read_named

__all__ = [
    "RATES",
    "SAMPLE_RATE",
    "KokoroVoice",
    "SpeechError",
    "Voice",
    "VoiceCard",
    "gender_of",
    "kokoro_voices",
    "load_voice",
]


def load_voice(voice_id: str, params: Path = PARAMS) -> Voice:
    """The voice of ``voices/ID.yaml`` below ``params``, or else the Kokoro voice of that name.

    ParamsError if there is no such voice, or its file is wrong.
    """
    cards = {path.stem: path for path in (params / "voices").glob("*.yaml")}
    if voice_id in cards:
        # It imports the SDK, which takes a while: only where it is asked for.
        from aor_lib.audio.speech.openai_api import OpenAISpeechVoice

        return OpenAISpeechVoice(read_named(cards[voice_id], VoiceCard))
    if voice_id in (options := kokoro_voices()):
        return KokoroVoice(voice_id)
    raise ParamsError(f"voices: no voice {voice_id!r}{did_you_mean(voice_id, [*cards, *options])}")


def gender_of(voice_id: str, params: Path = PARAMS) -> Gender:
    """Gender of a voice, known from its card or its Kokoro id alone: no weights are needed."""
    card = params / "voices" / f"{voice_id}.yaml"
    if card.is_file():
        return read(card, VoiceCard).gender
    return "female" if voice_id[1:2] == "f" else "male"
