"""The training material of the reference models (reference/material), typed and checked.

It consists of the project's own sentences and of utterances of the benchmark's ``dev`` split, and
has no ``test`` utterance, no subject of a ``test`` utterance, and no scene marked ``unseen``.
Nothing in it answers a harmful request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from aor_lib.config.params import PARAMS, Scenario, load_scenarios, load_scenes
from aor_lib.config.records import Identifier, Intent, Split
from aor_lib.config.scene import Scene
from aor_lib.config.typed_yaml import Params, ParamsError, did_you_mean, read

MATERIAL = Path(__file__).parent / "material"
Sentence = Annotated[str, Field(min_length=3, max_length=300)]


@dataclass(frozen=True)
class Contrast:
    """A pseudo-harmful request, and the scenario that makes it harmless.

    ``about`` names a thing and what is done to it. The sounds of ``scenario`` make the request
    harmless, and ``answer`` answers it as meant there. ``harmful`` differs from the request by few
    words, and is harmful over any sound.
    """

    text: str
    about: str
    answer: str
    harmful: str | None
    scenario: str


@dataclass(frozen=True)
class Material:
    """Training material: requests, refusals in different words, and system prompts.

    ``situations`` are further contrasts, less similar to the benchmark's requests.
    ``dangerous_words`` are the ordinary requests with a word that is dangerous in other contexts,
    or from the places of the scenarios.
    ``settings`` are the names of the scenarios, such as "a kitchen". ``described`` are texts that
    describe what is heard, by setting: a scenario, or ``neutral`` or ``threatening``, whose sounds
    make no request harmless.
    """

    harmful: tuple[str, ...]
    ordinary: tuple[str, ...]
    dangerous_words: tuple[str, ...]
    contrasts: tuple[Contrast, ...]
    situations: tuple[Contrast, ...]
    refusals: tuple[str, ...]
    instructions: tuple[str, ...]
    settings: Mapping[str, str]
    described: Mapping[str, tuple[str, ...]]

    @property
    def requests(self) -> tuple[str, ...]:
        """All requests."""
        contrasts = (*self.contrasts, *self.situations)
        partners = (c.harmful for c in contrasts if c.harmful is not None)
        return (*self.harmful, *self.ordinary, *(c.text for c in contrasts), *partners)


def load_material(folder: Path = MATERIAL, params: Path = PARAMS) -> Material:
    """Load the material from a folder, and from the dev split of ``params/scenarios``.

    Raises ``ParamsError`` if a file is missing or invalid, or names an utterance that does not
    exist or may not be trained on.
    """
    scenarios = load_scenarios(params)
    scenes = {name: scene for name, scene in load_scenes(params).items() if not scene.unseen}
    situations = {
        name: read(folder / "situations" / f"{name}.yaml", _Situations) for name in scenarios
    }
    written = {name: read(folder / "contrasts" / f"{name}.yaml", _Contrasts) for name in scenarios}
    contrasts = _contrasts(written)
    for name, scenario in scenarios.items():
        contrasts += _of_dev(folder / "answers" / f"{name}.yaml", scenario, scenes)
    benign = [
        u.text
        for scenario in scenarios.values()
        for u in scenario.utterances
        if u.intent is Intent.BENIGN and u.split is Split.DEV
    ]
    ordinary = read(folder / "ordinary.yaml", _Ordinary)
    of_places = [text for sets in written.values() for text in sets.ordinary]
    dangerous_words = (*ordinary.dangerous_words, *of_places, *benign)
    return Material(
        harmful=read(folder / "harmful.yaml", _Harmful).harmful,
        ordinary=(*ordinary.ordinary, *dangerous_words),
        dangerous_words=dangerous_words,
        contrasts=tuple(contrasts),
        situations=tuple(_contrasts(situations)),
        refusals=read(folder / "refusals.yaml", _Refusals).refusals,
        instructions=read(folder / "instructions.yaml", _Instructions).instructions,
        settings={name: situation.setting for name, situation in situations.items()},
        described=_described(scenes.values()),
    )


class _Harmful(Params):
    harmful: tuple[Sentence, ...] = Field(min_length=1)


class _Ordinary(Params):
    ordinary: tuple[Sentence, ...] = Field(min_length=1)
    dangerous_words: tuple[Sentence, ...]


class _Refusals(Params):
    refusals: tuple[Sentence, ...] = Field(min_length=12)


class _Instructions(Params):
    instructions: tuple[Sentence, ...] = Field(min_length=1)


class _Answers(Params):
    answers: dict[Identifier, Sentence]


class _Set(Params):
    text: Sentence
    about: Annotated[str, Field(pattern=r"^[^:]+: [^:]+$")]
    answer: Sentence
    harmful: Sentence | None = None


class _Sets(Params):
    sets: tuple[_Set, ...] = Field(min_length=1)


class _Contrasts(_Sets):
    ordinary: tuple[Sentence, ...]


class _Situations(_Sets):
    setting: Sentence


def _contrasts(written: Mapping[str, _Sets]) -> list[Contrast]:
    return [
        Contrast(item.text, item.about, item.answer, item.harmful, scenario)
        for scenario, sets in written.items()
        for item in sets.sets
    ]


def _described(scenes: Iterable[Scene]) -> dict[str, tuple[str, ...]]:
    by_setting: dict[str, list[str]] = {}
    for scene in scenes:
        by_setting.setdefault(scene.scenario or scene.kind, []).append(scene.description)
    return {setting: tuple(texts) for setting, texts in by_setting.items()}


def _of_dev(path: Path, scenario: Scenario, scenes: Mapping[str, Scene]) -> Iterator[Contrast]:
    answers = read(path, _Answers).answers
    utterances = {u.id: u for u in scenario.utterances}
    harmful = {u.contrast_of: u.text for u in utterances.values() if u.contrast_of}
    for name, answer in answers.items():
        if name not in utterances:
            raise ParamsError(
                f"{path}: answers: no utterance {name!r}{did_you_mean(name, utterances)}"
            )
        utterance = utterances[name]
        if utterance.split is not Split.DEV or utterance.intent is not Intent.PSEUDO_HARMFUL:
            raise ParamsError(
                f"{path}: answers.{name}: is of {utterance.split.value} and "
                f"{utterance.intent.value}; only pseudo_harmful utterances of dev may be trained on"
            )
        if not any(scene in scenes for scene in utterance.scenes):
            raise ParamsError(f"{path}: answers.{name}: all its scenes are 'unseen'; leave it out")
        about = str(utterance.about)
        yield Contrast(utterance.text, about, answer, harmful.get(name), scenario.id)
