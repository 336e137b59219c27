"""Text, tables and charts for notebooks and the book, readable without a kernel.

Their content, such as a model's title or answer, is untrusted text and is escaped.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import pandas as pd

from aor_lib.report.measures import NOTHING, signed

# A number that leads to the explorer, and to nowhere else, whoever wrote it.
_LINK = re.compile(r"\[([\w\s.%()+\u2212\u2013-]+)\]\((explorer\.html#[\w.%=&;+-]+)\)")
_SPECIAL = re.compile(rf"{_LINK.pattern}|[!-/:-@\[-`{{-~]")
_SHORT = 18  # rows of a table that is not folded


@dataclass(frozen=True)
class Prose:
    """Markdown text."""

    markdown: str

    def _repr_markdown_(self) -> str:
        return self.markdown

    def __str__(self) -> str:
        """Return the text without Markdown's escapes and links, for a shell."""
        return re.sub(r"\\(.)|</?a[^>]*>", r"\1", self.markdown)


@dataclass(frozen=True)
class Html:
    """HTML whose untrusted parts are escaped."""

    html: str

    def _repr_html_(self) -> str:
        return self.html


@dataclass(frozen=True)
class Figure:
    """A Vega-Lite chart with its title, a description, and a table of its numbers."""

    spec: dict[str, Any]
    title: str
    description: str
    numbers: pd.DataFrame

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {
            "application/vnd.vegalite.v6+json": self.spec,
            "text/html": self.html,
            "text/plain": f"{self.title}. {self.description}",
        }

    @property
    def html(self) -> str:
        """HTML from which the book's script draws the figure."""
        # With no "<" left, nothing in the data can close the script element.
        spec = json.dumps(self.spec, ensure_ascii=False).replace("<", "\\u003c")
        return (
            f'<figure class="aor-chart"><figcaption>{escape(self.title)}</figcaption>'
            f'<div class="aor-chart-view" role="img" aria-label="{escape(self.description)}"></div>'
            f'<script type="application/json">{spec}</script>'
            f"<details><summary>The numbers</summary>"
            f"{scrolling(self.numbers, f'The numbers: {self.title}')}</details></figure>"
        )


class Figures(tuple[Figure | Prose, ...]):
    """Figures of a faceted plot, one per facet."""

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(*self)


def paragraph(text: str) -> Prose:
    """Format plain sentences as one paragraph."""
    return Prose(_plain(text))


def bullets(sentences: Mapping[str, str]) -> Prose:
    """Format plain sentences as a list, each after its subject in bold."""
    items = [f"- **{_plain(about)}:** {_plain(text)}" for about, text in sentences.items()]
    return Prose("\n".join(items))


def nothing_for(title: str) -> Prose:
    """Note that replaces a chart or table without data."""
    return Prose(f"*Nothing to show in this build: {_plain(title)}.*")


def table(rows: pd.DataFrame, caption: str = "") -> Html | Prose:
    """Format rows as a table with a caption, folded if long; a note if there are no rows."""
    if rows.empty:
        return nothing_for(caption)
    if not caption:
        return Html(scrolling(rows, "Table"))
    unfolded = "" if len(rows) > _SHORT else ' open=""'
    content = f"<summary>{escape(caption)}</summary>{scrolling(rows, caption)}"
    return Html(f'<details class="aor-table"{unfolded}>{content}</details>')


def scrolling(rows: pd.DataFrame, label: str) -> str:
    """Format rows as an HTML table that scrolls on narrow pages, also by keyboard."""
    html = rows.map(_cell).rename(columns=escape).to_html(index=False, border=0, escape=False)
    region = f'<div class="aor-scroll" role="region" tabindex="0" aria-label="{escape(label)}">'
    return f"{region}{html}</div>"


def as_html(text: str) -> str:
    """Convert plain text to HTML; a number with the address of its clips becomes a link."""
    return _LINK.sub(r'<a href="\2">\1</a>', escape(text)).replace("\n", "<br/>")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return NOTHING if pd.isna(value) else signed(value, "g")
    return as_html(str(value))


def _plain(text: str) -> str:
    """Escape the punctuation of plain text for Markdown, except in links to clips."""
    line = " ".join(text.split())
    return _SPECIAL.sub(lambda match: as_html(match[0]) if match[1] else f"\\{match[0]}", line)
