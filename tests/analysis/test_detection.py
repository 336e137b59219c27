import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import norm

from aor_lib.analysis import stats


def answers(harmful: tuple[int, int], pseudo: tuple[int, int], times: int = 1) -> pd.DataFrame:
    """Answers to (refused, asked) utterances of each intent, each ``times`` over."""
    rows = [
        (f"{intent}{i}", intent, "ok", "full_refusal" if i < refused else "full_compliance")
        for intent, (refused, asked) in (("harmful", harmful), ("pseudo_harmful", pseudo))
        for i in range(asked)
        for _ in range(times)
    ]
    frame = pd.DataFrame(rows, columns=["utterance_id", "intent", "status", "label"])
    return frame.assign(model="m")


def measure(frame: pd.DataFrame) -> dict:
    (row,) = stats.signal_detection(frame, ["model"]).to_dict("records")
    return row


def test_the_measures_are_those_of_a_probit_regression():
    # L. T. DeCarlo, Psychological Methods 3(2):186-205, 1998: the slope of a probit regression of
    # the answers on the intent is d', its intercept halfway between the intents is -c, and their
    # variance by maximum likelihood is Gourevitch and Galanter's.
    row = measure(answers((45, 60), (30, 100)))
    refused, intent = np.array([1, 0, 1, 0]), np.array([0.5, 0.5, -0.5, -0.5])
    fit = sm.GLM(
        refused,
        sm.add_constant(intent),
        family=sm.families.Binomial(sm.families.links.Probit()),
        freq_weights=np.array([45.5, 15.5, 30.5, 70.5]),
    ).fit()
    criterion, d_prime = -fit.params[0], fit.params[1]
    assert (row["d_prime"], row["criterion"]) == pytest.approx((d_prime, criterion), abs=1e-6)
    # That regression counts the added answer of each intent, so its errors are a little smaller.
    width = row["d_prime_high"] - row["d_prime_low"]
    assert width == pytest.approx(2 * 1.96 * fit.bse[1], rel=0.01)
    assert row["criterion_high"] - row["criterion_low"] == pytest.approx(width / 2)


def test_the_measures_of_a_textbook_example():
    # H = 0.8 and F = 0.4 give d' = 1.095 and c = -0.294 (H. Stanislaw & N. Todorov, Behavior
    # Research Methods, Instruments, & Computers 31(1):137-149, 1999). With very many answers the
    # correction is nothing.
    row = measure(answers((8000, 10000), (4000, 10000)))
    assert (row["d_prime"], row["criterion"]) == pytest.approx((1.095, -0.294), abs=1e-3)


def test_half_an_answer_is_added_to_each_side():
    # Hautus (1995): (x + 0.5) / (n + 1).
    row = measure(answers((10, 10), (0, 20)))
    assert row["d_prime"] == pytest.approx(norm.ppf(10.5 / 11) - norm.ppf(0.5 / 21))
    assert np.isfinite([row["d_prime_low"], row["d_prime_high"]]).all()


def test_a_model_that_refuses_everything_is_quick_and_tells_nothing_apart():
    row = measure(answers((50, 50), (50, 50)))
    assert row["d_prime"] == pytest.approx(0)
    assert row["d_prime_low"] < 0 < row["d_prime_high"]
    assert row["criterion_high"] < 0


def test_refusing_what_is_harmful_alone_is_sensitivity_without_bias():
    row = measure(answers((45, 50), (5, 50)))
    assert row["d_prime_low"] > 1.5
    assert row["criterion"] == pytest.approx(0)


def test_copies_of_the_same_answers_do_not_narrow_the_interval():
    once, copied = (measure(answers((15, 20), (20, 60), times)) for times in (1, 5))
    widths = [row["d_prime_high"] - row["d_prime_low"] for row in (once, copied)]
    assert widths[1] == pytest.approx(widths[0], rel=0.05)


def test_a_group_without_harmful_requests_has_no_sensitivity():
    frame = answers((0, 0), (5, 10))
    row = measure(frame)
    assert np.isnan(row["d_prime"])
    assert (row["trials"], row["utterances"]) == (10, 10)


def test_what_was_not_judged_is_counted_and_benign_requests_are_not():
    frame = answers((5, 10), (5, 10))
    frame.loc[0, ["status", "label"]] = ["failed", None]
    frame.loc[1, "label"] = "unjudged"
    benign = frame.assign(intent="benign")
    row = measure(pd.concat([frame, benign]))
    assert (row["trials"], row["judged"]) == (20, 18)
    assert (row["failed"], row["unjudged"]) == (1, 1)


def test_an_iso_line_runs_from_corner_to_corner_through_its_sensitivity():
    lines = stats.iso_d_prime([0.0, 1.5])
    flat, curved = (line for _, line in lines.groupby("d_prime"))
    assert flat["hrr"].to_numpy() == pytest.approx(flat["orr"].to_numpy())
    assert curved.iloc[[0, -1]][["orr", "hrr"]].to_numpy().tolist() == [[0, 0], [1, 1]]
    inner = curved.iloc[1:-1]
    assert (norm.ppf(inner["hrr"]) - norm.ppf(inner["orr"])).tolist() == pytest.approx([1.5] * 99)
