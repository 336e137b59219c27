"""Export a study's clips as a Hugging Face data set with a data card, and build from an export.

Synthesis differs slightly between processors; a build from an export has its exact bytes.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import jinja2
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from aor_lib import __version__
from aor_lib.config.params import PARAMS, StudyParams
from aor_lib.config.profile import Profile
from aor_lib.config.records import DATASET_VERSION, Split, Stimulus
from aor_lib.config.typed_yaml import one_line
from aor_lib.stimuli import design, manifest
from aor_lib.stimuli.manifest import DatasetError
from aor_lib.stimuli.rendering import OWN_LICENCE
from aor_lib.stimuli.validation import require_validated
from aor_lib.storage.atomic_write import atomic_folder, atomic_write

_BATCH = 100
_CREDIT = ["file", "source", "author", "licence"]


def export_dataset(study: StudyParams, build: Path, into: Path) -> Path:
    """Export a built and validated study for ``datasets.load_dataset``; returns ``into``.

    ``data/SPLIT.parquet`` holds the manifest's rows with their sound: ``audio`` is the clip,
    ``history_audio`` has the clips of earlier turns. The same build gives the same bytes.
    ``DatasetError`` if there are no stimuli, clips were imported, a clip is missing or altered, or
    these files have not been validated.
    """
    with atomic_folder(into) as folder:
        stimuli = manifest.load_stimuli(build)
        if not stimuli or any(stimulus.block == "imported" for stimulus in stimuli):
            raise DatasetError(
                f"{build}: holds no stimuli, or holds imported clips; only clips of 'aor data' are "
                "exported, since the licence of other clips is unknown"
            )
        manifest.verify_dataset(stimuli, build)
        require_validated(study, build)
        (folder / "data").mkdir()
        for split in Split:
            if rows := [stimulus for stimulus in stimuli if stimulus.split is split]:
                _write_table(rows, build, folder / "data" / f"{split.value}.parquet")
        (folder / "README.md").write_text(data_card(build), encoding="utf-8")
        _write_croissant(licences(manifest.load_manifest(build)), folder)
    return into


def _write_table(stimuli: Sequence[Stimulus], build: Path, path: Path) -> None:
    schema = _schema()
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, len(stimuli), _BATCH):
            rows = [_row(stimulus, build) for stimulus in stimuli[start : start + _BATCH]]
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))


def _row(stimulus: Stimulus, build: Path) -> dict[str, Any]:
    files = [build / path for path, _ in manifest.sound_files([stimulus])]
    sounds = [{"bytes": file.read_bytes(), "path": file.name} for file in files]
    audio = sounds.pop(0) if stimulus.path else None
    note = json.loads((build / "stimuli" / f"{stimulus.stimulus_id}.json").read_bytes())
    more = {"audio": audio, "history_audio": sounds, "made_from": note["made_from"]}
    return stimulus.model_dump(mode="json") | more


def _schema() -> pa.Schema:
    from datasets import Audio, Features, Value

    columns = dict[str, Any](audio=Audio(), history_audio=[Audio()], made_from=Value("string"))
    for name, field in Stimulus.model_fields.items():
        types = get_args(field.annotation) or (field.annotation,)
        names = {bool: "bool", int: "int64", float: "float64"}
        columns[name] = Value(next((names[kind] for kind in names if kind in types), "string"))
    return Features(columns).arrow_schema


def _write_croissant(licences: Sequence[str], folder: Path) -> None:
    # Hashes and licences, which the hub does not generate.
    import mlcroissant as mlc

    cff = citation()
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
        name=cff["title"],
        description="Spoken requests whose background sound decides whether they are harmful.",
        creators=[mlc.Organization(name=author["name"]) for author in cff["authors"]],
        cite_as=bibtex(),
        date_published=cff["date-released"],
        license=[f"https://spdx.org/licenses/{n}" if n == OWN_LICENCE else n for n in licences],
        version=f"{DATASET_VERSION}.0.0",
        distribution=files,
    )
    text = json.dumps(metadata.to_json(), indent=2, ensure_ascii=False)
    (folder / "croissant.json").write_text(text + "\n", encoding="utf-8")


def take_clips(
    source: str, specs: Mapping[str, design.StimulusSpec], hashes: Mapping[str, str], build: Path
) -> Iterator[Stimulus]:
    """Copy the clips of ``specs`` (by stimulus id) from an export, yielding their manifest rows.

    ``source`` is a folder that ``aor export`` wrote, or ``OWNER/NAME[@REVISION]`` on the Hugging
    Face hub; ``hashes`` cover everything that determines each clip. ``DatasetError`` if the source
    is not an export, has another version, design or settings, or was altered.
    """
    for row in _exported_rows(source):
        if (spec := specs.get(row["stimulus_id"])) is None:
            continue
        contents = [sound["bytes"] for sound in (row.pop("audio"), *row.pop("history_audio"))]
        if row.pop("made_from", None) != hashes[spec.stimulus_id]:
            other = ", ".join(name for name, asked in spec.row_fields.items() if row[name] != asked)
            raise DatasetError(
                f"--from {source}: {spec.stimulus_id}: {other or 'mixing, scene, bank or version'} "
                "differs from the profile; use an export of this profile, or omit --from"
            )
        stimulus = Stimulus.model_validate(row | spec.row_fields)
        for (path, sha256), content in zip(manifest.sound_files([stimulus]), contents, strict=True):
            if hashlib.sha256(content).hexdigest() != sha256:
                raise DatasetError(
                    f"--from {source}: {path}: sha256 differs from its row; fetch the export again"
                )
            with atomic_write(build / path) as stream:
                stream.write(content)
        yield stimulus


def _exported_rows(source: str) -> Iterator[dict[str, Any]]:
    from datasets import Audio, load_dataset

    name, _, revision = (source, "", "") if Path(source).is_dir() else source.partition("@")
    config = f"v{DATASET_VERSION}"
    try:
        splits = load_dataset(name, config, revision=revision or None, streaming=True)
        as_bytes = Audio(decode=False)
        for split in splits.values():
            yield from split.cast_column("audio", as_bytes).cast_column("history_audio", [as_bytes])
    except (OSError, ValueError) as error:
        raise DatasetError(
            f"--from {source}: is no data set of version {DATASET_VERSION}, or is damaged; name "
            "a folder that 'aor export' wrote, or OWNER/NAME@REVISION on the hub: "
            + one_line(error, 200)
        ) from None


def data_card(build: Path | str) -> str:
    """README.md of the data set of a built and validated study: front matter and sections."""
    stimuli = manifest.load_manifest(build)
    profile = Profile.model_validate_json(stimuli.attrs["profile"])
    spoken = stimuli[stimuli["path"].notna()]
    validation = manifest.load_validation(build)[["stimulus_id", "wer"]].dropna()
    wer = spoken.merge(validation, on="stimulus_id").groupby("condition")["wer"]
    splits = stimuli.groupby("split").agg(
        stimuli=("stimulus_id", "size"),
        clips=("path", "count"),
        utterances=("utterance_id", "nunique"),
    )
    by = [stimuli[name] for name in ("scenario", "intent", "split")]
    template = jinja2.Template(Path(__file__).with_name("data_card.md").read_text(encoding="utf-8"))
    return template.render(
        version=__version__,
        dataset_version=DATASET_VERSION,
        study=profile,
        profile=yaml.safe_dump(profile.model_dump(mode="json", exclude_none=True), sort_keys=False),
        citation=citation(),
        bibtex=bibtex(),
        licences=licences(stimuli),
        shown=_shown,
        own_licence=OWN_LICENCE,
        manifest=stimuli,
        spoken=spoken,
        table=lambda frame: frame.map(_shown).to_markdown(index=False) if len(frame) else "None.",
        counts=pd.crosstab(by, stimuli["condition"]).reset_index(),
        splits=splits.reset_index(),
        voices=_count(spoken, ["voice", "gender", "emotion"]),
        recordings=_recordings(stimuli),
        wer=wer.agg(["size", "median", "mean"]).astype(float).round(3).reset_index(),
    )


def citation() -> dict[str, Any]:
    """Contents of the study's ``CITATION.cff``."""
    return dict(yaml.safe_load((PARAMS.parent / "CITATION.cff").read_text(encoding="utf-8")))


