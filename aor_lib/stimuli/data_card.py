"""The data card: data_card.md, a Jinja template, with numbers computed from the manifest."""

import json
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import yaml

from aor_lib import __version__
from aor_lib.config.params import PARAMS
from aor_lib.config.profile import Profile
from aor_lib.config.records import DATASET_VERSION
from aor_lib.stimuli.manifest import load_manifest, load_validation
from aor_lib.stimuli.rendering import OWN_LICENCE

_CREDIT = ["file", "source", "author", "licence"]


def data_card(build: Path | str) -> str:
    """README.md of the data set of a built and validated study: front matter and sections."""
    manifest = load_manifest(build)
    profile = Profile.model_validate_json(manifest.attrs["profile"])
    spoken = manifest[manifest["path"].notna()]
    validation = load_validation(build)[["stimulus_id", "wer"]].dropna()
    wer = spoken.merge(validation, on="stimulus_id").groupby("condition")["wer"]
    splits = manifest.groupby("split").agg(
        stimuli=("stimulus_id", "size"),
        clips=("path", "count"),
        utterances=("utterance_id", "nunique"),
    )
    by = [manifest[name] for name in ("scenario", "intent", "split")]
    # The sound bank is of this machine, and another one may lack it.
    shown = profile.model_dump(mode="json", exclude={"sound_bank"}, exclude_none=True)
    template = jinja2.Template(Path(__file__).with_suffix(".md").read_text(encoding="utf-8"))
    card: str = template.render(
        version=__version__,
        dataset_version=DATASET_VERSION,
        study=profile,
        profile=yaml.safe_dump(shown, sort_keys=False),
        citation=citation(),
        bibtex=bibtex(),
        licences=licences(manifest),
        own_licence=OWN_LICENCE,
        manifest=manifest,
        spoken=spoken,
        table=lambda frame: frame.to_markdown(index=False) if len(frame) else "None.",
        counts=pd.crosstab(by, manifest["condition"]).reset_index(),
        splits=splits.reset_index(),
        voices=_count(spoken, ["voice", "gender", "emotion"]),
        recordings=_recordings(manifest),
        wer=wer.agg(["size", "median", "mean"]).astype(float).round(3).reset_index(),
    )
    return card


def citation() -> dict[str, Any]:
    """The study's CITATION.cff."""
    return dict(yaml.safe_load((PARAMS.parent / "CITATION.cff").read_text(encoding="utf-8")))


def bibtex() -> str:
    """The study's citation as BibTeX."""
    return (PARAMS.parent / "CITATION.bib").read_text(encoding="utf-8")


def licences(manifest: pd.DataFrame) -> list[str]:
    """Every licence that some part of the data is under."""
    return sorted({OWN_LICENCE, *_recordings(manifest)["licence"]})


def _recordings(manifest: pd.DataFrame) -> pd.DataFrame:
    # Each recording that is heard, in a clip or in an earlier turn, and the number of stimuli.
    heard = []
    names = ["stimulus_id", "background_sounds", "history"]
    for stimulus, sounds, history in manifest[names].itertuples(index=False):
        earlier = [turn.get("background_sounds") for turn in json.loads(history)]
        for text in (sounds, *earlier):
            recorded = json.loads(text)["recorded"] if isinstance(text, str) else []
            heard += [(stimulus, *(recording[name] for name in _CREDIT)) for recording in recorded]
    each = pd.DataFrame(heard, columns=["stimulus_id", *_CREDIT], dtype=str).drop_duplicates()
    return _count(each, _CREDIT)


def _count(clips: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    return clips[by].value_counts().sort_index().reset_index(name="clips")
