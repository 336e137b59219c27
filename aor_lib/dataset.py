"""A study's design to sound files and a manifest.

Stimuli are made in worker processes, an utterance at a time. Each finished stimulus leaves a note
(its manifest row and the hash of what it was made from), so that a build that is cut off goes on
where it was, and one with nothing changed makes nothing.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd
import soundfile

from aor_lib import assets, mixing, soundscape, speech
from aor_lib.design import StimulusSpec, stimuli
from aor_lib.hearing import hear, word_error_rate
from aor_lib.params import Mixing, Study
from aor_lib.records import Condition, Stimulus, content_hash
from aor_lib.results import MANIFEST
from aor_lib.whole_file import whole_file
from aor_lib.workers import map_in_processes

Report = Callable[[int, int], None]


class DatasetError(RuntimeError):
    """Stimuli that are not what the manifest says; the message names the file."""


def build_dataset(study: Study, build: Path, workers: int, report: Report) -> Path:
    """Make every stimulus of a study below ``build`` and write the manifest.

    ``report`` is called with the stimuli done and their number. The result does not depend on
    ``workers``. Files of an earlier build that are no longer part of the study are removed.

    Returns
    -------
    The manifest's path, a Parquet file with the fields of :class:`aor_lib.records.Stimulus`.

    Raises
    ------
    ParamsError, speech.SpeechError, assets.AssetError, OSError
        As said by their messages; what was made until then is kept.
    """
    for folder in (build, build / "clips", build / "stimuli"):
        folder.mkdir(parents=True, exist_ok=True)
    for voice in study.profile.voices:
        speech.KokoroVoice(voice)
    assets.fetch("whisper-tiny-en")  # here, or every worker would fetch it
    specs = stimuli(study)
    by_utterance = [list(group) for _, group in groupby(specs, key=lambda s: s.utterance.id)]
    jobs = [(group, study.profile.mixing, build) for group in by_utterance]
    rows: dict[str, Stimulus] = {}
    for made in map_in_processes(_make_stimuli, jobs, workers):
        rows |= {row.stimulus_id: row for row in made}
        report(len(rows), len(specs))
    _remove_others(build, rows)
    frame = pd.DataFrame([rows[spec.stimulus_id].model_dump(mode="json") for spec in specs])
    with whole_file(build / MANIFEST) as stream:
        frame.to_parquet(stream, index=False)
    return build / MANIFEST


def verify_dataset(manifest: pd.DataFrame, build: Path) -> None:
    """Check every sound file of a manifest against its hash.

    Raises
    ------
    DatasetError
        A file is missing or altered; the message names the first and says what to do.
    """
    for row in manifest[manifest["path"].notna()].itertuples():
        path = build / str(row.path)
        if not path.is_file():
            raise DatasetError(f"{path}: is missing; run 'aor data' to make it again")
        if hashlib.sha256(path.read_bytes()).hexdigest() != row.sha256:
            raise DatasetError(f"{path}: sha256 is not the manifest's; run 'aor data' to mend it")


def _make_stimuli(job: tuple[Sequence[StimulusSpec], Mixing, Path]) -> list[Stimulus]:
    specs, settings, build = job
    return [_make_or_reuse(spec, settings, build) for spec in specs]


def _make_or_reuse(spec: StimulusSpec, settings: Mixing, build: Path) -> Stimulus:
    note = build / "stimuli" / f"{spec.stimulus_id}.json"
    made_from = content_hash([spec.model_dump(mode="json"), settings.model_dump(), _code_sha256()])
    if (row := _noted(note, made_from, build)) is not None:
        return row
    row = _make_clip(spec, settings, build) if spec.condition.has_audio else _make_text(spec)
    content = {"made_from": made_from, "row": row.model_dump(mode="json")}
    with whole_file(note) as stream:
        stream.write(json.dumps(content).encode())
    return row


def _noted(note: Path, made_from: str, build: Path) -> Stimulus | None:
    """The row of a stimulus that was made from the same and whose file is intact."""
    try:
        content = json.loads(note.read_text())
        if content["made_from"] != made_from:
            return None
        row = Stimulus.model_validate(content["row"])
        if row.path is not None:
            verify_dataset(pd.DataFrame([row.model_dump(mode="json")]), build)
    except (OSError, ValueError, KeyError, TypeError, DatasetError):
        return None
    return row


def _make_text(spec: StimulusSpec) -> Stimulus:
    presented = spec.utterance.text
    if spec.condition is Condition.DESCRIBED:
        presented = f"In the background one hears {spec.scene_description}.\n{presented}"
    return Stimulus.model_validate(
        _common(spec, presented.encode()) | {"presented_text": presented}
    )


def _make_clip(spec: StimulusSpec, settings: Mixing, build: Path) -> Stimulus:
    assert spec.voice is not None
    assert spec.rate is not None
    voice = speech.KokoroVoice(spec.voice)
    spoken = voice.synthesise(spec.utterance.text, spec.rate)
    length = mixing.clip_length(
        len(spoken), speech.SAMPLE_RATE, settings.lead_in_s, settings.tail_s
    )
    background, events = _background(spec, length)
    mixed = mixing.mix(
        spoken,
        background,
        sample_rate=speech.SAMPLE_RATE,
        snr_db=spec.snr_db if spec.snr_db is not None else settings.snr_db,
        lead_in_s=settings.lead_in_s,
        tail_s=settings.tail_s,
        loudness_lufs=settings.loudness_lufs,
        true_peak_dbfs=settings.true_peak_dbfs,
    )
    audio = _flac(mixed.samples)
    heard = hear(audio)
    path = f"clips/{spec.stimulus_id}.flac"
    with whole_file(build / path) as stream:
        stream.write(audio)
    measured = {
        "gender": voice.gender,
        "emotion": "neutral",
        "events": json.dumps([vars(event) for event in events]),
        "lead_in_s": settings.lead_in_s,
        "duration_s": len(mixed.samples) / speech.SAMPLE_RATE,
        "sample_rate": speech.SAMPLE_RATE,
        "path": path,
        "loudness_lufs": round(mixed.loudness_lufs, 3),
        "peak_dbfs": round(mixed.peak_dbfs, 3),
        "asr_text": heard.transcript,
        "asr_wer": round(word_error_rate(spec.utterance.text, heard.transcript), 4),
    }
    return Stimulus.model_validate(_common(spec, audio) | measured)


def _common(spec: StimulusSpec, content: bytes) -> dict[str, object]:
    """The row of a stimulus without sound; what was measured on a clip is laid over it."""
    empty = dict.fromkeys(Stimulus.model_fields) | {"events": "[]"}
    procedural = spec.condition.has_background
    return empty | {
        "stimulus_id": spec.stimulus_id,
        "utterance_id": spec.utterance.id,
        "scenario": spec.utterance.scenario,
        "intent": spec.utterance.intent,
        "text": spec.utterance.text,
        "voice": spec.voice,
        "rate": spec.rate,
        "background_scene": spec.scene,
        "background_source": "procedural" if procedural else None,
        "background_licence": "Apache-2.0" if procedural else None,
        "snr_db": spec.snr_db,
        "seed": spec.seed,
        "block": spec.block,
        "condition": spec.condition,
        "sha256": hashlib.sha256(content).hexdigest(),
        "split": spec.utterance.split,
    }


def _background(
    spec: StimulusSpec, length: int
) -> tuple[mixing.Samples | None, Iterable[soundscape.Event]]:
    if spec.scene is None:
        return None, ()
    rng = np.random.default_rng([spec.seed, 0])
    scene = soundscape.render(spec.scene, length / speech.SAMPLE_RATE, speech.SAMPLE_RATE, rng)
    if spec.condition is Condition.NOISE:
        rng = np.random.default_rng([spec.seed, 1])
        return soundscape.spectrum_matched_noise(scene.samples, length, rng), ()
    return scene.samples, scene.events


def _flac(samples: mixing.Samples) -> bytes:
    stream = io.BytesIO()
    soundfile.write(stream, samples, speech.SAMPLE_RATE, format="FLAC", subtype="PCM_16")
    return stream.getvalue()


@functools.cache
def _code_sha256() -> str:
    """Hash of the code and weights that shape a clip: a change of either makes clips again."""
    here = Path(__file__).parent
    files = [here / name for name in ("dataset.py", "mixing.py", "speech.py", "hearing.py")]
    files += sorted((here / "soundscape").glob("*.py"))
    code = b"".join(file.read_bytes() for file in files)
    weights = assets.revision("kokoro") + assets.revision("whisper-tiny-en")
    return hashlib.sha256(code + weights.encode()).hexdigest()


def _remove_others(build: Path, rows: dict[str, Stimulus]) -> None:
    for folder in (build / "clips", build / "stimuli"):
        for path in folder.iterdir():
            if path.stem not in rows:
                path.unlink()
