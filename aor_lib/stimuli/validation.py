"""Check every claim of a study's manifest against the finished files."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import soundfile

from aor_lib.audio import mixing
from aor_lib.audio.hearing import transcription, yamnet
from aor_lib.audio.speech import SpeechError
from aor_lib.audio.speech.prosody import SpeechMeasurement, measure_speech
from aor_lib.config.params import StudyParams
from aor_lib.config.records import Condition, Stimulus
from aor_lib.config.typed_yaml import AorError, one_line
from aor_lib.stimuli import manifest
from aor_lib.stimuli.design import StimulusSpec, stimuli
from aor_lib.stimuli.emotion_check import emotion_changes, emotion_violations
from aor_lib.stimuli.rendering import speak
from aor_lib.storage import assets
from aor_lib.storage.atomic_write import atomic_write
from aor_lib.storage.progress import Report, finished, up_to_date
from aor_lib.storage.workers import map_jobs

VERSION = 7  # raise it when a measurement or a violation changes
MAX_MEDIAN_WER = 0.05
MIN_CLIPS = 30  # the median of fewer clips is too noisy
TOLERANCES = {
    "duration_s": 0.001,
    "loudness_lufs": 0.2,  # rounding can move a block across the loudness gate
    "peak_dbfs": 0.2,
    "snr_db": 0.75,  # chance correlation of scene and speech counts as speech: up to 0.52 dB
}
AUDIBLE_DBFS = -60.0  # minimum level of a scene before the speech, unless SNR requires a lower one
MAX_CLEAN_WER = 0.5  # of a clip of speech alone
MEASURES = (
    "duration_s",
    "loudness_lufs",
    "peak_dbfs",
    "snr_db",
    "lead_in_dbfs",  # RMS level before the speech
    "wer",  # word error rate of the transcript of Whisper tiny.en, a fraction
    *yamnet.Recognition.__annotations__,  # by YAMNet, if its files are in the cache
    *SpeechMeasurement.__annotations__,  # of speech without a background
)


def validate_dataset(
    study: StudyParams, build: Path, workers: int | Executor, report: Report
) -> list[str]:
    """Measure every stimulus of a study, and return one line per violation.

    Measurements are stored in ``validation.parquet``, and repeated if :func:`made_from` changes.
    """
    rows, validation = manifest.load_stimuli(build), build / manifest.VALIDATION
    imported = {row.stimulus_id for row in rows if row.block == "imported"}
    specs = {} if imported else {spec.stimulus_id: spec for spec in stimuli(study)}
    inputs = made_from(build, specs.values())
    if not (up_to_date(build, "validate", inputs) and validation.is_file()):
        assets.fetch("whisper-tiny-en")  # here, or every worker would fetch it
        varied = {row.utterance_id for row in rows if row.block == "paralinguistics"}
        clips = [
            (row, specs.get(row.stimulus_id), build, row.utterance_id in varied) for row in rows
        ]
        measured = []
        for measurements in map_jobs(_measure, clips, workers):
            measured.append(measurements)
            report(len(measured), len(rows))
        with atomic_write(validation) as stream:
            pd.DataFrame(measured).to_parquet(stream, index=False)
        finished(build, "validate", inputs)
    planned = imported | {*specs}
    return [*_violations(manifest.load_manifest(build), planned, manifest.load_validation(build))]


def require_validated(study: StudyParams, build: Path) -> None:
    """Raise DatasetError unless the present stimuli have been validated."""
    if not up_to_date(build, "validate", made_from(build, stimuli(study))):
        raise manifest.DatasetError(f"{build}: contains unvalidated stimuli; run 'aor validate'")


def made_from(build: Path, specs: Iterable[StimulusSpec]) -> list[object]:
    """Everything that can change a build's measurements; imported clips have no specifications."""
    files = [build / manifest.MANIFEST, *sorted((build / "clips").glob("*.flac"))]
    return [
        [hashlib.sha256(path.read_bytes()).hexdigest() for path in files],
        [spec.model_dump_json() for spec in specs],
        [VERSION, transcription.VERSION, assets.revision("whisper-tiny-en"), yamnet.revision()],
    ]


