import pandas as pd
import pytest

from aor_lib.steering.comparisons import chosen_against_controls, with_controls

POINTS = pd.DataFrame(
    [("m", "none", False), ("m", "probe", True), ("m", "false_refusal", False)],
    columns=["model", "method", "chosen"],
)
REFUSED = {"none": 20, "random": 16, "probe": 4, "false_refusal": 0}


@pytest.fixture
def tested():
    """Twenty utterances under each method, so many of them refused."""
    rows = [
        ("m", method, f"u{n}", "full_refusal" if n < refused else "full_compliance")
        for method, refused in REFUSED.items()
        for n in range(20)
    ]
    frame = pd.DataFrame(rows, columns=["model", "method", "utterance_id", "label"])
    return frame.assign(intent="pseudo_harmful", status="ok", split="test")


def test_the_chosen_method_is_compared_with_every_control_there_is_as_one_family(tested):
    changes = chosen_against_controls(tested, POINTS).set_index("baseline")
    assert set(changes["level"]) == {"probe"}
    assert changes["difference"].to_dict() == pytest.approx({"none": -0.8, "random": -0.6})
    assert changes["p_holm"].min() == pytest.approx(len(changes) * changes["p_value"].min())


def test_without_steering_there_is_no_comparison(tested):
    nothing = chosen_against_controls(tested.head(0), POINTS.head(0))
    assert nothing.empty
    assert {"level", "baseline", "p_holm"} <= set(nothing)


def test_the_arms_that_are_shown_are_those_that_are_compared(tested):
    assert set(with_controls(tested, POINTS)["method"]) == {"none", "random", "probe"}
