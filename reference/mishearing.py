"""Requests as a recogniser may mishear them: with words taken for others that sound like them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping

import numpy as np

_WORD = re.compile(r"[A-Za-z']+")
_STRESS_AND_LENGTH = re.compile("[ˈˌː]")
_ALIKE = 5
"""Number of words that one may be taken for."""
_MORE = 0.6
"""Share of misheard requests with a second word misheard. Whisper mishears about a third of dev's
requests in scenes, in 1.6 words each."""


def mishearing(texts: Iterable[str]) -> Callable[[str, np.random.Generator], str]:
    """Make a function that mishears a text: one word or two of it as others of these ``texts``.

    Every word is taken for one of the five whose phonemes, by espeak-ng, are nearest to its own by
    edit distance. A word that the texts do not hold is heard as it is.
    """
    alike = _sounding_alike(
        frozenset(word for text in texts for word in _WORD.findall(text.lower()))
    )

    def misheard(text: str, rng: np.random.Generator) -> str:
        words = list(_WORD.finditer(text))
        count = min(len(words), 1 + int(rng.random() < _MORE))
        # From the end, so that what is words before stays where it is.
        for number in sorted(rng.choice(len(words), size=count, replace=False), reverse=True):
            place = words[number]
            others = alike.get(place[0].lower(), (place[0],))
            other = others[int(rng.integers(len(others)))]
            other = other.capitalize() if place[0][0].isupper() else other
            text = text[: place.start()] + other + text[place.end() :]
        return text

    return misheard


@functools.lru_cache(maxsize=1)
def _sounding_alike(words: frozenset[str]) -> Mapping[str, tuple[str, ...]]:
    from kokoro_onnx.tokenizer import Tokenizer
    from rapidfuzz import process
    from rapidfuzz.distance import Levenshtein

    ordered, espeak = sorted(words), Tokenizer()
    phonemes = [_STRESS_AND_LENGTH.sub("", espeak.phonemize(word)) for word in ordered]
    alike = process.cdist(
        phonemes, phonemes, scorer=Levenshtein.normalized_similarity, dtype=np.float32
    )
    np.fill_diagonal(alike, 0)
    nearest = np.argsort(-alike, axis=1, kind="stable")[:, :_ALIKE]
    return {
        word: tuple(ordered[int(n)] for n in row)
        for word, row in zip(ordered, nearest, strict=True)
    }