def bibtex() -> str:
    """Citation of the study, as BibTeX."""
    return (PARAMS.parent / "CITATION.bib").read_text(encoding="utf-8")


def licences(stimuli: pd.DataFrame) -> list[str]:
    """Licences of all parts of the data, sorted."""
    return sorted({OWN_LICENCE, *_recordings(stimuli)["licence"]})


def _recordings(stimuli: pd.DataFrame) -> pd.DataFrame:
    # Each recording that is used in a clip or an earlier turn, and its number of stimuli.
    heard = []
    names = ["stimulus_id", "background_sounds", "history"]
    for stimulus, sounds, history in stimuli[names].itertuples(index=False):
        earlier = [turn.get("background_sounds") for turn in json.loads(history)]
        for text in (sounds, *earlier):
            recorded = json.loads(text)["recorded"] if isinstance(text, str) else []
            heard += [(stimulus, *(recording[name] for name in _CREDIT)) for recording in recorded]
    each = pd.DataFrame(heard, columns=["stimulus_id", *_CREDIT], dtype=str).drop_duplicates()
    return _count(each, _CREDIT)


def _shown(cell: Any) -> Any:
    # Texts by the recordings' authors are escaped: they must not be markup or end a table cell.
    if not isinstance(cell, str):
        return cell
    return re.sub(r"[^\w\s.,:;/()'+-]", lambda sign: f"&#{ord(sign[0])};", one_line(cell))


def _count(clips: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    return clips[by].value_counts().sort_index().reset_index(name="clips")
