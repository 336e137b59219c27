"""Is every stimulus what its manifest row claims? Measured again, from the finished files.

The SNR of a finished clip is found by taking the known speech out of it: its gain is the
projection of the clip on it, and what remains is the background.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import soundfile

from aor_lib.audio import mixing
from aor_lib.audio.hearing import scene_classifier
from aor_lib.audio.hearing.transcription import HearingError, transcribe, word_error_rate
from aor_lib.audio.speech import SpeechError
from aor_lib.audio.speech.measurement import measure as measure_speech
from aor_lib.config.params import Study
from aor_lib.config.records import Condition, Stimulus
from aor_lib.stimuli import rendering
from aor_lib.stimuli.dataset import DatasetError, verify_dataset
from aor_lib.stimuli.design import StimulusSpec, stimuli
from aor_lib.stimuli.emotion_check import emotion_changes, emotion_violations
from aor_lib.stimuli.manifest import VALIDATION, load_manifest, load_stimuli
from aor_lib.storage import assets
from aor_lib.storage.whole_file import whole_file
from aor_lib.storage.workers import map_jobs

LEVEL_TOLERANCE_DB = 0.2  # a block at the gate of loudness may pass or not after rounding
SNR_TOLERANCE_DB = 0.75  # what scene and speech share by chance is taken for speech: up to 0.52 dB
DURATION_TOLERANCE_S = 0.001
AUDIBLE_DBFS = -60.0
"""A scene below this is not heard at the study's loudness, in the quietest of rooms."""
SILENT_DBFS = -80.0
MAX_MEDIAN_WER = 0.05
MIN_CLIPS = 30
"""Fewer clips than this say little about a median."""
MAX_CLEAN_WER = 0.5
"""Speech alone that is misheard by more than this is not the utterance."""
_GAP_BELOW_SPEECH_DB = 25.0
_FRAME_S = 0.02
_CHUNK = 32


