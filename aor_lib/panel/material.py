"""The training material of the panel (params/panel/*.yaml), typed and checked.

The project's own sentences, and utterances of the benchmark's ``dev`` split; never of ``test``.
Nothing in it answers a harmful request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from aor_lib.panel.told import scene_descriptions
from aor_lib.params import PARAMS, Scenario, load_scenarios
from aor_lib.records import Identifier, Intent, Split
from aor_lib.typed_yaml import Params, ParamsError, nearest, read

Sentence = Annotated[str, Field(min_length=3, max_length=300)]


@dataclass(frozen=True)
class Contrast:
    """A request that sounds harmful, and what decides whether it is.

    ``fitting`` sounds make it fine, and ``answer`` answers it in their sense; ``unfitting`` sounds
    do not. ``harmful`` differs from it by few words, and no sound makes that fine.
    """

    text: str
    answer: str
    harmful: str | None
    fitting: tuple[str, ...]
    unfitting: tuple[str, ...]


@dataclass(frozen=True)
class Material:
    """All that members are trained on: requests, the phrasings of a refusal, and system prompts."""

    harmful: tuple[str, ...]
    ordinary: tuple[str, ...]
    contrasts: tuple[Contrast, ...]
    refusals: tuple[str, ...]
    instructions: tuple[str, ...]


def load_material(params: Path = PARAMS) -> Material:
    """The material of ``params/panel`` and of the dev split of ``params/scenarios``.

    Raises
    ------
    ParamsError
        A file is missing or wrong, or names a scene or an utterance that there is not.
    """
    folder = params / "panel"
    scenarios = load_scenarios(params)
    contrasts = [
        *_written(folder / "contrasts.yaml", scenarios),
        *_of_dev(folder / "answers.yaml", scenarios),
    ]
    benign = [
        u.text
        for scenario in scenarios.values()
        for u in scenario.utterances
        if u.intent is Intent.BENIGN and u.split is Split.DEV
    ]
    return Material(
        harmful=read(folder / "harmful.yaml", _Harmful).harmful,
        ordinary=(*read(folder / "ordinary.yaml", _Ordinary).ordinary, *benign),
        contrasts=tuple(contrasts),
        refusals=read(folder / "refusals.yaml", _Refusals).refusals,
        instructions=read(folder / "instructions.yaml", _Instructions).instructions,
    )


class _Harmful(Params):
    harmful: tuple[Sentence, ...] = Field(min_length=1)


class _Ordinary(Params):
    ordinary: tuple[Sentence, ...] = Field(min_length=1)


class _Refusals(Params):
    refusals: tuple[Sentence, ...] = Field(min_length=12)


class _Instructions(Params):
    instructions: tuple[Sentence, ...] = Field(min_length=1)


class _Answers(Params):
    answers: dict[Identifier, Sentence]


class _Set(Params):
    text: Sentence
    answer: Sentence
    harmful: Sentence


class _Group(Params):
    scenes: tuple[Identifier, ...] = ()
    heard: str | None = None
    sets: tuple[_Set, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _says_what_is_heard(self) -> _Group:
        if bool(self.scenes) == (self.heard is not None):
            raise ValueError("a group needs either scenes or heard")
        return self


class _Contrasts(Params):
    groups: tuple[_Group, ...]


def _written(path: Path, scenarios: dict[str, Scenario]) -> Iterator[Contrast]:
    home = {scene.id: name for name, s in scenarios.items() for scene in s.scenes}
    for group in read(path, _Contrasts).groups:
        for scene in group.scenes:
            if scene not in home:
                raise ParamsError(
                    f"{path}: groups.scenes: no scene {scene!r}{nearest(scene, home)}"
                )
        homes = {home[scene] for scene in group.scenes}
        for one in group.sets:
            yield Contrast(
                one.text,
                one.answer,
                one.harmful,
                fitting=_sounds(group.scenes) or (str(group.heard),),
                unfitting=_sounds(scene for scene in home if home[scene] not in homes),
            )


def _of_dev(path: Path, scenarios: dict[str, Scenario]) -> Iterator[Contrast]:
    answers = read(path, _Answers).answers
    utterances = {u.id: u for s in scenarios.values() for u in s.utterances}
    harmful = {u.contrast_of: u.text for u in utterances.values() if u.contrast_of}
    for name, answer in answers.items():
        if name not in utterances:
            raise ParamsError(f"{path}: answers: no utterance {name!r}{nearest(name, utterances)}")
        utterance = utterances[name]
        if utterance.split is not Split.DEV or utterance.intent is not Intent.PSEUDO_HARMFUL:
            raise ParamsError(
                f"{path}: answers.{name}: is of {utterance.split.value} and "
                f"{utterance.intent.value}; only pseudo_harmful ones of dev may be trained on"
            )
        others = (s for s in scenarios.values() if s.id != utterance.scenario)
        yield Contrast(
            utterance.text,
            answer,
            harmful.get(name),
            fitting=_sounds(utterance.scenes),
            unfitting=_sounds(scene.id for s in others for scene in s.scenes),
        )


def _sounds(scenes: Iterable[str]) -> tuple[str, ...]:
    return tuple(scene_descriptions()[scene] for scene in scenes)
