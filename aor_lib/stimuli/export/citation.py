"""Who made the data and under which licences: from CITATION.cff, the voices and the backgrounds."""

from typing import Any

import pandas as pd
import yaml

from aor_lib.audio.speech import VoiceCard
from aor_lib.config.params import PARAMS
from aor_lib.config.typed_yaml import read

OWN_LICENCE = "Apache-2.0"
"""Licence of the utterances, the procedural scenes and Kokoro's speech."""


def citation() -> dict[str, Any]:
    """The study's CITATION.cff."""
    text = (PARAMS.parent / "CITATION.cff").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def creators() -> list[str]:
    """The names of the authors, people and entities alike."""
    return [
        author.get("name") or f"{author['given-names']} {author['family-names']}"
        for author in citation()["authors"]
    ]


def bibtex() -> str:
    """The reference that CITATION.cff asks for, as BibTeX."""
    cff = citation()
    # In braces of its own a name is not taken apart: these may be groups.
    authors = " and ".join(f"{{{name}}}" for name in creators())
    return (
        "@misc{aor_study,\n"
        f"  title = {{{cff['title']}}},\n"
        f"  author = {{{authors}}},\n"
        f"  note = {{Version {cff['version']}}}\n"
        "}"
    )


def licences(manifest: pd.DataFrame) -> list[str]:
    """Every licence that some part of the data is under; ``unknown`` where none is stated."""
    names = set(backgrounds(manifest)["background_licence"])
    names |= {voice_origin(voice)[1] for voice in manifest["voice"].dropna().unique()}
    return sorted(names | ({OWN_LICENCE} if (manifest["block"] != "imported").any() else set()))


def backgrounds(manifest: pd.DataFrame) -> pd.DataFrame:
    """The rows with a background, or whose background nobody knows (imported clips)."""
    rows = manifest[manifest["background_source"].notna() | (manifest["block"] == "imported")]
    return rows.fillna({"background_source": "as found", "background_licence": "unknown"})


def voice_origin(voice: str) -> tuple[str, str]:
    """The system that speaks a voice, and the licence of its speech."""
    path = PARAMS / "voices" / f"{voice}.yaml"
    if path.is_file():
        card = read(path, VoiceCard)
        return card.kind, card.licence
    return "Kokoro-82M", OWN_LICENCE
