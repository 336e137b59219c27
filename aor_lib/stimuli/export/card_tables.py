"""The data card's tables: counts of a manifest, as Markdown.

``frame`` is always the manifest (columns: the fields of :class:`aor_lib.config.records.Stimulus`),
and ``spoken`` its rows with sound.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from aor_lib.config.records import Condition, Intent
from aor_lib.stimuli.diversity import distinct_n, words_of
from aor_lib.stimuli.export import statements


def counts(frame: pd.DataFrame) -> str:
    """Stimuli by scenario, intent and split (rows) and condition (columns)."""
    by = ["scenario", "intent", "split"]
    counts = pd.crosstab([frame[name] for name in by], frame["condition"])
    counts = counts[[c.value for c in Condition if c.value in counts]].reset_index()
    intents = {intent.value: position for position, intent in enumerate(Intent)}
    counts = counts.sort_values(
        by, key=lambda column: column.map(intents) if column.name == "intent" else column
    )
    total = ["all", "", "", *counts.drop(columns=by).sum()]
    return _table(counts.columns, [*counts.itertuples(index=False, name=None), total])


def splits(frame: pd.DataFrame) -> str:
    """Size of each split."""
    rows = [
        (
            split,
            len(group),
            group["path"].notna().sum(),
            f"{group['duration_s'].sum() / 3600:.2f}",
            group["utterance_id"].nunique(),
        )
        for split, group in frame.groupby("split")
    ]
    return _table(["split", "stimuli", "clips", "hours", "utterances"], rows)


def voices(spoken: pd.DataFrame) -> str:
    """Clips by voice, emotion and rate, with who made the voice."""
    by = ["voice", "gender", "emotion", "rate"]
    # Every clip with a voice counts, also where something else about it is not known.
    groups = spoken.dropna(subset=["voice"]).groupby(by, dropna=False).size()
    rows = [
        (voice, *others, *statements.voice_origin(voice), count)
        for voice, *others, count in _tuples(groups)
    ]
    return _table([*by, "made by", "licence", "clips"], rows)


def snrs(spoken: pd.DataFrame) -> str:
    """Clips by SNR and condition."""
    groups = spoken.dropna(subset=["snr_db"]).groupby(["snr_db", "condition"]).size()
    rows = [(f"{snr:g}", condition, count) for snr, condition, count in _tuples(groups)]
    return _table(["SNR, dB", "condition", "clips"], rows)


def diversity(frame: pd.DataFrame) -> str:
    """Distinct-1 and distinct-2 of the utterances, for each scenario and overall."""
    utterances = frame.drop_duplicates("utterance_id")
    groups = [*utterances.groupby("scenario")["text"], ("all", utterances["text"])]
    rows = [
        (
            name,
            len(texts),
            sum(len(words_of(text)) for text in texts),
            f"{distinct_n(texts, 1):.3f}",
            f"{distinct_n(texts, 2):.3f}",
        )
        for name, texts in groups
    ]
    return _table(["scenario", "utterances", "words", "distinct-1", "distinct-2"], rows)


def backgrounds(frame: pd.DataFrame) -> str:
    """Clips by where their background comes from and its licence."""
    rows = statements.backgrounds(frame)
    kind = rows["background_source"].str.split(":").str[0].rename("source")
    groups = rows.groupby([kind, "background_licence"]).size()
    return _table(["source", "licence", "clips"], _tuples(groups))


def attribution(frame: pd.DataFrame) -> str:
    """A line for each recorded background; none for what the study synthesised itself."""
    rows = statements.backgrounds(frame)
    rows = rows[~rows["background_source"].isin(["procedural", "as found"])]
    if rows.empty:
        return "No background is a recording; none asks for attribution beyond the citation below."
    groups = rows.groupby(["background_source", "background_licence"]).size()
    lines = [f"{source} ({licence}): {count} clips" for source, licence, count in _tuples(groups)]
    return "Recordings, with their licences:\n\n" + bullets(lines)


def word_error_rates(spoken: pd.DataFrame, validation: pd.DataFrame) -> str:
    """How well the speech is understood in each condition."""
    measured = spoken.merge(validation[["stimulus_id", "wer"]], on="stimulus_id")
    groups = measured.dropna(subset=["wer"]).groupby("condition")["wer"]
    rows = [
        (condition, len(wer), f"{wer.median():.3f}", f"{wer.mean():.3f}")
        for condition, wer in groups
    ]
    return _table(["condition", "clips", "median WER", "mean WER"], rows)


def table_rows(rows: Iterable[Iterable[object]]) -> str:
    """Rows of a Markdown table, without its header."""
    cells = ([str(cell).replace("|", "\\|") for cell in row] for row in rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def bullets(lines: Iterable[str]) -> str:
    """A Markdown list."""
    return "\n".join(f"- {line}" for line in lines)


def _tuples(counts: pd.Series) -> list[tuple[Any, ...]]:
    """The keys of grouped counts, each with its count at the end."""
    return list(counts.reset_index().itertuples(index=False, name=None))


def _table(header: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    names = list(header)
    lines = table_rows(rows)
    return table_rows([names]) + "\n|" + "---|" * len(names) + f"\n{lines}" if lines else "None."
