"""The F0 of speech."""

import numpy as np
import numpy.typing as npt
import pyworld

from aor_lib.audio.speech.voice import SAMPLE_RATE, SpeechError

FRAME_S = 0.005
"""From one frame to the next."""
F0_LIMITS_HZ = (50.0, 700.0)
MIN_SPEECH_S = 0.1


def checked(samples: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """The samples as the trackers need them: float64, ``(n,)``, contiguous.

    SpeechError if they are not one finite channel of at least 0.1 s.
    """
    if samples.ndim != 1:
        raise SpeechError(f"speech must be one channel, not of the shape {samples.shape}")
    if len(samples) < SAMPLE_RATE * MIN_SPEECH_S:
        raise SpeechError(f"speech must last at least {MIN_SPEECH_S} s, not {len(samples)} samples")
    if not np.isfinite(samples).all():
        raise SpeechError("speech has samples that are not finite")
    return np.ascontiguousarray(samples, dtype=np.float64)


def dio(
    speech: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """F0 in Hz (0 where unvoiced) and times in seconds of each frame, both ``(frames,)``.

    DIO and StoneMask (Morise, Kawahara & Katayose, 2009, AES 35th Conference), twice: the second
    time within a range drawn from the speaker's own quartiles (after De Looze & Hirst, 2008, Speech
    Prosody, 135-138), which keeps octave errors out. The range goes 1.5 times as high as theirs,
    for the rises of lively speech.
    """
    f0, times_s = _dio(speech, 60.0, 600.0)
    if not f0.any():
        return f0, times_s
    low_hz, high_hz = np.quantile(f0[f0 > 0], [0.25, 0.75])
    floor_hz, ceiling_hz = F0_LIMITS_HZ
    return _dio(speech, max(0.75 * low_hz, floor_hz), min(2.25 * high_hz, ceiling_hz))


def harvest(speech: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """F0 in Hz of each frame, 0 where unvoiced (Morise, 2017, Interspeech, 2321-2325).

    Another algorithm than :func:`dio`, and some twenty times slower.
    """
    f0: npt.NDArray[np.float64]
    f0, _ = pyworld.harvest(
        speech, SAMPLE_RATE, f0_floor=60.0, f0_ceil=F0_LIMITS_HZ[1], frame_period=1000 * FRAME_S
    )
    return f0


def _dio(
    speech: npt.NDArray[np.float64], floor_hz: float, ceiling_hz: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    coarse, times_s = pyworld.dio(
        speech, SAMPLE_RATE, f0_floor=floor_hz, f0_ceil=ceiling_hz, frame_period=1000 * FRAME_S
    )
    return pyworld.stonemask(speech, coarse, times_s, SAMPLE_RATE), times_s
