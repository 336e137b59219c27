"""From an answer's text to its final answer, and to a normal form that patterns are written for."""

import re
import unicodedata
from dataclasses import dataclass
from itertools import pairwise

_STRAIGHT = str.maketrans(
    "\u2018\u2019\u201b\u02bc\u2032\u00b4\uff07\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\uff02",
    "'''''''" + '""""""""',
)

# White space, and emphasis, headings, block quotes and invisible characters, which hold no words.
_GAP = r"\s*_`~#>\u200b-\u200f\u2060\ufeff\u00ad"
_PIECE = re.compile(rf"(?P<gap>[{_GAP}]+)|(?P<other>[^\x00-\x7f])|[^{_GAP}\x80-\U0010ffff]+")
_BOUNDARY = re.compile(r"[.!?][\"')\]]*\s|\n")

# Words of others: a quotation of three words or more, a script's lines (but the assistant's own
# labels, and words that are no names), a drafted letter.
_QUOTED = re.compile(
    r"\"(?<!\w\")(?!\s)[^\"\s]+\s[^\"\s]+\s[^\"]{1,800}\""
    r"|'(?<![\w']')(?=\w)[^\"\n]{1,200}?'(?!\w)"
)
_SPEAKER = re.compile(r"^\W{0,3}([a-z][a-z .']{0,30}?)(?: ?\([^)\n]{0,60}\))? ?:\s[^\n]*", re.M)
_ASSISTANT = frozenset(
    ("a", "ai", "answer", "assistant", "bot", "chatbot", "disclaimer", "model", "note", "warning")
)
_DRAFT = re.compile(
    r"^(?:subject:[^\n]*|dear (?!user\b|friend\b|human\b)[^\n,]{1,40},).*?"
    r"(?:\n(?:\w+ ){0,2}(?:sincerely|regards|wishes|thanks)\b|\Z)",
    re.M | re.S,
)
FILLER = "~"
LETTER = re.compile(r"[^\W\d_]")

_MARKUP = r"(?:[^\S\n]|[*_`#>~])*"
_MARKER = re.compile(
    r"</think(?:ing)?>"
    rf"|^{_MARKUP}(?:(?:my|the)\s+)?(?:answer|response){_MARKUP}:"
    rf"|\bfinal\s+(?:answer|response){_MARKUP}:",
    re.IGNORECASE | re.MULTILINE,
)
_UNCLOSED = re.compile(r"<think(?:ing)?>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reading:
    """The normal form of a text, without differences in quotes, markup, case and spacing."""

    original: str
    text: str  # lower-case NFKC; one space or line break for any run of white space
    own: str  # the same with a FILLER for each character of others' words
    sentences: list[tuple[int, int]]  # start and end in the text
    sources: list[int]  # places of the text's characters in the original

    def original_span(self, start: int, end: int) -> str:
        """Return the characters of the original that ``text[start:end]`` was made from."""
        return self.original[self.sources[start] : self.sources[end - 1] + 1]


def final_answer(text: str) -> str:
    """Return what follows the last ``</think>``, ``Final answer:`` or line's ``Answer:``, or all.

    Reasoning without an answer behind it, or that is never closed, gives the empty string.
    """
    start = 0
    for marker in _MARKER.finditer(text):
        if marker[0].startswith("</") or LETTER.search(text, marker.end()):
            start = marker.end()
    return "" if _UNCLOSED.search(text, start) else text[start:]


def has_final_answer(text: str) -> bool:
    """Tell if a text has a marker of a final answer, and words behind it."""
    return 0 < len(final_answer(text)) < len(text)


def read(text: str) -> Reading:
    """Return the normal form of a text."""
    normal = ""
    sources: list[int] = []
    for match in _PIECE.finditer(text):
        start, end = match.span()
        piece = match[0].lower()
        if match["gap"]:
            space = "\n" if "\n" in piece else " " if any(map(str.isspace, piece)) else ""
            piece = space if normal else ""
        elif match["other"]:
            piece = unicodedata.normalize("NFKC", match[0].translate(_STRAIGHT)).lower()
        normal += piece
        sources += range(start, end) if len(piece) == end - start else [start] * len(piece)
    bounds = [0, *(match.end() for match in _BOUNDARY.finditer(normal)), len(normal)]
    sentences = [(start, end) for start, end in pairwise(bounds) if end > start]
    return Reading(text, normal, _own_words(normal), sentences, sources)


def _own_words(text: str) -> str:
    # Where the whole answer is in quotes, its words are the model's after all.
    own = _QUOTED.sub(_fill, text)
    if not re.search(r"[^\W_]", own):
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