def _measure(clip_of: tuple[Stimulus, StimulusSpec | None, Path, bool]) -> dict[str, Any]:
    # Imported clips have no specification. Prosody, which is slow, is measured only if varied.
    row, spec, build, with_prosody = clip_of
    measured: dict[str, Any] = {"stimulus_id": row.stimulus_id, **dict.fromkeys(MEASURES)}
    if row.path is None:
        altered = hashlib.sha256((row.presented_text or "").encode()).hexdigest() != row.sha256
        problems = ["presented_text: sha256 differs from the manifest"] if altered else []
        return measured | {"problems": problems}
    try:
        manifest.verify_dataset([row], build)
        samples, sample_rate = soundfile.read(build / row.path, always_2d=True)
        heard = transcription.transcribe((build / row.path).read_bytes())
    except (AorError, transcription.HearingError, soundfile.LibsndfileError) as error:
        return measured | {"problems": [one_line(error)]}
    clip = samples[:, 0]
    lead_in = clip[: round((row.lead_in_s or 0) * sample_rate)]
    measured |= {
        "duration_s": len(clip) / sample_rate,
        "loudness_lufs": mixing.loudness(clip, sample_rate),
        "peak_dbfs": mixing.true_peak(clip),
        "lead_in_dbfs": mixing.rms_dbfs(lead_in) if len(lead_in) else None,
    }
    if recognition := yamnet.recognise_scene(clip, sample_rate, row.background_scene):
        measured |= asdict(recognition)
    if spec is not None:
        measured["wer"] = transcription.word_error_rate(row.text, heard.transcript)
        spoken = speak(spec)
        if row.condition.has_background:
            measured["snr_db"] = _snr_db(clip, spoken, len(lead_in), sample_rate)
        if with_prosody and row.condition is Condition.SPEECH_ONLY:
            with contextlib.suppress(SpeechError):  # too little of the speech is voiced
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
    quiet = min(AUDIBLE_DBFS, (row.loudness_lufs or 0) - (row.snr_db or 0) - 30)
    if row.condition.has_background and level_dbfs is not None and level_dbfs < quiet:
        yield f"lead-in: the scene is not audible, {level_dbfs:.1f} dBFS"
    clean = row.condition is Condition.SPEECH_ONLY and row.block == "core"
    if clean and (measured["wer"] or 0) > MAX_CLEAN_WER:
        yield f"text: misheard, word error rate {measured['wer']:.2f}"


def _snr_db(
    clip: npt.NDArray[np.float64], spoken: mixing.Samples, start: int, sample_rate: int
) -> float:
    # The clip is projected onto its known speech; the residual is the background.
    speech = np.zeros(len(clip))
    speech[start : start + len(spoken)] = spoken[: max(0, len(clip) - start)]
    energy = float(np.square(speech).sum())
    gain = float((clip * speech).sum()) / energy if energy else 0.0
    if gain <= 0:
        return float("-inf")
    speech *= gain
    return mixing.active_speech_level_dbfs(speech, sample_rate) - mixing.rms_dbfs(clip - speech)


def _violations(stated: pd.DataFrame, planned: set[str], measured: pd.DataFrame) -> Iterator[str]:
    for name, problems in zip(measured["stimulus_id"], measured["problems"], strict=True):
        yield from (f"{name}: {problem}" for problem in problems)
    there = {*stated["stimulus_id"]}
    for names, problem in (
        (planned - there, "of the profile are not in the manifest"),
        (there - planned, "are not part of the profile"),
    ):
        if names:
            yield f"{len(names)} stimuli {problem}, such as {min(names)}; run 'aor data'"
    for name in stated.loc[(stated["sha256"] + stated["history"]).duplicated(), "stimulus_id"]:
        yield f"{name}: has the same content as another stimulus"
    core = stated.assign(wer=measured["wer"]).query("block == 'core'")
    for condition in (Condition.BENIGN_SCENE, Condition.SPEECH_ONLY):
        wer = core.loc[core["condition"] == condition, "wer"]
        if len(wer) >= MIN_CLIPS and wer.median() > MAX_MEDIAN_WER:
            yield f"{condition.value}: median word error rate {wer.median():.3f}"
    yield from emotion_violations(emotion_changes(stated, measured))
