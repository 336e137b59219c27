"""Differences between emotional and neutral speech, as intended and as measured on the clips."""

from collections.abc import Iterator

import pandas as pd

from aor_lib.audio.speech.emotions import TARGETS

MIN_CLIPS = 8
"""Fewer clips of an emotion than this say little about a median."""
TOLERANCES = {"f0_mean_st": 1.5, "speech_dbfs": 1.5, "speech_s": 0.1}
"""By how much the median change of a measure may differ from what was asked for."""


def emotion_changes(manifest: pd.DataFrame, validation: pd.DataFrame) -> pd.DataFrame:
    """Change of each prosodic measure by each emotion: intended and measured.

    Each clip is compared with the neutral one of the same words, voice and rate, both without a
    background. The level that is asked for is the one that the manifest states: loud speech of a
    voice with high peaks is held down by the limit of the true peak.

    Returns
    -------
    One row per emotion and measure: ``emotion``, ``measure``, ``asked``, ``measured`` (median),
    ``low`` and ``high`` (its quartiles), ``clips``. The measures are differences (``f0_mean_st`` in
    semitones, ``speech_dbfs`` in dB, ``tilt_db_per_octave``) or ratios (``f0_range_st`` and
    ``speech_s``). Empty where emotion is not varied.
    """
    same = ["utterance_id", "voice", "speaking_rate"]
    stated = ["stimulus_id", *same, "emotion", "block", "loudness_lufs"]
    measured = validation.drop(columns="loudness_lufs", errors="ignore")
    clips = manifest[stated].merge(measured, on="stimulus_id")
    clips = clips[clips["f0_mean_st"].notna() & clips["block"].isin(["core", "paralinguistics"])]
    neutral = clips[clips["emotion"] == "neutral"].drop_duplicates(same)
    pairs = clips[clips["emotion"] != "neutral"].merge(neutral, on=same, suffixes=("", "_neutral"))
    level = pairs["loudness_lufs"] - pairs["loudness_lufs_neutral"]
    changes = pd.DataFrame({"emotion": pairs["emotion"]})
    for name in ("f0_mean_st", "speech_dbfs", "tilt_db_per_octave"):
        changes[name] = pairs[name] - pairs[f"{name}_neutral"]
    for name in ("f0_range_st", "speech_s"):
        changes[name] = pairs[name] / pairs[f"{name}_neutral"]
    rows = [
        {
            "emotion": emotion,
            "measure": name,
            "asked": level[group.index].median()
            if name == "speech_dbfs"
            else _asked(str(emotion))[name],
            "measured": group[name].median(),
            "low": group[name].quantile(0.25),
            "high": group[name].quantile(0.75),
            "clips": len(group),
        }
        for emotion, group in changes.groupby("emotion")
        for name in group.columns.drop("emotion")
    ]
    columns = ["emotion", "measure", "asked", "measured", "low", "high", "clips"]
    return pd.DataFrame(rows, columns=columns)


def emotion_violations(changes: pd.DataFrame) -> Iterator[str]:
    """One line for each emotion and measure whose median is not what was asked for."""
    for row in changes.to_dict("records"):
        tolerance = TOLERANCES.get(row["measure"])
        if tolerance is None or row["clips"] < MIN_CLIPS:
            continue
        if abs(row["measured"] - row["asked"]) > tolerance:
            yield (
                f"emotion {row['emotion']}: {row['measure']}: changed by {row['measured']:.2f} "
                f"(median of {row['clips']} clips), {row['asked']:.2f} was asked for"
            )


def _asked(emotion: str) -> dict[str, float]:
    target = TARGETS[emotion]
    return {
        "f0_mean_st": target.f0_mean_st,
        "tilt_db_per_octave": target.tilt_db_per_octave,
        "f0_range_st": target.f0_range,
        "speech_s": target.duration,
    }
