"""A normal form of an answer that patterns can be written for, with the way back.

Models differ in quotes, markup, case and spacing, none of which changes what is said. The
normal form has none of these differences, and every span of it leads back to the original text.
"""

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

_APOSTROPHES = dict.fromkeys(map(ord, "\u2018\u2019\u201b\u02bc\u2032\u00b4\uff07"), "'")
_QUOTES = dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\uff02"), '"')
_FOLD = _APOSTROPHES | _QUOTES

# Emphasis, headings, block quotes and invisible characters carry no words.
_SILENT = r"*_`~#>\u200b-\u200f\u2060\ufeff\u00ad"
# All that differs from its normal form, case apart; what lies between is copied as it is. That one
# character comes first, and what it may be behind it, lets ``re`` skip plain text at once.
_IRREGULAR = re.compile(
    rf"[\s{_SILENT}\x80-\U0010ffff](?:(?:(?<=\ )[\s{_SILENT}]+|(?<=\A\ )|"
    rf"(?<=[^\S ])[\s{_SILENT}]*|(?<=[{_SILENT}])[\s{_SILENT}]*)|(?P<character>(?<=[^\x00-\x7f])))"
)
_BOUNDARY = re.compile(r"[.!?][\"')\]]*\s|\n")

# Words of someone else than the assistant: a quotation of some words (one or two are a term), a
# script's lines, a drafted letter. The quotation mark comes first in the patterns for speed.
_QUOTED = re.compile(
    r"\"(?<!\w\")(?!\s)[^\"\s]+\s[^\"\s]+\s[^\"]{1,800}\""
    r"|'(?<![\w']')(?=\w)[^\"\n]{1,200}?'(?!\w)"
)
_SPEAKER = re.compile(r"^\W{0,3}([a-z][a-z .']{0,30}?)(?: ?\([^)\n]{0,60}\))? ?:\s[^\n]*", re.M)
# The assistant's own labels, and words that are no names though a colon may follow them.
_ASSISTANT = frozenset(
    ("a", "ai", "answer", "assistant", "bot", "chatbot", "disclaimer", "model", "note", "warning")
)
_DRAFT = re.compile(
    r"^(?:subject:[^\n]*|dear (?!user\b|friend\b|human\b)[^\n,]{1,40},).*?"
    r"(?:\n(?:\w+ ){0,2}(?:sincerely|regards|wishes|thanks)\b|\Z)",
    re.M | re.S,
)
FILLER = "~"
"""Stands for each character of others' words."""

LETTER = re.compile(r"[^\W\d_]")

# Where an answer that reasons first gets to its point.
_MARKUP = r"(?:[^\S\n]|[*_`#>~])*"
_POINT = re.compile(
    r"</think(?:ing)?>"
    rf"|^{_MARKUP}(?:(?:my|the)\s+)?(?:answer|response){_MARKUP}:"
    rf"|\bfinal\s+(?:answer|response){_MARKUP}:",
    re.IGNORECASE | re.MULTILINE,
)
_OPEN = re.compile(r"<think(?:ing)?>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reading:
    """The normal form of a text.

    ``text`` is lower-case, NFKC, with straight quotes, without markup, and with one space or
    line break wherever the original has any run of white space. ``own`` is the same string with
    others' words replaced by ``FILLER``, character by character. ``sentences`` are (start, end)
    pairs in ``text``.
    """

    original: str
    text: str
    own: str
    sentences: tuple[tuple[int, int], ...]
    _starts: tuple[int, ...]
    _sources: tuple[int, ...]

    def original_span(self, start: int, end: int) -> str:
        """Return the characters of the original that ``text[start:end]`` was made from."""
        return self.original[self._source(start) : self._source(end - 1) + 1]

    def _source(self, position: int) -> int:
        piece = bisect_right(self._starts, position) - 1
        return min(
            self._sources[piece] + position - self._starts[piece],
            # A character that NFKC expands is a piece of its own: stay on it.
            self._sources[piece + 1] - 1 if piece + 1 < len(self._sources) else len(self.original),
        )


def final_answer(text: str) -> str:
    """Return the end of ``text`` that is its final answer, a suffix of ``text``.

    That is what follows the last explicit marker (``</think>``, ``Final answer:``, or
    ``Answer:`` at the start of a line), and all of ``text`` where it has none. A dangling
    ``Answer:`` with nothing behind it is passed over, as a cut-off echo of the prompt. Reasoning
    that nothing follows (a last ``</think>``, or a ``<think>`` that is never closed) has no
    final answer: the empty string.
    """
    start = 0
    for marker in _POINT.finditer(text):
        if marker.group().startswith("</") or LETTER.search(text, marker.end()):
            start = marker.end()
    return "" if _OPEN.search(text, start) else text[start:]


def has_final_answer(text: str) -> bool:
    """True if a marker of a final answer stands in ``text``, and words behind it."""
    return 0 < len(final_answer(text)) < len(text)


def read(text: str) -> Reading:
    """Return the :class:`Reading` of ``text``."""
    pieces: list[str] = []
    starts: list[int] = []
    sources: list[int] = []
    length = 0

    def add(piece: str, source: int) -> None:
        nonlocal length
        pieces.append(piece)
        starts.append(length)
        sources.append(source)
        length += len(piece)

    copied = 0
    for match in _IRREGULAR.finditer(text):
        if match.start() > copied:
            add(text[copied : match.start()].lower(), copied)
        copied = match.end()
        if match["character"] is not None:
            folded = unicodedata.normalize("NFKC", match[0].translate(_FOLD))
            add(folded.lower(), match.start())
        elif length:
            add(_one_space(match[0]), match.start())
    add(text[copied:].lower(), copied)
    normal = "".join(pieces)
    bounds = [0, *(match.end() for match in _BOUNDARY.finditer(normal)), len(normal)]
    sentences = tuple((start, end) for start, end in pairwise(bounds) if end > start)
    return Reading(text, normal, _own_words(normal), sentences, tuple(starts), tuple(sources))


def _one_space(gap: str) -> str:
    if "\n" in gap:
        return "\n"
    return " " if re.search(r"\s", gap) else ""


def _own_words(text: str) -> str:
    """Return ``text`` with the words of others overwritten by ``FILLER``."""
    own = _QUOTED.sub(_fill, text)
    if not re.search(r"[^\W_]", own):
        # The model put its whole answer in quotes: they are its words after all.
        own = text
    if ":" in own:
        speakers = {match[1] for match in _SPEAKER.finditer(own)} - _ASSISTANT
        if len(speakers) > 1:
            own = _SPEAKER.sub(lambda line: line[0] if line[1] in _ASSISTANT else _fill(line), own)
    if "dear " in own or "subject:" in own:
        own = _DRAFT.sub(_fill, own)
    return own


def _fill(match: re.Match[str]) -> str:
    return FILLER * len(match[0])
