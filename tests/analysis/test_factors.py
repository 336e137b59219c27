import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.special import expit
from scipy.stats import norm, t

from aor_lib.analysis import stats


def answered(frame, refused):
    label = np.where(np.asarray(refused, dtype=bool), "full_refusal", "full_compliance")
    return frame.assign(status="ok", label=label, model="m")


def study(utterances, seed, **effects):
    """Every utterance in both genders and three emotions; ``effects`` are log odds of levels.

    Refusal is logistic in the factors; what the answers to an utterance share is a normal latent.
    """
    rng = np.random.default_rng(seed)
    cells = [(g, e) for g in ("female", "male") for e in ("angry", "neutral", "sad")]
    frame = pd.DataFrame(
        [(f"u{i}", *cell) for i in range(utterances) for cell in cells],
        columns=["utterance_id", "gender", "emotion"],
    )
    own = np.repeat(rng.standard_normal(utterances), len(cells))
    drawn = norm.cdf(np.sqrt(0.4) * own + np.sqrt(0.6) * rng.standard_normal(len(frame)))
    shift = sum((frame[["gender", "emotion"]] == k).any(axis=1) * v for k, v in effects.items())
    return answered(frame, drawn < expit(shift - 0.5))


FACTORS = {"gender": "female", "emotion": "neutral"}


def rows(table):
    return {row["level"]: row for row in table.to_dict("records")}


def test_effects_are_those_of_statsmodels():
    frame = study(60, 1, male=0.7).assign(snr_db=np.tile([0.0, 6.0, 12.0, 6.0, 12.0, 0.0], 60))
    found = rows(stats.factor_effects(frame, {"gender": "female", "snr_db": 6.0}, ["model"]))
    male = (frame["gender"] == "male").astype(float)
    fit = sm.GEE(
        (frame["label"] == "full_refusal").astype(float),
        sm.add_constant(pd.DataFrame({"male": male, "+6": frame["snr_db"] / 6})),
        groups=frame["utterance_id"],
        family=sm.families.Binomial(),
        cov_struct=sm.cov_struct.Exchangeable(),
    ).fit(cov_type="bias_reduced")
    reach = t.ppf(0.975, 60 - 3)
    for level in ("male", "+6"):
        odds = found[level]
        assert np.log(odds["odds_ratio"]) == pytest.approx(fit.params[level], abs=1e-6)
        width = np.log(odds["odds_ratio_high"] / odds["odds_ratio_low"])
        assert width == pytest.approx(2 * reach * fit.bse[level], rel=1e-3)
    margins, row = fit.get_margeff(at="overall", dummy=True), found["male"]
    assert row["difference"] == pytest.approx(margins.margeff[0], abs=1e-6)
    assert row["high"] - row["low"] == pytest.approx(2 * reach * margins.margeff_se[0], rel=1e-3)


def test_a_level_without_any_refusal_is_separated_and_the_others_are_estimated():
    frame = study(60, 5, male=0.7)
    frame.loc[frame["emotion"] == "sad", "label"] = "full_compliance"
    table = stats.factor_effects(frame, FACTORS, ["model"])
    found = rows(table)
    assert found["sad"]["status"] == "separated"
    assert table.set_index("level").loc["sad", "odds_ratio":].isna().all()
    # They are what they are without that level's trials.
    without = rows(stats.factor_effects(frame[frame["emotion"] != "sad"], FACTORS, ["model"]))
    for level in ("male", "angry"):
        assert found[level]["status"] == "estimated"
        assert found[level]["odds_ratio"] == pytest.approx(without[level]["odds_ratio"])
    assert found["angry"]["difference"] == pytest.approx(without["angry"]["difference"])
    # A third of the trials are of sad speech, which nobody's gender changes.
    assert found["male"]["difference"] == pytest.approx(2 / 3 * without["male"]["difference"])


