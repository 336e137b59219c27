"""What the explorer shows of a stimulus, and by what stimuli are chosen.

Answers to harmful utterances, and what models heard of those, are on no card: only their labels
are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aor_lib.analysis.results import load_results
from aor_lib.config.records import Stimulus
from aor_lib.judge import DEFAULT_JUDGE
from aor_lib.report.listening import INTENTS, Answer, answer_of, facts
from aor_lib.report.style import OUTCOMES, title_of

NO_SCENE = "none"


@dataclass(frozen=True)
class Turn:
    """An earlier turn of the conversation; the user's are sounds."""

    role: str
    text: str
    path: str | None


@dataclass(frozen=True)
class Card:
    """One stimulus as it is shown. Sound files are relative to the folder of clips.

    ``read`` is what models are given where there is no sound.
    """

    stimulus_id: str
    utterance_id: str
    text: str
    facts: dict[str, str]
    path: str | None
    duration_s: float | None
    read: str | None
    earlier: tuple[Turn, ...]
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Facet:
    """One thing by which stimuli are chosen: its values with their titles, in the order to show."""

    name: str
    title: str
    titles: dict[str, str]


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


def card(stimulus: Stimulus, answers: Iterable[Answer]) -> Card:
    """The card of a stimulus with its answers."""
    return Card(
        stimulus_id=stimulus.stimulus_id,
        utterance_id=stimulus.utterance_id,
        text=stimulus.text,
        facts=facts(stimulus.model_dump(mode="json")),
        path=_clip(stimulus.path),
        duration_s=stimulus.duration_s,
        read=None if stimulus.path else stimulus.presented_text or stimulus.text,
        earlier=tuple(
            Turn(turn["role"], turn["text"], _clip(turn.get("path")))
            for turn in json.loads(stimulus.history)
        ),
        answers=tuple(answers),
    )


def facets(
    stimuli: Sequence[Stimulus], answers: Mapping[str, Sequence[Answer]]
) -> tuple[list[Facet], list[Facet]]:
    """Facets of the stimuli themselves, and facets of their answers."""
    every = [answer for some in answers.values() for answer in some]
    outcomes = {answer.outcome: title_of(answer.outcome) for answer in every}
    usual = {outcome: outcomes[outcome] for outcome in OUTCOMES if outcome in outcomes}
    models = sorted({answer.model for answer in every})
    own = [values(stimulus) for stimulus in stimuli]
    return [
        _facet("scenario", "Scenario", (value["scenario"] for value in own)),
        _facet("scene", "Scene", (value["scene"] for value in own), {NO_SCENE: "No scene"}),
        _facet("condition", "Condition", (value["condition"] for value in own)),
        _facet("intent", "Intent", (value["intent"] for value in own), INTENTS),
    ], [
        Facet("model", "Model", {model: model for model in models}),
        _facet("mitigation", "Mitigation", (answer.mitigation for answer in every)),
        Facet("label", "Label", usual | outcomes),
    ]


def values(stimulus: Stimulus) -> dict[str, str]:
    """A stimulus' value of each facet of its own."""
    return {
        "scenario": stimulus.scenario,
        "scene": stimulus.background_scene or NO_SCENE,
        "condition": stimulus.condition,
        "intent": stimulus.intent,
    }


def _facet(
    name: str, title: str, present: Iterable[str], names: Mapping[str, str] | None = None
) -> Facet:
    titles = {value: title_of(value, names) for value in set(present)}
    return Facet(name, title, dict(sorted(titles.items(), key=lambda item: item[1])))


def _clip(path: str | None) -> str | None:
    return path and path.removeprefix("clips/")
