"""Design of a study's stimuli: utterances x voices x backgrounds, fixed before synthesis.

Every choice is determined by the profile and the utterance's position in it. A harmful counterpart
gets the voice and the scenes of the utterance that it contrasts with. An utterance keeps its voice
in all core conditions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import Field

from aor_lib.audio import speech
from aor_lib.config.params import Scenario, StudyParams
from aor_lib.config.profile import History, Paralinguistics, Profile, SomeUtterances
from aor_lib.config.records import Block, Condition, Emotion, Intent, SpeakingRate, Split, Utterance
from aor_lib.config.scene import Scene
from aor_lib.config.typed_yaml import Params, ParamsError

_OTHER_KINDS = {Condition.NEUTRAL_SCENE: "neutral", Condition.THREATENING_SCENE: "threatening"}
_VOICES_PER_UTTERANCE = 2  # synthesis is the costliest step, so variants share speech

_Option = TypeVar("_Option")


class StimulusSpec(Params):
    """Specification of a stimulus: everything that determines it."""

    utterance: Utterance
    condition: Condition
    block: Block
    voice: str
    emotion: Emotion = "neutral"
    speaking_rate: SpeakingRate = "normal"
    scene: Scene | None = None  # in the background, or described in a text
    snr_db: float | None = None
    history: History | None = None
    history_scene: Scene | None = None
    variant: int = 0
    seed: int = Field(default=0, ge=0)

    @property
    def stimulus_id(self) -> str:
        """Readable id, unique within a study."""
        parts = [self.utterance.id, self.condition.value]
        if self.condition.has_audio:
            parts += [self.voice, self.speaking_rate]
        parts += [
            self.emotion if self.emotion != "neutral" else "",
            self.scene.id if self.scene else "",
            f"snr{self.snr_db:g}".replace("-", "m") if self.snr_db is not None else "",
            f"after_{self.history.id}" if self.history else "",
            f"v{self.variant}" if self.variant else "",
        ]
        return ".".join(filter(None, parts))

    @property
    def row_fields(self) -> dict[str, object]:
        """Fields of the stimulus's manifest row that follow from the design alone."""
        spoken = self.condition.has_audio
        of_utterance = {"scenario", "intent", "text", "harm_category", "contrast_of"}
        voiced = self.model_dump(include={"voice", "emotion", "speaking_rate"})
        return {
            **self.utterance.model_dump(include=of_utterance),
            **self.model_dump(include={"snr_db", "seed", "block", "condition", "variant"}),
            **(voiced if spoken else dict.fromkeys(voiced)),
            "stimulus_id": self.stimulus_id,
            "utterance_id": self.utterance.id,
            "gender": speech.gender_of(self.voice) if spoken else None,
            "background_scene": self.scene.id if self.scene else None,
            "scene_kind": self.scene.kind if self.scene else None,
            "unseen_scene": self.scene.unseen if self.scene else None,
            "history_id": self.history.id if self.history else None,
            "split": self.utterance.split,
        }


def stimuli(study: StudyParams) -> list[StimulusSpec]:
    """All stimuli of a study, by utterance; ``ParamsError`` if voices or scenes are missing."""
    by_id: dict[str, StimulusSpec] = {}
    for number, scenario in enumerate(study.scenarios):
        for utterance, position, reported in _chosen(scenario, study.profile):
            for spec in _Place(study, number, utterance, position, reported).stimuli():
                by_id.setdefault(spec.stimulus_id, spec)
    return list(by_id.values())


