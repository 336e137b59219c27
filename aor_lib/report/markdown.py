"""Computed text on a page: whatever is in it, such as a model's title, stays text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


@dataclass(frozen=True)
class Prose:
    """Markdown that notebooks and the book display."""

    markdown: str

    def _repr_markdown_(self) -> str:
        return self.markdown


def paragraph(text: str) -> Prose:
    """Plain sentences as one paragraph."""
    return Prose(_plain(text))


def bullets(sentences: Mapping[str, str]) -> Prose:
    """Plain sentences as a list, each after what it is about."""
    return Prose(
        "\n".join(f"- **{_plain(about)}:** {_plain(said)}" for about, said in sentences.items())
    )


def nothing_for(title: str) -> Prose:
    """Note in place of a chart or a table that has nothing to show."""
    return Prose(f"*This build holds nothing to show for “{_plain(title)}”.*")


def _plain(text: str) -> str:
    """Text as Markdown that means just that: all its ASCII punctuation is escaped."""
    return _PUNCTUATION.sub(r"\\\1", " ".join(text.split()))
