"""Speech acts in the sentences of an answer, by the patterns of ``patterns.yaml``."""

import functools
import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from aor_lib.config.typed_yaml import mapping
from aor_lib.judge.reading import LETTER, read

_ACTS = {"refuse", "incapable", "act_wrong"}  # with one of these, a sentence is no preamble
_BOUNDARY = re.compile(r"[.!?][\"')\]]*\s|\n")
_FRAGMENT = re.compile(r"\{([a-z_]+)\}")


@functools.cache
def patterns(section: str) -> Mapping[str, re.Pattern[str]]:
    """Compile a section of the data file: patterns of lower-case text, by their names."""
    return {
        name: re.compile("|".join(f"(?:{expression(one)})" for one in named["any_of"]))
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
    def opening(self) -> Sentence:
        """The sentence that the answer opens with, behind any preamble."""
        behind = (one for one in self.sentences if "preamble" not in one.shows)
        return next(behind, self.sentences[0])


def parse(answer: str) -> ParsedAnswer:
    """Read a final answer, and find what its sentences and lines show."""
    text = read(answer)
    bounds = [0, *(match.end() for match in _BOUNDARY.finditer(text)), len(text)]
    sentences = []
    for sentence in (text[start:end] for start, end in pairwise(bounds)):
        if LETTER.search(sentence):
            lower = sentence.lower()
            shows = {name for name, one in patterns("sentence").items() if one.search(lower)}
            if shows & _ACTS:
                shows.discard("preamble")
            sentences.append(Sentence(sentence.strip(), frozenset(shows)))
    return ParsedAnswer(text, sentences)
