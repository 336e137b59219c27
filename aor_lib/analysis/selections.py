"""Selections of trials for the chapters; models fitted on ``dev`` are scored on ``test``."""

from collections.abc import Collection

import pandas as pd

from aor_lib.config.records import Condition, Split
from aor_lib.config.typed_yaml import AorError

NONE = "none"
"""Value for no mitigation, or no history."""
WORDS_ONLY = "words_only"
"""Model id of the words-only baseline."""

REFERENCE_MODELS = (
    "ref-permissive",
    "ref-wordbound",
    "ref-contextual",
    "ref-emotive",
    "ref-lulled",
)
"""Models in which the project planted refusals, in display order."""


class SplitError(AorError, ValueError):
    """Error for data of the wrong split; the message names an utterance."""


def for_scoring(rows: pd.DataFrame, fitted_on: Collection[str]) -> pd.DataFrame:
    """Return the rows if a model fitted on the utterances ``fitted_on`` may be scored on them.

    SplitError if a row's utterance is in ``fitted_on``, or, unless this is empty, not of ``test``.
    """
    for name, split in zip(rows["utterance_id"], rows["split"], strict=True):
        if name in fitted_on:
            raise SplitError(f"utterance {name!r} was fitted on: score other utterances")
        if fitted_on and split != Split.TEST:
            raise SplitError(f"utterance {name!r} is not of the 'test' split: score only 'test'")
    return rows


def of_split(results: pd.DataFrame, split: str) -> pd.DataFrame:
    """Select the trials of a split; imported clips, never used for fitting, belong to ``test``."""
    return results[results["split"].mask(results["block"] == "imported", Split.TEST) == split]


def unmitigated(results: pd.DataFrame) -> pd.DataFrame:
    """Select the trials without a mitigation, such as a prompt or steering."""
    return results[results["arm"] == NONE]


def core(results: pd.DataFrame) -> pd.DataFrame:
    """Select the core design: each utterance in each condition, in a neutral voice."""
    return results[results["block"] == "core"]


def headline(results: pd.DataFrame) -> pd.DataFrame:
    """Select the unmitigated trials of the headline rates: benign scene, or imported clips."""
    plain = unmitigated(results)
    in_scene = (plain["block"] == "core") & (plain["condition"] == Condition.BENIGN_SCENE)
    as_found = (plain["block"] == "imported") & (plain["condition"] == Condition.AS_FOUND)
    return plain[in_scene | as_found]


def context(results: pd.DataFrame) -> pd.DataFrame:
    """Select the unmitigated core trials of the first variant, one in every condition.

    Comparisons of two conditions, and their intervals, thus pair single clips.
    """
    return core(unmitigated(results[results["variant"] == 0]))


def snr(results: pd.DataFrame) -> pd.DataFrame:
    """Select the trials in the benign scene, at every SNR, of utterances with a varied SNR."""
    return _varied(results, "snr_sweep", Condition.BENIGN_SCENE)


def speaker(results: pd.DataFrame) -> pd.DataFrame:
    """Select the trials of speech alone, in every voice, of utterances with a varied voice."""
    return _varied(results, "paralinguistics", Condition.SPEECH_ONLY)


def histories(results: pd.DataFrame) -> pd.DataFrame:
    """Select trials after a history of earlier turns, and trials of the same clip without one.

    ``history_id`` is the id of the history, or ``no_history``.
    """
    plain = unmitigated(results)
    after = plain[plain["block"] == "multi_turn"]
    # The last clip of a conversation is the same clip that the model also answered alone.
    alone = core(plain[plain["sha256"].isin(after["sha256"])])
    after = after[after["sha256"].isin(alone["sha256"])]
    return pd.concat([alone.assign(history_id="no_history"), after], ignore_index=True)


def mitigation(results: pd.DataFrame) -> pd.DataFrame:
    """Select the core trials in the benign scene with prompts, other decodings or neither.

    Adds ``kind``: ``none``, ``prompt``, ``control`` (unrelated prompt) or ``decoding``.
    """
    arms = core(results[results["condition"] == Condition.BENIGN_SCENE])
    arms = arms[arms["method"].isin([NONE, "prompt", "decoding"])]
    arms = arms[arms["stimulus_id"].isin(arms.loc[arms["method"] != NONE, "stimulus_id"])]
    return arms.assign(kind=arms["method"].mask(arms["is_control"], "control"))


def steering(results: pd.DataFrame, arm: str = "steering") -> pd.DataFrame:
    """Select the steered trials of ``arm``, and the unmitigated trials of the same stimuli."""
    steered = results[results["arm"] == arm]
    same = ["model", "revision", "stimulus_id"]
    plain = unmitigated(results).merge(steered[same].drop_duplicates(), on=same)
    return pd.concat([plain, steered], ignore_index=True)


def _varied(results: pd.DataFrame, block: str, condition: Condition) -> pd.DataFrame:
    plain = unmitigated(results[results["variant"] == 0])
    varied = plain["utterance_id"].isin(plain.loc[plain["block"] == block, "utterance_id"])
    return plain[varied & plain["block"].isin(["core", block]) & (plain["condition"] == condition)]
