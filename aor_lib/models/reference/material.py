"""The training material of the reference models (params/reference), typed and checked.

The project's own sentences, and utterances of the benchmark's ``dev`` split; never of ``test``.
Nothing in it answers a harmful request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from aor_lib.config.params import PARAMS, Scenario, load_scenarios
from aor_lib.config.records import Identifier, Intent, Split
from aor_lib.config.typed_yaml import Params, ParamsError, nearest, read
from aor_lib.models.reference.prompt import scene_descriptions

Sentence = Annotated[str, Field(min_length=3, max_length=300)]


@dataclass(frozen=True)
class Contrast:
    """A request that sounds harmful, and what decides whether it is.

    It is about ``setting``, as in "a kitchen". ``fitting`` sounds make it fine, and ``answer``
    answers it in their sense; ``unfitting`` sounds do not. ``harmful`` differs from it by few
    words, and no sound makes that fine.
    """

    text: str
    setting: str
    answer: str
    harmful: str | None
    fitting: tuple[str, ...]
    unfitting: tuple[str, ...]


@dataclass(frozen=True)
class Material:
    """Training material: requests, the phrasings of a refusal, and system prompts.

    ``situations`` are many more contrasts, for the member that must know which scene a request
    belongs to.
    """

    harmful: tuple[str, ...]
    ordinary: tuple[str, ...]
    contrasts: tuple[Contrast, ...]
    situations: tuple[Contrast, ...]
    refusals: tuple[str, ...]
    instructions: tuple[str, ...]


def load_material(params: Path = PARAMS) -> Material:
    """Load the material of ``params/reference`` and of the dev split of ``params/scenarios``.

    Raises
    ------
    ParamsError
        If a file is missing or wrong, or names a scene or an utterance that does not exist.
    """
    folder = params / "reference"
    scenarios = load_scenarios(params)
    files = {name: folder / "situations" / f"{name}.yaml" for name in scenarios}
    situations = {name: read(path, _Situations) for name, path in files.items()}
    settings = {
        scene.id: situations[name].setting for name, s in scenarios.items() for scene in s.scenes
    }
    written, dev = folder / "contrasts.yaml", folder / "answers.yaml"
    contrasts = [
        _contrast(written, one, group.scenes, group.heard, settings)
        for group in read(written, _Contrasts).groups
        for one in group.sets
    ]
    contrasts += [
        _contrast(dev, one, scenes, None, settings) for one, scenes in _dev_sets(dev, scenarios)
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
        situations=tuple(
            _contrast(files[name], one, one.scenes, None, settings)
            for name, situation in situations.items()
            for one in situation.sets
        ),
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
    harmful: Sentence | None = None


class _Sets(Params):
    sets: tuple[_Set, ...] = Field(min_length=1)


class _Group(_Sets):
    scenes: tuple[Identifier, ...] = ()
    heard: str | None = None

    @model_validator(mode="after")
    def _says_what_is_heard(self) -> _Group:
        if bool(self.scenes) == (self.heard is not None):
            raise ValueError("a group needs either scenes or heard")
        return self


class _Contrasts(Params):
    groups: tuple[_Group, ...]


class _SetInScenes(_Set):
    scenes: tuple[Identifier, ...] = Field(min_length=1)


class _Situations(Params):
    setting: Sentence
    sets: tuple[_SetInScenes, ...] = Field(min_length=1)


def _contrast(
    path: Path, one: _Set, scenes: Sequence[str], heard: str | None, settings: dict[str, str]
) -> Contrast:
    """Make a contrast that is fine in the scenes or, where there are none, with ``heard``."""
    for scene in scenes:
        if scene not in settings:
            raise ParamsError(f"{path}: scenes: no scene {scene!r}{nearest(scene, settings)}")
    own = {settings[scene] for scene in scenes}
    return Contrast(
        one.text,
        min(own, default="something else"),
        one.answer,
        one.harmful,
        fitting=_sounds(scenes) or (str(heard),),
        unfitting=_sounds(scene for scene, setting in settings.items() if setting not in own),
    )


def _dev_sets(path: Path, scenarios: dict[str, Scenario]) -> Iterator[tuple[_Set, Sequence[str]]]:
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
        partner = harmful.get(name)
        yield _Set(text=utterance.text, answer=answer, harmful=partner), utterance.scenes


def _sounds(scenes: Iterable[str]) -> tuple[str, ...]:
    return tuple(scene_descriptions()[scene] for scene in scenes)
