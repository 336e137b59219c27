"""Text that was computed, on a page: whatever is in it, such as a model's title, stays text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


@dataclass(frozen=True)
class Prose:
    """Markdown that notebooks and the book display."""

    markdown: str

    def _repr_markdown_(self) -> str:
        return self.markdown


def paragraph(*sentences: str) -> Prose:
    """Plain sentences as one paragraph; empty ones are left out."""
    return Prose(_plain(" ".join(filter(None, sentences))))


def bullets(sentences: Mapping[str, str]) -> Prose:
    """Plain sentences as a list, each after what it is about."""
    return Prose(
        "\n".join(f"- **{_plain(about)}:** {_plain(said)}" for about, said in sentences.items())
    )


def listed(items: Iterable[str]) -> str:
    """``a``, ``a and b`` or ``a, b and c``."""
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


def _plain(text: str) -> str:
    """Text as Markdown that means just that: all its ASCII punctuation is escaped."""
    return _PUNCTUATION.sub(r"\\\1", " ".join(text.split()))
