"""Figures that read without a kernel, and numbers in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import pandas as pd

NOTHING = "\N{EN DASH}"
_MOST = 1000
"""Odds beyond this are not spelled out."""


@dataclass(frozen=True)
class Figure:
    """A chart with a title and a description, for JupyterLab and for pages without a kernel."""

    spec: dict[str, Any]
    title: str
    alt_text: str
    numbers: pd.DataFrame | None = None
    """Rows of the table behind the chart; without them, the chart's largest data set."""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {
            "application/vnd.vegalite.v6+json": self.spec,
            "text/html": self.html(),
            "text/plain": f"{self.title}. {self.alt_text}",
        }

    def html(self) -> str:
        """The figure as it stands in the book, where a script draws it from its specification."""
        # With no "<" left, nothing in the data can close the script element.
        spec = json.dumps(self.spec, ensure_ascii=False).replace("<", "\\u003c")
        numbers = _numbers(self.spec) if self.numbers is None else self.numbers
        return (
            f'<figure class="aor-chart"><figcaption>{escape(self.title)}</figcaption>'
            f'<div class="aor-chart-view" role="img" aria-label="{escape(self.alt_text)}"></div>'
            f'<script type="application/json">{spec}</script>'
            f"<details><summary>The numbers</summary>"
            f"{scrolling(numbers, f'The numbers: {self.title}')}</details></figure>"
        )


def scrolling(rows: pd.DataFrame, label: str) -> str:
    """Rows as an HTML table that scrolls by itself, by keyboard too, where the page is narrow.

    Lines of a cell stay lines.
    """
    for name in rows.columns[rows.dtypes == "Int64"]:  # whose gaps have a text of their own
        rows = rows.assign(**{name: rows[name].astype(object).where(rows[name].notna(), NOTHING)})
    lines = rows.replace("\n", "\N{LINE SEPARATOR}", regex=True)  # to_html shows a newline as \\n
    html = lines.to_html(  # escapes what it shows
        index=False, border=0, na_rep=NOTHING, float_format=lambda value: signed(value, "g")
    )
    html = html.replace("\N{LINE SEPARATOR}", "<br/>")
    return (
        f'<div class="aor-scroll" role="region" tabindex="0" aria-label="{escape(label)}">'
        f"{html}</div>"
    )


def estimate(row: Mapping[Any, Any] | pd.Series[Any], rate: str) -> str:
    """A rate with its interval, from the columns ``rate``, ``rate_low`` and ``rate_high``."""
    low, high = row[f"{rate}_low"], row[f"{rate}_high"]
    return f"{row[rate]:.1%} (95% interval {low:.1%} to {high:.1%})"


def points(difference: float) -> str:
    """A difference of rates in words, such as ``-3.2 points`` with a proper minus sign."""
    return f"{signed(100 * difference, '+.1f')} points"


def signed(number: float, form: str) -> str:
    """A number as ``form`` says, with a proper minus sign."""
    return format(number, form).replace("-", "\N{MINUS SIGN}")


def odds(ratio: float) -> str:
    """An odds ratio, or a bound of one; beyond a thousandfold only that it is."""
    if ratio > _MOST:
        return f"over {_MOST:,}"
    return f"{ratio:.3g}" if ratio > 1 / _MOST else f"under {1 / _MOST:g}"


def in_words(measure: str, value: float) -> str:
    """A value of a measure, as charts and tables show it."""
    if measure.startswith("difference"):
        return points(value)
    return f"{value:.1%}" if is_share(measure) else signed(value, ".3g")


def is_share(column: str) -> bool:
    """True for columns of :mod:`aor_lib.analysis.stats` that hold fractions, shown in percent."""
    return column.startswith(("rate", "low", "high", "difference", "orr", "hrr"))


def _numbers(spec: Mapping[str, Any]) -> pd.DataFrame:
    frame = pd.DataFrame(max(spec["datasets"].values(), key=len))
    shown = {
        str(name).replace("_", " ").capitalize(): [
            NOTHING if pd.isna(value) else in_words(str(name), value) for value in frame[name]
        ]
        if pd.api.types.is_float_dtype(frame[name])
        else frame[name]
        for name in frame
    }
    return pd.DataFrame(shown)
