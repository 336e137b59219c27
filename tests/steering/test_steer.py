import pytest

from aor_lib.config.records import Generation
from aor_lib.steering import SteeringError, steer
from tests.steering.conftest import Steerable, clips

REFUSED, ANSWERED = clips("pseudo_harmful", 6), clips("benign", 6)


def texts(model, conversations):
    return {answer.text for answer in model.answer(conversations, Generation(max_new_tokens=40))}


def test_a_model_is_steered_from_what_it_refused_and_back():
    model = Steerable()
    refusal, compliance = ({text} for text in model.ANSWERS)
    freed = steer(model, REFUSED[:4], ANSWERED[:4])
    assert texts(freed, REFUSED[4:]) == compliance
    strict = steer(model, REFUSED[:4], ANSWERED[:4], layer=3, coefficient=-1)
    assert texts(strict, ANSWERED[4:]) == refusal
    assert (texts(model, REFUSED), texts(model, ANSWERED)) == (refusal, compliance)


@pytest.mark.parametrize(("refused", "layer"), [([], None), (REFUSED, 4), (REFUSED, -1)])
def test_what_cannot_be_steered_is_refused(refused, layer):
    with pytest.raises(SteeringError, match="layer" if refused else "refused"):
        steer(Steerable(), refused, ANSWERED, layer=layer)
