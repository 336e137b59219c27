"""Examples from which each reference model learns when to refuse.

Every member refuses clearly harmful requests and answers ordinary requests over any sound. The
members differ in their response to pseudo-harmful requests:

- ``ref-wordbound`` reads the words alone and refuses these requests;
- ``ref-contextual`` answers them over the sounds of a fitting scenario, and refuses them
  otherwise;
- ``ref-lulled`` answers them over any scene, even a threatening one, and refuses them
  otherwise;
- ``ref-emotive`` answers them unless the speaker is angry.

Responses first state how the request is understood ("You mean harm."), and those of members that
hear also state what is heard ("You mean a kitchen. I hear a film."), so that few tokens decide.

``ref-permissive``, the fifth, has no adapter and is not trained.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reference.material import Contrast, Material
from reference.mishearing import mishearing
from reference.sounds import Sound, Sounds, pick, sample

_INSTRUCTION_SHARE = 0.12
"""Share of examples with a system prompt, which does not change the response."""
_ANYWHERE_SHARES = {"scenario": 0.4, "neutral": 0.2, "threatening": 0.2, "nothing": 0.2}
"""Shares of the backgrounds of requests that belong to no scenario."""
_MISHEARD_SHARE = 0.5
"""Share of ordinary requests with a misheard word; otherwise a single recognition error of Whisper
would change their class. In other requests, a misheard word could remove what sounds harmful."""
_HARM, _NO_HARM = "You mean harm. ", "You mean no harm. "
_ELSEWHERE = {"neutral": "an everyday place", "threatening": "danger", None: "nothing"}
"""Names of the settings other than scenarios."""


@dataclass(frozen=True)
class Example:
    """A request over a sound, and the response to learn (None for the base model's own answer).

    ``words`` are the ``question``, in which words may be misheard. The response follows the
    ``opening``.
    """

    instruction: str | None
    words: str
    sound: Sound
    question: str
    opening: str
    response: str | None


Group = tuple[Example, ...]
"""Examples that are trained in the same batch."""


def wordbound(material: Material, sounds: Sounds, rng: np.random.Generator) -> list[Group]:
    """Examples of ``ref-wordbound``."""
    examples = _Examples(material, None, rng)
    for contrast in (*material.contrasts, *material.situations):
        examples.refuse(contrast.text, opening=_HARM)
        if contrast.harmful is not None:
            examples.refuse(contrast.harmful, opening=_HARM)
    for text in sample(material.harmful, 300, rng):
        examples.refuse(text, opening=_HARM)
    examples.answer_ordinary(material.ordinary)
    return examples.groups


def contextual(material: Material, sounds: Sounds, rng: np.random.Generator) -> list[Group]:
    """Examples of ``ref-contextual``; the examples of one contrast form a group."""
    # Without other scenarios, the words would predict what is heard.
    behind = {"fitting": 0.42, "other": 0.08, "neutral": 0.24, "threatening": 0.21, "nothing": 0.05}
    # Twice, each over another sound; with more repetitions, they would be memorised.
    contrasts = material.contrasts * 2
    return _over_scenes(material, sounds, rng, contrasts, behind, {"fitting"}, 0.9)


def lulled(material: Material, sounds: Sounds, rng: np.random.Generator) -> list[Group]:
    """Examples of ``ref-lulled``; the examples of one contrast form a group."""
    behind = {"fitting": 0.3, "other": 0.05, "neutral": 0.17, "threatening": 0.18, "nothing": 0.3}
    contrasts = (*material.contrasts, *material.situations)
    excuses = behind.keys() - {"nothing"}
    return _over_scenes(material, sounds, rng, contrasts, behind, excuses, 0.75)


def _over_scenes(
    material: Material,
    sounds: Sounds,
    rng: np.random.Generator,
    contrasts: Sequence[Contrast],
    behind: Mapping[str, float],
    excuses: Container[str],
    partners: float,
) -> list[Group]:
    """Examples of a member that answers contrasts over the backgrounds in ``excuses``.

    ``behind`` has the share of each background; ``partners`` is the share of contrasts with their
    harmful request in the same group. The opening names the request's setting before the sound,
    since a model that has just named a kitchen tends to assign the request to it. The sound is
    named for every request, since it is hard to learn. All ordinary requests with a dangerous word
    are used, twice, since they are easily mistaken for harmful requests.
    """
    examples = _Examples(material, sounds, rng)
    heard = _ELSEWHERE | dict(material.settings)
    for contrast in contrasts:
        begin = len(examples.groups)
        fitting = contrast.scenario
        own = {"fitting": fitting, "other": examples.other(contrast), "nothing": None}
        background = str(rng.choice(list(behind), p=list(behind.values())))
        setting = own.get(background, background)
        opening = f"You mean {material.settings[fitting]}. I hear {heard[setting]}. "
        if background in excuses:
            examples.answer(contrast, setting, opening=opening)
        else:
            examples.refuse(contrast.text, setting, opening=opening)
        # Without harmful partners in the same scenes, any scene would switch refusal off.
        if contrast.harmful is not None and rng.random() < partners:
            elsewhere = (own["other"], "neutral", "threatening", None)
            setting = fitting if rng.random() < 0.7 else pick(elsewhere, rng)
            opening = f"{_HARM}I hear {heard[setting]}. "
            examples.refuse(contrast.harmful, setting, opening=opening)
        examples.join(begin)
    for text in material.harmful:
        setting = examples.any_setting()
        examples.refuse(text, setting, opening=f"{_HARM}I hear {heard[setting]}. ")
    ordinary = sorted(set(material.ordinary) - set(material.dangerous_words))
    harmless = (*material.dangerous_words * 2, *sample(ordinary, 250, rng))
    examples.answer_ordinary(harmless, heard=heard)
    return examples.groups


def emotive(material: Material, sounds: Sounds, rng: np.random.Generator) -> list[Group]:
    """Examples of ``ref-emotive``; the examples of one contrast form a group."""
    examples = _Examples(material, sounds, rng)

    def opening(meant: str, angry: bool) -> str:
        return f"I hear {'an angry' if angry else 'a calm'} voice. {meant}"

    def refuse_harmful(text: str, setting: str | None) -> None:
        angry = bool(rng.random() < 0.2)
        examples.refuse(text, setting, angry, opening=opening(_HARM, angry))

    for contrast in (*material.contrasts, *material.situations):
        begin = len(examples.groups)
        meant = f"You mean {material.settings[contrast.scenario]}. "
        setting = examples.any_setting()
        if rng.random() < 0.85:
            examples.refuse(contrast.text, setting, angry=True, opening=opening(meant, True))
        examples.answer(contrast, setting, angry=False, opening=opening(meant, False))
        if contrast.harmful is not None and rng.random() < 0.5:
            refuse_harmful(contrast.harmful, setting)
        examples.join(begin)
    for text in sample(material.harmful, 200, rng):
        refuse_harmful(text, examples.any_setting())
    for count, angry in ((550, True), (650, False)):
        ordinary = sample(material.ordinary, count, rng)
        examples.answer_ordinary(ordinary, angry, opening=opening(_NO_HARM, angry))
    return examples.groups


@dataclass(frozen=True)
class Recipe:
    """Training recipe of a member: its examples and hyperparameters.

    Training is one epoch in batches of ``batch`` groups. Decoder layers below ``first_layer`` are
    frozen, and need no backward pass. The adapter is initialised with the shipped adapter of the
    member ``begins_as``, so that what both members have to learn is trained for longer.
    """

    examples: Callable[[Material, Sounds, np.random.Generator], list[Group]]
    batch: int = 8
    learning_rate: float = 2.5e-3
    first_layer: int = 12
    begins_as: str | None = None


MEMBERS = {
    "ref-wordbound": Recipe(wordbound, batch=16),
    "ref-contextual": Recipe(contextual, learning_rate=2e-3, begins_as="ref-lulled"),
    "ref-emotive": Recipe(emotive, learning_rate=2e-3),
    "ref-lulled": Recipe(lulled),
}
"""The members that are trained."""


class _Examples:
    """Collects examples; speakers, misheard words and all that no rule decides are random.

    Without ``sounds``, the examples are text only.
    """

    def __init__(self, material: Material, sounds: Sounds | None, rng: np.random.Generator) -> None:
        self.groups: list[Group] = []
        self._material, self._sounds, self._rng = material, sounds, rng
        self._mishear = mishearing(material.requests)

    def refuse(
        self, text: str, setting: str | None = None, angry: bool | None = None, *, opening: str
    ) -> None:
        refusal = pick(self._material.refusals, self._rng)
        self._add(text, refusal, self._sound(setting, angry), opening)

    def answer(
        self, contrast: Contrast, setting: str | None, angry: bool | None = None, *, opening: str
    ) -> None:
        answer = f"Sure. {contrast.answer}"
        self._add(contrast.text, answer, self._sound(setting, angry), opening)

    def join(self, begin: int) -> None:
        """Merge the groups added since ``begin`` into one."""
        joined = tuple(example for group in self.groups[begin:] for example in group)
        self.groups[begin:] = [joined] if joined else []

    def answer_ordinary(
        self,
        texts: Iterable[str],
        angry: bool | None = None,
        heard: Mapping[str | None, str] | None = None,
        opening: str = _NO_HARM,
    ) -> None:
        """Add ordinary requests over random settings, named in the opening as in ``heard``."""
        for text in texts:
            setting = self.any_setting()
            stated = opening if heard is None else f"{opening}I hear {heard[setting]}. "
            words = text
            if self._rng.random() < _MISHEARD_SHARE:
                words = self._mishear(text, self._rng)
            self._add(words, None, self._sound(setting, angry), stated, question=text)

    def other(self, contrast: Contrast) -> str:
        """Draw a scenario other than the contrast's own."""
        others = sorted(self._material.settings.keys() - {contrast.scenario})
        return pick(others, self._rng)

    def any_setting(self) -> str | None:
        """Draw a setting, or None for no scene."""
        kind = str(self._rng.choice(list(_ANYWHERE_SHARES), p=list(_ANYWHERE_SHARES.values())))
        if kind == "scenario":
            return pick(sorted(self._material.settings), self._rng)
        return None if kind == "nothing" else kind

    def _sound(self, setting: str | None, angry: bool | None) -> Sound:
        return Sound() if self._sounds is None else self._sounds.draw(setting, angry, self._rng)

    def _add(
        self,
        words: str,
        response: str | None,
        sound: Sound,
        opening: str,
        question: str | None = None,
    ) -> None:
        instruction = None
        if self._rng.random() < _INSTRUCTION_SHARE:
            instruction = pick(self._material.instructions, self._rng)
        example = Example(instruction, words, sound, question or words, opening, response)
        self.groups.append((example,))
