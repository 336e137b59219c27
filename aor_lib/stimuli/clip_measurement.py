"""Measurements on one finished clip, and the claims of its manifest row that do not hold.

The SNR of a finished clip is found by taking the known speech out of it: its gain is the
projection of the clip on it, and what remains is the background.
"""

import contextlib
import hashlib
import io
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile

from aor_lib.audio import mixing
from aor_lib.audio.hearing import scene_classifier
from aor_lib.audio.hearing.transcription import HearingError, transcribe, word_error_rate
from aor_lib.audio.speech import SpeechError
from aor_lib.audio.speech.measurement import measure_speech
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
SILENT_DBFS = -80.0
MAX_CLEAN_WER = 0.5
"""Speech alone that is misheard by more than this is not the utterance."""
_GAP_BELOW_SPEECH_DB = 25.0
_FRAME_S = 0.02


@dataclass
class ClipMeasurement:
    """Measurements on one sound file; None where there is nothing to measure.

    ``lead_in_dbfs``: RMS level before the speech; ``gap_dbfs``: between its words;
    ``transcript``: of Whisper tiny.en; ``wer``: its word error rate, a fraction;
    ``heard_scene``: the class that a classifier which never saw the clip's seed gives it;
    ``speech_s`` to ``tilt_db_per_octave``: of speech without a background, as in
    :class:`aor_lib.audio.speech.measurement.SpeechMeasurement`, of utterances whose emotion is
    varied; ``problems``: one sentence for each claim that does not hold.
    """

    stimulus_id: str
    duration_s: float | None = None
    loudness_lufs: float | None = None
    peak_dbfs: float | None = None
    snr_db: float | None = None
    lead_in_dbfs: float | None = None
    gap_dbfs: float | None = None
    transcript: str | None = None
    wer: float | None = None
    heard_scene: str | None = None
    speech_s: float | None = None
    speech_dbfs: float | None = None
    f0_mean_st: float | None = None
    f0_range_st: float | None = None
    tilt_db_per_octave: float | None = None
    problems: list[str] = field(default_factory=list)


def measure_clip(
    row: Stimulus, spec: StimulusSpec | None, build: Path, with_prosody: bool = False
) -> ClipMeasurement:
    """Measure one stimulus.

    ``spec`` is what it was made from, which gives its speech alone and so the SNR; None for an
    imported clip. The prosody of speech without a background is the costliest measurement by far.
    """
    measured = ClipMeasurement(row.stimulus_id)
    if row.path is None:
        if hashlib.sha256((row.presented_text or "").encode()).hexdigest() != row.sha256:
            measured.problems.append("presented_text: its sha256 is not the manifest's")
        return measured
    try:
        verify_dataset([row], build)
        content = (build / row.path).read_bytes()
        samples, sample_rate = soundfile.read(io.BytesIO(content), always_2d=True)
        transcription = transcribe(content)
    except (DatasetError, HearingError, soundfile.LibsndfileError) as error:
        measured.problems.append(one_line(error))
        return measured
    clip = samples[:, 0]
    lead_in = clip[: round((row.lead_in_s or 0) * sample_rate)]
    measured.duration_s = len(clip) / sample_rate
    measured.loudness_lufs = mixing.loudness(clip, sample_rate)
    measured.peak_dbfs = mixing.true_peak(clip)
    if len(lead_in):
        measured.lead_in_dbfs = mixing.rms_dbfs(lead_in)
    measured.transcript = transcription.transcript
    measured.heard_scene = scene_classifier.classify(transcription.encoded)
    if spec is not None:
        measured.wer = word_error_rate(row.text, transcription.transcript)
        spoken = rendering.speak(spec)
        snr_db, measured.gap_dbfs = _against_speech(clip, spoken, len(lead_in), sample_rate)
        if row.condition.has_background:
            measured.snr_db = snr_db
        if with_prosody and row.condition is Condition.SPEECH_ONLY:
            with contextlib.suppress(SpeechError):  # too little of it is voiced
                prosody = measure_speech(clip[len(lead_in) :][: len(spoken)].astype(np.float32))
                measured = replace(measured, **asdict(prosody))
    measured.problems += _problems(row, measured, samples, sample_rate)
    return measured


def _problems(
    row: Stimulus,
    measured: ClipMeasurement,
    samples: npt.NDArray[np.float64],
    sample_rate: int,
) -> Iterator[str]:
    channels = samples.shape[1]
    if channels != 1 or sample_rate != row.sample_rate:
        yield f"sample_rate: {channels} channels at {sample_rate} Hz, not mono at {row.sample_rate}"
    for name, tolerance in TOLERANCES.items():
        stated, is_now = getattr(row, name), getattr(measured, name)
        if stated is not None and is_now is not None and abs(stated - is_now) > tolerance:
            yield f"{name}: measured {is_now:.3f}, stated {stated:.3f}"
    if np.abs(samples).max() >= 1 - 2**-15:
        yield "peak_dbfs: samples are clipped"
    levels = {"lead-in": measured.lead_in_dbfs, "gaps": measured.gap_dbfs}
    for name, level_dbfs in levels.items():
        if row.condition.has_background and level_dbfs is not None and level_dbfs < AUDIBLE_DBFS:
            yield f"{name}: the scene is not audible, {level_dbfs:.1f} dBFS"
    if row.condition is not Condition.SPEECH_ONLY:
        return
    if measured.lead_in_dbfs is not None and measured.lead_in_dbfs > SILENT_DBFS:
        yield f"lead-in: not silent, {measured.lead_in_dbfs:.1f} dBFS"
    if row.block == "core" and measured.wer is not None and measured.wer > MAX_CLEAN_WER:
        yield f"text: misheard, word error rate {measured.wer:.2f}"


def _against_speech(
    clip: npt.NDArray[np.float64], spoken: mixing.Samples, start: int, sample_rate: int
) -> tuple[float | None, float | None]:
    """SNR of the clip, and its level between words; None where that cannot be said."""
    speech = np.zeros(len(clip))
    speech[start : start + len(spoken)] = spoken[: max(0, len(clip) - start)]
    energy = float(np.square(speech).sum())
    gain = float((clip * speech).sum()) / energy if energy else 0.0
    if gain <= 0:
        return None, None
    speech *= gain
    level_dbfs = mixing.active_speech_level_dbfs(speech, sample_rate)
    snr_db = level_dbfs - mixing.rms_dbfs(clip - speech)
    width = round(_FRAME_S * sample_rate)
    inside = slice(start, start + len(spoken) // width * width)
    frames = np.square(speech[inside]).reshape(-1, width).mean(axis=1)
    gaps = frames < 10 ** ((level_dbfs - _GAP_BELOW_SPEECH_DB) / 10)
    if not gaps.any():
        return snr_db, None
    return snr_db, mixing.rms_dbfs(clip[inside].reshape(-1, width)[gaps])
