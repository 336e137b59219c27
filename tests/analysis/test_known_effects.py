import numpy as np
import pandas as pd
import pytest

from aor_lib.analysis.known_effects import measure_known_effects, verdict
from tests.analysis.frames import of_reference_model


def test_every_comparison_of_the_context_chapter_is_held_against_what_was_planted():
    conditions = ("speech_only", "neutral_scene", "threatening_scene", "noise")
    elsewhere = [of_reference_model(20, condition=condition) for condition in conditions]
    trials = pd.concat([of_reference_model(0), of_reference_model(20, split="dev"), *elsewhere])
    measured = measure_known_effects(trials.assign(model="ref-contextual"))
    names = measured["level"] + "-" + measured["baseline"]
    planted = {f"{condition}-benign_scene": "recovered" for condition in conditions}
    others = {f"{condition}-speech_only": "silent" for condition in conditions[1:]}
    assert dict(zip(names, measured["verdict"], strict=True)) == planted | others


@pytest.mark.parametrize(
    ("effect", "difference", "p_holm", "expected"),
    [
        ("less", -0.4, 0.01, "recovered"),
        ("less", 0.4, 0.01, "reversed"),
        ("more", 0.2, 0.2, "not recovered"),
        ("nothing", 0.1, 0.2, "silent"),
        ("nothing", 0.03, 0.01, "unexpected"),
        ("more", 1.0, np.nan, "too few"),
        ("more", 1.0, 1.0, "withheld"),
    ],
)
def test_a_verdict_goes_by_the_adjusted_test(effect, difference, p_holm, expected):
    row = {"known_effect": effect, "difference": difference, "p_holm": p_holm}
    row["withheld"] = expected == "withheld"
    assert verdict(pd.Series(row)) == expected
