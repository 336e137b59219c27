import pytest

from aor_lib.judge.reading import final_answer


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
