"""From an answer's text to its final answer, and to the normal form that the judge reads."""

import html
import re
import unicodedata
from contextlib import suppress

_STRAIGHT = str.maketrans(
    "\u2018\u2019\u201b\u02bc\u2032\u00b4\uff07\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\uff02",
    "'''''''" + '""""""""',
)
# White space, and emphasis, headings, block quotes and invisible characters, which hold no words.
_GAP = re.compile(r"[\s*_`~#>\u200b-\u200f\u2060\ufeff\u00ad\x00-\x1f\x7f-\x9f\u0335-\u0338]+")
# Line breaks, quotes and apostrophes as JSON and shells escape them.
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([nrt])|(['\"]))")

LETTER = re.compile(r"[^\W\d_]")

# Marks of reasoning: <think>, [THINK], ◁think▷, <|thinking|>, <seed:think>, any channel but final.
_THOUGHT = (
    r"\s?(?:\w+:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|analysis|reflection|scratchpad)"
    r"(?:_content)?\s?\|?[>\]\u25b7\u27e9]"
)
_BRACKET = r"[<\[\u25c1\u27e8]\|?"
_CHANNEL = r"<\|(?:channel|im_start)\|>\s*"
_OPEN = re.compile(
    rf"(?im)(?:(?:^|[>\]]|assistant)\s*\[(?!reason\])|[<\u25c1\u27e8])\|?{_THOUGHT}(?<!\](?=\())"
    rf"|{_CHANNEL}(?:think|analysis|commentary)\b"
)
_MARKUP = r"(?:[^\S\n]|[*_`#>~])*"
_MARKER = re.compile(
    rf"(?im)(?P<closed>{_BRACKET}/\|?{_THOUGHT}|{_CHANNEL}final\b|<(?:final|answer|output)>)"
    rf"|<\|(?:im_)?end\|>"
    rf"|^{_MARKUP}(?:(?:my|the)\s+)?(?:answer|response|output|final){_MARKUP}:"
    rf"|^#{{1,6}} ?(?:final )?(?:answer|response)[:* ]*$"
    rf"|\bfinal\s+(?:answer|response){_MARKUP}:"
)
_NEXT_TURN = re.compile(r"<\|(?:\w*end|eot_id)\|>\s*<\|(?:\w+\|>\s*)?user")
_TOKEN = re.compile(r"<\|[^|<>\n]{1,30}\|>|\[/?INST\]")
_TAG = re.compile(r"</?[a-z][\w:-]*(?: [^<>\n]{0,200})?/?>", re.IGNORECASE)


def final_answer(text: str) -> str:
    """Return what follows the last mark of reasoning, ``Final answer:`` or line's ``Answer:``.

    Reasoning without an answer behind it, or that is never closed, gives the empty string.
    """
    start, text = 0, _NEXT_TURN.split(text)[0]
    for marker in _MARKER.finditer(text):
        if marker["closed"] or LETTER.search(text, marker.end()):
            start = marker.end()
    return "" if _OPEN.search(text[start:]) else _TOKEN.sub("", text[start:])


def has_final_answer(text: str) -> bool:
    """Tell if a text has a marker of a final answer, and words behind it."""
    return 0 < len(final_answer(text)) < len(_TOKEN.sub("", text))


def read(text: str) -> str:
    """Return a text without differences in quotes, markup, escapes, encoding and spacing.

    It is NFKC, with one space or line break for any run of white space.
    """
    text = html.unescape(text)
    text = _ESCAPED.sub(lambda mark: chr(int(mark[1], 16)) if mark[1] else mark[3] or "\n", text)
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")  # joins escaped pairs
    for wrong in ("cp1252", "latin-1"):  # UTF-8 that was read as this
        with suppress(UnicodeError):
            text = text.encode(wrong).decode("utf-8")
            break
    text = unicodedata.normalize("NFKC", text.translate(_STRAIGHT))
    return _GAP.sub(_space, _TAG.sub(" ", text.translate(_STRAIGHT))).lstrip()


def _space(gap: re.Match[str]) -> str:
    return "\n" if "\n" in gap[0] else " " if any(map(str.isspace, gap[0])) else ""
