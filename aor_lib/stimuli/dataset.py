"""A study's design to sound files and a manifest.

Stimuli are rendered by workers, an utterance at a time, and written by this process. Each finished
stimulus leaves a note (its manifest row and the hash of what it was made from), so that a build
that is cut off goes on where it was, and one with nothing changed makes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import pandas as pd

from aor_lib.audio import speech
from aor_lib.config.errors import AorError
from aor_lib.config.params import Study
from aor_lib.config.profile import Mixing
from aor_lib.config.records import Stimulus
from aor_lib.stimuli import rendering
from aor_lib.stimuli.design import StimulusSpec, stimuli
from aor_lib.stimuli.manifest import MANIFEST
from aor_lib.stimuli.rendering import Rendering
from aor_lib.storage.whole_file import whole_file
from aor_lib.storage.workers import map_jobs

Report = Callable[[int, int], None]


class DatasetError(AorError):
    """Stimuli that are not what the manifest says; the message names the file."""


def build_dataset(
    study: Study, build: Path, workers: int, report: Report, scheduler: str | None = None
) -> Path:
    """Make every stimulus of a study below ``build`` and write the manifest.

    ``report`` is called with the stimuli done and their number. The result depends neither on
    ``workers`` nor on the ``scheduler`` of a cluster (see
    :func:`aor_lib.storage.workers.map_jobs`). Files of an earlier build that are no longer part of
    the study are removed.

    Returns
    -------
    The manifest's path, a Parquet file with the fields of :class:`aor_lib.config.records.Stimulus`.

    Raises
    ------
    ParamsError, speech.SpeechError, assets.AssetError, OSError
        As said by their messages; what was made until then is kept.
    """
    for folder in (build, build / "clips", build / "stimuli"):
        folder.mkdir(parents=True, exist_ok=True)
    for voice in study.profile.voices:
        speech.load_voice(voice)
    specs = stimuli(study)
    settings, library = study.profile.mixing, study.profile.recordings
    made_from = {s.stimulus_id: rendering.made_from(s, settings, library) for s in specs}
    rows = {
        spec.stimulus_id: row
        for spec in specs
        if (row := _noted(build, spec.stimulus_id, made_from[spec.stimulus_id])) is not None
    }
    report(len(rows), len(specs))
    missing = [spec for spec in specs if spec.stimulus_id not in rows]
    groups = [list(group) for _, group in groupby(missing, key=lambda s: s.utterance.id)]
    jobs = [(group, settings, library) for group in groups]
    for made in map_jobs(_render_group, jobs, workers, scheduler):
        for one in made:
            _keep(one, made_from[one.row.stimulus_id], build)
            rows[one.row.stimulus_id] = one.row
        report(len(rows), len(specs))
    _remove_others(build, rows)
    frame = pd.DataFrame([rows[spec.stimulus_id].model_dump(mode="json") for spec in specs])
    with whole_file(build / MANIFEST) as stream:
        frame.to_parquet(stream, index=False)
    return build / MANIFEST


def verify_dataset(manifest: pd.DataFrame, build: Path) -> None:
    """Check every sound file of a manifest, those of earlier turns too, against its hash.

    Raises
    ------
    DatasetError
        A file is missing or altered; the message names the first and says what to do.
    """
    for row in manifest.to_dict("records"):
        _verify_files({str(name): value for name, value in row.items()}, build)


def _verify_files(row: dict[str, object], build: Path) -> None:
    for name, sha256 in _files_of(row):
        path = build / name
        if not path.is_file():
            raise DatasetError(f"{path}: is missing; run 'aor data' to make it again")
        if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
            raise DatasetError(f"{path}: sha256 is not the manifest's; run 'aor data' to mend it")


def _files_of(row: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Path and sha256 of each sound file of a manifest row."""
    if isinstance(row["path"], str):
        yield row["path"], str(row["sha256"])
    for turn in json.loads(str(row.get("history", "[]"))):
        if turn.get("path"):
            yield turn["path"], turn["sha256"]


def _render_group(
    job: tuple[Sequence[StimulusSpec], Mixing, Path | None],
) -> list[Rendering]:
    specs, settings, library = job
    return [rendering.render(spec, settings, library) for spec in specs]


def _keep(one: Rendering, made_from: str, build: Path) -> None:
    """Write a stimulus' files, and the note last: it says that they are all there."""
    for name, content in one.files.items():
        with whole_file(build / name) as stream:
            stream.write(content)
    note = {"made_from": made_from, "row": one.row.model_dump(mode="json")}
    with whole_file(build / "stimuli" / f"{one.row.stimulus_id}.json") as stream:
        stream.write(json.dumps(note).encode())


def _noted(build: Path, stimulus_id: str, made_from: str) -> Stimulus | None:
    """The row of a stimulus that was made from the same and whose files are intact."""
    try:
        content = json.loads((build / "stimuli" / f"{stimulus_id}.json").read_text())
        if content["made_from"] != made_from:
            return None
        row = Stimulus.model_validate(content["row"])
        _verify_files(content["row"], build)
    except (OSError, ValueError, KeyError, TypeError, DatasetError):
        return None
    return row


def _remove_others(build: Path, rows: dict[str, Stimulus]) -> None:
    wanted = {build / "stimuli" / f"{name}.json" for name in rows}
    for row in rows.values():
        wanted |= {build / name for name, _ in _files_of(row.model_dump(mode="json"))}
    for folder in (build / "clips", build / "stimuli"):
        for path in folder.iterdir():
            if path not in wanted:
                path.unlink()
