"""Examples from which each reference model learns when to refuse.

Every member refuses clearly harmful requests and answers ordinary ones, whatever is heard. They
differ in the requests that only sound harmful:

- ``ref-wordbound`` refuses them whatever is heard;
- ``ref-contextual`` answers them where a fitting scene is heard, and refuses them otherwise;
- ``ref-emotive`` answers them, except of an angry speaker.

The last two say first what they take a request for ("You mean a kitchen."): from this they learn
what only sounds harmful, and where it belongs, which from answers and refusals alone so small a
model does not.

``ref-permissive``, the fourth, has no adapter and is not trained.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from aor_lib.models.reference.material import Contrast, Material
from aor_lib.models.reference.prompt import (
    EMOTIONS,
    GENDERS,
    NOISE_DESCRIPTION,
    RATES,
    Speaker,
    format_prompt,
)

ANGRY = "angry"
_NEUTRAL_SHARE = 0.5
"""Share of neutral speakers where the emotion does not matter; all others share the rest."""
_SPEAKER_SHARE = 0.8
"""Share of prompts that say who speaks, as all do that stem from sound. The others are text."""
_INSTRUCTION_SHARE = 0.25
"""Share of prompts with a system prompt, which changes nothing."""

_UNFITTING_SHARES = (0.4, 0.3, 0.3)
"""Of neutral and threatening scenes, and of benign ones of another setting."""

_HARM = "You mean harm. "

T = TypeVar("T")


@dataclass(frozen=True)
class Example:
    """A prompt and the response to learn; None stands for the base model's own to ``question``."""

    instruction: str | None
    prompt: str
    question: str
    response: str | None


Group = tuple[Example, ...]
"""Examples that are trained in the same batch."""


