"""Tables for readers: each estimate with its interval, and what became of every trial."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import pandas as pd

from aor_lib.analysis.sensitivity import BASELINE, BLOCKED, MEASURES, PARTIAL, STRINGS
from aor_lib.report.figures import NOTHING, is_share, odds, scrolling, signed
from aor_lib.report.listening import Html
from aor_lib.report.markdown import Prose, nothing_for
from aor_lib.report.style import cell_title, title_of

NOT_ESTIMATED = {
    "separated": "only refusals, or none, on one side",
    "confounded": "goes along with another factor",
    "too few utterances": "too few utterances",
    "not converged": "the fit did not converge",
}
"""Reasons why :func:`aor_lib.analysis.stats.factor_effects` has no estimate."""

NOT_ESTIMABLE = "not estimable"
_SHORT = 18  # rows of a table that is not folded


def statistics(
    frame: pd.DataFrame, caption: str, names: Mapping[str, str] | None = None
) -> Html | Prose:
    """The :func:`rows` of a frame of :mod:`aor_lib.analysis.stats`, folded under a caption."""
    return table(rows(frame, names), caption, folded=True)


def rows(frame: pd.DataFrame, names: Mapping[str, str] | None = None) -> pd.DataFrame:
    """A frame of :mod:`aor_lib.analysis.stats` in words and numbers for readers.

    First what each row is of, with the titles of ``names``; then the estimates, each with its 95 %
    interval; then the counts: judged answers, and, where there are any, those that failed, were
    blocked or are unjudged, and how many are degenerate.
    """
    columns: dict[str, list[str]] = {}
    for name in map(str, frame.columns[: frame.columns.get_loc("trials")]):
        columns[_HEADINGS.get(name, title_of(name))] = [
            cell_title(name, value, names) for value in frame[name]
        ]
    for name, heading in _SHARES.items():
        if name in frame:
            columns[heading] = [NOTHING if pd.isna(v) else f"{v:.1%}" for v in frame[name]]
    for name, heading in _ESTIMATES.items():
        if name in frame:
            columns[heading] = [_estimate(row, name) for _, row in frame.iterrows()]
    if "p_holm" in frame:
        columns["p (Holm)"] = [_p_value(value) for value in frame["p_holm"]]
    if "status" in frame and (frame["status"] != "estimated").any():
        columns["Why there is none"] = [NOT_ESTIMATED.get(value, "") for value in frame["status"]]
    if "utterances" in frame:
        columns["Utterances"] = [f"{number:.0f}" for number in frame["utterances"]]
    columns["Judged"] = [str(number) for number in frame["judged"]]
    if (frame["judged"] < frame["trials"]).any():
        columns["Judged"] = [_whole(f"{row.judged} of {row.trials}") for row in frame.itertuples()]
        columns["Not judged"] = [_not_judged(row) for _, row in frame.iterrows()]
    if "degenerate" in frame and frame["degenerate"].any():
        columns["Degenerate"] = [str(number) for number in frame["degenerate"]]
    return pd.DataFrame(columns)


def table(rows: pd.DataFrame, caption: str, *, folded: bool = False) -> Html | Prose:
    """Rows as a table under its caption; a note where there are none. Long ones are folded."""
    if rows.empty:
        return nothing_for(caption)
    unfolded = "" if folded or len(rows) > _SHORT else ' open=""'
    return Html(
        f'<details class="aor-table"{unfolded}><summary>{escape(caption)}</summary>'
        f"{scrolling(rows, caption)}</details>"
    )


def headline_changes(
    frame: pd.DataFrame, caption: str, names: Mapping[str, str] | None = None
) -> Html | Prose:
    """A frame of :func:`aor_lib.analysis.sensitivity.headline_changes`, one row per change.

    Each model's column has ORR, HRR and d' as they are, and then how far each change moves them.
    """
    rows = []
    for change, moved in frame.groupby("change", sort=False):
        by_model = moved.pivot(index="model", columns="measure")
        row = {
            "Change": _CHANGES.get(str(change), f"Asked again: {title_of(change, names)}"),
            "Counted otherwise": f"{by_model['otherwise', 'd_prime'].sum():.0f}",
        }
        column = "value" if change == BASELINE else "difference"
        for model, values in by_model[column].iterrows():
            cells = [_headline(name, column, values[name]) for name in MEASURES]
            row[cell_title("model", model, names)] = _whole(" / ".join(cells))
        rows.append(row)
    return table(pd.DataFrame(rows), caption)


def facts(values: Mapping[str, int | float | str], caption: str) -> Html | Prose:
    """Named values as a table."""
    shown = [
        NOTHING if pd.isna(value) else f"{value:,}" if isinstance(value, int) else str(value)
        for value in values.values()
    ]
    return table(pd.DataFrame({"Measure": list(values), "Value": shown}), caption)


_ESTIMATES = {
    "rate": "Refused",
    "odds_ratio": "Odds ratio",
    "difference": "Difference (points)",
    "d_prime": "d\N{PRIME}",
    "criterion": "Criterion c",
}
_CHANGES = {
    BASELINE: "As reported",
    BLOCKED: "Blocked answers count as refusals",
    PARTIAL: "Partial refusals count as compliance",
    STRINGS: "Judged by string matching",
}
_SHARES = {"rate_a": "Refused in the first", "rate_b": "Refused in the second"}
_HEADINGS = {"snr_db": "SNR", "mitigation": "Prompt", "speaking_rate": "Speaking rate"}


def _estimate(row: pd.Series[Any], name: str) -> str:
    if pd.isna(row[name]):
        return NOT_ESTIMABLE if name in ("d_prime", "criterion") else NOTHING
    limits = [f"{name}_{limit}" if f"{name}_{limit}" in row else limit for limit in ("low", "high")]
    value, low, high = (_shown(name, row[column]) for column in (name, *limits))
    return _whole(f"{value} ({low} to {high})")


def _shown(name: str, value: float) -> str:
    if name == "odds_ratio":
        return odds(value)
    if name == "difference":
        return signed(100 * value, "+.1f")
    return f"{value:.1%}" if is_share(name) else signed(value, ".2f")


def _headline(measure: str, column: str, value: float) -> str:
    if pd.isna(value):
        return NOTHING
    sign = "+" if column == "difference" else ""
    if measure == "d_prime":
        return signed(value, f"{sign}.2f")
    return signed(100 * value, f"{sign}.1f") + ("" if sign else "%")


def _whole(text: str) -> str:
    """A text that stays on one line."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _not_judged(row: pd.Series[Any]) -> str:
    known = [
        _whole(f"{row[name]} {name}") for name in ("failed", "blocked", "unjudged") if row[name]
    ]
    return ", ".join(known) or "none"


def _p_value(value: float) -> str:
    if pd.isna(value):
        return NOTHING
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"
