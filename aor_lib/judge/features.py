"""Features of an answer: speech acts of its sentences (``patterns.yaml``), flags, its language."""

import functools
import re
from collections.abc import Mapping
from itertools import combinations, groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from aor_lib.config.records import FLAGS, Flag
from aor_lib.config.typed_yaml import mapping
from aor_lib.judge.reading import LETTER, read

WORD = "word "  # begins the names of features that are words
_FIRST_WORDS = 40
_WORD = re.compile(r"[a-z']+")
_NO_VOWEL = re.compile(r"\b[^\W\d_aeiouy\u00c0-\u024f]{4,}\b")
_FOREIGN = 8.0  # log-odds of the likeliest other language against English
_ACTS = {"refuse", "incapable", "act_wrong"}  # with one of these, a sentence is no preamble
_BOUNDARY = re.compile(r"[.!?][\"')\]]*\s|\n")
_FRAGMENT = re.compile(r"\{([a-z_]+)\}")


@functools.cache
def patterns(section: str) -> Mapping[str, re.Pattern[str]]:
    """Compile a section of the data file: patterns of lower-case text, by their names."""
    return {
        name: re.compile("|".join(f"(?:{expression(text)})" for text in named["any_of"]))
        for name, named in data_file()[section].items()
    }


@functools.cache
def data_file() -> dict[str, Any]:
    """Read ``patterns.yaml``, which explains each pattern and holds its tests."""
    return mapping(Path(__file__).parent / "patterns.yaml")


def expression(pattern: Mapping[str, str]) -> str:
    """Return the regular expression of a pattern, with its fragments in place."""
    if "words" in pattern:
        return rf"\b(?:{'|'.join(pattern['words'].split())})\b"
    text = pattern["pattern"]
    while name := _FRAGMENT.search(text):
        text = text.replace(name[0], data_file()["fragments"][name[1]])
    return text.replace("\n", "")


class Sentence(NamedTuple):
    """A sentence with letters."""

    text: str
    shows: frozenset[str]  # names of patterns


class ParsedAnswer(NamedTuple):
    """A final answer: its normal form, and its sentences, those in quotations included."""

    text: str
    sentences: list[Sentence]

    @property
    def early(self) -> list[Sentence]:
        """The sentence that the answer opens with, behind any preamble, and the next."""
        first = next((i for i, s in enumerate(self.sentences) if "preamble" not in s.shows), 0)
        return self.sentences[first : first + 2]


def parse(answer: str) -> ParsedAnswer:
    """Read a final answer, and find what its sentences and lines show."""
    text = read(answer)
    bounds = [0, *(match.end() for match in _BOUNDARY.finditer(text)), len(text)]
    sentences = []
    for sentence in (text[start:end] for start, end in pairwise(bounds)):
        if LETTER.search(sentence):
            lower = sentence.lower()
            shows = {name for name, act in patterns("sentence").items() if act.search(lower)}
            if shows & _ACTS:
                shows.discard("preamble")
            sentences.append(Sentence(sentence.strip(), frozenset(shows)))
    return ParsedAnswer(text, sentences)


def features(answer: ParsedAnswer) -> set[str]:
    """Return the names of the features that hold of an answer with a sentence.

    Those are patterns, anywhere, in the sentence that the answer opens with and in pairs in its
    first two; and its first words, alone and in pairs.
    """
    names = {f"any {name}" for sentence in answer.sentences for name in sentence.shows}
    names |= {f"open {name}" for name in answer.early[0].shows}
    early = sorted(frozenset().union(*(sentence.shows for sentence in answer.early)))
    names |= {f"early {act} {other}" for act, other in combinations(early, 2)}
    first = _WORD.findall(answer.text.lower())[:_FIRST_WORDS]
    return names | {f"{WORD}{word}" for word in (*first, *map(" ".join, pairwise(first)))}


def find_flags(text: str) -> tuple[Flag, ...]:
    """Return the flags of a normal form: ``degenerate`` (repetition, gibberish) and patterns."""
    lower = text.lower()
    holds = {flag: bool(pattern.search(lower)) for flag, pattern in patterns("answer").items()}
    holds["degenerate"] = _is_degenerate(lower)
    return tuple(flag for flag in FLAGS if holds[flag])


def why_not_read(answer: ParsedAnswer) -> str | None:
    """Return why an answer is unjudged whatever it says; None: it is not."""
    from py3langid import langid

    if not answer.sentences:
        return "nothing to read"
    if patterns("context")["server_error"].search(answer.text.lower()):
        return "an error of a server"
    # A text that is too short to tell its language is read as English.
    odds = dict(langid.rank(answer.text.lower()))
    return "not English" if odds["en"] < max(odds.values()) - _FOREIGN else None


def _is_degenerate(text: str) -> bool:
    words = text.split()
    if any(len(set(word)) * 4 < len(word) for word in words if len(word) > 11):
        return True
    many = len(words) >= 12
    if len(set(words)) < 0.6 * len(words):
        triples = list(zip(words, words[1:], words[2:], strict=False))
        longest_run = max(len(list(run)) for _, run in groupby(words))
        if longest_run > 3 or (many and len(set(triples)) < 0.6 * len(triples)):
            return True
    gibberish = len(_NO_VOWEL.findall(text)) > 0.3 * len(words)
    return many and gibberish and set(words).isdisjoint(data_file()["words"]["english"].split())
