"""The data card: Hugging Face's front matter, and sections after *Datasheets for Datasets*.

The words are in data_card.md beside this module; every number is computed from the manifest.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import Template

import pandas as pd
import yaml

from aor_lib import __version__
from aor_lib.config.params import Study
from aor_lib.config.records import Stimulus
from aor_lib.stimuli.export import card_tables, statements
from aor_lib.stimuli.export.tables import Table, describe

_TEMPLATE = Path(__file__).with_suffix(".md")
_SIZES = [(1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M")]


def data_card(
    stimuli: Sequence[Stimulus], tables: Sequence[Table], study: Study, validation: pd.DataFrame
) -> str:
    """README.md of an export, as text; ``validation`` holds the word error rates.

    The front matter follows https://huggingface.co/docs/hub/datasets-cards, the sections Gebru et
    al., "Datasheets for Datasets", Communications of the ACM 64(12), 2021.
    """
    frame = pd.DataFrame([stimulus.model_dump(mode="json") for stimulus in stimuli])
    spoken = frame[frame["path"].notna()]
    values = {
        "title": _title(study),
        "summary": statements.summary(frame, study),
        "clips": len(spoken),
        "texts": len(frame) - len(spoken),
        "hours": f"{spoken['duration_s'].sum() / 3600:.2f}",
        "utterances": frame["utterance_id"].nunique(),
        "scenarios": frame["scenario"].nunique(),
        "voices": frame["voice"].nunique(),
        "version": __version__,
        "loading": _loading(tables),
        "files": card_tables.table_rows((f"`{t.path}`", len(t.stimuli), _what(t)) for t in tables),
        "columns": card_tables.table_rows(
            (f"`{field.name}`", field.type, describe(field.name)) for field in tables[0].schema
        ),
        "counts": card_tables.counts(frame),
        "splits": card_tables.splits(frame),
        "voice_table": card_tables.voices(spoken),
        "snrs": card_tables.snrs(spoken),
        "diversity": card_tables.diversity(frame),
        "background_table": card_tables.backgrounds(frame),
        "attribution": card_tables.attribution(frame),
        "sensitive": card_tables.bullets(statements.sensitive(frame)),
        "collection": statements.collection(frame),
        "preprocessing": _preprocessing(frame, study),
        "wer": card_tables.word_error_rates(spoken, validation),
        "uses": card_tables.bullets(statements.USES),
        "misuses": card_tables.bullets(statements.MISUSES),
        "limitations": card_tables.bullets(statements.limitations(frame)),
        "biases": card_tables.bullets(statements.biases(frame)),
        "licence": _licence(frame),
        "rebuild": _rebuild(frame, study),
        "bibtex": statements.bibtex(),
        "cite_note": statements.citation()["message"],
        "references": card_tables.bullets(statements.references()),
    }
    front = yaml.safe_dump(_front_matter(frame, tables, study), sort_keys=False)
    text = Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(values)
    return f"---\n{front}---\n\n{text}"


def _front_matter(frame: pd.DataFrame, tables: Sequence[Table], study: Study) -> dict[str, object]:
    licences = statements.licences(frame)
    front: dict[str, object] = {"pretty_name": _title(study), "language": ["en"]}
    if licences == [statements.OWN_LICENCE]:
        front["license"] = statements.OWN_LICENCE.lower()
    else:
        front |= {"license": "other", "license_name": "mixed", "license_link": "README.md"}
    front["task_categories"] = ["audio-text-to-text"]
    front["tags"] = ["over-refusal", "safety", "audio-language-models", "benchmark", "croissant"]
    front["size_categories"] = [
        next((name for limit, name in _SIZES if len(frame) < limit), "n>1M")
    ]
    # One reader serves all configurations: where there is sound, that is the audio folder's.
    audio = [table for table in tables if table.has_audio]
    files = [
        {"split": t.split.value, "path": f"{t.folder}/**" if t.has_audio else t.path}
        for t in audio or tables
    ]
    name = "audio" if audio else "text"
    front["configs"] = [{"config_name": name, "default": True, "data_files": files}]
    return front


def _title(study: Study) -> str:
    return f"{statements.citation()['title']} ({study.profile.name})"


def _loading(tables: Sequence[Table]) -> str:
    """Python that reads every table; FOLDER stands for the export's folder."""
    texts = {t.split.value: f"FOLDER/{t.path}" for t in tables if not t.has_audio}
    lines = []
    if any(table.has_audio for table in tables):
        lines.append('clips = load_dataset("FOLDER")  # a DatasetDict; column "audio" is decoded')
    if texts:
        files = ", ".join(f'"{split}": "{path}"' for split, path in texts.items())
        lines.append(f'texts = load_dataset("parquet", data_files={{{files}}})')
    return "\n".join(lines)


def _what(table: Table) -> str:
    if table.has_audio:
        return f"stimuli with sound, {table.split.value}; the clips are in `{table.folder}/clips/`"
    return f"stimuli without sound, {table.split.value}"


def _preprocessing(frame: pd.DataFrame, study: Study) -> str:
    mixing = study.profile.mixing
    said = []
    if (frame["block"] != "imported").any():
        said.append(
            f"Speech and background were mixed at the SNR in `snr_db` (speech level after ITU-T "
            f"P.56), with {mixing.lead_in_s:g} s of background before the speech and "
            f"{mixing.tail_s:g} s after it, and brought to {mixing.loudness_lufs:g} LUFS "
            f"(ITU-R BS.1770), but for what an emotion adds or takes away, with a true peak of at "
            f"most {mixing.true_peak_dbfs:g} dBFS. The author of an utterance set its `intent`."
        )
    if (frame["block"] == "imported").any():
        said.append("Imported clips keep their level; they were made mono at one sampling rate.")
    return " ".join(said)


def _rebuild(frame: pd.DataFrame, study: Study) -> str:
    if (frame["block"] == "imported").all():
        return "The clips were imported with `aor import-clips`; the same clips give the same data."
    # A library of recordings is a folder of this machine, and means nothing elsewhere.
    profile = study.profile.model_dump(mode="json", exclude={"recordings"}, exclude_none=True)
    name = f"{study.profile.name}.yaml"
    said = (
        f"The study's source code holds the utterances with their readings and the scenes; weights "
        f"are pinned. At version {__version__} of aor-lib, this profile makes the same data:\n\n"
        f"```yaml\n{yaml.safe_dump(profile, sort_keys=False)}```\n\n"
        f"```\naor data {name}\naor export {name} --to hf\n```"
    )
    if study.profile.recordings is not None:
        said += (
            "\n\nIt drew on a library of recordings: import the recordings listed above with "
            "`aor import-recordings`, and name the library as `recordings` in the profile."
        )
    return said


def _licence(frame: pd.DataFrame) -> str:
    licences = statements.licences(frame)
    if licences == [statements.OWN_LICENCE]:
        return f"Everything is under {statements.OWN_LICENCE}: texts, speech and backgrounds."
    return (
        "Parts are under different licences, and a clip is under all of those of its parts: "
        f"{'; '.join(licences)}. `background_licence` says which hold for a clip's background; "
        f"texts and procedural scenes are under {statements.OWN_LICENCE}."
    )
