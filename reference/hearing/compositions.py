"""Random mixtures of the scenes' sounds under speech, on which the sound tagger is trained.

A composition has the bed of one scene and events of any others, so that a sound does not predict
the scene that it was written for.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import Field

from aor_lib.audio import mixing, speech
from aor_lib.audio.hearing import transcription
from aor_lib.audio.hearing.sound_tagger import SEGMENTS
from aor_lib.audio.hearing.transcription import Features, Spectrogram
from aor_lib.audio.scenes import engine
from aor_lib.audio.speech.prosody import TARGETS, express
from aor_lib.config.params import load_scenes
from aor_lib.config.profile import Mixing
from aor_lib.config.records import Identifier
from aor_lib.config.scene import Scene
from aor_lib.config.typed_yaml import Params, read
from aor_lib.stimuli import dataset
from aor_lib.storage import assets
from aor_lib.storage.assets import Arrays, load_or_make
from aor_lib.storage.workers import map_jobs

VERSION = 4
"""Version of the compositions' content, increased by every change; part of the cache key."""
NOISE, SILENCE = "steady noise", "silence"
VOICES = (
    "af_alloy",
    "af_aoede",
    "af_jessica",
    "af_kore",
    "af_nova",
    "af_river",
    "af_sarah",
    "am_adam",
    "am_echo",
    "am_eric",
    "am_liam",
    "am_onyx",
    "am_puck",
    "af_sky",
    "bf_alice",
    "bf_lily",
    "bm_daniel",
    "bm_lewis",
)
"""Voices of the training clips; no profile of the study uses them."""
SENTENCES = (
    "Could you tell me what time the next train leaves?",
    "Please put the two blue folders on the table over there.",
    "How many people are coming to the party on Sunday?",
    "I would like to know more about the garden behind the house.",
    "Why did nobody water the flowers while we were away?",
    "We should meet again next week and talk about the plan.",
    "Show me the photos from your last holiday by the sea.",
    "Is there any milk left, or do I have to buy some?",
    "My sister has moved to a small town near the mountains.",
)
"""Sentences of the training clips; no stimulus uses them."""
_SENTENCES_EACH = 2  # per voice and rate
_SHARES = {"composition": 0.84, NOISE: 0.08, SILENCE: 0.08}
_SNRS_DB = (-3.0, 20.0)
_LEAD_INS_S = (0.0, 2.5)
_MOST_EVENTS = 6
_NEUTRAL_SHARE = 0.4

Name = Annotated[str, Field(pattern=r"^[a-z][a-z' -]{2,39}$")]
Job = tuple[str, str, str, tuple[tuple[int, str | None], ...]]
"""A voice, a sentence and a rate, and the numbers and settings of the clips to make from them."""


class Names(Params):
    """Names of sounds (reference/material/sounds.yaml).

    ``beds`` by scene; ``events`` by scene and by the name in the manifest; ``read`` by setting: a
    scenario, ``neutral`` or ``threatening``.
    """

    beds: Mapping[Identifier, Name]
    events: Mapping[Identifier, Mapping[str, Name]]
    read: Mapping[Identifier, tuple[Name, ...]]


@dataclass(frozen=True)
class Composition:
    """A training clip, and the sounds in it.

    ``encoded`` and ``spectrogram`` are as in
    :class:`~aor_lib.audio.hearing.transcription.Transcription`; ``sounds`` are the names of the
    sounds in each segment; ``setting`` is None if the clip was drawn from all settings.
    """

    encoded: Features
    spectrogram: Spectrogram
    sounds: tuple[frozenset[str], ...]
    emotion: str
    setting: str | None


@functools.cache
def load_names() -> Names:
    """Read the names of sounds; raises ``ParamsError`` if the file is missing or wrong."""
    return read(Path(__file__).parents[1] / "material" / "sounds.yaml", Names)


def compositions(
    count: int,
    settings: Sequence[str | None],
    seed: int,
    workers: int,
    report: Callable[[int, int], None],
) -> list[Composition]:
    """Make compositions, or load them from the cache.

    Parameters
    ----------
    settings
        Settings of the clips, in turn; see :func:`pool`. ``NOISE`` and ``SILENCE`` are also
        possible, and None draws any of these.
    seed
        Seed of the clips.
    report
        Called with the number of clips made and their total.
    """
    origin = [VERSION, dataset.VERSION, transcription.VERSION, count, settings, seed]
    made = load_or_make(
        "compositions", origin, lambda: _made(count, settings, seed, workers, report)
    )
    return [
        Composition(
            encoded,
            spectrogram,
            tuple(map(frozenset, json.loads(sounds))),
            emotion,
            setting or None,
        )
        for encoded, spectrogram, sounds, emotion, setting in zip(
            made["encoded"].astype(np.float32),
            np.split(made["spectrograms"].astype(np.float16), np.cumsum(made["frames"])[:-1]),
            made["sounds"].tolist(),
            made["emotion"].tolist(),
            made["setting"].tolist(),
            strict=True,
        )
    ]


