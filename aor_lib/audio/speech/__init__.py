"""Text to speech: voices, and emotion by prosody."""

from pathlib import Path

from aor_lib.audio.speech.kokoro import KokoroVoice
from aor_lib.audio.speech.voice import RATES, SAMPLE_RATE, Gender, SpeechError, Voice, VoiceCard
from aor_lib.config.params import PARAMS
from aor_lib.config.typed_yaml import ParamsError, did_you_mean, read_named
from aor_lib.storage import assets

__all__ = [
    "RATES",
    "SAMPLE_RATE",
    "KokoroVoice",
    "SpeechError",
    "VoiceCard",
    "gender_of",
    "load_voice",
]


def load_voice(voice_id: str, params: Path = PARAMS) -> Voice:
    """The voice of ``voices/ID.yaml`` below ``params``, or else the Kokoro voice of that name.

    ParamsError if there is no such voice, or its file is wrong.
    """
    if (card := params / "voices" / f"{voice_id}.yaml").is_file():
        # It imports the SDK, which takes a while: only where it is asked for.
        from aor_lib.audio.speech.openai_api import OpenAISpeechVoice

        return OpenAISpeechVoice(read_named(card, VoiceCard))
    of_kokoro = [path.stem for path in (assets.fetch("kokoro") / "voices").glob("*.bin")]
    if voice_id in of_kokoro:
        return KokoroVoice(voice_id)
    options = of_kokoro + [path.stem for path in (params / "voices").glob("*.yaml")]
    raise ParamsError(f"voices: no voice {voice_id!r}{did_you_mean(voice_id, options)}")


def gender_of(voice_id: str, params: Path = PARAMS) -> Gender:
    """Gender of a voice, from its card or its Kokoro id."""
    if (card := params / "voices" / f"{voice_id}.yaml").is_file():
        return read_named(card, VoiceCard).gender
    return "female" if voice_id[1:2] == "f" else "male"
