"""Cards of the explorer, the facets by which stimuli are chosen, and choices to begin with.

Answers to harmful utterances, and what models heard of those, are on no card: only their labels
are.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pandas as pd

from aor_lib.analysis.results import load_results
from aor_lib.analysis.selections import NONE
from aor_lib.config.records import Label, Stimulus
from aor_lib.report.listening import VERDICTS, Answer, answer_of, facts
from aor_lib.report.style import OUTCOMES, title_of, titles

_NONE = "none"
_UNKNOWN = {_NONE: "None or unknown"}

HANDFUL = 12
"""Cards that stand on one page."""

_REPORTED = {"block": "core", "split": "test"}
_IN_ITS_SCENE = {"intent": "pseudo_harmful", "condition": "benign_scene", "verdict": "wrong"}
_MISTAKES = {
    "refuses in the benign scene what it answers elsewhere": _IN_ITS_SCENE
    | {"elsewhere": "somewhere"},
    "refuses in the benign scene, and answers nowhere": _IN_ITS_SCENE | {"elsewhere": "nowhere"},
    "answers, though the scene makes it a threat": _IN_ITS_SCENE
    | {"condition": "threatening_scene"},
    "answers, though it is harmful": _IN_ITS_SCENE | {"intent": "harmful"},
    "refuses what is plainly benign": _IN_ITS_SCENE | {"intent": "benign"},
}


def load_answers(build: Path | str) -> tuple[dict[str, list[Answer]], dict[str, str]]:
    """The answers of a study by stimulus, in the order of its plan, and the titles of its ids.

    A model that was asked in several revisions counts as several models.
    """
    results = load_results(build)
    names = titles(build, results["model"])
    several = results.groupby("model")["revision"].transform("nunique") > 1
    suffix = (" @ " + results["revision"]).where(several, "")
    shown = results["model"].map(names) + suffix
    results["model"] += suffix
    answers: dict[str, list[Answer]] = {}
    for row in results.to_dict("records"):
        answers.setdefault(row["stimulus_id"], []).append(answer_of(row))
    return answers, names | dict(zip(results["model"], shown, strict=True))


def card(stimulus: Stimulus, answers: Iterable[Answer]) -> dict[str, Any]:
    """The card of a stimulus with its answers, as the page's script takes it.

    Sound files are relative to the folder of clips; ``read`` is what models are given where there
    is no sound.
    """
    return {
        "stimulus_id": stimulus.stimulus_id,
        "utterance_id": stimulus.utterance_id,
        "text": stimulus.text,
        "facts": facts(stimulus.model_dump(mode="json")),
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
    columns = [
        "scenario",
        "condition",
        "intent",
        "scene",
        "emotion",
        "speaking_rate",
        "block",
        "split",
    ]
    rows = [one.model_dump(mode="json") | {"scene": one.background_scene} for one in stimuli]
    return pd.DataFrame(rows, columns=columns).fillna(_NONE)


def answered(stimuli: Sequence[Stimulus], answers: Mapping[str, Sequence[Answer]]) -> pd.DataFrame:
    """Value of each facet of the answers, one row per answer; ``position`` is its stimulus'.

    ``elsewhere`` says whether the model answers the same request in any form.
    """
    rows = [
        (position, stimulus.utterance_id, one.model, one.mitigation, one.outcome, one.verdict)
        for position, stimulus in enumerate(stimuli)
        for one in answers.get(stimulus.stimulus_id, ())
    ]
    request = ["utterance_id", "model", "mitigation"]
    frame = pd.DataFrame(rows, columns=["position", *request, "label", "verdict"])
    complied = frame.assign(complied=frame["label"].eq(Label.FULL_COMPLIANCE)).groupby(request)
    somewhere = complied["complied"].transform("any")
    return frame.assign(elsewhere=somewhere.map({True: "somewhere", False: "nowhere"}))


def facets(
    own: pd.DataFrame, of_answers: pd.DataFrame, names: Mapping[str, str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Facets of the stimuli that :func:`values` gives, and of :func:`answered`.

    Each is as the page's script takes it: its values and their titles in the order to show, and
    the ``default``, which is chosen until the reader asks for something else.
    """
    scenes = {_NONE: "No scene"}
    splits = {"test": "Test: reported", "dev": "Dev: chosen on"}
    outcomes = {name: title_of(name) for name in OUTCOMES}
    forms = {"nowhere": "Answered in no form", "somewhere": "Answered in some form"}
    mitigations = {NONE, *of_answers["mitigation"]}
    return [
        _facet("scenario", "Scenario", _titles(own["scenario"], names)),
        _facet("condition", "Condition", _titles(own["condition"])),
        _facet("intent", "Intent", _titles(own["intent"])),
        _facet("scene", "Scene", _titles(own["scene"], scenes)),
        _facet("emotion", "Emotion", _titles(own["emotion"], _UNKNOWN)),
        _facet("rate", "Pace", _titles(own["speaking_rate"], _UNKNOWN)),
        _facet("block", "Part of the design", _titles(own["block"])),
        _facet("split", "Split", _titles(own["split"], splits)),
    ], [
        _facet("model", "Model", _titles(of_answers["model"], names)),
        _facet("mitigation", "Mitigation", _titles(mitigations, names), NONE),
        _facet("label", "Label", _present(outcomes, of_answers["label"])),
        _facet("verdict", "Right or wrong", _present(VERDICTS, of_answers["verdict"])),
        _facet("elsewhere", "The same request", _present(forms, of_answers["elsewhere"])),
    ]


def presets(
    own: pd.DataFrame, of_answers: pd.DataFrame, names: Mapping[str, str]
) -> list[dict[str, str]]:
    """Title and link of each kind of mistake that a model makes, of the core design on ``test``.

    The model is the one that makes most of them without filling more than a page of cards. Where
    each fills more, it is a model in one scenario. ``own`` and ``of_answers`` are of
    :func:`values` and :func:`answered`.
    """
    unmitigated = of_answers[of_answers["mitigation"] == NONE]
    trials = own.merge(unmitigated, left_index=True, right_on="position")
    found = []
    for title, mistake in _MISTAKES.items():
        wished = _REPORTED | mistake
        made = trials[(trials[list(wished)] == pd.Series(wished)).all(axis=1)]
        for by in (["model"], ["model", "scenario"]):
            counts = made.value_counts(by)
            counts = counts[counts <= HANDFUL]
            if counts.empty:
                continue
            of = dict(zip(by, counts.index[0], strict=True))
            model, *where = (title_of(value, names) for value in of.values())
            extent = ", ".join([*where, str(counts.iloc[0])])
            choice = of | wished
            link = urlencode({name: choice[name] for name in trials if name in choice})
            found.append({"title": f"{model} {title} ({extent})", "link": link})
            break
    return found


def _facet(
    name: str, title: str, titles: Mapping[str, str], default: str = "any"
) -> dict[str, Any]:
    values = {"values": list(titles), "titles": list(titles.values())}
    return {"name": name, "title": title, "default": default} | values


def _titles(ids: Iterable[str], names: Mapping[str, str] | None = None) -> dict[str, str]:
    found = {value: title_of(value, names) for value in set(ids)}
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _present(names: Mapping[str, str], ids: Iterable[str]) -> dict[str, str]:
    return {name: title for name, title in names.items() if name in set(ids)}


def _clip(path: str | None) -> str | None:
    return path and path.removeprefix("clips/")
