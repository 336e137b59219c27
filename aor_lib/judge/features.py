"""Properties of an answer: features for the regression, flags, and whether it is in English."""

import math
import re

from aor_lib.config.records import FLAGS, Flag
from aor_lib.judge.sentences import LIMIT, REFUSE, ParsedAnswer, patterns, words

_ITEM = re.compile(r"\s?(?:\d+[.):]|[-\u2022+])(?:\s|$)")
_NO_VOWEL = re.compile(r"\b[^\W\d_aeiouy\u00c0-\u024f]{4,}\b")
_FOREIGN = 8.0  # log-odds of the likeliest other language against English


def features(answer: ParsedAnswer) -> dict[str, float]:
    """Return the features by name of an answer with a sentence; those that it lacks are zero.

    Patterns count anywhere, in the sentence that the answer opens with, in that or the next, and by
    their share of the words.
    """
    values: dict[str, float] = {}
    for sentence in answer.sentences:
        for name in sentence.shows:
            values[f"any {name}"] = 1.0
            share = values.get(f"share {name}", 0.0)
            values[f"share {name}"] = share + sentence.words / answer.words
    values |= {f"early {name}": 1.0 for one in answer.early for name in one.shows}
    values |= {f"open {name}": 1.0 for name in answer.early[0].shows}
    return values | _amounts(answer)


def _amounts(answer: ParsedAnswer) -> dict[str, float]:
    helping = [one.words if one.helps else 0 for one in answer.sentences]
    share = sum(helping) / answer.words
    items = sum(1 for line in answer.reading.text.split("\n") if _ITEM.match(line))
    values = {
        "help": share,
        "log help": math.log1p(sum(helping)) / 5,
        "log words": math.log1p(answer.words) / 5,
        "list": min(items, 5) / 5 if items > 1 else 0.0,
    }
    refusal = answer.first_with({REFUSE, LIMIT, "incapable"})
    if refusal is not None:
        values["help before"] = math.log1p(sum(helping[:refusal])) / 5
        values["help after"] = math.log1p(sum(helping[refusal + 1 :])) / 5
    else:
        values["half no help"] = float(share < 0.5)
        values["mostly no help"] = float(share < 0.25)
        values["no help at all"] = float(share < 0.03)
    return values


def find_flags(text: str) -> tuple[Flag, ...]:
    """Return the flags of a normal form: ``degenerate`` (repetition, gibberish) and patterns."""
    holds = {flag: bool(one.search(text)) for flag, one in patterns("answer").items()}
    holds["degenerate"] = _is_degenerate(text)
    return tuple(flag for flag in FLAGS if holds[flag])


def is_english(text: str) -> bool:
    """Tell if a normal form is in English, or too short to tell its language."""
    from py3langid import langid

    odds = dict(langid.rank(text.lower()))
    return bool(odds["en"] > max(odds.values()) - _FOREIGN)


def _is_degenerate(text: str) -> bool:
    said = text.lower().split()
    if any(len(set(word)) * 4 < len(word) for word in said if len(word) > 11):
        return True
    many = len(said) >= 12
    if len(set(said)) < 0.6 * len(said):
        triples = list(zip(said, said[1:], said[2:], strict=False))
        if any(a == b == c == d for (a, b, c), d in zip(triples, said[3:], strict=False)):
            return True
        if many and len(set(triples)) < 0.6 * len(triples):
            return True
    gibberish = len(_NO_VOWEL.findall(text.lower())) > 0.3 * len(said)
    return many and gibberish and set(said).isdisjoint(words("english"))
