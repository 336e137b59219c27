"""The patterns of ``patterns.yaml``, compiled: what a sentence shows, by name.

The data file explains each of them and holds the examples that are their tests.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import model_validator

from aor_lib.config.typed_yaml import Params, did_you_mean, read

PATTERNS = Path(__file__).parent / "patterns.yaml"
"""The file that comes with the library."""

REFUSE, LIMIT, MISHEAR = "refuse", "limit", "mishear"
"""Acts of refusal: declines to help; lacks the knowledge or access that was asked for; cannot make
out the audio."""

ACTS = (REFUSE, LIMIT, MISHEAR)

Span = tuple[int, int]

_FRAGMENT = re.compile(r"\{([a-z_]+)\}")


class Pattern(Params):
    """A regular expression or a list of words, with its meaning and its two examples."""

    means: str
    matches: str
    spares: str
    pattern: str | None = None
    words: str | None = None


class Named(Params):
    """Meaning of a name, which holds where any of its patterns matches."""

    means: str
    any_of: tuple[Pattern, ...]


class PatternFile(Params):
    """The data file: fragments to build patterns of, and patterns by where they are looked for."""

    fragments: dict[str, str]
    sentence: dict[str, Named]
    answer: dict[Literal["mentions_scene", "safety_advice"], Named]
    context: dict[Literal["reported", "contrast", "added"], Named]
    interactions: dict[str, str]

    @model_validator(mode="after")
    def _compiles(self) -> PatternFile:
        for place, pattern in self.patterns():
            try:
                re.compile(self.expression(pattern))
            except (ValueError, re.error) as error:
                value = repr(pattern.words if pattern.pattern is None else pattern.pattern)
                raise ValueError(f"{place}: {value}: {error}") from error
        return self

    def patterns(self) -> Iterator[tuple[str, Pattern]]:
        """Yield each pattern with its place in the file, such as ``sentence.refuse.any_of.0``."""
        for section in ("sentence", "answer", "context"):
            for name, named in getattr(self, section).items():
                for number, pattern in enumerate(named.any_of):
                    yield f"{section}.{name}.any_of.{number}", pattern

    def expression(self, pattern: Pattern) -> str:
        """Return the regular expression of a pattern, with its fragments in place."""
        if (pattern.pattern is None) == (pattern.words is None):
            raise ValueError("give either pattern or words")
        if pattern.words is not None:
            return rf"\b(?:{'|'.join(pattern.words.split())})\b"
        return self._expanded(pattern.pattern or "")

    def _expanded(self, text: str) -> str:
        def fragment(match: re.Match[str]) -> str:
            if match[1] not in self.fragments:
                hint = did_you_mean(match[1], self.fragments)
                raise ValueError(f"unknown fragment {match[0]}{hint}")
            return self._expanded(self.fragments[match[1]])

        return _FRAGMENT.sub(fragment, text.replace("\n", ""))


class Patterns(NamedTuple):
    """Compiled patterns: one for each name, and of acts also each by itself.

    ``interactions`` are the factors of each, by name, and whether they are negated.
    """

    sentence: Mapping[str, re.Pattern[str]]
    answer: Mapping[str, re.Pattern[str]]
    context: Mapping[str, re.Pattern[str]]
    acts: Mapping[str, tuple[re.Pattern[str], ...]]
    interactions: Mapping[str, tuple[tuple[str, bool], ...]]


@functools.cache
def load_patterns() -> Patterns:
    """Read and compile the file of patterns, once."""
    file = read(PATTERNS, PatternFile)

    def compiled(section: Iterable[tuple[str, Named]]) -> dict[str, re.Pattern[str]]:
        return {
            name: re.compile("|".join(f"(?:{file.expression(p)})" for p in named.any_of))
            for name, named in section
        }

    acts = {
        act: tuple(re.compile(file.expression(p)) for p in file.sentence[act].any_of)
        for act in ACTS
    }
    interactions = {
        name: tuple(
            (factor.removeprefix("not "), factor.startswith("not "))
            for factor in product.split(" * ")
        )
        for name, product in file.interactions.items()
    }
    return Patterns(
        sentence=compiled(file.sentence.items()),
        answer=compiled(file.answer.items()),
        context=compiled(file.context.items()),
        acts=acts,
        interactions=interactions,
    )


def find_patterns(sentence: str) -> dict[str, Span]:
    """Return the names that hold for a sentence, each with the (start, end) of a match.

    ``sentence`` is of the ``own`` text of a :class:`aor_lib.judge.reading.Reading`. The span of an
    act is that of its first pattern that matches. An act that is only reported ("tell them that I
    can't help") is left out, and so is a preamble that refuses.
    """
    patterns = load_patterns()
    spans = {
        name: match.span()
        for name, pattern in patterns.sentence.items()
        if (match := pattern.search(sentence))
    }
    for act in ACTS:
        if act in spans:
            matches = (pattern.search(sentence) for pattern in patterns.acts[act])
            spans[act] = next(match.span() for match in matches if match)
            if patterns.context["reported"].search(sentence, 0, spans[act][0]):
                del spans[act]
    if "preamble" in spans and spans.keys() & {REFUSE, "incapable", "act_wrong"}:
        del spans["preamble"]
    return spans