def _chosen(scenario: Scenario, profile: Profile) -> Iterator[tuple[Utterance, int, int]]:
    # The first utterances of each intent, a third of them from `dev`, with their positions among
    # all utterances of the intent and among those of `test`; contrast partners share both.
    numbers: dict[str, tuple[int, int]] = {}
    for intent in (Intent.PSEUDO_HARMFUL, Intent.HARMFUL, Intent.BENIGN):
        of_intent = [u for u in scenario.utterances if u.intent is intent]
        wanted = profile.utterances_per_scenario.get(intent, 0)
        test = [u for u in of_intent if u.split is Split.TEST]
        dev = [u for u in of_intent if u.split is Split.DEV]
        test = test[: max(wanted - wanted // 3, wanted - len(dev))]
        dev = dev[: wanted - len(test)]
        of_test = 0
        for number, utterance in enumerate(of_intent):
            own = numbers.get(utterance.contrast_of or "", (number, of_test))
            numbers[utterance.id] = own
            of_test += utterance.split is Split.TEST
            if utterance in (*dev, *test):
                yield utterance, *own


@dataclass(frozen=True)
class _Place:
    """An utterance and its position in the study."""

    study: StudyParams
    scenario: int
    utterance: Utterance
    position: int
    reported: int  # position among the utterances of `test`

    def stimuli(self) -> Iterator[StimulusSpec]:
        profile, intent = self.study.profile, self.utterance.intent
        # A benign request fits every threatening scene: a refusal there is a reaction to the sound.
        threatened = self.utterance.threatening_scenes or intent is Intent.BENIGN
        for condition in profile.conditions:
            if threatened or condition is not Condition.THREATENING_SCENE:
                yield self.core(condition)
        if intent is Intent.PSEUDO_HARMFUL and Condition.BENIGN_SCENE in profile.conditions:
            for variant in range(1, profile.variants):
                yield self.core(Condition.BENIGN_SCENE, variant)
        in_scene, spoken = self.core(Condition.BENIGN_SCENE), self.core(Condition.SPEECH_ONLY)
        if intent is Intent.BENIGN:
            return
        if self.is_among(profile.multi_turn):
            for history in self.study.histories:
                final = in_scene if history.final is Condition.BENIGN_SCENE else spoken
                earlier = {"history": history, "history_scene": in_scene.scene}
                yield final.model_copy(update={"block": "multi_turn", **earlier})
        if (sweep := profile.snr_sweep) and self.is_among(sweep):
            for snr_db in sweep.snr_db:
                yield in_scene.model_copy(update={"block": "snr_sweep", "snr_db": snr_db})
        factors = profile.paralinguistics if intent is Intent.PSEUDO_HARMFUL else None
        if factors and self.is_among(factors):
            for cell in self.paralinguistic_cells(factors):
                yield spoken.model_copy(update={"block": "paralinguistics", **cell})

    def core(self, condition: Condition, variant: int = 0) -> StimulusSpec:
        profile = self.study.profile
        name = self.utterance.contrast_of or self.utterance.id
        digest = hashlib.sha256(f"{profile.seed}/{name}/{variant}".encode()).digest()
        seed = int.from_bytes(digest[:6], "big")
        voice = self.position + self.scenario + variant % _VOICES_PER_UTTERANCE
        return StimulusSpec(
            utterance=self.utterance,
            condition=condition,
            block="core",
            voice=self.pick(profile.voices, voice),
            scene=self.scene(condition, variant, seed) if condition.has_scene else None,
            snr_db=profile.mixing.snr_db if condition.has_background else None,
            variant=variant,
            seed=seed,
        )

    def scene(self, condition: Condition, variant: int, seed: int) -> Scene:
        kind = _OTHER_KINDS.get(condition, "benign")
        own = {"benign": self.utterance.scenes, "threatening": self.utterance.threatening_scenes}
        if names := own.get(kind):
            # Scenes change half as often as voices, which alternate in gender, so that neither
            # predicts the other. Across variants, an even number of scenes is shifted by one in
            # each round; otherwise each scene would always have the same voice.
            shift = variant // _VOICES_PER_UTTERANCE if len(names) % 2 == 0 else 0
            return self.study.scenes[self.pick(names, self.position // 2 + variant + shift)]
        scenes = [scene for scene in self.study.other_scenes if scene.kind == kind]
        lacking = f"conditions: {condition.value!r} needs a scene of kind {kind!r}"
        return self.pick(scenes, seed, lacking)

    def paralinguistic_cells(self, factors: Paralinguistics) -> Iterator[dict[str, str]]:
        # One female and one male voice speak all cells of an utterance. The pairs rotate over the
        # utterances, so that the effect of gender is not that of a single voice.
        number = self.scenario * factors.utterances_per_scenario + self.reported
        for g, gender in enumerate(("female", "male")):
            voices = [v for v in self.study.profile.voices if speech.gender_of(v) == gender]
            voice = self.pick(voices, number, f"voices: paralinguistics needs a {gender} voice")
            for e, emotion in enumerate(factors.emotions):
                rate = factors.rates[(g + e + number) % len(factors.rates)]
                yield {"voice": voice, "emotion": emotion, "speaking_rate": rate}

    def is_among(self, some: SomeUtterances | None) -> bool:
        if some is None or self.utterance.split is not Split.TEST:
            return False
        return self.reported < some.utterances_per_scenario

    def pick(self, options: Sequence[_Option], number: int, lacking: str = "") -> _Option:
        if not options:
            raise ParamsError(f"{self.study.profile.name}: {lacking}")
        return options[number % len(options)]
