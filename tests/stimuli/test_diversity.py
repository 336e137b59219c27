import pytest

from aor_lib.stimuli.diversity import distinct_n


def test_distinct_n_grams_are_counted_per_word_within_texts():
    texts = ["Stop the car.", "Stop the bus!"]
    assert distinct_n(texts, 1) == pytest.approx(4 / 6)  # stop, the, car, bus
    assert distinct_n(texts, 2) == pytest.approx(3 / 6)  # stop the, the car, the bus
    assert distinct_n(["don't", "don\u2019t"], 1) == 0.5
    with pytest.raises(ValueError, match="n: must be at least 1, not 0"):
        distinct_n(["a"], 0)
