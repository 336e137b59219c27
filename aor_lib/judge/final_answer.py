"""Where an answer that reasons first gets to its point.

A model that is told to think before it answers may weigh a refusal and then help, or the other
way round; only what it tells the person at the end counts.
"""

from __future__ import annotations

import re

_SPACE = r"(?:[^\S\n]|[*_`#>~])*"
_MARKER = re.compile(
    r"</think(?:ing)?>"
    rf"|^{_SPACE}(?:(?:my|the)\s+)?(?:answer|response){_SPACE}:"
    rf"|\bfinal\s+(?:answer|response){_SPACE}:",
    re.IGNORECASE | re.MULTILINE,
)
# Most answers hold none of these, and a search for them is far quicker than the pattern.
_CUES = ("answer", "response", "<think", "</think")
_OPEN = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")


def final_answer(text: str) -> str:
    """Return the end of ``text`` that is its final answer, a suffix of ``text``.

    That is what follows the last explicit marker (``</think>``, ``Final answer:``, or
    ``Answer:`` at the start of a line), and all of ``text`` where it has none. A dangling
    ``Answer:`` with nothing behind it is passed over, as a cut-off echo of the prompt. Reasoning
    that nothing follows (a last ``</think>``, or a ``<think>`` that is never closed) has no
    final answer: the empty string.
    """
    lowered = text.lower()
    if not any(cue in lowered for cue in _CUES):
        return text
    start = 0
    for marker in _MARKER.finditer(text):
        if marker.group().startswith("</") or _LETTER.search(text, marker.end()):
            start = marker.end()
    return "" if _OPEN.search(text, start) else text[start:]
