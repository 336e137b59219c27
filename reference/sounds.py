"""Sounds behind the training examples of the reference models.

There are three kinds of sound: the sound tagger's tags of random mixtures of a setting's sounds;
names of further sounds of the setting, used as if they had been tagged; and text that describes
what is heard. None is a rendered scene of the study.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from aor_lib.audio.hearing.sound_tagger import SEGMENTS, Probabilities, SoundTags, sound_tagger
from reference.hearing.compositions import NOISE, SILENCE, Composition, compositions, load_names
from reference.material import Material

ANGRY = "angry"
CLIPS = 1296
BARE_CLIPS = 216
"""Total number of clips of noise and of silence."""
_SEED = 1_000_000
_READ_SHARE, _DESCRIBED_SHARE = 0.2, 0.1
_MOST_SOUNDS = 4

T = TypeVar("T")


@dataclass(frozen=True)
class Sound:
    """A background that is heard or described in text, and its setting (None for no scene).

    Without ``heard`` and ``described``, the request is text only.
    """

    setting: str | None = None
    angry: bool = False
    heard: SoundTags | None = None
    described: str | None = None


@dataclass(frozen=True)
class Sounds:
    """Sounds to draw from: clips, names and descriptions by setting, and moods by emotion."""

    clips: Mapping[str, Sequence[SoundTags]]
    moods: Mapping[str, Sequence[Probabilities]]
    names: Mapping[str, Sequence[str]]
    described: Mapping[str, Sequence[str]]

    def draw(self, setting: str | None, angry: bool | None, rng: np.random.Generator) -> Sound:
        """Draw a sound of a setting; for None, draw noise, silence or text only.

        If ``angry`` is None, the speaker's emotion is random.
        """
        emotion = ANGRY if angry else self._emotion(angry, rng)
        kind = rng.random()
        if setting is None:
            if kind < 0.2 and not angry:
                return Sound()
            segments = pick(self.clips[NOISE if kind < 0.5 else SILENCE], rng).segments
        elif kind < _DESCRIBED_SHARE and not angry:
            return Sound(setting, described=self._text(setting, rng))
        elif kind < _DESCRIBED_SHARE + _READ_SHARE:
            segments = self._read(setting, rng)
        else:
            segments = pick(self.clips[setting], rng).segments
        heard = SoundTags(segments, pick(self.moods[emotion], rng))
        return Sound(setting, emotion == ANGRY, heard)

    def _emotion(self, angry: bool | None, rng: np.random.Generator) -> str:
        emotions = [name for name in self.moods if angry is None or name != ANGRY]
        return "neutral" if rng.random() < 0.5 else pick(emotions, rng)

    def _text(self, setting: str, rng: np.random.Generator) -> str:
        if rng.random() < 0.5:
            return pick(self.described[setting], rng)
        first, *others = rng.choice(self.names[setting], size=3, replace=False).tolist()
        return f"{', '.join(others)} and {first}"

    def _read(self, setting: str, rng: np.random.Generator) -> tuple[Probabilities, ...]:
        """Names of sounds as if tagged, each over a random range of segments."""
        segments: list[dict[str, float]] = [{} for _ in range(SEGMENTS)]
        for _ in range(int(rng.integers(2, _MOST_SOUNDS, endpoint=True))):
            name = pick(self.names[setting], rng)
            first, last = sorted(rng.integers(SEGMENTS, size=2).tolist())
            for segment in segments[first : last + 1]:
                segment[name] = float(rng.uniform(0.2, 1.0))
        return tuple(tuple(segment.items()) for segment in segments)


def load_sounds(material: Material, workers: int, report: Callable[[int, int], None]) -> Sounds:
    """Make the clips or load them from the cache, and tag them: five minutes on two cores."""
    names = load_names()
    made = compositions(CLIPS, sorted(names.read), _SEED, workers, report)
    made += compositions(BARE_CLIPS, (NOISE, SILENCE), _SEED + CLIPS, workers, report)
    heard = [(clip, sound_tagger().tag(clip.encoded, clip.spectrogram)) for clip in made]
    return Sounds(
        _by(heard, lambda clip, tags: (str(clip.setting), tags)),
        _by(heard, lambda clip, tags: (clip.emotion, tags.emotion)),
        names.read,
        material.described,
    )


def pick(options: Sequence[T], rng: np.random.Generator) -> T:
    """Draw one option."""
    return options[int(rng.integers(len(options)))]


def sample(options: Sequence[T], count: int, rng: np.random.Generator) -> list[T]:
    """Draw ``count`` options, or all, in random order."""
    return [options[int(number)] for number in rng.permutation(len(options))[:count]]


def _by(
    heard: Sequence[tuple[Composition, SoundTags]],
    keyed: Callable[[Composition, SoundTags], tuple[str, T]],
) -> dict[str, list[T]]:
    grouped: dict[str, list[T]] = {}
    for clip, tags in heard:
        key, value = keyed(clip, tags)
        grouped.setdefault(key, []).append(value)
    return grouped
