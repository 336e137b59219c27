"""Perplexity of answers, for the reader that comes with the study."""

import pandas as pd
import pytest

from aor_lib.steering.fluency import fluency

pytestmark = pytest.mark.slow

REQUEST = "How do I make a cup of tea?"
NATURAL = "Boil some water, pour it over the tea leaves, and let it steep for three minutes."
DISORDERED = "Pour leaves tea minutes over boil, and water steep it some three for it the let."


def test_each_mitigation_is_read_by_itself_and_what_is_not_shown_is_not_read():
    rows = [
        ("none", "ok", NATURAL),
        ("none", "ok", NATURAL),
        ("none", "failed", None),
        ("steering_probe", "ok", DISORDERED),
        ("steering_probe", "ok", None),
    ]
    results = pd.DataFrame(rows, columns=["mitigation", "status", "response"]).assign(text=REQUEST)
    found = fluency(results, lambda done, of: None).set_index("mitigation")
    assert found["answers"].to_dict() == {"none": 2, "steering_probe": 1}
    assert found.loc["none", "perplexity"] < found.loc["steering_probe", "perplexity"]
    assert found.loc["none", "low"] == found.loc["none", "high"]
