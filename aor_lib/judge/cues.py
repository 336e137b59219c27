"""Many patterns over one sentence, each tried only where a word of it can occur.

A pattern can only match a sentence with one of its cues. Looking up the beginning of every word
once is far quicker than trying a hundred patterns: of these, a sentence has cues for a few.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

CUE_LENGTH = 4
"""Letters of a word that count; a cue is the beginning of a word, cut here."""

_WORD = re.compile(r"[a-z]+")


class Cued:
    """Named alternatives of patterns; of each name, the first that matches counts.

    ``patterns`` maps a name to pairs of cues and a pattern, in which a space stands for any white
    space. Cues are beginnings of words, separated by spaces; behind a ``&`` stand more, of which
    one has to occur as well; no cues at all fit any sentence. Where the pattern is empty, the cues
    are whole words, and any of them decides.
    """

    def __init__(self, patterns: Mapping[str, tuple[tuple[str, str], ...]]) -> None:
        self.names = tuple(patterns)
        self._patterns: list[tuple[str, re.Pattern[str]]] = []
        # Patterns are bits of an integer: those that a word is a cue for, on either side of the &.
        self._cues: dict[str, tuple[int, int]] = {}
        self._start = (0, 0)
        self._words: dict[str, tuple[str, ...]] = {}
        for name, pairs in patterns.items():
            for cues, pattern in pairs:
                if not pattern:
                    for word in cues.split():
                        self._words[word] = (*self._words.get(word, ()), name)
                    continue
                bit = 1 << len(self._patterns)
                self._patterns.append((name, re.compile(pattern.replace(" ", r"\s"))))
                sides = cues.partition("&")
                for cue in sides[0].split():
                    one, other = self._cues.get(cue[:CUE_LENGTH], (0, 0))
                    self._cues[cue[:CUE_LENGTH]] = (one | bit, other)
                for cue in sides[2].split():
                    one, other = self._cues.get(cue[:CUE_LENGTH], (0, 0))
                    self._cues[cue[:CUE_LENGTH]] = (one, other | bit)
                one, other = self._start
                self._start = (one if sides[0] else one | bit, other if sides[2] else other | bit)

    def find(self, sentence: str) -> dict[str, tuple[int, int]]:
        """Return the names that match ``sentence`` (lower case), with the span of the match.

        The span of a name that a word decides is the whole sentence.
        """
        one, other = self._start
        cues = self._cues
        length = CUE_LENGTH
        words = _WORD.findall(sentence)
        for cue in {word[:length] for word in words}:  # in any order: the sums are the same
            if cue in cues:
                left, right = cues[cue]
                one |= left
                other |= right
        return self._search(sentence, words, one & other)

    def find_without_cues(self, sentence: str) -> dict[str, tuple[int, int]]:
        """Return what :meth:`find` would if it tried every pattern: a check of the cues."""
        words = _WORD.findall(sentence)
        return self._search(sentence, words, (1 << len(self._patterns)) - 1)

    def _search(self, sentence: str, words: list[str], todo: int) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        decisive = self._words
        for word in [word for word in words if word in decisive]:
            for name in decisive[word]:
                found[name] = (0, len(sentence))
        while todo:
            lowest = todo & -todo
            todo ^= lowest
            name, pattern = self._patterns[lowest.bit_length() - 1]
            if name not in found and (match := pattern.search(sentence)):
                found[name] = match.span()
        return found
