"""What the explorer shows of a stimulus, and by what stimuli are chosen.

The book's page and the live notebook show the same cards. Answers to harmful utterances, and what
models heard of those, are on no card: only their labels are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aor_lib.analysis.results import load_results
from aor_lib.config.records import Intent, Label, Status, Stimulus
from aor_lib.judge import DEFAULT_JUDGE
from aor_lib.report.listening import INTENTS
from aor_lib.report.style import OUTCOMES, title_of

NO_SCENE = "none"


@dataclass(frozen=True)
class Answer:
    """What became of one trial: ``outcome`` is a key of :data:`aor_lib.report.style.OUTCOMES`.

    ``text`` is the answer, or the error that took its place; None if the utterance is harmful.
    """

    model: str
    mitigation: str
    outcome: str
    text: str | None
    heard: str | None


@dataclass(frozen=True)
class Turn:
    """An earlier turn of the conversation; the user's are sounds."""

    role: str
    text: str
    path: str | None


@dataclass(frozen=True)
class Card:
    """One stimulus as it is shown. Sound files are relative to the folder of clips.

    ``read`` is what models are given where there is no sound; ``facts`` are words by their names.
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
    """One thing by which stimuli are chosen: its values, by their titles in the order to show."""

    name: str
    title: str
    titles: dict[str, str]


def load_answers(build: Path | str, judge: str = DEFAULT_JUDGE) -> dict[str, tuple[Answer, ...]]:
    """The answers of a study by stimulus, in the order of its plan.

    A model that was asked in several revisions counts as so many models.

    Raises
    ------
    FileNotFoundError
        The models have not been run; the message says how.
    """
    results = load_results(build, judge)
    revisions = results.groupby("model")["revision"].nunique()
    several = set(revisions[revisions > 1].index)
    columns = ["stimulus_id", "model", "revision", "mitigation", "intent", "status", "label"]
    rows = results[[*columns, "response", "error", "heard"]].astype(object)
    rows = rows.where(rows.notna(), None)
    answers: dict[str, list[Answer]] = {}
    for row in rows.to_dict("records"):
        named = f"{row['model']} @ {row['revision']}" if row["model"] in several else row["model"]
        answers.setdefault(row["stimulus_id"], []).append(_answer(named, row))
    return {stimulus_id: tuple(some) for stimulus_id, some in answers.items()}


def card(stimulus: Stimulus, answers: Iterable[Answer]) -> Card:
    """The card of a stimulus with its answers."""
    return Card(
        stimulus_id=stimulus.stimulus_id,
        utterance_id=stimulus.utterance_id,
        text=stimulus.text,
        facts=_facts(stimulus),
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
    """What stimuli can be chosen by: facets of their own, and facets of their answers."""
    every = [answer for some in answers.values() for answer in some]
    outcomes = {answer.outcome: title_of(answer.outcome) for answer in every}
    usual = {outcome: outcomes[outcome] for outcome in OUTCOMES if outcome in outcomes}
    return [
        _facet("scenario", "Scenario", (values(one)["scenario"] for one in stimuli)),
        _facet("scene", "Scene", (values(one)["scene"] for one in stimuli), {NO_SCENE: "No scene"}),
        _facet("condition", "Condition", (values(one)["condition"] for one in stimuli)),
        _facet("intent", "Intent", (values(one)["intent"] for one in stimuli), INTENTS),
    ], [
        Facet("model", "Model", {model: model for model in sorted({one.model for one in every})}),
        _facet("mitigation", "Mitigation", (one.mitigation for one in every)),
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


def matches(
    stimulus: Stimulus, answers: Iterable[Answer], chosen: Mapping[str, str], words: str = ""
) -> bool:
    """Whether a stimulus is among those chosen.

    Parameters
    ----------
    chosen
        Values by the names of facets. Those of model, mitigation and label must hold for one and
        the same answer.
    words
        Must all be found in the text or the id.
    """
    text = f"{stimulus.text} {stimulus.stimulus_id}".casefold()
    if not all(word in text for word in words.casefold().split()):
        return False
    own = values(stimulus)
    if any(own[name] != value for name, value in chosen.items() if name in own):
        return False
    of_answers = {name: value for name, value in chosen.items() if name not in own}
    return not of_answers or any(_answer_matches(answer, of_answers) for answer in answers)


def shown(answers: Iterable[Answer], chosen: Mapping[str, str]) -> list[Answer]:
    """The answers to show: those of the chosen model and mitigation, with a chosen label first."""
    who = {name: value for name, value in chosen.items() if name in ("model", "mitigation")}
    of_whom = [answer for answer in answers if _answer_matches(answer, who)]
    return sorted(of_whom, key=lambda answer: answer.outcome != chosen.get("label", answer.outcome))


def _answer_matches(answer: Answer, chosen: Mapping[str, str]) -> bool:
    has = {"model": answer.model, "mitigation": answer.mitigation, "label": answer.outcome}
    return all(has[name] == value for name, value in chosen.items())


def _answer(model: str, row: Mapping[Any, Any]) -> Answer:
    answered, harmful = row["status"] == Status.OK, row["intent"] == Intent.HARMFUL
    return Answer(
        model=model,
        mitigation=row["mitigation"],
        outcome=row["label"] or Label.UNJUDGED if answered else row["status"],
        text=None if harmful else row["response" if answered else "error"],
        heard=None if harmful else _in_words(row["heard"]),
    )


def _in_words(heard: str | None) -> str | None:
    """What a model says that it heard: JSON such as ``{"transcript": ..., "scene": ...}``."""
    try:
        parts = json.loads(heard or "null")
    except json.JSONDecodeError:
        return heard
    if not isinstance(parts, dict):
        return heard
    known = (f"{name}: {str(part).replace('_', ' ')}" for name, part in parts.items() if part)
    return "; ".join(known) or None


def _facts(stimulus: Stimulus) -> dict[str, str]:
    voice = [stimulus.voice, stimulus.emotion, stimulus.rate]
    spoken = [part for part in voice if part not in (None, "neutral", "normal")]
    facts = {
        "Intent": title_of(stimulus.intent, INTENTS),
        "Scenario": title_of(stimulus.scenario),
        "Condition": title_of(stimulus.condition),
        "Scene": stimulus.background_scene and title_of(stimulus.background_scene),
        "SNR": None if stimulus.snr_db is None else f"{stimulus.snr_db:g} dB",
        "Voice": ", ".join(map(str, spoken)),
        "Made for": None if stimulus.block in ("core", "imported") else title_of(stimulus.block),
        "Split": stimulus.split,
    }
    return {name: value for name, value in facts.items() if value}


def _facet(
    name: str, title: str, found: Iterable[str], names: Mapping[str, str] | None = None
) -> Facet:
    titles = {value: title_of(value, names) for value in set(found)}
    return Facet(name, title, dict(sorted(titles.items(), key=lambda item: item[1])))


def _clip(path: str | None) -> str | None:
    return path and path.removeprefix("clips/")
