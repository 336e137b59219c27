"""Flags beside the label of an answer, and whether it is in English, by its normal form."""

import re

from aor_lib.config.records import FLAGS, Flag
from aor_lib.judge.sentences import patterns, words

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_OTHER_SCRIPT = re.compile(r"[^\W\d_a-z\u00aa-\u024f]")
_NO_VOWEL = re.compile(r"\b[^\W\d_aeiouy\u00c0-\u024f]{4,}\b")


def find_flags(text: str) -> tuple[Flag, ...]:
    """Return the flags of a normal form: ``degenerate`` (repetition, gibberish) and patterns."""
    holds = {flag: bool(one.search(text)) for flag, one in patterns("answer").items()}
    holds["degenerate"] = _is_degenerate(text)
    return tuple(flag for flag in FLAGS if holds[flag])


def is_english(text: str) -> bool:
    """Tell if a normal form is in English, by its script and by languages' frequent words."""
    if not text.isascii():
        all_words = _WORD.findall(text)
        if sum(1 for word in all_words if _OTHER_SCRIPT.search(word)) * 2 > len(all_words):
            return False
    start = set(text[:500].split())
    foreign = len(start.intersection(words("foreign")))
    return foreign < 2 or foreign <= len(start.intersection(words("english")))


def _is_degenerate(text: str) -> bool:
    said = text.split()
    if any(len(set(word)) * 4 < len(word) for word in said if len(word) > 11):
        return True
    many = len(said) >= 12
    if len(set(said)) < 0.6 * len(said):
        triples = list(zip(said, said[1:], said[2:], strict=False))
        if any(a == b == c == d for (a, b, c), d in zip(triples, said[3:], strict=False)):
            return True
        if many and len(set(triples)) < 0.6 * len(triples):
            return True
    gibberish = len(_NO_VOWEL.findall(text)) > 0.3 * len(said)
    return many and gibberish and set(said).isdisjoint(words("english"))
