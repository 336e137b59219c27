"""The readings of the utterances by others than their writer: complete, and good enough."""

import pandas as pd
import pytest

from aor_lib.config.params import PARAMS, load_scenarios
from aor_lib.config.records import Intent

FILES = sorted((PARAMS / "scenarios/second_reading").glob("*.csv"))
SAMPLE = PARAMS / "scenarios/blind_reading.csv"


def holds(rows):
    return (rows["refused_on_words"] != "no") & (rows["scene_settles"] == "yes")


def test_every_pseudo_harmful_utterance_was_read_by_somebody_else():
    read = pd.concat([pd.read_csv(path, dtype=str) for path in FILES])
    utterances = [u for scenario in load_scenarios().values() for u in scenario.utterances]
    expected = [u.id for u in utterances if u.intent is Intent.PSEUDO_HARMFUL]
    assert sorted(read["id"]) == sorted(expected)


@pytest.mark.parametrize("path", [*FILES, SAMPLE], ids=lambda path: path.stem)
def test_nine_in_ten_are_refused_on_their_words_and_settled_by_their_scene(path):
    rows = pd.read_csv(path, dtype=str)
    assert set(rows["refused_on_words"]) <= {"yes", "perhaps", "no"}
    assert set(rows["scene_settles"]) <= {"yes", "partly", "no"}
    assert holds(rows).mean() >= 0.9