def pool(setting: str | None) -> list[Scene]:
    """Scenes of a setting (a scenario, ``neutral`` or ``threatening``), except unseen ones.

    None gives all scenes, including unseen ones. Events have the names in
    ``reference/material/sounds.yaml``.
    """
    return [
        scene
        for scene in _named_scenes()
        if setting is None or (not scene.unseen and setting in (scene.scenario, scene.kind))
    ]


def fetch_weights() -> None:
    """Fetch the weights of speech and hearing once, before every worker would."""
    for asset in ("kokoro", "whisper-tiny-en"):
        assets.fetch(asset)


def _made(
    count: int,
    settings: Sequence[str | None],
    seed: int,
    workers: int,
    report: Callable[[int, int], None],
) -> Arrays:
    fetch_weights()
    spoken = list(product(VOICES, speech.RATES, range(_SENTENCES_EACH)))
    jobs = [
        (
            voice,
            SENTENCES[index % len(SENTENCES)],
            rate,
            tuple(
                (seed + number, settings[number % len(settings)])
                for number in range(index, count, len(spoken))
            ),
        )
        for index, (voice, rate, _) in enumerate(spoken[:count])
    ]
    clips: list[Composition] = []
    for of_sentence in map_jobs(_of_sentence, jobs, workers):
        clips += of_sentence
        report(len(clips), count)
    return {
        "encoded": np.stack([clip.encoded for clip in clips]),
        "spectrograms": np.concatenate([clip.spectrogram for clip in clips]),
        "frames": np.array([len(clip.spectrogram) for clip in clips]),
        "sounds": np.array([json.dumps([sorted(s) for s in clip.sounds]) for clip in clips]),
        "emotion": np.array([clip.emotion for clip in clips]),
        "setting": np.array([clip.setting or "" for clip in clips]),
    }


def _of_sentence(job: Job) -> list[Composition]:
    voice, sentence, rate, clips = job
    spoken = speech.synthesise(sentence, voice, rate)
    return [_compose(spoken, number, setting) for number, setting in clips]


def _compose(spoken: npt.NDArray[np.float32], number: int, setting: str | None) -> Composition:
    rng = np.random.default_rng([VERSION, number])
    emotion = "neutral" if rng.random() < _NEUTRAL_SHARE else str(rng.choice(list(TARGETS)))
    expressed = express(spoken, emotion)
    # Lead-ins may be shorter than a study allows.
    settings = Mixing.model_construct(lead_in_s=float(rng.uniform(*_LEAD_INS_S)))
    length = mixing.clip_length(len(expressed), settings)
    kind = str(rng.choice(list(_SHARES), p=list(_SHARES.values())))
    if setting is not None:
        kind = setting if setting in _SHARES else "composition"
    background, sounds = None, (frozenset[str](),) * SEGMENTS
    if kind != SILENCE:
        scene, bed = _mixture(pool(None if setting in _SHARES else setting), rng)
        made = engine.render(scene, length / speech.SAMPLE_RATE, speech.SAMPLE_RATE, rng)
        background, sounds = made.samples, _by_segment(made, bed)
        if kind == NOISE:
            background = engine.spectrum_matched_noise(background, length, rng)
            sounds = (frozenset({NOISE}),) * SEGMENTS
    settings = settings.model_copy(update={"snr_db": float(rng.uniform(*_SNRS_DB))})
    mixed = mixing.mix(expressed, background, settings)
    encoded, spectrogram = transcription.listen(mixed.samples, speech.SAMPLE_RATE)
    return Composition(encoded, spectrogram, sounds, emotion, setting)


def _mixture(scenes_of: Sequence[Scene], rng: np.random.Generator) -> tuple[Scene, str]:
    """A scene with the bed, room and events of different scenes, and the name of its bed."""
    bed, room, *others = (
        scenes_of[int(n)] for n in rng.integers(len(scenes_of), size=2 + _MOST_EVENTS)
    )
    events = [s.events[int(rng.integers(len(s.events)))] for s in others if s.events]
    events = events[: int(rng.integers(0, _MOST_EVENTS, endpoint=True))]
    parts = {"events": tuple(events), "room": room.room, "tempo_bpm": (90.0, 150.0)}
    return bed.model_copy(update={"id": "composition", **parts}), load_names().beds[bed.id]


def _by_segment(made: engine.Soundscape, bed: str) -> tuple[frozenset[str], ...]:
    segment_s = len(made.samples) / made.sample_rate / SEGMENTS
    sounds: list[set[str]] = [{bed} for _ in range(SEGMENTS)]
    for event in made.events:
        last = min(SEGMENTS - 1, int((event.onset_s + event.duration_s) / segment_s))
        for segment in range(int(event.onset_s / segment_s), last + 1):
            sounds[segment].add(event.name)
    return tuple(frozenset(names) for names in sounds)


@functools.cache
def _named_scenes() -> tuple[Scene, ...]:
    renamed = []
    for scene in load_scenes().values():
        names = load_names().events.get(scene.id, {})
        events = tuple(
            event.model_copy(update={"name": names.get(event.name, event.name), "then": ()})
            for event in scene.events
        )
        renamed.append(scene.model_copy(update={"events": events}))
    return tuple(renamed)
