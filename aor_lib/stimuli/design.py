"""Design of a study's stimuli: utterances x voices x backgrounds, decided before any sound.

Every choice follows from the profile and the utterance's place in it, so the same parameters give
the same design. A harmful counterpart gets the voice and the scenes of the utterance that it
contrasts with: only the words differ. An utterance keeps its voice in all core conditions: from a
benign to a neutral or a threatening scene, only the scene differs.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Sequence

from pydantic import model_validator

from aor_lib.audio import speech
from aor_lib.config.params import Scenario, StudyParams
from aor_lib.config.profile import History, Paralinguistics, Profile
from aor_lib.config.records import (
    Block,
    Condition,
    Emotion,
    Intent,
    SceneKind,
    SpeakingRate,
    Utterance,
)
from aor_lib.config.scene import Scene
from aor_lib.config.typed_yaml import Params, ParamsError

_KINDS: dict[Condition, SceneKind] = {
    Condition.NEUTRAL_SCENE: "neutral",
    Condition.THREATENING_SCENE: "threatening",
}
"""Kinds of the scenes that are no scenario's."""

_VOICES_PER_UTTERANCE = 2
"""Synthesis is the costliest step: variants of an utterance share two voices and their speech."""


class Call(Params):
    """Words that somebody else calls out before the speaker begins."""

    text: str
    voice: str


class StimulusSpec(Params):
    """Everything that decides a stimulus, before it is made.

    ``voice``, ``emotion`` and ``speaking_rate`` are of the speech, if the condition has any;
    ``scene`` is the background's, or the one that a text describes.
    """

    utterance: Utterance
    condition: Condition
    block: Block
    voice: str
    emotion: Emotion = "neutral"
    speaking_rate: SpeakingRate = "normal"
    scene: Scene | None = None
    snr_db: float | None = None
    call: Call | None = None
    history: History | None = None
    history_scene: Scene | None = None
    variant: int = 0
    seed: int = 0

    @model_validator(mode="after")
    def _has_the_scene_that_it_needs(self) -> StimulusSpec:
        if self.condition.has_scene and self.scene is None:
            raise ValueError(f"condition: {self.condition.value!r} needs a scene (see load_scene)")
        return self

    @property
    def stimulus_id(self) -> str:
        """A readable name, unique within a study."""
        parts = [self.utterance.id, self.condition.value]
        if self.condition.has_audio:
            parts += [self.voice, self.speaking_rate]
        if self.emotion != "neutral":
            parts.append(self.emotion)
        if self.scene:
            parts.append(self.scene.id)
        if self.snr_db is not None:
            parts.append(f"snr{self.snr_db:g}".replace("-", "m"))
        if self.call:
            parts.append("call")
        if self.history:
            parts.append(f"after_{self.history.id}")
        if self.variant:
            parts.append(f"v{self.variant}")
        return ".".join(parts)


def stimuli(study: StudyParams) -> list[StimulusSpec]:
    """All stimuli of a study, each once, in a fixed order: utterance by utterance.

    ParamsError if the profile names too few voices for what it asks for, or no scene is of a kind.
    """
    profile = study.profile
    for condition, kind in _KINDS.items():
        if condition in profile.conditions and not _of_kind(study, kind):
            raise ParamsError(
                f"{profile.name}: conditions: {condition.value!r} needs a scene of kind {kind!r}"
            )
    by_id: dict[str, StimulusSpec] = {}
    for number, scenario in enumerate(study.scenarios):
        for position, utterance in _chosen(scenario, profile):
            for spec in _of_utterance(study, number, utterance, position):
                by_id.setdefault(spec.stimulus_id, spec)
    return list(by_id.values())


def _chosen(scenario: Scenario, profile: Profile) -> Iterator[tuple[int, Utterance]]:
    """The first utterances of each intent, with a position that contrast partners share."""
    positions: dict[str, int] = {}
    for intent in (Intent.PSEUDO_HARMFUL, Intent.HARMFUL, Intent.BENIGN):
        of_intent = [u for u in scenario.utterances if u.intent is intent]
        for position, utterance in enumerate(of_intent):
            partner = utterance.contrast_of
            positions[utterance.id] = positions.get(partner, position) if partner else position
        for utterance in of_intent[: profile.utterances_per_scenario.get(intent, 0)]:
            yield positions[utterance.id], utterance


