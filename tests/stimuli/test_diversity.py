import math

import pytest

from aor_lib.stimuli.diversity import distinct_n


def test_distinct_n_grams_are_counted_per_word():
    texts = ["Stop the car.", "Stop the bus!"]
    assert distinct_n(texts, 1) == pytest.approx(4 / 6)  # stop, the, car, bus
    assert distinct_n(texts, 2) == pytest.approx(3 / 6)  # stop the, the car, the bus
    assert distinct_n(["one", "two"], 2) == 0


def test_an_apostrophe_is_part_of_its_word_however_it_is_typed():
    assert distinct_n(["don't", "don\u2019t"], 1) == 0.5


def test_without_words_there_is_no_diversity_and_without_n_an_error():
    assert math.isnan(distinct_n(["", "?!"], 1))
    with pytest.raises(ValueError, match="n: must be at least 1, not 0"):
        distinct_n(["a"], 0)
