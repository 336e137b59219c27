import pytest

from aor_lib.config.records import Generation
from aor_lib.models.base import Answer, Failure, Turn
from aor_lib.models.steps import answers_in_steps
from tests.conftest import ScriptedModel

TWO_STEPS = (Turn("user", text="What is heard?"), Turn("user", text="Now answer."))
PLAIN = (Turn("user", text="Hello?"),)


def asked_in_steps(model, conversations, generation):
    came = {}
    for some in answers_in_steps(model, conversations, generation):
        came |= some
    return [came[place] for place in sorted(came)]


def test_the_answer_to_a_step_stands_before_the_next_and_the_last_answer_counts(monkeypatch):
    conversations = []

    def answer(self, asked, generation):
        conversations.extend([(turn.role, turn.text) for turn in turns] for turns in asked)
        return [Answer(turns[-1].text.upper(), 2) for turns in asked]

    monkeypatch.setattr(ScriptedModel, "answer", answer)
    assert asked_in_steps(ScriptedModel(), [TWO_STEPS], Generation()) == [Answer("NOW ANSWER.", 2)]
    assert conversations == [
        [("user", "What is heard?")],
        [("user", "What is heard?"), ("assistant", "WHAT IS HEARD?"), ("user", "Now answer.")],
    ]


def test_conversations_without_steps_and_answered_turns_are_asked_once_beside_those_with_some():
    answered = (Turn("user", text="Hi."), Turn("assistant", text="Hello."), *PLAIN)
    model = ScriptedModel()
    results = asked_in_steps(model, [PLAIN, TWO_STEPS, answered], Generation())
    assert results == [Answer("HELLO?", 2), Answer("NOW ANSWER.", 2), Answer("HELLO?", 2)]
    assert model.asked == [["Hello?", "What is heard?", "Hello?"], ["Now answer."]]


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (Failure("busy"), Failure("step 1: busy")),
        (Failure("filter", blocked=True), Failure("step 1: filter", blocked=True)),
        (Answer(" ", 1), Failure("step 1: empty answer")),
    ],
)
def test_a_step_without_an_answer_is_a_failure_of_the_conversation_alone(first, expected):
    model = ScriptedModel(lambda text: first if text == "What is heard?" else Answer(text, 1))
    results = asked_in_steps(model, [TWO_STEPS, PLAIN], Generation())
    assert results == [expected, Answer("Hello?", 1)]
