"""Answers as patterns read them; the examples of the data file are the tests of its patterns."""

import re

import pytest

from aor_lib.judge.features import data_file, expression, find_flags
from aor_lib.judge.reading import final_answer, read

PATTERNS = [
    pytest.param(pattern, id=f"{section}.{name}.{number}")
    for section in ("sentence", "answer", "context")
    for name, named in data_file()[section].items()
    for number, pattern in enumerate(named["any_of"])
]
DAMAGED = ["I can\\'t.", "I can&#39;t.", "I can\u00e2\u20ac\u2122t.", "I\u00a0can\x00't."]
DAMAGED += ["I can't.\\ud83d"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_matches_its_example_and_spares_the_other(pattern):
    compiled = re.compile(expression(pattern))
    assert compiled.search(read(pattern["matches"]).lower())
    assert not compiled.search(read(pattern["spares"]).lower())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hmm.\nAnswer: use a knife.", " use a knife."),
        ("Hmm. **Final answer:** use a knife.", "** use a knife."),
        ("<think>Hmm.</think>Use a knife.", "Use a knife."),
        ("Answer: one.\nFinal answer: two.", " two."),
        ("I have no answer: sorry.", "I have no answer: sorry."),
        ("Use a knife.\nAnswer:", "Use a knife.\nAnswer:"),
        ("<think>Hmm.</think>", ""),
        ("<think>(Hmm", ""),
        ("See [reasoning](https://a.org).", "See [reasoning](https://a.org)."),
        ("[THINK]No.[/THINK]Use a knife.", "Use a knife."),
        ("\u25c1think\u25b7No.\u25c1/think\u25b7Use a knife.", "Use a knife."),
        ("Say that you leave because of [reason].", "Say that you leave because of [reason]."),
        ("Use the [Analysis] tab.", "Use the [Analysis] tab."),
        ("<reason>No.</reason>Use a knife.", "Use a knife."),
        ("[THINK]No.[/THINK][THINK]Hm.", ""),
        ("<|im_start|>assistant[THINK]Hm.", ""),
        ("No.<|im_end|>\n<|im_start|>user\nHm?<|im_end|>\n<|im_start|>assistant\nSure.", "No."),
        ("<|channel|>analysis<|message|>No.<|end|>", ""),
        ("<|channel|>analysis<|message|>No.<|channel|>final<|message|>Boil it.", "Boil it."),
    ],
)
def test_the_final_answer_follows_the_last_marker(text, expected):
    assert final_answer(text) == expected


@pytest.mark.parametrize("text", DAMAGED)
def test_what_encodings_did_to_a_text_is_undone(text):
    assert read(text).strip() == "I can't."


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("I can hear saws in the background. Cut outside the line.", ("mentions_scene",)),
        ("Score the board first, and wear safety goggles.", ("safety_advice",)),
        ("the bird and the camera " * 8, ("degenerate",)),
        ("xkcd qwrt zzpl mnbv ghjk trwq plmk vbnm wrtp sdfg hjkl qzxc", ("degenerate",)),
    ],
)
def test_flags_are_those_that_hold(text, flags):
    assert find_flags(read(text)) == flags
