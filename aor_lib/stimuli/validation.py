"""Every claim of a study's manifest, checked against the finished files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import pandas as pd

from aor_lib.audio.hearing import transcription
from aor_lib.audio.hearing.sound_tagger import SCENE_WEIGHTS, weights_revision
from aor_lib.config.params import StudyParams
from aor_lib.config.records import Condition, Stimulus
from aor_lib.stimuli.design import StimulusSpec, stimuli
from aor_lib.stimuli.emotion_check import emotion_changes, emotion_violations
from aor_lib.stimuli.manifest import (
    MANIFEST,
    VALIDATION,
    load_manifest,
    load_stimuli,
    load_validation,
)
from aor_lib.storage import assets
from aor_lib.storage.atomic_write import atomic_write
from aor_lib.storage.progress import finished, up_to_date
from aor_lib.storage.workers import map_jobs

VERSION = 3
"""Counts the changes to what is measured on a clip, and to what counts as a violation."""
MAX_MEDIAN_WER = 0.05
MIN_CLIPS = 30
"""Fewer clips than this say little about a median."""
_STAGE = "validate"
_CHUNK = 32

_Clip = tuple[Stimulus, StimulusSpec | None, Path, bool]


def validate_dataset(
    study: StudyParams,
    build: Path,
    workers: int | Executor,
    report: Callable[[int, int], None],
) -> list[str]:
    """Measure every stimulus of a built study and write ``validation.parquet`` beside the manifest.

    Where manifest and files are those of the last call, its measurements are taken.

    Returns
    -------
    All violations, each one line that names the stimulus; empty if everything is as claimed.

    Raises
    ------
    FileNotFoundError
        The data has not been built.
    """
    rows = load_stimuli(build)
    imported = {row.stimulus_id for row in rows if row.block == "imported"}
    specs = {} if imported else {spec.stimulus_id: spec for spec in stimuli(study)}
    files = [build / MANIFEST, *sorted((build / "clips").glob("*"))]
    made_from = [
        [hashlib.sha256(path.read_bytes()).hexdigest() for path in files],
        VERSION,
        transcription.VERSION,
        assets.revision("whisper-tiny-en"),
        weights_revision(SCENE_WEIGHTS),
    ]
    if not (up_to_date(build, _STAGE, made_from) and (build / VALIDATION).is_file()):
        assets.fetch("whisper-tiny-en")  # here, or every worker would fetch it
        varied = {row.utterance_id for row in rows if row.block == "paralinguistics"}
        clips: list[_Clip] = [
            (row, specs.get(row.stimulus_id), build, row.utterance_id in varied) for row in rows
        ]
        measured: list[dict[str, Any]] = []
        chunks = [clips[i : i + _CHUNK] for i in range(0, len(clips), _CHUNK)]
        for chunk in map_jobs(_measure, chunks, workers):
            measured += chunk
            report(len(measured), len(rows))
        with atomic_write(build / VALIDATION) as stream:
            pd.DataFrame(measured).to_parquet(stream, index=False)
        finished(build, _STAGE, made_from)
    return list(_violations(load_manifest(build), imported | {*specs}, load_validation(build)))


def _measure(clips: Sequence[_Clip]) -> list[dict[str, Any]]:
    from aor_lib.stimuli.clip_measurement import measure_clip  # takes longer than the rest

    return [measure_clip(*clip) for clip in clips]


def _violations(manifest: pd.DataFrame, planned: set[str], measured: pd.DataFrame) -> Iterator[str]:
    for name, problems in zip(measured["stimulus_id"], measured["problems"], strict=True):
        yield from (f"{name}: {problem}" for problem in problems)
    there = {*manifest["stimulus_id"]}
    for names, problem in (
        (planned - there, "of the profile are not in the manifest"),
        (there - planned, "are not part of the profile"),
    ):
        if names:
            yield f"{len(names)} stimuli {problem}, such as {min(names)}; run 'aor data'"
    content = manifest["sha256"] + manifest["history"]
    for name in manifest.loc[content.duplicated(), "stimulus_id"]:
        yield f"{name}: has the same content as another stimulus"
    core = manifest.assign(wer=measured["wer"]).query("block == 'core'")
    for condition in (Condition.BENIGN_SCENE, Condition.SPEECH_ONLY):
        wer = core.loc[core["condition"] == condition, "wer"]
        if len(wer) >= MIN_CLIPS and wer.median() > MAX_MEDIAN_WER:
            yield f"{condition.value}: median word error rate {wer.median():.3f}"
    yield from emotion_violations(emotion_changes(manifest, measured))
