"""Recordings of the study's own text to speech, and vowels of them taken apart by WORLD.

WORLD: Morise, Yokomori & Ozawa, 2016, IEICE Trans. E99-D(7), 1877-1884.
"""

import functools
from pathlib import Path

import numpy as np
import pyworld
import soundfile
import soxr

from aor_lib.audio.scenes.synth import FloatArray

BANK = Path(__file__).with_name("voices.flac")
"""Made by reference/voice_bank.py."""
RATE = 24_000
SLOT_S = 3.0
FRAME_S = 0.005
TALKERS = (
    *("af_bella", "am_adam", "bf_emma", "bm_george", "af_nova", "am_fenrir", "bf_isabella"),
    *("am_michael", "af_sarah", "bm_fable", "af_sky", "am_puck", "bf_lily", "bm_lewis"),
    *("af_heart", "am_eric"),
)
CRIERS = ("af_bella", "bf_emma", "bf_isabella", "am_adam", "am_fenrir", "bm_george")
"""Three women, then three men."""
CRIES = ("Aaaaaah!", "Ooooooh!")


@functools.cache
def sentences(rate: int) -> tuple[FloatArray, ...]:
    """One sentence of each of the talkers at a sample rate, each of an RMS of 1."""
    spoken = _recordings()[: len(TALKERS)]
    resampled = [soxr.resample(x, RATE, rate) for x in spoken]
    return tuple(x / np.sqrt(np.mean(np.square(x))) for x in resampled)


@functools.cache
def vowel(female: bool, voice: int, cry: int) -> tuple[FloatArray, FloatArray]:
    """A cry's loud voiced frames, ``(frames, bins)``: log spectral envelope, and aperiodicity."""
    criers = len(CRIERS) // 2
    crier = voice % criers + (0 if female else criers)
    recording = _recordings()[len(TALKERS) + len(CRIES) * crier + cry]
    f0, at_s = pyworld.harvest(recording, RATE, 70.0, 600.0)
    envelope = pyworld.cheaptrick(recording, f0, at_s, RATE)
    power = envelope.sum(axis=1)
    loud = (f0 > 0) & (power > np.percentile(power[f0 > 0], 30))
    aperiodicity = pyworld.d4c(recording, f0, at_s, RATE)[loud]
    return np.log(envelope[loud] / power[loud, None] + 1e-12), aperiodicity


@functools.cache
def _recordings() -> tuple[FloatArray, ...]:
    samples, _ = soundfile.read(BANK)
    slots = samples.reshape(-1, round(SLOT_S * RATE))
    return tuple(slot[: np.flatnonzero(slot)[-1] + 1] for slot in slots)
