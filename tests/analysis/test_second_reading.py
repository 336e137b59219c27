"""The second reading of the utterances: complete, and good enough to ship them."""

import shutil

import pytest

from aor_lib.analysis.second_reading import blind_reading, second_reading
from aor_lib.config.params import PARAMS, load_scenarios
from aor_lib.config.records import Intent
from aor_lib.config.typed_yaml import ParamsError


def test_every_pseudo_harmful_utterance_was_read_once():
    utterances = [u for scenario in load_scenarios().values() for u in scenario.utterances]
    expected = [u.id for u in utterances if u.intent is Intent.PSEUDO_HARMFUL]
    assert sorted(second_reading()["id"]) == sorted(expected)


def test_in_nine_of_ten_the_words_would_be_refused_and_the_scene_settles_it():
    assert (second_reading().groupby("scenario")["holds"].mean() >= 0.9).all()
    sample = blind_reading()
    assert sample["id"].nunique() == 120
    assert sample["holds"].mean() >= 0.9


def test_another_answer_is_an_error_that_names_file_utterance_and_column(tmp_path):
    shutil.copytree(PARAMS / "scenarios", tmp_path / "scenarios")
    path = tmp_path / "scenarios/second_reading/film_theatre.csv"
    path.write_text(path.read_text().replace(",yes,", ",maybe,", 1))
    with pytest.raises(
        ParamsError, match=r"film_theatre.csv: film_theatre-ph-\d+: \w+: must be one of"
    ):
        second_reading(tmp_path)
