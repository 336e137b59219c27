"""Text to speech: voices, and emotion by prosody."""

from aor_lib.audio.speech.kokoro import KokoroVoice, kokoro_voices
from aor_lib.audio.speech.registry import gender_of, load_voice
from aor_lib.audio.speech.voice import RATES, SAMPLE_RATE, SpeechError, Voice, VoiceCard

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
