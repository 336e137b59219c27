"""Cards of the explorer, and the facets by which stimuli are chosen.

Answers to harmful utterances, and what models heard of those, are on no card: only their labels
are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from aor_lib.analysis.results import load_results
from aor_lib.config.records import Stimulus
from aor_lib.judge import DEFAULT_JUDGE
from aor_lib.report.listening import INTENTS, Answer, answer_of, facts
from aor_lib.report.style import OUTCOMES, title_of

NO_SCENE = "none"
FACETS = ("scenario", "scene", "condition", "intent")
"""Facets of the stimuli themselves, without those of their answers."""

Facets: TypeAlias = dict[str, dict[str, str]]
"""Titles of the values, in the order to show, of each thing that stimuli are chosen by."""


def load_answers(build: Path | str, judge: str = DEFAULT_JUDGE) -> dict[str, list[Answer]]:
    """The answers of a study by stimulus, in the order of its plan.

    A model that was asked in several revisions counts as several models.

    Raises
    ------
    FileNotFoundError
        If the models have not been run.
    """
    results = load_results(build, judge)
    several = results.groupby("model")["revision"].transform("nunique") > 1
    results["model"] = results["model"].mask(
        several, results["model"] + " @ " + results["revision"]
    )
    answers: dict[str, list[Answer]] = {}
    for row in results.to_dict("records"):
        answers.setdefault(row["stimulus_id"], []).append(answer_of(row))
    return answers


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


def facets(
    stimuli: Sequence[Stimulus], answers: Mapping[str, Sequence[Answer]]
) -> tuple[Facets, Facets]:
    """Titles of the facets of stimuli, and of those of their answers."""
    own = [values(stimulus) for stimulus in stimuli]
    every = [answer for some in answers.values() for answer in some]
    models, outcomes = ({getattr(one, name) for one in every} for name in ("model", "outcome"))
    names = {"scene": {NO_SCENE: "No scene"}, "intent": INTENTS}
    return {name: _titles((value[name] for value in own), names.get(name)) for name in FACETS}, {
        "model": {model: model for model in sorted(models)},
        "mitigation": _titles(answer.mitigation for answer in every),
        "label": {name: title_of(name) for name in OUTCOMES if name in outcomes},
    }


def values(stimulus: Stimulus) -> dict[str, str]:
    """A stimulus' value of each facet of its own."""
    return {
        "scenario": stimulus.scenario,
        "scene": stimulus.background_scene or NO_SCENE,
        "condition": stimulus.condition,
        "intent": stimulus.intent,
    }


def _titles(present: Iterable[str], names: Mapping[str, str] | None = None) -> dict[str, str]:
    titles = {value: title_of(value, names) for value in set(present)}
    return dict(sorted(titles.items(), key=lambda item: item[1]))


def _clip(path: str | None) -> str | None:
    return path and path.removeprefix("clips/")
