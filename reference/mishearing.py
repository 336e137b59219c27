"""Requests as a recogniser may mishear them, with words replaced by similar-sounding words."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping

import numpy as np

_WORD = re.compile(r"[A-Za-z']+")
_STRESS_AND_LENGTH = re.compile("[ˈˌː]")
_ALIKE = 5
"""Number of candidate replacements for each word."""
_MORE = 0.6
"""Share of misheard requests with a second misheard word. Whisper mishears about a third of the dev
requests in scenes, with 1.6 wrong words each."""


def mishearing(texts: Iterable[str]) -> Callable[[str, np.random.Generator], str]:
    """Make a function that replaces one or two words of a text by similar-sounding words.

    The replacement is one of the five words of ``texts`` whose phonemes (by espeak-ng) are nearest
    to those of the word by edit distance. A word that is not in ``texts`` is kept.
    """
    alike = _sounding_alike(
        frozenset(word for text in texts for word in _WORD.findall(text.lower()))
    )

    def misheard(text: str, rng: np.random.Generator) -> str:
        words = list(_WORD.finditer(text))
        count = min(len(words), 1 + int(rng.random() < _MORE))
        # From the end, so that the positions of earlier words stay valid.
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