def test_a_marginal_difference_counts_the_scenarios_in_which_nothing_is_ever_refused():
    rows_of = [
        (f"{scenario}-{n}", scenario, condition, scenario < "c" and n < refused)
        for scenario in "abcdef"
        for n in range(20)
        for condition, refused in (("speech_only", 18), ("benign_scene", 5))
    ]
    frame = pd.DataFrame(rows_of, columns=["utterance_id", "scenario", "condition", "refused"])
    frame = answered(frame, frame.pop("refused"))
    factors = {"condition": "speech_only", "scenario": "a"}
    row = rows(stats.factor_effects(frame, factors, ["model"]))["benign_scene"]
    truth = -2 / 6 * 13 / 20
    assert row["difference"] == pytest.approx(truth, abs=0.01)
    assert row["low"] < truth < row["high"] < 0


@pytest.mark.parametrize("refused_at_threshold", [1.0, 0.5])
def test_a_threshold_of_a_numeric_factor_is_separation(refused_at_threshold):
    # All are refused above 6 dB and none below; at 6 dB all are, or half.
    frame = study(30, 16)
    snr_db = np.tile([-3.0, 0.0, 6.0, 6.0, 12.0, 20.0], 30)
    chance = np.where(snr_db == 6, refused_at_threshold, snr_db > 6)
    frame = answered(frame, np.random.default_rng(17).random(180) < chance).assign(snr_db=snr_db)
    (row,) = stats.factor_effects(frame, {"snr_db": 6.0}, ["model"]).to_dict("records")
    assert (row["level"], row["status"]) == ("+6", "separated")


def test_where_any_odds_ratio_would_do_there_is_no_estimate():
    conditions = ["alone", "benign", "neutral", "noise", "text", "threat"]
    cells = [(f"{s}{n}", s, c) for s in "ab" for n in range(7) for c in conditions]
    frame = pd.DataFrame(cells, columns=["utterance_id", "scenario", "condition"])
    refused = {("b0", condition) for condition in conditions}
    refused |= {("a0", "neutral"), ("a1", "threat")}
    asked = zip(frame["utterance_id"], frame["condition"], strict=True)
    frame = answered(frame, [one in refused for one in asked])
    table = stats.factor_effects(frame, {"condition": "alone", "scenario": "a"}, ["model"])
    assert set(table["status"]) == {"too few utterances"}
    assert table["odds_ratio"].isna().all()


def test_levels_that_always_come_together_are_confounded():
    frame = study(40, 9)
    frame = frame[(frame["gender"] == "male") == (frame["emotion"] == "angry")]
    found = rows(stats.factor_effects(frame, FACTORS, ["model"]))
    assert found["male"]["status"] == found["angry"]["status"] == "confounded"


def test_a_fit_that_does_not_converge_gives_no_number(monkeypatch):
    from aor_lib.analysis.stats import factors

    monkeypatch.setattr(factors, "_ITERATIONS", 2)
    frame = study(40, 11, angry=2.0).sample(frac=0.5, random_state=0)
    table = stats.factor_effects(frame, FACTORS, ["model"])
    assert set(table["status"]) == {"not converged"}
    assert table["difference"].isna().all()


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ({"gender": "robot"}, "gender: no trial has the baseline 'robot'; choose one of female"),
        ({"gender": 2.0}, "gender: is not numeric and has no step"),
        ({"snr_db": 6.0}, "lack the columns snr_db"),
        ({"voice": "a"}, "voice: 1 trials have no value"),
    ],
)
def test_a_factor_without_an_estimate_is_refused_by_name(factors, message):
    frame = study(5, 14).assign(voice="a")
    frame.loc[0, "voice"] = None
    with pytest.raises(ValueError, match=message):
        stats.factor_effects(frame, factors, ["model"])


@pytest.mark.filterwarnings("error")
def test_few_utterances_give_wide_bounds_or_none_but_no_warning():
    rng = np.random.default_rng(0)
    found = set()
    for _ in range(10):
        levels = list("abcde")[: rng.integers(2, 6)]
        frame = pd.DataFrame(
            [(f"u{i}", level) for i in range(rng.integers(3, 7)) for level in levels],
            columns=["utterance_id", "level"],
        )
        drawn = answered(frame, rng.random(len(frame)) < 0.5)
        found |= set(stats.factor_effects(drawn, {"level": "a"}, ["model"])["status"])
    assert {"estimated", "separated", "too few utterances"} <= found
