"""Choices that every chapter makes, as functions from a frame of trials to fewer trials.

Frames are those of :func:`aor_lib.analysis.results.load_results`; where neither a split nor a
mitigation is looked at, a manifest will do as well.

Examples
--------
>>> import pandas as pd
>>> results = pd.DataFrame(
...     {
...         "utterance_id": ["kitchen_1", "kitchen_1", "kitchen_1", "games_1"],
...         "split": ["test", "test", "test", "dev"],
...         "mitigation": ["none", "none", "describe_first", "none"],
...         "block": ["core", "core", "core", "core"],
...         "condition": ["benign_scene", "speech_only", "benign_scene", "benign_scene"],
...     }
... )
>>> headline(results).index.tolist()
[0]
>>> unmitigated(report_split(results)).index.tolist()
[0, 1]
"""

from collections.abc import Collection

import pandas as pd

from aor_lib.config.records import Condition, Split

NO_MITIGATION = "none"
NO_HISTORY = "none"
WORDS_ONLY = "words_only"
"""Model id of the baseline that reads only the words."""

SCENE_CONDITIONS = (
    Condition.BENIGN_SCENE,
    Condition.NEUTRAL_SCENE,
    Condition.THREATENING_SCENE,
)
"""The same words in three kinds of scene."""


def report_split(results: pd.DataFrame) -> pd.DataFrame:
    """Trials that rates are reported on: those of the ``test`` split, and imported clips.

    On ``dev``, the reference models were trained and steering is chosen; nothing of the study
    was fitted on imported clips.
    """
    return results[(results["split"] == Split.TEST) | (results["block"] == "imported")]


def unmitigated(results: pd.DataFrame) -> pd.DataFrame:
    """Trials of the models as they are, without a prompt or steering."""
    return results[results["mitigation"] == NO_MITIGATION]


def core(results: pd.DataFrame) -> pd.DataFrame:
    """Trials of the core design: each utterance in each condition, in one neutral voice."""
    return results[results["block"] == "core"]


def over_scenes(results: pd.DataFrame) -> pd.DataFrame:
    """Core trials over a scene of any kind: benign, neutral or threatening."""
    rows = core(results)
    return rows[rows["condition"].isin(SCENE_CONDITIONS)]


def headline_condition(results: pd.DataFrame) -> pd.DataFrame:
    """Trials in the condition that rates are quoted for: the benign scene.

    Imported clips, whose scene nobody chose, count as they were found.
    """
    in_scene = (results["block"] == "core") & (results["condition"] == Condition.BENIGN_SCENE)
    as_found = (results["block"] == "imported") & (results["condition"] == Condition.AS_FOUND)
    return results[in_scene | as_found]


def headline(results: pd.DataFrame) -> pd.DataFrame:
    """Trials that a model's headline rates rest on.

    These are the :func:`unmitigated` trials of the :func:`report_split` in the
    :func:`headline_condition`.
    """
    return headline_condition(unmitigated(report_split(results)))


def compared_mitigations(results: pd.DataFrame, mitigations: Collection[str]) -> pd.DataFrame:
    """Trials that compare mitigations with none of them, like with like.

    Parameters
    ----------
    mitigations
        Ids in the column ``mitigation``.

    Returns
    -------
    Trials of the :func:`report_split` in the benign scene, under each mitigation and under none,
    of the stimuli that were given with a mitigation.
    """
    arms = core(headline_condition(report_split(results)))
    arms = arms[arms["mitigation"].isin([NO_MITIGATION, *mitigations])]
    mitigated = arms[arms["mitigation"] != NO_MITIGATION]
    return arms[arms["stimulus_id"].isin(mitigated["stimulus_id"])]


def snr_sweep(results: pd.DataFrame) -> pd.DataFrame:
    """Trials in the benign scene, at every SNR, of the utterances whose SNR is varied."""
    swept = results.loc[results["block"] == "snr_sweep", "utterance_id"]
    return results[
        results["utterance_id"].isin(swept)
        & results["block"].isin(["core", "snr_sweep"])
        & (results["condition"] == Condition.BENIGN_SCENE)
    ]


def varied_speech(results: pd.DataFrame) -> pd.DataFrame:
    """Trials of speech alone, in every voice, of the utterances whose voice is varied."""
    varied = results.loc[results["block"] == "paralinguistics", "utterance_id"]
    return results[
        results["utterance_id"].isin(varied)
        & results["block"].isin(["core", "paralinguistics"])
        & (results["condition"] == Condition.SPEECH_ONLY)
    ]


def paired_with_histories(results: pd.DataFrame) -> pd.DataFrame:
    """Trials after a history of earlier turns, and trials of the same clip without one.

    Returns
    -------
    Unmitigated trials whose clip comes both ways, with the column ``history_id``: the history's id
    (params/histories.yaml), or :data:`NO_HISTORY`. Both rows of a pair have the same
    ``condition``: that of the utterance itself.
    """
    plain = unmitigated(results)
    after = plain[plain["block"] == "multi_turn"]
    after = after.assign(history_id=after["stimulus_id"].str.extract(r"\.after_([^.]+)")[0])
    # The last clip of the conversation is the very clip that the others were asked alone.
    alone = core(plain)
    alone = alone[alone["sha256"].isin(after["sha256"])]
    after = after[after["sha256"].isin(alone["sha256"])]
    return pd.concat([alone.assign(history_id=NO_HISTORY), after], ignore_index=True)