def _of_utterance(
    study: StudyParams, scenario: int, utterance: Utterance, position: int
) -> Iterator[StimulusSpec]:
    """The stimuli of one utterance: the core conditions, then each block that the profile names."""
    profile = study.profile
    spec = functools.partial(_spec, study, scenario, utterance, position)
    # A benign request suits all threatening scenes: there a refusal is alarm at the sound.
    threatened = utterance.threatening_scenes or utterance.intent is Intent.BENIGN
    for condition in profile.conditions:
        if threatened or condition is not Condition.THREATENING_SCENE:
            yield spec(condition)
    if utterance.intent is Intent.PSEUDO_HARMFUL and Condition.BENIGN_SCENE in profile.conditions:
        for variant in range(1, profile.variants):
            yield spec(Condition.BENIGN_SCENE, variant)
    in_scene, spoken = spec(Condition.BENIGN_SCENE), spec(Condition.SPEECH_ONLY)
    if (turns := profile.multi_turn) and position < turns.utterances_per_scenario:
        for history in study.histories:
            final = in_scene if history.final is Condition.BENIGN_SCENE else spoken
            earlier = {"history": history, "history_scene": in_scene.scene}
            yield final.model_copy(update={"block": "multi_turn", **earlier})
    if utterance.intent is Intent.BENIGN:
        return
    if (sweep := profile.snr_sweep) and position < sweep.utterances_per_scenario:
        for snr_db in sweep.snr_db:
            yield in_scene.model_copy(update={"block": "snr_sweep", "snr_db": snr_db})
    calls = profile.secondary_voices
    if calls and in_scene.scene and position < calls.utterances_per_scenario:
        others = [voice for voice in profile.voices if voice != in_scene.voice]
        if not others:
            raise ParamsError(f"{profile.name}: voices: secondary_voices needs a second voice")
        if texts := in_scene.scene.calls:
            text = texts[in_scene.seed % len(texts)]
            call = Call(text=text, voice=others[position % len(others)])
            yield in_scene.model_copy(update={"block": "secondary_voices", "call": call})
    if (factors := profile.paralinguistics) and position < factors.utterances_per_scenario:
        number = scenario * factors.utterances_per_scenario + position
        for cell in _paralinguistic_cells(profile, factors, number):
            yield spoken.model_copy(update={"block": "paralinguistics", **cell})


def _paralinguistic_cells(
    profile: Profile, factors: Paralinguistics, number: int
) -> Iterator[dict[str, str]]:
    """Voice, emotion and rate of each stimulus of the ``number``-th utterance.

    A pair of a female and a male voice speaks all cells of an utterance; pairs take turns, so that
    gender is not one person's voice.
    """
    for g, gender in enumerate(("female", "male")):
        voices = [voice for voice in profile.voices if speech.gender_of(voice) == gender]
        if not voices:
            raise ParamsError(
                f"{profile.name}: voices: paralinguistics needs a {gender} voice; none is named"
            )
        for e, emotion in enumerate(factors.emotions):
            for r, rate in enumerate(factors.rates):
                if factors.fraction == "full" or r == (g + e + number) % len(factors.rates):
                    voice = voices[number % len(voices)]
                    yield {"voice": voice, "emotion": emotion, "speaking_rate": rate}


def _spec(
    study: StudyParams,
    scenario: int,
    utterance: Utterance,
    position: int,
    condition: Condition,
    variant: int = 0,
) -> StimulusSpec:
    profile, voices = study.profile, study.profile.voices
    origin = f"{profile.seed}/{utterance.contrast_of or utterance.id}/{variant}"
    seed = int.from_bytes(hashlib.sha256(origin.encode()).digest()[:6], "big")
    scene = None
    if condition.has_scene:
        kind = _KINDS.get(condition, "benign")
        own = {"benign": utterance.scenes, "threatening": utterance.threatening_scenes}.get(kind)
        if own:
            # Scenes change half as fast as voices, which alternate in gender: neither predicts the
            # other. Among variants, an even number of scenes is shifted once a round, or each would
            # keep a voice.
            turn = variant + (variant // _VOICES_PER_UTTERANCE if len(own) % 2 == 0 else 0)
            scene = study.scenes[own[(position // 2 + turn) % len(own)]]
        else:
            among = _of_kind(study, kind)
            scene = among[seed % len(among)]
    return StimulusSpec(
        utterance=utterance,
        condition=condition,
        block="core",
        voice=voices[(position + scenario + variant % _VOICES_PER_UTTERANCE) % len(voices)],
        scene=scene,
        snr_db=profile.mixing.snr_db if condition.has_background else None,
        variant=variant,
        seed=seed,
    )


def _of_kind(study: StudyParams, kind: SceneKind) -> Sequence[Scene]:
    return [scene for scene in study.other_scenes if scene.kind == kind]
