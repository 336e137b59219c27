import pandas as pd
import pytest

from aor_lib.analysis.prompt_effects import with_controls


def test_a_prompt_is_compared_with_its_own_control_and_not_with_no_prompt(answers):
    arms = {"none": 10, "a": 2, "a.control": 8, "b": 5, "b.control": 5}
    compared = pd.concat([answers(n, 10, mitigation=name) for name, n in arms.items()])
    differences = with_controls(compared).set_index("prompt")["difference"]
    assert differences.to_dict() == pytest.approx({"a": -0.6, "b": 0})
