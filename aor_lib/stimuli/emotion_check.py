"""Differences between emotional and neutral speech, as intended and as measured on the clips."""

from collections.abc import Iterator

import pandas as pd

from aor_lib.audio.speech import RATES
from aor_lib.audio.speech.prosody import TARGETS, SpeechMeasurement

MIN_CLIPS = 8  # the median over fewer clips of an emotion is too noisy
TOLERANCES = {"f0_mean_st": 1.5, "speech_dbfs": 1.5, "speech_s": 0.1}  # of the median change
_SAME = ["utterance_id", "voice"]


def emotion_changes(manifest: pd.DataFrame, validation: pd.DataFrame) -> pd.DataFrame:
    """Intended and measured change of each prosodic measure from neutral speech, by emotion.

    Each clip is compared with a neutral clip of the same words and voice, at the same speaking rate
    if there is one; otherwise durations are scaled for the rate. The intended level is the one in
    the manifest, since the true-peak limit may reduce the level.

    One row per emotion and measure: ``emotion``, ``measure``, ``asked``, ``measured`` (median),
    ``low`` and ``high`` (quartiles), ``clips``. ``f0_range_st`` and ``speech_s`` are ratios.
    """
    measured = validation[["stimulus_id", *SpeechMeasurement.__annotations__]]
    clips = manifest.merge(measured, on="stimulus_id").dropna(subset="f0_mean_st")
    clips = clips[clips["block"].isin(["core", "paralinguistics"])]
    clips = clips.assign(speech_s=clips["speech_s"] * [RATES[r] for r in clips["speaking_rate"]])
    neutral = clips[clips["emotion"] == "neutral"]
    pairs = clips[clips["emotion"] != "neutral"].merge(neutral, on=_SAME, suffixes=("", "_neutral"))
    changed = pairs["speaking_rate"] != pairs["speaking_rate_neutral"]
    pairs = pairs.loc[changed.sort_values(kind="stable").index].drop_duplicates("stimulus_id")
    rows = []
    for emotion, group in pairs.groupby("emotion"):
        target = TARGETS[str(emotion)]
        level = group["loudness_lufs"] - group["loudness_lufs_neutral"]
        for measure, asked, is_ratio in (
            ("f0_mean_st", target.f0_mean_st, False),
            ("f0_range_st", target.f0_range, True),
            ("speech_s", target.duration, True),
            ("speech_dbfs", level.median(), False),
            ("tilt_db_per_octave", target.tilt_db_per_octave, False),
        ):
            before, after = group[f"{measure}_neutral"], group[measure]
            change = after / before if is_ratio else after - before
            rows.append((emotion, measure, asked, *change.quantile([0.5, 0.25, 0.75]), len(change)))
    columns = ["emotion", "measure", "asked", "measured", "low", "high", "clips"]
    return pd.DataFrame(rows, columns=columns)


def emotion_violations(changes: pd.DataFrame) -> Iterator[str]:
    """One line for each emotion and measure whose median is not within tolerance of its target."""
    for row in changes[changes["clips"] >= MIN_CLIPS].to_dict("records"):
        if abs(row["measured"] - row["asked"]) > TOLERANCES.get(row["measure"], float("inf")):
            yield (
                f"emotion {row['emotion']}: {row['measure']}: changed by {row['measured']:.2f} "
                f"(median of {row['clips']} clips), but {row['asked']:.2f} was intended"
            )
