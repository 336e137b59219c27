import numpy as np
import pytest

from aor_lib.analysis.stats import intervals


def test_wilson_reproduces_a_published_example():
    # Newcombe (1998), Statistics in Medicine 17, table I: 81 of 263, and 0 of 20.
    assert intervals.wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert intervals.wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)


@pytest.mark.parametrize(
    ("refused", "sizes", "answers"),
    [
        ([5, 0, 0, 5], [5] * 4, 3),  # copies of an answer count once
        ([1, 0, 1], [1] * 3, 3),
        ([1] * 6, [2] * 6, 12),  # clusters that are all alike leave nothing to correct
    ],
)
def test_clustered_answers_count_as_fewer_independent_ones(refused, sizes, answers):
    found = intervals.effective_answers(np.array(refused, float), np.array(sizes, float))
    assert found == pytest.approx(answers)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("utterances", "answers", "rate", "likeness", "least"),
    [
        (72, 5, 0.3, 0.4, 0.93),
        pytest.param(300, 5, 0.05, 0.4, 0.93, marks=pytest.mark.nightly),
        # One or two such utterances are expected: little for any interval. Percentiles hold 85 %.
        pytest.param(24, 5, 0.05, 0.5, 0.90, marks=pytest.mark.nightly),
    ],
)
def test_the_cluster_bootstrap_covers_95_percent(
    utterances, answers, rate, likeness, least, monkeypatch
):
    # Fewer resamples make the limits less exact and no less right.
    monkeypatch.setattr(intervals, "RESAMPLES", 500)
    rng = np.random.default_rng(utterances)
    shape = 1 / likeness - 1
    own = rng.beta(rate * shape, (1 - rate) * shape, size=(1500, utterances))
    sizes = np.full(utterances, float(answers))
    bounds = np.array(
        [
            intervals.rate_interval(refused.astype(float), sizes)
            for refused in rng.binomial(answers, own)
        ]
    )
    share = np.mean((bounds[:, 0] <= rate) & (rate <= bounds[:, 1]))
    assert least <= share <= 0.98
