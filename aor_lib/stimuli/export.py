"""A built data set as a Hugging Face dataset: parquet with sound, data card and Croissant file."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from aor_lib.config.params import StudyParams
from aor_lib.config.records import DATASET_VERSION, Split, Stimulus
from aor_lib.stimuli import data_card
from aor_lib.stimuli.manifest import (
    DatasetError,
    load_manifest,
    load_stimuli,
    sound_files,
    verify_dataset,
)
from aor_lib.storage.atomic_write import atomic_folder

_BATCH = 100
_CONFORMS_TO = ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"]


def export_dataset(build: Path, into: Path, study: StudyParams) -> Path:
    """Export a built and validated study for ``datasets.load_dataset``.

    ``data/SPLIT.parquet`` holds the manifest's rows with their sound: ``audio`` is the clip,
    ``history_audio`` has the clips of earlier turns. The same build gives the same bytes.

    Returns
    -------
    ``into``.

    Raises
    ------
    FileExistsError
        ``into`` is in use.
    FileNotFoundError
        There is no manifest, or the clips have not been validated.
    DatasetError
        There are no stimuli, clips were imported, or one is missing or altered.
    """
    with atomic_folder(into) as folder:
        stimuli = load_stimuli(build)
        if not stimuli or any(stimulus.block == "imported" for stimulus in stimuli):
            raise DatasetError(
                f"{build}: holds no stimuli or imported clips; only clips that 'aor data' made are "
                "exported, since the licence of others is unknown"
            )
        verify_dataset(stimuli, build)
        (folder / "data").mkdir()
        for split in Split:
            if rows := [stimulus for stimulus in stimuli if stimulus.split is split]:
                _write_table(rows, build, folder / "data" / f"{split.value}.parquet")
        card = data_card.data_card(build, study)
        (folder / "README.md").write_text(card, encoding="utf-8")
        _write_croissant(card, data_card.licences(load_manifest(build)), folder)
    return into


def _write_table(stimuli: Sequence[Stimulus], build: Path, path: Path) -> None:
    schema = _schema()
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, len(stimuli), _BATCH):
            rows = [_row(stimulus, build) for stimulus in stimuli[start : start + _BATCH]]
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))


def _row(stimulus: Stimulus, build: Path) -> dict[str, Any]:
    sounds = [
        {"bytes": (build / path).read_bytes(), "path": PurePath(path).name}
        for path, _ in sound_files([stimulus])
    ]
    audio = sounds.pop(0) if stimulus.path else None
    return stimulus.model_dump(mode="json") | {"audio": audio, "history_audio": sounds}


def _schema() -> pa.Schema:
    from datasets import Audio, Features, Value

    columns: dict[str, Any] = {"audio": Audio(), "history_audio": [Audio()]}
    for name, field in Stimulus.model_fields.items():
        types = get_args(field.annotation) or (field.annotation,)
        names = {bool: "bool", int: "int64", float: "float64"}
        columns[name] = Value(next((names[kind] for kind in names if kind in types), "string"))
    return Features(columns).arrow_schema


def _write_croissant(card: str, licences: Sequence[str], folder: Path) -> None:
    """Write what the hub does not make by itself: hashes, licences and responsible-AI metadata."""
    import mlcroissant as mlc

    cff, sections = data_card.citation(), data_card.card_sections(card)
    own_url = f"https://spdx.org/licenses/{data_card.OWN_LICENCE}"
    files = [
        mlc.FileObject(
            id=path.name,
            name=path.name,
            content_url=f"data/{path.name}",
            encoding_formats=[mlc.EncodingFormat.PARQUET],
            sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in sorted((folder / "data").iterdir())
    ]
    metadata = mlc.Metadata(
        ctx=mlc.Context(),
        conforms_to=_CONFORMS_TO,
        name=cff["title"],
        description=sections[""].partition("\n")[0],
        creators=[mlc.Organization(name=author["name"]) for author in cff["authors"]],
        cite_as=data_card.bibtex(),
        date_published=cff["date-released"],
        license=[own_url if name == data_card.OWN_LICENCE else name for name in licences],
        version=f"{DATASET_VERSION}.0.0",
        distribution=files,
        data_collection=sections["Collection process"],
        data_limitations=_bullets(sections["Limitations"]),
        data_biases=_bullets(sections["Biases"]),
        data_use_cases=_bullets(sections["Uses"].partition("###")[0]),
        personal_sensitive_information=_bullets(sections["Composition"]),
    )
    text = json.dumps(metadata.to_json(), indent=2, ensure_ascii=False)
    (folder / "croissant.json").write_text(text + "\n", encoding="utf-8")


def _bullets(text: str) -> list[str]:
    return [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]
