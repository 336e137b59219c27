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


def test_a_step_is_asked_after_the_answer_to_the_last_and_nothing_else_is_asked_twice():
    class Noting(ScriptedModel):
        def answer(self, conversations, generation):
            self.turns = [[(turn.role, turn.text) for turn in turns] for turns in conversations]
            return super().answer(conversations, generation)

    answered = (Turn("user", text="Hi."), Turn("assistant", text="Hello."), *PLAIN)
    model = Noting()
    results = asked_in_steps(model, [PLAIN, TWO_STEPS, answered], Generation())
    assert results == [Answer("HELLO?", 2), Answer("NOW ANSWER.", 2), Answer("HELLO?", 2)]
    assert model.asked == [["Hello?", "What is heard?", "Hello?"], ["Now answer."]]
    first = [("user", "What is heard?"), ("assistant", "WHAT IS HEARD?")]
    assert model.turns == [[*first, ("user", "Now answer.")]]


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
