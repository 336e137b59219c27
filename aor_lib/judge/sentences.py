"""Speech acts in the sentences of an answer, by the patterns of ``patterns.yaml``."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from aor_lib.config.typed_yaml import mapping
from aor_lib.judge.reading import LETTER, read, split_sentences

_ACTS = {"refuse", "incapable", "act_wrong"}  # with one of these, a sentence is no preamble
_FRAGMENT = re.compile(r"\{([a-z_]+)\}")


@functools.cache
def patterns(section: str) -> Mapping[str, re.Pattern[str]]:
    """Compile a section of the data file: patterns of lower-case text, by their names."""
    compiled = {}
    for name, named in data_file()[section].items():
        any_of = [expression(one, data_file()["fragments"]) for one in named["any_of"]]
        compiled[name] = re.compile("|".join(f"(?:{one})" for one in any_of))
    return compiled


@functools.cache
def words(name: str) -> list[str]:
    """Return a list of the data file: of words, or of names of patterns."""
    return str(data_file()["words"][name]).split()


@functools.cache
def data_file() -> dict[str, Any]:
    """Read ``patterns.yaml``, which explains each pattern and holds its tests."""
    return mapping(Path(__file__).parent / "patterns.yaml")


def expression(pattern: Mapping[str, str], fragments: Mapping[str, str]) -> str:
    """Return the regular expression of a pattern, with its fragments in place."""
    if "words" in pattern:
        return rf"\b(?:{'|'.join(pattern['words'].split())})\b"
    text = pattern["pattern"]
    while name := _FRAGMENT.search(text):
        text = text.replace(name[0], fragments[name[1]])
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
    """Read a final answer, and find what its sentences show."""
    text = read(answer)
    said = filter(LETTER.search, split_sentences(text))
    return ParsedAnswer(text, [Sentence(one.strip(), _shown(one)) for one in said])


def _shown(sentence: str) -> frozenset[str]:
    lower = sentence.lower()
    shows = {name for name, one in patterns("sentence").items() if one.search(lower)}
    return frozenset(shows - {"preamble"} if shows & _ACTS else shows)
