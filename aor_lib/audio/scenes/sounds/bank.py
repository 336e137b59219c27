"""Recordings of the study's own text to speech, of which babble and muffled shouts are made."""

import functools
from pathlib import Path

import numpy as np
import soundfile
import soxr
from scipy import signal

from aor_lib.audio.scenes.synth import FloatArray

BANK = Path(__file__).with_name("voices.flac")
"""Made by reference/voice_bank.py."""
RATE = 24_000
SLOT_S = 3.0
TALKERS = (
    *("af_bella", "am_adam", "bf_emma", "bm_george", "af_nova", "am_fenrir", "bf_isabella"),
    *("am_michael", "af_sarah", "bm_fable", "af_sky", "am_puck", "bf_lily", "bm_lewis"),
    *("af_heart", "am_eric"),
)


@functools.cache
def sentences(rate: int) -> tuple[FloatArray, ...]:
    """One sentence of each of the talkers at a sample rate, each of an RMS of 1.

    A high-pass filter takes the bass of a near microphone away.
    """
    samples, _ = soundfile.read(BANK)
    spoken = [np.trim_zeros(slot, "b") for slot in samples.reshape(len(TALKERS), -1)]
    highpass = signal.butter(2, 200, "highpass", fs=rate, output="sos")
    resampled = [signal.sosfilt(highpass, soxr.resample(x, RATE, rate)) for x in spoken]
    return tuple(x / np.sqrt(np.mean(np.square(x))) for x in resampled)
