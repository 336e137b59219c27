import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aor_lib.judge.reading import final_answer, read

# Quotes, markup, markers and characters that NFKC or lower-casing expand.
PARTS = ['"', "'", "\u2019", "**", "_", "\n", "\n\n", " ", "word", "I can't. ", "Dear Ann,"]
PARTS += ["\ufb01", "\u2026", "\u0130", "\u00a0", "\u200b", "- ", "1.", "Ann: Yes."]


@settings(max_examples=40)
@given(st.text(max_size=99) | st.lists(st.sampled_from(PARTS), max_size=30).map("".join))
def test_spans_of_the_normal_form_lead_back_to_the_original(text):
    reading = read(text)
    assert len(reading.own) == len(reading.text)
    assert reading.original_span(0, len(reading.text)) in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use a knife.", "Use a knife."),
        ("Hmm.\nAnswer: use a knife.", " use a knife."),
        ("Hmm. **Final answer:** use a knife.", "** use a knife."),
        ("<think>Hmm.</think>Use a knife.", "Use a knife."),
        ("Answer: one.\nFinal answer: two.", " two."),
        ("I have no answer: sorry.", "I have no answer: sorry."),
        ("Use a knife.\nAnswer:", "Use a knife.\nAnswer:"),
        ("<think>Hmm.</think>", ""),
    ],
)
def test_the_final_answer_follows_the_last_marker(text, expected):
    assert final_answer(text) == expected
