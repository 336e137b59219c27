"""The families of tests in the book's chapters, counted on the page Results."""

import pandas as pd

import aor_lib as aor

SCENE, ALONE, SOUNDS = "benign_scene", "speech_only", {"intent": "pseudo_harmful"}


def families(study: aor.Study, split: str) -> pd.DataFrame:
    """One row per family of tests: ``chapter``, ``families`` (1), ``tests``, ``significant``."""
    context, speaker, histories, mitigation, steering = (
        study.select(about, split=split)
        for about in ("context", "speaker", "histories", "mitigation", "steering")
    )
    sounding, earlier = context.where(**SOUNDS), histories.where(**SOUNDS)
    heard = sounding.where(condition=[SCENE, ALONE, "neutral_scene", "noise"])
    scenes = sounding.where(condition=[SCENE, "threatening_scene"])
    alone = sounding.where(
        condition=[c for c in sounding.frame["condition"].unique() if c != SCENE]
    )
    compared = steering.where(role=["none", "chosen", "tried", "random_gate"])
    tested = {
        "Context": [
            heard.paired("condition", baseline=SCENE),
            alone.paired("condition", baseline=ALONE),
            scenes.paired("condition", baseline=SCENE),
            context.where(intent="harmful").paired("condition", baseline=ALONE),
        ],
        "Paralinguistics": [
            speaker.where(**SOUNDS).paired(
                gender="female", emotion="neutral", speaking_rate="normal"
            )
        ],
        "Histories": [
            earlier.paired("history_id", baseline="no_history", by=["condition"]),
            histories.where(intent="harmful").paired(
                "history_id", baseline="no_history", by=["condition"]
            ),
        ],
        "Mitigation": [
            mitigation.where(method="prompt").paired("kind", baseline="control", by=["arm"]),
            mitigation.where(kind=["none", "control"]).paired("mitigation", baseline="none"),
            mitigation.where(kind=["none", "decoding"]).paired("mitigation", baseline="none"),
        ],
        "Steering": [compared.paired("role", baseline="chosen")],
    }
    rows = [
        (chapter, family["p_holm"].count(), family["p_holm"].lt(0.05).sum())
        for chapter, estimates in tested.items()
        for paired in estimates
        for _, family in paired.frame.groupby("model")
    ]
    ranks = steering.steering_verdicts()["p_value"].dropna()
    rows += [("Steering", 1, p_value <= 0.05) for p_value in ranks]
    headline = study.select("headline", split=split).where(**SOUNDS)
    by_scenario = headline.differ("scenario").dropna()
    rows.append(("Scenarios", len(by_scenario), by_scenario.lt(0.05).sum()))
    frame = pd.DataFrame(rows, columns=["chapter", "tests", "significant"])
    return frame[frame["tests"] > 0].assign(families=1)
