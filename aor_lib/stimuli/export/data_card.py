"""The data card: Hugging Face's front matter, and sections after *Datasheets for Datasets*.

The words are in data_card.md beside this module, a Jinja template; every number is computed from
the manifest.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import yaml

from aor_lib import __version__
from aor_lib.config.params import StudyParams
from aor_lib.config.records import DATASET_VERSION, Condition, Intent
from aor_lib.stimuli.diversity import distinct_n, words_of
from aor_lib.stimuli.export import citation
from aor_lib.stimuli.export.tables import describe, split_tables
from aor_lib.stimuli.manifest import load_stimuli, load_validation

_TEMPLATE = Path(__file__).with_suffix(".md")
_SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 10**9: "100K<n<1M"}


def data_card(build: Path | str, study: StudyParams) -> str:
    """The data card of a built and validated study: Markdown, without front matter and title.

    References
    ----------
    Gebru et al., "Datasheets for Datasets", Communications of the ACM 64(12), 2021.
    """
    _, _, text = readme(build, study).partition("\n# ")
    return text.partition("\n")[2].lstrip()


def readme(build: Path | str, study: StudyParams) -> str:
    """README.md of an export: front matter, title and data card.

    The front matter follows https://huggingface.co/docs/hub/datasets-cards.
    """
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["table"] = _table
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    return template.render(_facts(Path(build), study))


def card_sections(card: str) -> dict[str, str]:
    """The text of each section of a card by its heading; the text before them has none ("")."""
    head, *rest = card.split("\n## ")
    return {"": head.strip()} | {
        heading: text.strip() for heading, _, text in (part.partition("\n") for part in rest)
    }


def bullets(text: str) -> list[str]:
    """The entries of the Markdown lists in a text."""
    return [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]


def _facts(build: Path, study: StudyParams) -> dict[str, Any]:
    stimuli = load_stimuli(build)
    manifest = pd.DataFrame([stimulus.model_dump(mode="json") for stimulus in stimuli])
    spoken = manifest[manifest["path"].notna()]
    backgrounds = citation.backgrounds(manifest)
    kinds = backgrounds["background_source"].str.split(":").str[0].rename("source")
    recorded = backgrounds[~backgrounds["background_source"].isin(["procedural", "as found"])]
    cff = citation.citation()
    # A library of recordings is a folder of this machine, and means nothing elsewhere.
    profile = study.profile.model_dump(mode="json", exclude={"recordings"}, exclude_none=True)
    return {
        "title": f"{cff['title']} ({study.profile.name})",
        "version": __version__,
        "dataset_version": DATASET_VERSION,
        "manifest": manifest,
        "spoken": spoken,
        "n_imported": int((manifest["block"] == "imported").sum()),
        "hours": spoken["duration_s"].sum() / 3600,
        "size": next(name for limit, name in _SIZES.items() if len(manifest) < limit),
        "tables": split_tables(stimuli),
        "describe": describe,
        "profile": study.profile,
        "profile_yaml": yaml.safe_dump(profile, sort_keys=False).strip(),
        "licences": citation.licences(manifest),
        "own_licence": citation.OWN_LICENCE,
        "counts": _counts(manifest),
        "splits": _splits(manifest),
        "voices": _voices(spoken),
        "snrs": _sizes(spoken.dropna(subset=["snr_db"]), ["snr_db", "condition"]),
        "diversity": _diversity(manifest),
        "background_kinds": _sizes(
            backgrounds.assign(source=kinds), ["source", "background_licence"]
        ),
        "recordings": _sizes(recorded, ["background_source", "background_licence"]),
        "makers": sorted({citation.voice_origin(voice)[0] for voice in spoken["voice"].dropna()}),
        "wer": _word_error_rates(spoken, load_validation(build)),
        "citation": cff,
        "bibtex": citation.bibtex(),
    }


def _counts(manifest: pd.DataFrame) -> pd.DataFrame:
    """Stimuli by scenario, intent and split (rows) and condition (columns), with a row of sums."""
    by = ["scenario", "intent", "split"]
    counts = pd.crosstab([manifest[name] for name in by], manifest["condition"])
    counts = counts[[c.value for c in Condition if c.value in counts]]
    order = list(Intent)
    counts = counts.sort_index(
        key=lambda level: level.map(order.index) if level.name == "intent" else level
    )
    sums = {"scenario": "all", "intent": "", "split": "", **counts.sum()}
    return pd.concat([counts.reset_index(), pd.DataFrame([sums])])


def _splits(manifest: pd.DataFrame) -> pd.DataFrame:
    splits = manifest.groupby("split").agg(
        stimuli=("stimulus_id", "size"),
        clips=("path", "count"),
        hours=("duration_s", lambda seconds: f"{seconds.sum() / 3600:.2f}"),
        utterances=("utterance_id", "nunique"),
    )
    return splits.reset_index()


def _voices(spoken: pd.DataFrame) -> pd.DataFrame:
    voices = _sizes(
        spoken.dropna(subset=["voice"]), ["voice", "gender", "emotion", "speaking_rate"]
    )
    origins = [citation.voice_origin(voice) for voice in voices["voice"]]
    voices.insert(4, "made by", [maker for maker, _ in origins])
    voices.insert(5, "licence", [licence for _, licence in origins])
    return voices


def _diversity(manifest: pd.DataFrame) -> pd.DataFrame:
    utterances = manifest.drop_duplicates("utterance_id")
    return pd.DataFrame(
        {
            "scenario": scenario,
            "utterances": len(texts),
            "words": sum(len(words_of(text)) for text in texts),
            "distinct-1": f"{distinct_n(texts, 1):.3f}",
            "distinct-2": f"{distinct_n(texts, 2):.3f}",
        }
        for scenario, texts in [
            *utterances.groupby("scenario")["text"],
            ("all", utterances["text"]),
        ]
    )


def _word_error_rates(spoken: pd.DataFrame, validation: pd.DataFrame) -> pd.DataFrame:
    measured = spoken.merge(validation[["stimulus_id", "wer"]], on="stimulus_id")
    rates = measured.dropna(subset=["wer"]).astype({"wer": float}).groupby("condition")["wer"]
    table = rates.agg(["size", "median", "mean"]).reset_index()
    table.columns = pd.Index(["condition", "clips", "median WER", "mean WER"])
    return table.assign(**{name: table[name].map("{:.3f}".format) for name in table.columns[2:]})


def _sizes(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """The number of clips in each group; what is not known is a group of its own."""
    sizes = frame.groupby(by, dropna=False).size()
    return sizes.rename("clips").reset_index()


def _table(frame: pd.DataFrame) -> str:
    if frame.empty:
        return "None."
    body = frame.itertuples(index=False, name=None)
    rows: list[Iterable[object]] = [frame.columns, ["---"] * len(frame.columns), *body]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _cell(value: object) -> str:
    if value is None or value != value:
        return "unknown"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|")
