"""The manifest as Parquet tables: for each split one of clips and one of texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pyarrow as pa
import pyarrow.parquet as pq

from aor_lib.config.records import DATASET_VERSION, Split, Stimulus

FILE_NAME = "file_name"
"""The column in which audio folders name the sound file, relative to the table's folder."""

_DESCRIPTIONS = {
    FILE_NAME: "Sound file, relative to this table's folder (the same as path).",
    "stimulus_id": "Identifier of the stimulus.",
    "utterance_id": "Identifier of the utterance that is spoken or shown.",
    "scenario": "Situation that the utterance was written for.",
    "intent": "What the speaker wants: pseudo_harmful, harmful, benign or unlabelled.",
    "text": "The utterance's words.",
    "voice": "Identifier of the voice.",
    "gender": "Gender that the voice is heard as.",
    "emotion": "Emotion that the speech was given.",
    "speaking_rate": "Speaking rate.",
    "background_scene": "Identifier of the scene behind the speech (or named by the text).",
    "background_source": "Where the background comes from: procedural, or the recordings.",
    "background_licence": "Licence of the background.",
    "snr_db": "Speech level over background level, in dB.",
    "lead_in_s": "Background alone before the speech, in seconds.",
    "duration_s": "Length of the clip, in seconds.",
    "sample_rate": "Sampling rate, in Hz.",
    "seed": "Seed of everything drawn for this stimulus.",
    "block": "Part of the design that the stimulus was made for.",
    "condition": "What accompanies or replaces the speech.",
    "path": "Sound file, relative to this table's folder.",
    "loudness_lufs": "Integrated loudness (ITU-R BS.1770), in LUFS.",
    "split": "dev (to choose settings on) or test (to report on).",
}


@dataclass(frozen=True)
class Table:
    """Rows that go into one file of the export.

    ``name`` is a valid identifier, ``path`` the table's file, relative to the export's folder.
    """

    name: str
    path: str
    split: Split
    stimuli: tuple[Stimulus, ...]
    has_audio: bool

    @property
    def folder(self) -> Path:
        """Folder that sound files are named relative to, itself relative to the export's folder."""
        return Path(self.path).parent

    @property
    def schema(self) -> pa.Schema:
        """Columns and types: those of :class:`aor_lib.config.records.Stimulus`.

        Fixed by the fields, not by what the rows hold: a column without a value keeps its type.
        The file's metadata hold the version of the data set.
        """
        file_name = [(FILE_NAME, pa.string())] if self.has_audio else []
        fields = [(name, _arrow_type(name)) for name in Stimulus.model_fields]
        version = {"aor_dataset_version": str(DATASET_VERSION)}
        return pa.schema(file_name + fields, metadata=version)

    def write(self, into: Path) -> None:
        """Write the table below ``into``; the folder must exist."""
        rows = [stimulus.model_dump(mode="json") for stimulus in self.stimuli]
        if self.has_audio:
            rows = [{FILE_NAME: row["path"]} | row for row in rows]
        pq.write_table(pa.Table.from_pylist(rows, schema=self.schema), into / self.path)


def split_tables(stimuli: Sequence[Stimulus]) -> list[Table]:
    """The tables of an export: sound, then texts, each as dev and test; none is empty."""
    tables = []
    for has_audio, kind, pattern in [
        (True, "audio", "{}/metadata.parquet"),
        (False, "text", "text/{}.parquet"),
    ]:
        for split in Split:
            rows = tuple(
                s for s in stimuli if s.split is split and (s.path is not None) == has_audio
            )
            if rows:
                name = f"{kind}_{split.value}"
                tables.append(Table(name, pattern.format(split.value), split, rows, has_audio))
    return tables


def describe(column: str) -> str:
    """Description of a column in one sentence."""
    if column in _DESCRIPTIONS:
        return _DESCRIPTIONS[column]
    return Stimulus.model_fields[column].description or column.replace("_", " ")


def _arrow_type(field: str) -> pa.DataType:
    annotation = Stimulus.model_fields[field].annotation
    types = get_args(annotation) or (annotation,)
    if bool in types:
        return pa.bool_()
    if int in types:
        return pa.int64()
    return pa.float64() if float in types else pa.string()
