"""Lexical diversity of a set of sentences."""

import re
from collections.abc import Iterable


def distinct_n(texts: Iterable[str], n: int) -> float:
    """Distinct n-grams of all texts, divided by their number of words: distinct-1, distinct-2, ...

    As defined by Li et al., "A Diversity-Promoting Objective Function for Neural Conversation
    Models" (NAACL 2016), section 5.4: the count is scaled by the number of words, not of n-grams,
    and n-grams do not cross from one text to the next. It falls as texts are added, so that only
    sets of like size compare. Words are lower-cased and without punctuation; NaN without a word.

    Examples
    --------
    >>> distinct_n(["Stop the car.", "Stop the bus!", "Don't!"], 1)  # 5 of 7 words
    0.7142857142857143
    """
    n_words = 0
    seen: set[tuple[str, ...]] = set()
    for text in texts:
        words = words_of(text)
        n_words += len(words)
        seen.update(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
    return len(seen) / n_words if n_words else float("nan")


def words_of(text: str) -> list[str]:
    """The words of a text, lower-cased; an apostrophe is part of its word."""
    return re.findall(r"\w+(?:'\w+)*", text.lower().replace("\u2019", "'"))
