"""Text to speech in several voices, and emotion by changes of prosody."""

from aor_lib.audio.speech.voice import RATES, SAMPLE_RATE, SpeechError, gender_of, synthesise

__all__ = ["RATES", "SAMPLE_RATE", "SpeechError", "gender_of", "synthesise"]