@dataclass(frozen=True)
class Measured:
    """What was measured on one sound file; None where there is nothing to measure.

    ``lead_in_dbfs``: RMS level before the speech; ``gap_dbfs``: between its words;
    ``transcript``: of Whisper tiny.en; ``wer``: its word error rate, a fraction;
    ``heard_scene``: what a classifier that never saw the clip's seed takes its scene for;
    ``speech_s`` to ``tilt_db_per_octave``: of speech without a background, as in
    :class:`aor_lib.audio.speech.measurement.Measured`, of utterances whose emotion is varied;
    ``problems``: one sentence for each claim that does not hold.
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
    heard_probability: float | None = None
    speech_s: float | None = None
    speech_dbfs: float | None = None
    f0_mean_st: float | None = None
    f0_range_st: float | None = None
    tilt_db_per_octave: float | None = None
    problems: list[str] = field(default_factory=list)


def validate_dataset(
    study: Study, build: Path, workers: int, report: Callable[[int, int], None]
) -> list[str]:
    """Measure every stimulus of a built study and write ``validation.parquet`` beside the manifest.

    Returns
    -------
    All violations, each one line that names the stimulus; empty if everything is as claimed.

    Raises
    ------
    FileNotFoundError
        The data has not been built.
    """
    manifest = load_manifest(build)
    rows = load_stimuli(build)
    # Imported clips are what they are: nothing was planned.
    imported = bool((manifest["block"] == "imported").all())
    specs = {} if imported else {spec.stimulus_id: spec for spec in stimuli(study)}
    varied = {row.utterance_id for row in rows if row.block == "paralinguistics"}
    pairs = [(row, specs.get(row.stimulus_id), row.utterance_id in varied) for row in rows]
    assets.fetch("whisper-tiny-en")  # here, or every worker would fetch it
    jobs = [(pairs[i : i + _CHUNK], build) for i in range(0, len(pairs), _CHUNK)]
    measured: list[Measured] = []
    for made in map_jobs(_measure_all, jobs, workers):
        measured += made
        report(len(measured), len(rows))
    frame = pd.DataFrame([asdict(one) for one in measured])
    with whole_file(build / VALIDATION) as stream:
        frame.to_parquet(stream, index=False)
    found = [f"{one.stimulus_id}: {problem}" for one in measured for problem in one.problems]
    found += _violations_of_the_whole(manifest, set(specs), frame)
    return found + list(emotion_violations(emotion_changes(manifest, frame)))


def _violations_of_the_whole(
    manifest: pd.DataFrame, planned: set[str], measured: pd.DataFrame
) -> Iterator[str]:
    have = set(manifest["stimulus_id"])
    planned = planned | set(manifest.query("block == 'imported'")["stimulus_id"])
    for names, problem in (
        (planned - have, "of the profile are not in the manifest"),
        (have - planned, "are not part of the profile"),
    ):
        if names:
            yield f"{len(names)} stimuli {problem}, such as {min(names)}; run 'aor data'"
    content = manifest["sha256"] + manifest["history"]
    for name in manifest.loc[content.duplicated(), "stimulus_id"]:
        yield f"{name}: has the same content as another stimulus"
    core = manifest.assign(wer=measured["wer"])[manifest["block"] == "core"]
    for condition in (Condition.MATCHED, Condition.SPEECH_ONLY):
        wer = core.loc[core["condition"] == condition, "wer"]
        median = wer.median()
        if len(wer) >= MIN_CLIPS and median > MAX_MEDIAN_WER:
            yield f"{condition.value}: median word error rate {median:.3f} over {MAX_MEDIAN_WER}"


def _measure_all(
    job: tuple[Sequence[tuple[Stimulus, StimulusSpec | None, bool]], Path],
) -> list[Measured]:
    pairs, build = job
    return [measure(row, spec, build, prosody) for row, spec, prosody in pairs]


def measure(
    row: Stimulus, spec: StimulusSpec | None, build: Path, prosody: bool = False
) -> Measured:
    """Measure one stimulus; its speech is known, and the SNR measured, if ``spec`` is given.

    ``prosody`` asks for that of its speech as well, the costliest measurement by far.
    """
    if row.path is None:
        sound = hashlib.sha256((row.presented_text or "").encode()).hexdigest() == row.sha256
        problems = [] if sound else ["presented_text: its sha256 is not the manifest's"]
        return Measured(row.stimulus_id, problems=problems)
    try:
        verify_dataset(pd.DataFrame([row.model_dump(mode="json")]), build)
        content = (build / row.path).read_bytes()
        samples, sample_rate = soundfile.read(io.BytesIO(content), always_2d=True)
        heard = transcribe(content)
    except (DatasetError, HearingError, soundfile.LibsndfileError) as error:
        return Measured(row.stimulus_id, problems=[" ".join(str(error).split())])
    clip = samples[:, 0]
    lead_in = clip[: round((row.lead_in_s or 0) * sample_rate)]
    scene, probability = scene_classifier.classify(heard.features)
    snr_db = gap_dbfs = None
    found_in_speech: dict[str, Any] = {}
    if spec is not None:
        spoken = rendering.speak(spec)
        snr_db, gap_dbfs = _against_speech(clip, spoken, len(lead_in), sample_rate)
        if prosody and row.condition is Condition.SPEECH_ONLY:
            found_in_speech = _prosody(clip[len(lead_in) :][: len(spoken)])
    found = Measured(
        row.stimulus_id,
        duration_s=len(clip) / sample_rate,
        loudness_lufs=mixing.loudness(clip, sample_rate),
        peak_dbfs=mixing.true_peak(clip),
        snr_db=snr_db if row.condition.has_background else None,
        lead_in_dbfs=mixing.rms_dbfs(lead_in) if len(lead_in) else None,
        gap_dbfs=gap_dbfs,
        transcript=heard.transcript,
        wer=word_error_rate(row.text, heard.transcript) if spec is not None else None,
        heard_scene=scene,
        heard_probability=probability,
    )
    found = replace(found, **found_in_speech)
    found.problems.extend(_problems(row, found, samples, sample_rate))
    return found


def _problems(
    row: Stimulus, found: Measured, samples: npt.NDArray[np.float64], sample_rate: int
) -> Iterator[str]:
    if samples.shape[1] != 1 or sample_rate != row.sample_rate:
        channels = samples.shape[1]
        yield f"sample_rate: {channels} channels at {sample_rate} Hz, not mono at {row.sample_rate}"
    for name, tolerance in (
        ("duration_s", DURATION_TOLERANCE_S),
        ("loudness_lufs", LEVEL_TOLERANCE_DB),
        ("peak_dbfs", LEVEL_TOLERANCE_DB),
        ("snr_db", SNR_TOLERANCE_DB),
    ):
        stated, is_now = getattr(row, name), getattr(found, name)
        if stated is not None and is_now is not None and abs(stated - is_now) > tolerance:
            yield f"{name}: measured {is_now:.3f}, stated {stated:.3f}"
    if np.abs(samples).max() >= 1 - 2**-15:
        yield "peak_dbfs: samples are clipped"
    for name, level_dbfs in (("lead-in", found.lead_in_dbfs), ("gaps", found.gap_dbfs)):
        if level_dbfs is None:
            continue
        if row.condition.has_background and level_dbfs < AUDIBLE_DBFS:
            yield f"{name}: the scene is not audible, {level_dbfs:.1f} dBFS"
    silent = row.condition is Condition.SPEECH_ONLY
    if silent and found.lead_in_dbfs is not None and found.lead_in_dbfs > SILENT_DBFS:
        yield f"lead-in: not silent, {found.lead_in_dbfs:.1f} dBFS"
    if silent and found.wer is not None and found.wer > MAX_CLEAN_WER and row.block == "core":
        yield f"text: misheard, word error rate {found.wer:.2f}"


def _prosody(spoken: npt.NDArray[np.float64]) -> dict[str, Any]:
    try:
        found = measure_speech(spoken.astype(np.float32))
    except SpeechError:  # too little of it is voiced
        return {}
    return {
        "speech_s": found.duration_s,
        "speech_dbfs": found.level_dbfs,
        "f0_mean_st": found.f0_mean_st,
        "f0_range_st": found.f0_range_st,
        "tilt_db_per_octave": found.tilt_db_per_octave,
    }


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
