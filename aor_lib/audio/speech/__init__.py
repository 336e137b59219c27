"""Text to speech: voices, and emotion by prosody."""

from aor_lib.audio.speech.voice import RATES, SAMPLE_RATE, SpeechError, gender_of, synthesise

__all__ = ["RATES", "SAMPLE_RATE", "SpeechError", "gender_of", "synthesise"]
