"""Flags beside the label of an answer, and the detection of English."""

import re

from aor_lib.config.records import FLAGS
from aor_lib.judge.patterns import load_patterns

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_OTHER_SCRIPT = re.compile(r"[^\W\d_a-z\u00aa-\u024f]")
_NO_VOWEL = re.compile(r"\b[^\W\d_aeiouy\u00c0-\u024f]{4,}\b")

_ENGLISH_WORDS = """
the and of to you that it is with for this are be or not can i was as have but if from your by at
an we they my do on will there what how would should cannot can't don't it's
"""
# Frequent words of other languages that are no English words.
_FOREIGN_WORDS = """
der und nicht ich sie ist ein eine zu mit auf für von dass le les des est une pas que vous pour
dans ne avec qui el los las una es por con para como pero más usted il che sono gli della questo
anche het een niet dat van ik voor zijn maar não um uma os você com seu isso nie się że jest jak
och att det inte som är ve bir bu için yang untuk tidak
"""
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_FOREIGN = frozenset(_FOREIGN_WORDS.split())
_FEW_FOREIGN_WORDS = 2
# Characters that show the language.
_ENOUGH = 500

_LONG_WORD = 11
_MANY_WORDS = 12
# Shares of different words, and of different runs of three, below which an answer repeats itself.
_NEW_WORDS = _NEW_TRIPLES = 0.6


def find_flags(text: str) -> tuple[str, ...]:
    """Return the flags that hold for an answer, of :data:`aor_lib.config.records.FLAGS`.

    ``degenerate``: it repeats itself or is gibberish; the others are in ``patterns.yaml``. ``text``
    is the normal form of the answer (:attr:`aor_lib.judge.reading.Reading.text`).
    """
    holds = {"degenerate": _is_degenerate(text)}
    for flag, pattern in load_patterns().answer.items():
        holds[flag] = pattern.search(text) is not None
    return tuple(flag for flag in FLAGS if holds[flag])


def is_english(text: str) -> bool:
    """Tell if the normal form of an answer can be read as English.

    Against it speaks another script than Latin, and more of the frequent words of other languages
    than of English.
    """
    if not text.isascii():
        words = _WORD.findall(text)
        if sum(1 for word in words if _OTHER_SCRIPT.search(word)) * 2 > len(words):
            return False
    start = text[:_ENOUGH].split()
    foreign = len(_FOREIGN.intersection(start))
    return foreign < _FEW_FOREIGN_WORDS or foreign <= len(_ENGLISH.intersection(start))


def _is_degenerate(text: str) -> bool:
    words = text.split()
    if any(len(set(word)) * 4 < len(word) for word in words if len(word) > _LONG_WORD):
        return True
    if len(set(words)) < _NEW_WORDS * len(words):
        triples = list(zip(words, words[1:], words[2:], strict=False))
        if any(a == b == c == d for (a, b, c), d in zip(triples, words[3:], strict=False)):
            return True
        if len(words) >= _MANY_WORDS and len(set(triples)) < _NEW_TRIPLES * len(triples):
            return True
    # Any text that makes sense has frequent words, so that vowels need not be looked for.
    return (
        len(words) >= _MANY_WORDS
        and _ENGLISH.isdisjoint(words)
        and len(_NO_VOWEL.findall(text)) > 0.3 * len(words)
    )
