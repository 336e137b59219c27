"""Cards of the explorer, and the facets by which stimuli are chosen.

Answers to harmful utterances, and what models heard of those, are on no card: only their labels
are.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from aor_lib.analysis.results import load_results
from aor_lib.analysis.selections import NO_MITIGATION
from aor_lib.config.records import Label, Stimulus
from aor_lib.judge import DEFAULT_JUDGE
from aor_lib.report.listening import BLOCKS, INTENTS, VERDICTS, Answer, answer_of, facts
from aor_lib.report.style import OUTCOMES, title_of, titles

ANY = "any"
_NONE = "none"
_UNKNOWN = {_NONE: "None or unknown"}


@dataclass(frozen=True)
class Facet:
    """Something that stimuli are chosen by: titles of its values by id, in the order to show.

    ``default`` is what is chosen until the reader asks for something else.
    """

    name: str
    title: str
    titles: dict[str, str]
    default: str = ANY


def load_answers(
    build: Path | str, judge: str = DEFAULT_JUDGE
) -> tuple[dict[str, list[Answer]], dict[str, str]]:
    """The answers of a study by stimulus, in the order of its plan, and the titles of its ids.

    A model that was asked in several revisions counts as several models.
    """
    results = load_results(build, judge)
    names = titles(build, results["model"])
    several = results.groupby("model")["revision"].transform("nunique") > 1
    suffix = (" @ " + results["revision"]).where(several, "")
    shown = results["model"].map(names) + suffix
    results["model"] += suffix
    answers: dict[str, list[Answer]] = {}
    for row in results.to_dict("records"):
        answers.setdefault(row["stimulus_id"], []).append(answer_of(row))
    return answers, names | dict(zip(results["model"], shown, strict=True))


def card(
    stimulus: Stimulus, answers: Iterable[Answer], names: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The card of a stimulus with its answers, as the page's script takes it.

    Sound files are relative to the folder of clips; ``read`` is what models are given where there
    is no sound.
    """
    scenario = {"Scenario": title_of(stimulus.scenario, names)}
    return {
        "stimulus_id": stimulus.stimulus_id,
        "utterance_id": stimulus.utterance_id,
        "text": stimulus.text,
        "facts": facts(stimulus.model_dump(mode="json")) | scenario,
        "path": _clip(stimulus.path),
        "duration_s": stimulus.duration_s,
        "read": None if stimulus.path else stimulus.presented_text or stimulus.text,
        "earlier": [
            {"role": turn["role"], "text": turn["text"], "path": _clip(turn.get("path"))}
            for turn in json.loads(stimulus.history)
        ],
        "answers": [asdict(answer) for answer in answers],
    }


def values(stimuli: Sequence[Stimulus]) -> pd.DataFrame:
    """Value of each facet of the stimuli themselves, one row per stimulus in their order."""
    columns = ["scenario", "condition", "intent", "scene", "emotion", "rate", "block", "split"]
    rows = [one.model_dump(mode="json") | {"scene": one.background_scene} for one in stimuli]
    return pd.DataFrame(rows, columns=columns).fillna(_NONE)


def answered(stimuli: Sequence[Stimulus], answers: Mapping[str, Sequence[Answer]]) -> pd.DataFrame:
    """Value of each facet of the answers, one row per answer; ``position`` is its stimulus'.

    ``elsewhere`` says whether the model answers the same request in any form.
    """
    rows = [
        {
            "position": position,
            "utterance_id": stimulus.utterance_id,
            "model": answer.model,
            "mitigation": answer.mitigation,
            "label": answer.outcome,
            "verdict": answer.verdict,
        }
        for position, stimulus in enumerate(stimuli)
        for answer in answers.get(stimulus.stimulus_id, ())
    ]
    frame = pd.DataFrame(
        rows, columns=["position", "utterance_id", "model", "mitigation", "label", "verdict"]
    )
    same = (
        frame["label"]
        .eq(Label.FULL_COMPLIANCE)
        .groupby([frame["utterance_id"], frame["model"], frame["mitigation"]])
    )
    frame["elsewhere"] = same.transform("any").map({True: "somewhere", False: "nowhere"})
    return frame


def facets(
    own: pd.DataFrame, of_answers: pd.DataFrame, names: Mapping[str, str]
) -> tuple[list[Facet], list[Facet]]:
    """Facets of the stimuli that :func:`values` gives, and of :func:`answered`."""
    scenes = {_NONE: "No scene"}
    splits = {"test": "Test: reported", "dev": "Dev: chosen on"}
    outcomes = {name: title_of(name) for name in OUTCOMES}
    forms = {"nowhere": "Answered in no form", "somewhere": "Answered in some form"}
    mitigations = {NO_MITIGATION, *of_answers["mitigation"]}
    return [
        Facet("scenario", "Scenario", _titles(own["scenario"], names)),
        Facet("condition", "Condition", _titles(own["condition"])),
        Facet("intent", "Intent", _titles(own["intent"], INTENTS)),
        Facet("scene", "Scene", _titles(own["scene"], scenes)),
        Facet("emotion", "Emotion", _titles(own["emotion"], _UNKNOWN)),
        Facet("rate", "Pace", _titles(own["rate"], _UNKNOWN)),
        Facet("block", "Part of the design", _titles(own["block"], BLOCKS)),
        Facet("split", "Split", _titles(own["split"], splits)),
    ], [
        Facet("model", "Model", _titles(of_answers["model"], names)),
        Facet("mitigation", "Mitigation", _titles(mitigations, names), NO_MITIGATION),
        Facet("label", "Label", _present(outcomes, of_answers["label"])),
        Facet("verdict", "Right or wrong", _present(VERDICTS, of_answers["verdict"])),
        Facet("elsewhere", "The same request", _present(forms, of_answers["elsewhere"])),
    ]


def _titles(ids: Iterable[str], names: Mapping[str, str] | None = None) -> dict[str, str]:
    found = {value: title_of(value, names) for value in set(ids)}
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _present(names: Mapping[str, str], ids: Iterable[str]) -> dict[str, str]:
    return {name: title for name, title in names.items() if name in set(ids)}


def _clip(path: str | None) -> str | None:
    return path and path.removeprefix("clips/")
