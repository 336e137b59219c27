"""Make the sound files and the manifest of a study's design.

Workers render the stimuli, one utterance at a time. A note in ``stimuli/`` has each stimulus's row
and the hash of its inputs; the next build makes only stimuli that are missing or have changed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import Executor
from itertools import groupby
from pathlib import Path

from aor_lib.audio.bank.library import bank_folder, open_bank
from aor_lib.config.params import StudyParams
from aor_lib.config.profile import Mixing
from aor_lib.config.records import Stimulus, content_hash
from aor_lib.stimuli import manifest
from aor_lib.stimuli.design import StimulusSpec, stimuli
from aor_lib.stimuli.export import take_clips
from aor_lib.stimuli.manifest import DatasetError
from aor_lib.stimuli.rendering import render
from aor_lib.storage import assets
from aor_lib.storage.atomic_write import atomic_write
from aor_lib.storage.progress import Report
from aor_lib.storage.workers import map_jobs

VERSION = 5  # increase it when a specification gives other bytes; golden tests detect this


def build_dataset(
    study: StudyParams,
    build: Path,
    workers: int | Executor,
    report: Report,
    source: str | None = None,
) -> Path:
    """Make every stimulus of a study in the folder ``build``; return the path of the manifest.

    Files of an earlier build that are no longer part of the study are removed.

    ``workers`` are as in :func:`aor_lib.storage.workers.map_jobs`. ``source`` is an export whose
    clips are used instead (:func:`aor_lib.stimuli.export.take_clips`). DatasetError if it lacks a
    clip, has a different or altered one, or if ``build`` holds imported clips. SpeechError or
    OSError if a stimulus cannot be made or written; stimuli made before the error are kept.
    """
    try:
        blocks = set(manifest.load_manifest(build)["block"])
    except (OSError, ValueError, KeyError):  # there is no manifest yet, or it cannot be read
        blocks = set()
    if "imported" in blocks:
        raise DatasetError(f"{build}: holds imported clips; name another folder with --build")
    specs = {spec.stimulus_id: spec for spec in stimuli(study)}
    settings = study.profile.mixing
    bank = bank_folder() if study.profile.sound_bank else None
    bank_sha256 = open_bank(bank).sha256 if bank else None
    hashes = {name: made_from(spec, settings, bank_sha256) for name, spec in specs.items()}
    rows = {name: row for name in specs if (row := _noted_row(build, specs[name], hashes[name]))}

    def keep(row: Stimulus) -> None:
        note = {"made_from": hashes[row.stimulus_id], "row": row.model_dump(mode="json")}
        with atomic_write(build / "stimuli" / f"{row.stimulus_id}.json") as stream:
            stream.write(json.dumps(note).encode())
        rows[row.stimulus_id] = row
        report(len(rows), len(specs))

    report(len(rows), len(specs))
    if source is not None:
        wanted, taken = {n: s for n, s in specs.items() if s.condition.has_audio}, set[str]()
        for row in take_clips(source, wanted, hashes, build):
            keep(row)
            taken.add(row.stimulus_id)
        if lacking := [name for name in wanted if name not in taken]:
            raise DatasetError(
                f"{source}: does not hold {len(lacking)} of the profile's {len(specs)} stimuli, "
                f"such as {lacking[0]}; run again without --from to make them"
            )
    missing = [spec for name, spec in specs.items() if name not in rows]
    groups = groupby(missing, key=lambda spec: spec.utterance.id)
    jobs = [(list(group), settings, bank) for _, group in groups]
    if any(spec.condition.has_audio for spec in missing):
        assets.fetch("kokoro")  # here, or every worker would fetch it
    for renderings in map_jobs(_render, jobs, workers):
        for row, sounds in renderings:
            for path, content in sounds.items():
                with atomic_write(build / path) as stream:
                    stream.write(content)
            keep(row)
    current = {build / path for path, _ in manifest.sound_files(rows.values())}
    current |= {build / "stimuli" / f"{name}.json" for name in rows}
    for file in (*build.glob("clips/*"), *build.glob("stimuli/*")):
        # Another process may be writing a hidden file, or may have removed a file already.
        if file not in current and not file.name.startswith("."):
            file.unlink(missing_ok=True)
    return manifest.write_manifest((rows[name] for name in specs), build, study.profile)


def made_from(spec: StimulusSpec, settings: Mixing, bank_sha256: str | None) -> str:
    """Hash of everything that can change a stimulus's files or row, except its harm category."""
    of_scene = {"scenario", "description"} if spec.condition.has_audio else set[str]()
    readings = {"harmful_reading", "benign_reading", "about", "scenes", "threatening_scenes"}
    of_utterance = readings | {"harm_category"}
    unheard = {"scene": of_scene, "history_scene": of_scene, "utterance": of_utterance}
    parts: list[object] = [spec.model_dump(mode="json", exclude=unheard), settings.model_dump()]
    if spec.condition.has_audio:
        parts += [VERSION, assets.revision("kokoro"), bank_sha256]
    return content_hash(parts)


def _render(
    job: tuple[Sequence[StimulusSpec], Mixing, Path | None],
) -> list[tuple[Stimulus, dict[str, bytes]]]:
    specs, settings, bank = job
    return [render(spec, settings, bank) for spec in specs]


def _noted_row(build: Path, spec: StimulusSpec, made_from: str) -> Stimulus | None:
    try:
        note = json.loads((build / "stimuli" / f"{spec.stimulus_id}.json").read_bytes())
        row = Stimulus.model_validate(note["row"])
        manifest.verify_dataset([row], build)
    except (OSError, ValueError, KeyError, TypeError, DatasetError):
        return None
    # Fields that do not affect the files, such as the category, may have been edited since.
    return row.model_copy(update=spec.row_fields) if note["made_from"] == made_from else None