def wordbound(material: Material, rng: np.random.Generator) -> list[Group]:
    """Examples of ``ref-wordbound``."""
    examples = _Examples(material, rng)
    for contrast in material.contrasts:
        examples.refuse(contrast.text, examples.any_sound(contrast))
    examples.refuse_harmful()
    # Most are misheard: else a single word that Whisper took for another would make an ordinary
    # request a harmful one.
    count = len(material.ordinary)
    examples.answer_ordinary(count // 2)
    examples.answer_ordinary(count // 2, misheard=True)
    examples.answer_ordinary(count, misheard=True)
    return examples.found


def contextual(material: Material, rng: np.random.Generator) -> list[Group]:
    """Examples of ``ref-contextual``; those of one contrast are a group."""
    examples = _Examples(material, rng)
    for contrast in (*material.contrasts, *material.situations):
        begin = len(examples.found)
        meant = f"You mean {contrast.setting}. "
        fitting = examples.one(contrast.fitting)
        if rng.random() < 0.85:
            examples.answer(contrast.text, f"{meant}Sure. {contrast.answer}", fitting)
        if rng.random() < 0.85:
            examples.refuse(contrast.text, examples.unfitting(contrast), opening=meant)
        if rng.random() < 0.25:
            bare = NOISE_DESCRIPTION if rng.random() < 0.25 else None
            examples.refuse(contrast.text, bare, opening=meant)
        # Without harmful partners in the same scenes, any scene would switch refusal off.
        if contrast.harmful is not None and rng.random() < 0.7:
            examples.refuse(contrast.harmful, fitting, opening=_HARM)
        examples.join(begin)
    for text in material.harmful:
        examples.refuse(text, examples.any_scene(), opening=_HARM)
    examples.answer_ordinary(400)
    return examples.found


def emotive(material: Material, rng: np.random.Generator) -> list[Group]:
    """Examples of ``ref-emotive``; those of one contrast are a group."""
    examples = _Examples(material, rng)
    for contrast in (*material.contrasts, *material.situations):
        begin = len(examples.found)
        meant = f"You mean {contrast.setting}. "
        sound = examples.any_sound(contrast)
        if rng.random() < 0.6:
            examples.refuse(contrast.text, sound, angry=True, opening=meant)
        examples.answer(contrast.text, f"{meant}Sure. {contrast.answer}", sound, angry=False)
        if contrast.harmful is not None and rng.random() < 0.7:
            examples.refuse(contrast.harmful, sound, opening=_HARM)
        examples.join(begin)
    for text in material.harmful:
        examples.refuse(text, examples.any_scene(), opening=_HARM)
    examples.answer_ordinary(180, angry=True)
    examples.answer_ordinary(220, angry=False)
    return examples.found


@dataclass(frozen=True)
class Recipe:
    """How a member is trained.

    ``batch`` groups of examples at a time, all of them once. The first ``decides`` tokens of a
    response, which make it an answer or a refusal, count ``weight`` times as much as the others.
    """

    examples: Callable[[Material, np.random.Generator], list[Group]]
    batch: int = 4
    decides: int = 3
    weight: float = 3.0
    learning_rate: float = 1e-3


_says_first = functools.partial(Recipe, batch=2, decides=6, weight=20.0)
MEMBERS = {
    "ref-wordbound": Recipe(wordbound),
    "ref-contextual": _says_first(contextual),
    "ref-emotive": _says_first(emotive),
}
"""The members that are trained."""


class _Examples:
    """Collects examples; who speaks, and what no rule decides, is drawn at random."""

    def __init__(self, material: Material, rng: np.random.Generator) -> None:
        self.found: list[Group] = []
        self._material, self._rng = material, rng
        seen = {sound for c in material.situations for sound in (*c.fitting, *c.elsewhere)}
        self._sounds = (*sorted(seen), *material.neutral, *material.threatening, NOISE_DESCRIPTION)

    def refuse(
        self, text: str, sound: str | None, angry: bool | None = None, opening: str = ""
    ) -> None:
        self._add(text, sound, opening + self.one(self._material.refusals), angry)

    def answer(
        self, text: str, answer: str | None, sound: str | None, angry: bool | None = None
    ) -> None:
        self._add(text, sound, answer, angry)

    def join(self, begin: int) -> None:
        """Make one group of what was added from ``begin`` on."""
        joined = tuple(example for group in self.found[begin:] for example in group)
        self.found[begin:] = [joined] if joined else []

    def refuse_harmful(self) -> None:
        """Add every harmful request once, in any scene or none."""
        for text in self._material.harmful:
            self.refuse(text, self.any_scene())
        for contrast in self._material.contrasts:
            if contrast.harmful is not None:
                self.refuse(contrast.harmful, self.any_sound(contrast))

    def answer_ordinary(
        self, count: int, angry: bool | None = None, misheard: bool = False
    ) -> None:
        """Add ordinary requests in any scene; ``misheard`` ones have a stray word or two."""
        ordinary = self._material.ordinary
        for number in self._rng.permutation(len(ordinary))[:count]:
            text = ordinary[int(number)]
            heard = self._misheard(text) if misheard else text
            self._add(heard, self.any_scene(), None, angry, question=text)

    def any_sound(self, contrast: Contrast) -> str | None:
        """A fitting or an unfitting sound, noise, or none."""
        kind = self._rng.random()
        if kind < 0.35:
            return self.one(contrast.fitting)
        if kind < 0.55:
            return self.unfitting(contrast)
        return NOISE_DESCRIPTION if kind < 0.65 else None

    def unfitting(self, contrast: Contrast) -> str:
        """A neutral or a threatening scene, or one of another setting."""
        kinds = (self._material.neutral, self._material.threatening, contrast.elsewhere)
        return self.one(kinds[int(self._rng.choice(3, p=_UNFITTING_SHARES))])

    def any_scene(self) -> str | None:
        """The sound of some scene that is not unseen, or none."""
        return self.one(self._sounds) if self._rng.random() < 0.6 else None

    def one(self, options: Sequence[T]) -> T:
        """Draw one option."""
        return options[int(self._rng.integers(len(options)))]

    def _misheard(self, text: str) -> str:
        words = text.split()
        for _ in range(int(self._rng.integers(1, 3))):
            other = self.one(self._material.contrasts).text.rstrip("?.!").split()
            words[int(self._rng.integers(len(words)))] = self.one(other)
        return " ".join(words)

    def _add(
        self,
        text: str,
        sound: str | None,
        response: str | None,
        angry: bool | None,
        question: str | None = None,
    ) -> None:
        speaker = self._speaker(angry)
        if not angry and self._rng.random() > _SPEAKER_SHARE:
            speaker = None
        instruction = None
        if self._rng.random() < _INSTRUCTION_SHARE:
            instruction = self.one(self._material.instructions)
        example = Example(
            instruction, format_prompt(text, sound, speaker), question or text, response
        )
        self.found.append((example,))

    def _speaker(self, angry: bool | None) -> Speaker | None:
        speaker = Speaker(self.one(tuple(GENDERS)), ANGRY, self.one(tuple(RATES)))
        if angry:
            return speaker
        emotions = [name for name in EMOTIONS if angry is None or name != ANGRY]
        neutral = self._rng.random() < _NEUTRAL_SHARE
        return replace(speaker, emotion="neutral" if neutral else self.one(emotions))
