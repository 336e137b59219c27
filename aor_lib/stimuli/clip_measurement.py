"""Measurements on one finished clip, and the claims of its manifest row that do not hold."""

import contextlib
import hashlib
import io
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import soundfile

from aor_lib.audio import mixing
from aor_lib.audio.hearing.sound_tagger import classify_scene
from aor_lib.audio.hearing.transcription import HearingError, transcribe, word_error_rate
from aor_lib.audio.speech import SpeechError
from aor_lib.audio.speech.measurement import SpeechMeasurement, measure_speech
from aor_lib.config.records import Condition, Stimulus
from aor_lib.config.typed_yaml import one_line
from aor_lib.stimuli import rendering
from aor_lib.stimuli.design import StimulusSpec
from aor_lib.stimuli.manifest import DatasetError, verify_dataset

TOLERANCES = {
    "duration_s": 0.001,
    "loudness_lufs": 0.2,  # a block at the gate of loudness may pass or not after rounding
    "peak_dbfs": 0.2,
    "snr_db": 0.75,  # what scene and speech share by chance is taken for speech: up to 0.52 dB
}
"""By how much a measurement may differ from what the manifest states."""
AUDIBLE_DBFS = -60.0
"""A scene below this is not heard at the study's loudness, in the quietest of rooms."""
MAX_CLEAN_WER = 0.5
"""Speech alone that is misheard by more than this is not the utterance."""
MEASURES = (
    "duration_s",
    "loudness_lufs",
    "peak_dbfs",
    "snr_db",
    "lead_in_dbfs",  # RMS level before the speech
    "transcript",  # of Whisper tiny.en
    "wer",  # word error rate of the transcript, a fraction
    "heard_scene",  # what the scene classifier names
    *SpeechMeasurement.__annotations__,  # of speech without a background
)


def measure_clip(
    row: Stimulus, spec: StimulusSpec | None, build: Path, with_prosody: bool = False
) -> dict[str, Any]:
    """Measure a stimulus: its id, each of :data:`MEASURES` or None, and a list of ``problems``.

    ``spec`` is what it was made from, which gives its speech alone and so the SNR; None for an
    imported clip. ``with_prosody`` measures speech without a background, too, which takes longest.
    """
    measured: dict[str, Any] = {"stimulus_id": row.stimulus_id, **dict.fromkeys(MEASURES)}
    if row.path is None:
        altered = hashlib.sha256((row.presented_text or "").encode()).hexdigest() != row.sha256
        problem = "presented_text: its sha256 is not the manifest's"
        return measured | {"problems": [problem] if altered else []}
    try:
        verify_dataset([row], build)
        content = (build / row.path).read_bytes()
        samples, sample_rate = soundfile.read(io.BytesIO(content), always_2d=True)
        transcription = transcribe(content)
    except (DatasetError, HearingError, soundfile.LibsndfileError) as error:
        return measured | {"problems": [one_line(error)]}
    clip = samples[:, 0]
    lead_in = clip[: round((row.lead_in_s or 0) * sample_rate)]
    measured |= {
        "duration_s": len(clip) / sample_rate,
        "loudness_lufs": mixing.loudness(clip, sample_rate),
        "peak_dbfs": mixing.true_peak(clip),
        "lead_in_dbfs": mixing.rms_dbfs(lead_in) if len(lead_in) else None,
        "transcript": transcription.transcript,
        "heard_scene": classify_scene(transcription.encoded),
    }
    if spec is not None:
        measured["wer"] = word_error_rate(row.text, transcription.transcript)
        spoken = rendering.speak(spec)
        if row.condition.has_background:
            measured["snr_db"] = _snr_db(clip, spoken, len(lead_in), sample_rate)
        if with_prosody and row.condition is Condition.SPEECH_ONLY:
            with contextlib.suppress(SpeechError):  # too little of it is voiced
                alone = clip[len(lead_in) :][: len(spoken)]
                measured |= asdict(measure_speech(alone.astype(np.float32)))
    problems = list(_broken_claims(row, measured))
    if samples.shape[1] != 1 or sample_rate != row.sample_rate:
        problems.append(f"sample_rate: {samples.shape[1]} channels at {sample_rate} Hz")
    return measured | {"problems": problems}


def _broken_claims(row: Stimulus, measured: dict[str, Any]) -> Iterator[str]:
    for name, tolerance in TOLERANCES.items():
        stated, is_now = getattr(row, name), measured[name]
        if stated is not None and is_now is not None and abs(stated - is_now) > tolerance:
            yield f"{name}: measured {is_now:.3f}, stated {stated:.3f}"
    level_dbfs = measured["lead_in_dbfs"]
    if row.condition.has_background and level_dbfs is not None and level_dbfs < AUDIBLE_DBFS:
        yield f"lead-in: the scene is not audible, {level_dbfs:.1f} dBFS"
    clean = row.condition is Condition.SPEECH_ONLY and row.block == "core"
    if clean and (measured["wer"] or 0) > MAX_CLEAN_WER:
        yield f"text: misheard, word error rate {measured['wer']:.2f}"


def _snr_db(
    clip: npt.NDArray[np.float64], spoken: mixing.Samples, start: int, sample_rate: int
) -> float | None:
    """SNR by the clip's projection on its known speech: what remains is the background."""
    speech = np.zeros(len(clip))
    speech[start : start + len(spoken)] = spoken[: max(0, len(clip) - start)]
    energy = float(np.square(speech).sum())
    gain = float((clip * speech).sum()) / energy if energy else 0.0
    if gain <= 0:
        return None
    speech *= gain
    return mixing.active_speech_level_dbfs(speech, sample_rate) - mixing.rms_dbfs(clip - speech)
