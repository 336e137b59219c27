"""A study's design to sound files and a manifest.

Stimuli are rendered by workers, an utterance at a time, and written by this process. Each finished
stimulus leaves a note (its manifest row and the hash of what it was made from), so that a build
that is cut off goes on where it was, and one with nothing changed makes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from aor_lib.audio import speech
from aor_lib.config.params import StudyParams
from aor_lib.config.profile import Mixing
from aor_lib.config.records import Stimulus
from aor_lib.stimuli.design import StimulusSpec, stimuli
from aor_lib.stimuli.exported_clips import exported_stimuli, find_export, take_clip
from aor_lib.stimuli.identity import made_from
from aor_lib.stimuli.manifest import DatasetError, sound_files, verify_dataset, write_manifest
from aor_lib.storage.atomic_write import atomic_write
from aor_lib.storage.workers import map_jobs

if TYPE_CHECKING:
    from aor_lib.stimuli.rendering import Rendering


def build_dataset(
    study: StudyParams,
    build: Path,
    workers: int | Executor,
    report: Callable[[int, int], None],
    *,
    source: str | None = None,
    make_missing: bool = False,
) -> Path:
    """Make every stimulus of a study below ``build`` and write the manifest.

    The result does not depend on ``workers``. Files of an earlier build that are no longer part of
    the study are removed.

    Parameters
    ----------
    workers
        Number of processes on this machine, or an executor of ``concurrent.futures``, such as
        ``dask.distributed.Client(address).get_executor()``.
    report
        Called with the stimuli done and their number.
    source
        An export whose clips are taken instead (:mod:`aor_lib.stimuli.exported_clips`).
    make_missing
        Make what the export does not hold.

    Returns
    -------
    The manifest's path, a Parquet file with the fields of :class:`aor_lib.config.records.Stimulus`.

    Raises
    ------
    ParamsError, SpeechError, AssetError, OSError
        A stimulus cannot be made or written; what was made until then is kept.
    DatasetError
        The export does not hold a stimulus, or holds another or an altered one.
    """
    for folder in (build, build / "clips", build / "stimuli"):
        folder.mkdir(parents=True, exist_ok=True)
    specs = stimuli(study)
    settings, library = study.profile.mixing, study.profile.recordings
    hashes = {spec.stimulus_id: made_from(spec, settings, library) for spec in specs}
    noted = {name: _noted_row(build, name, sha256) for name, sha256 in hashes.items()}
    rows = {name: row for name, row in noted.items() if row is not None}
    report(len(rows), len(specs))
    missing = [spec for spec in specs if spec.stimulus_id not in rows]
    if source is not None:
        exported = exported_stimuli(find_export(source))
        absent = [spec for spec in missing if spec.stimulus_id not in exported]
        if absent and not make_missing:
            raise DatasetError(
                f"{source}: does not hold {len(absent)} of the profile's {len(specs)} stimuli, "
                f"such as {absent[0].stimulus_id}; add --make-missing to make them here"
            )
        for spec in missing:
            if spec.stimulus_id in exported:
                row = take_clip(spec, exported, settings.lead_in_s, build)
                _note(row, hashes[spec.stimulus_id], build)
                rows[spec.stimulus_id] = row
        report(len(rows), len(specs))
        missing = absent
    if missing:
        _check_sources(study)
    groups = [list(group) for _, group in groupby(missing, key=lambda s: s.utterance.id)]
    jobs = [(group, settings, library) for group in groups]
    for renderings in map_jobs(_render_group, jobs, workers):
        for rendering in renderings:
            for path, content in rendering.files.items():
                with atomic_write(build / path) as stream:
                    stream.write(content)
            name = rendering.row.stimulus_id
            _note(rendering.row, hashes[name], build)
            rows[name] = rendering.row
        report(len(rows), len(specs))
    _remove_others(build, rows)
    return write_manifest((rows[spec.stimulus_id] for spec in specs), build)


def _check_sources(study: StudyParams) -> None:
    """Refuse a voice or a scene that cannot be made, before hours are spent on the others."""
    from aor_lib.audio.scenes import check  # only here, as in _render_group

    for voice in study.profile.voices:
        speech.load_voice(voice)
    for scene in study.scenes.values():
        check(scene)


def _render_group(
    job: tuple[Sequence[StimulusSpec], Mixing, Path | None],
) -> list[Rendering]:
    # Only here: the libraries of sound take longer to import than an unchanged build takes.
    from aor_lib.stimuli.rendering import render

    specs, settings, library = job
    return [render(spec, settings, library) for spec in specs]


def _note(row: Stimulus, made_from: str, build: Path) -> None:
    """Say that all files of a stimulus are there: written last."""
    note = {"made_from": made_from, "row": row.model_dump(mode="json")}
    with atomic_write(build / "stimuli" / f"{row.stimulus_id}.json") as stream:
        stream.write(json.dumps(note).encode())


def _noted_row(build: Path, stimulus_id: str, made_from: str) -> Stimulus | None:
    """The row of a stimulus that was made from the same and whose files are intact."""
    try:
        note = json.loads((build / "stimuli" / f"{stimulus_id}.json").read_bytes())
        row = Stimulus.model_validate(note["row"])
        verify_dataset([row], build)
    except (OSError, ValueError, KeyError, TypeError, DatasetError):
        return None
    return row if note["made_from"] == made_from else None


def _remove_others(build: Path, rows: Mapping[str, Stimulus]) -> None:
    wanted = {build / "stimuli" / f"{name}.json" for name in rows}
    wanted |= {build / path for path, _ in sound_files(rows.values())}
    for folder in (build / "clips", build / "stimuli"):
        for path in folder.iterdir():
            if path not in wanted:
                path.unlink()
