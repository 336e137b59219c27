"""What is said of a data set in words: its citation, licences, uses and limits.

The data card and the Croissant file say the same, so that they cannot disagree.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import yaml

from aor_lib.audio.speech import VoiceCard
from aor_lib.config.params import PARAMS, Study
from aor_lib.config.typed_yaml import read

OWN_LICENCE = "Apache-2.0"
"""Of the utterances, the procedural scenes and Kokoro's speech."""

USES = (
    "Measuring how often audio language models refuse harmless requests that sound harmful, "
    "together with how often they refuse harmful ones: report both.",
    "Studying what a model takes from the sound behind the words: the conditions share utterances.",
    "Comparing mitigations, chosen on the dev split and reported on the test split.",
)
MISUSES = (
    "Training a model to comply regardless: harmful counterparts are part of the data for a "
    "reason, and a low refusal rate alone proves nothing.",
    "Training on the test split, or choosing prompts on it.",
    "Certifying that a model is safe: the requests are few, short and without operational detail.",
    "Imitating or identifying speakers.",
)
SENSITIVE = (
    "No personal data was collected: the speech is synthetic and the utterances were written for "
    "this study and name no real person.",
    "Many utterances are about violence, weapons, drugs or self-harm, and are distressing to some.",
)
IMPORTED_SENSITIVE = (
    "Imported clips are as their authors published them; nobody has checked whose voice or what "
    "personal data they hold."
)


def citation() -> dict[str, Any]:
    """The study's CITATION.cff."""
    text = (PARAMS.parent / "CITATION.cff").read_text(encoding="utf-8")
    content: dict[str, Any] = yaml.safe_load(text)
    return content


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


def references() -> list[str]:
    """The works that the study builds on, from CITATION.cff."""
    return [f"{work['title']}, {work['notes']}" for work in citation().get("references", [])]


def licences(frame: pd.DataFrame) -> list[str]:
    """Every licence that some part of the data is under, as texts; ``unknown`` where none is said.

    ``frame`` holds the manifest.
    """
    found = set(backgrounds(frame)["background_licence"])
    found |= {voice_origin(voice)[1] for voice in frame["voice"].dropna().unique()}
    return sorted(found | ({OWN_LICENCE} if (frame["block"] != "imported").any() else set()))


def backgrounds(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with a background, or whose background nobody knows (imported clips)."""
    rows = frame[frame["background_source"].notna() | (frame["block"] == "imported")]
    return rows.fillna({"background_source": "as found", "background_licence": "unknown"})


def voice_origin(voice: str) -> tuple[str, str]:
    """What makes a voice, and the licence of its speech."""
    path = PARAMS / "voices" / f"{voice}.yaml"
    if path.is_file():
        card = read(path, VoiceCard)
        return card.kind, card.licence
    return "Kokoro-82M", OWN_LICENCE


def summary(frame: pd.DataFrame, study: Study) -> str:
    """What the data set is, in a sentence or two."""
    clips = frame["path"].notna()
    hours = frame["duration_s"].sum() / 3600
    return (
        f"{clips.sum()} clips ({hours:.2f} hours) and {(~clips).sum()} texts that measure "
        "over-refusal of audio language models: spoken requests that sound harmful on their own "
        "and are harmless given the sound behind them, with harmful and benign counterparts. "
        f"Made by the study's profile {study.profile.name!r}."
    )


def collection(frame: pd.DataFrame) -> str:
    """Where texts, speech and backgrounds come from."""
    makers = sorted({voice_origin(voice)[0] for voice in frame["voice"].dropna().unique()})
    sources = backgrounds(frame)["background_source"].str.split(":").str[0].value_counts()
    parts = []
    if (frame["block"] != "imported").any():
        parts.append("The utterances and their readings were written for this study.")
    if makers:
        parts.append(f"They are spoken by text-to-speech systems ({', '.join(makers)}).")
    if len(sources):
        kinds = ", ".join(f"{kind} ({count} clips)" for kind, count in sources.items())
        parts.append(f"Backgrounds: {kinds}.")
    return " ".join(parts)


def limitations(frame: pd.DataFrame) -> list[str]:
    """What the data cannot tell."""
    imported = frame["block"] == "imported"
    said = []
    if frame["voice"].notna().any():
        said.append(
            "The speech is synthetic: cleaner, and with fewer accents and less emotion, than "
            "people's."
        )
    if (frame["background_source"] == "procedural").any():
        said.append(
            "The procedural scenes are synthesised: tidier and more alike than recordings of "
            "the places they stand for."
        )
    if (~imported).any():
        n_scenarios = frame.loc[~imported, "scenario"].nunique()
        said += [
            f"{n_scenarios} scenarios, chosen by the authors, stand for no population of requests.",
            "Whether a scene makes a request harmless was decided by the utterance's author; no "
            "panel of listeners has confirmed it.",
        ]
    if imported.any():
        said.append(
            f"{imported.sum()} imported clips have no label; their text is what a speech "
            "recogniser understood."
        )
    return [*said, "The language is English."]


def biases(frame: pd.DataFrame) -> list[str]:
    """In which ways the data lean."""
    spoken = frame[frame["voice"].notna()]
    said = []
    if len(spoken):
        genders = spoken["gender"].value_counts().sort_index()
        counts = ", ".join(f"{gender} {count}" for gender, count in genders.items())
        said.append(f"Voices: {spoken['voice'].nunique()}; clips by the voice's gender: {counts}.")
    if (frame["block"] != "imported").any():
        said.append(
            "The utterances were written by few people, in one register of English, and reflect "
            "what they find alarming and what they find harmless."
        )
    return said


def sensitive(frame: pd.DataFrame) -> list[str]:
    """What is personal or distressing in the data."""
    imported = frame["block"] == "imported"
    own = SENSITIVE if (~imported).any() else ()
    return [*own, *([IMPORTED_SENSITIVE] if imported.any() else [])]
