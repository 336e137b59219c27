"""croissant.json: the export as machine-readable metadata for data set tools.

Croissant 1.0 (https://docs.mlcommons.org/croissant/docs/croissant-spec-1.0.html) with its
vocabulary for responsible AI (RAI 1.0), written with the format's reference library.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import mlcroissant as mlc
import pandas as pd
import pyarrow as pa

from aor_lib.config.params import StudyParams
from aor_lib.config.records import DATASET_VERSION
from aor_lib.stimuli.export import citation
from aor_lib.stimuli.export.data_card import bullets, card_sections
from aor_lib.stimuli.export.tables import Table, describe

_CONFORMS_TO = ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"]
_TYPES = {
    pa.string(): mlc.DataType.TEXT,
    pa.int64(): mlc.DataType.INTEGER,
    pa.float64(): mlc.DataType.FLOAT,
    pa.bool_(): mlc.DataType.BOOL,
}


def write_croissant(tables: Sequence[Table], card: str, study: StudyParams, into: Path) -> None:
    """Write croissant.json beside the tables, which must be there: their sha256 goes into it.

    Every table is a record set of its own, so that a reader verifies the table it reads. The clips
    are a file set; their sha256 are in the tables. The words are those of the data card.
    """
    manifest = pd.DataFrame(
        [stimulus.model_dump(mode="json") for table in tables for stimulus in table.stimuli]
    )
    cff = citation.citation()
    words = card_sections(card)
    metadata = mlc.Metadata(
        ctx=mlc.Context(),
        conforms_to=_CONFORMS_TO,
        name=f"{cff['title']} ({study.profile.name})",
        description=words[""].partition("\n")[0],
        creators=[mlc.Organization(name=name) for name in citation.creators()],
        cite_as=citation.bibtex(),
        date_published=cff.get("date-released"),
        in_language=["en"],
        keywords=list(cff["keywords"]),
        license=[_licence_url(licence) for licence in citation.licences(manifest)],
        version=f"{DATASET_VERSION}.0.0",
        distribution=[part for table in tables for part in _files(table, into)],
        record_sets=[_record_set(table) for table in tables],
        data_collection=words["Collection process"],
        data_collection_type=["Synthetic data generation"],
        data_annotation_protocol=["The author of an utterance set its intent and its scenes."],
        data_limitations=bullets(words["Limitations"]),
        data_biases=bullets(words["Biases"]),
        data_use_cases=bullets(words["Uses"].partition("###")[0]),
        personal_sensitive_information=bullets(
            words["Composition"].partition("### What is sensitive")[2]
        ),
    )
    text = json.dumps(metadata.to_json(), indent=2, ensure_ascii=False)
    (into / "croissant.json").write_text(text + "\n", encoding="utf-8")


def _files(table: Table, into: Path) -> list[mlc.FileObject | mlc.FileSet]:
    content = (into / table.path).read_bytes()
    parts = [
        mlc.FileObject(
            id=table.path,
            name=table.path,
            description=f"{len(table.stimuli)} stimuli of the {table.split.value} split.",
            content_url=table.path,
            content_size=f"{len(content)} B",
            encoding_formats=[mlc.EncodingFormat.PARQUET],
            sha256=hashlib.sha256(content).hexdigest(),
        )
    ]
    if table.has_audio:
        parts.append(
            mlc.FileSet(
                id=f"{table.name}_clips",
                name=f"{table.name}_clips",
                description=f"The clips of {table.path}, which holds the sha256 of each.",
                encoding_formats=["audio/flac"],
                includes=[f"{table.folder}/clips/*.flac"],
            )
        )
    return parts


def _record_set(table: Table) -> mlc.RecordSet:
    fields = [
        mlc.Field(
            id=f"{table.name}/{column.name}",
            name=column.name,
            description=describe(column.name),
            data_types=[_TYPES[column.type]],
            source=mlc.Source(file_object=table.path, extract=mlc.Extract(column=column.name)),
        )
        for column in table.schema
    ]
    return mlc.RecordSet(
        id=table.name,
        name=table.name,
        description=f"One record per stimulus of {table.path}.",
        key=[f"{table.name}/stimulus_id"],
        fields=fields,
    )


def _licence_url(licence: str) -> str:
    """Croissant asks for a URL; what is not the study's own licence stays as it was found."""
    if licence == citation.OWN_LICENCE:
        return f"https://spdx.org/licenses/{licence}"
    return licence
