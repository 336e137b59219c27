import pytest

from aor_lib.stimuli.diversity import distinct_n


def test_apostrophes_are_alike_and_part_of_their_word():
    assert distinct_n(["don't", "don\u2019t"], 1) == 0.5


def test_there_are_no_n_grams_of_no_words():
    with pytest.raises(ValueError, match="n: must be at least 1, not 0"):
        distinct_n(["a"], 0)
