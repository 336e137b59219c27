"""The simulated studies behind the statistics: their tables, and at night they themselves."""

import pandas as pd
import pytest

from benchmarks import intervals, people, verdicts


@pytest.fixture(params=["committed", pytest.param("made anew", marks=pytest.mark.nightly)])
def table_of(request):
    made = {"committed": lambda benchmark, studies: pd.read_csv(benchmark.TABLE)}
    return made.get(request.param, lambda benchmark, studies: benchmark.measure(studies))


def test_intervals_of_95_percent_cover_so_many(table_of):
    assert table_of(intervals, 300)["coverage"].between(0.92, 1.0).all()


def test_rates_that_people_corrected_are_unbiased_and_covered(table_of):
    table = table_of(people, 60)
    assert table["coverage"].mean() == pytest.approx(0.957, abs=0.02)
    assert table["coverage"].min() > 0.8
    assert table["bias"].abs().max() < 0.015


def test_verdicts_that_should_not_be_are_rare(table_of):
    table = table_of(verdicts, 60)
    assert table["now"].max() <= 0.08
    assert (table["before"] > table["now"]).all()
