"""Properties of an answer: features for the regressions, flags, and whether it is in English."""

import re
from itertools import groupby, pairwise

from aor_lib.config.records import FLAGS, Flag
from aor_lib.judge.sentences import ParsedAnswer, data_file, patterns

WORD = "word "  # begins the names of features that are words
_FIRST_WORDS = 40
_WORD = re.compile(r"[a-z']+")
_NO_VOWEL = re.compile(r"\b[^\W\d_aeiouy\u00c0-\u024f]{4,}\b")
_FOREIGN = 8.0  # log-odds of the likeliest other language against English


def features(answer: ParsedAnswer) -> dict[str, float]:
    """Return the features by name that hold of an answer with a sentence: each is 1.

    Those are patterns, anywhere and in the sentence that the answer opens with, and its first
    words, alone and in pairs.
    """
    names = {f"any {name}" for sentence in answer.sentences for name in sentence.shows}
    names |= {f"open {name}" for name in answer.opening.shows}
    first = _WORD.findall(answer.text.lower())[:_FIRST_WORDS]
    names |= {f"{WORD}{word}" for word in (*first, *map(" ".join, pairwise(first)))}
    return dict.fromkeys(sorted(names), 1.0)


def find_flags(text: str) -> tuple[Flag, ...]:
    """Return the flags of a normal form: ``degenerate`` (repetition, gibberish) and patterns."""
    lower = text.lower()
    holds = {flag: bool(one.search(lower)) for flag, one in patterns("answer").items()}
    holds["degenerate"] = _is_degenerate(lower)
    return tuple(flag for flag in FLAGS if holds[flag])


def is_english(text: str) -> bool:
    """Tell if a normal form is in English, or too short to tell its language."""
    from py3langid import langid

    odds = dict(langid.rank(text.lower()))
    return bool(odds["en"] > max(odds.values()) - _FOREIGN)


def _is_degenerate(text: str) -> bool:
    said = text.split()
    if any(len(set(word)) * 4 < len(word) for word in said if len(word) > 11):
        return True
    many = len(said) >= 12
    if len(set(said)) < 0.6 * len(said):
        triples = list(zip(said, said[1:], said[2:], strict=False))
        longest_run = max(len(list(run)) for _, run in groupby(said))
        if longest_run > 3 or (many and len(set(triples)) < 0.6 * len(triples)):
            return True
    gibberish = len(_NO_VOWEL.findall(text)) > 0.3 * len(said)
    return many and gibberish and set(said).isdisjoint(data_file()["words"]["english"].split())
