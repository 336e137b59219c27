"""Design of a study: its profile (params/PROFILE.yaml), mitigations and histories."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from aor_lib.config.records import Condition, Emotion, Generation, Identifier, Intent, SpeakingRate
from aor_lib.config.typed_yaml import Params

PROBES = {"probe_background": "sounds", "probe_words": "transcript"}
"""Prompts that ask what a model heard, and the key of such reports in ``Response.heard``."""

Snr = Annotated[float, Field(ge=-20, le=40)]


class Mixing(Params):
    """Levels and timing of speech over a scene (ITU-T P.56 and ITU-R BS.1770)."""

    snr_db: Snr = 6.0
    lead_in_s: Annotated[float, Field(ge=0.5, le=20)] = 2.0
    tail_s: Annotated[float, Field(ge=0, le=10)] = 0.5
    loudness_lufs: Annotated[float, Field(ge=-40, le=-14)] = -23.0
    true_peak_dbfs: Annotated[float, Field(ge=-20, le=-0.1)] = -1.0


class SomeUtterances(Params):
    """A part of the design with only the first ``test`` utterances of each scenario and intent."""

    utterances_per_scenario: Annotated[int, Field(ge=1)]


class SnrSweep(SomeUtterances):
    """`benign_scene` stimuli of some utterances at additional SNRs."""

    snr_db: tuple[Snr, ...]


class Paralinguistics(SomeUtterances):
    """`speech_only` stimuli of some utterances in each combination of gender and emotion.

    The speaking rates rotate over combinations and utterances, as in a Latin square.
    """

    emotions: tuple[Emotion, ...] = ("neutral", "angry", "fearful", "sad", "happy")
    rates: tuple[SpeakingRate, ...] = ("slow", "normal", "fast")


class FewMitigations(SomeUtterances):
    """Mitigations tried on the first pseudo-harmful and harmful utterances only."""

    mitigations: tuple[Identifier, ...] = Field(min_length=1)


class Prompt(Params):
    """Instructions that a model gets in addition to a stimulus."""

    instruction: str | None = None  # system prompt
    # requests in one conversation, the first with the stimulus; only the last answer counts
    steps: tuple[Annotated[str, Field(min_length=1)], ...] = ()


class Decoding(Params):
    """Sampling settings that replace greedy decoding."""

    temperature: Annotated[float, Field(gt=0, le=2)]
    seed: Annotated[int, Field(ge=0)]


class Mitigation(Prompt):
    """A prompt or decoding that is meant to change over-refusal (params/prompts/ID.yaml).

    ``control`` is equally long but on another subject. The last three fields are set by code.
    """

    id: Identifier
    title: str
    control: Prompt | None = None
    decoding: Decoding | None = None
    arm: Identifier | None = None
    method: Identifier | None = None
    is_control: bool = False

    @property
    def arms(self) -> tuple[Mitigation, ...]:
        """The mitigation and its control, if any, as separate mitigations."""
        if self.control is None:
            return (self,)
        own = {"id": f"{self.id}.control", "title": f"{self.title}: control", "arm": self.id}
        control = Mitigation.model_validate(own | {"is_control": True} | dict(self.control))
        return (self.model_copy(update={"control": None}), control)

    @property
    def is_none(self) -> bool:
        """True if the mitigation adds no instruction or step and leaves decoding unchanged."""
        return self.instruction is None and not self.steps and self.decoding is None

    def generation(self, of_study: Generation) -> Generation:
        """Generation settings of the study, with the mitigation's decoding if it has one."""
        return of_study.model_copy(update=self.decoding.model_dump() if self.decoding else {})


class EarlierTurn(Params):
    """An earlier exchange: what the speaker said, and the assistant's answer."""

    said: Annotated[str, Field(min_length=3, max_length=200)]
    in_scene: bool  # whether the scene is heard behind the speech
    answered: Annotated[str, Field(min_length=2, max_length=300)]


class History(Params):
    """One to four earlier turns that come before an utterance (params/histories.yaml)."""

    id: Identifier
    title: str
    final: Literal[Condition.BENIGN_SCENE, Condition.SPEECH_ONLY]  # of the utterance itself
    turns: tuple[EarlierTurn, ...] = Field(min_length=1, max_length=4)


class Histories(Params):
    """All histories of the study."""

    histories: tuple[History, ...]


class Profile(Params):
    """Design of one study: its stimuli, models and mitigations."""

    name: Identifier
    seed: int = 0
    scenarios: tuple[Identifier, ...] = Field(min_length=1)
    utterances_per_scenario: dict[Intent, Annotated[int, Field(ge=0)]]  # the first of each intent
    scenes: tuple[Identifier, ...] | None = None  # benign scenes to use; None: all
    # number of `benign_scene` stimuli per pseudo-harmful utterance, in different voices and scenes
    variants: Annotated[int, Field(ge=1, le=100)] = 1
    voices: tuple[Identifier, ...] = Field(min_length=1)
    conditions: tuple[Condition, ...] = Field(min_length=1)
    mixing: Mixing = Field(default_factory=Mixing)
    snr_sweep: SnrSweep | None = None
    paralinguistics: Paralinguistics | None = None
    multi_turn: SomeUtterances | None = None  # after every history of params/histories.yaml
    sound_bank: bool = False  # use recordings of 'aor import --sounds' with matching labels
    probe: SomeUtterances | None = None  # ask models which sounds and words they hear
    models: tuple[Identifier, ...] = Field(min_length=1)
    mitigations: tuple[Identifier, ...] = ("none",)
    few_mitigated: FewMitigations | None = None  # additional mitigations
    steered_models: tuple[Identifier, ...] | None = None  # also get clips of dev; None: all
    generation: Generation = Field(default_factory=Generation)
    judge: Identifier = "speech-acts"

    @model_validator(mode="after")
    def _fits_together(self) -> Profile:
        few = self.few_mitigated.mitigations if self.few_mitigated else ()
        if "none" not in self.mitigations:
            raise ValueError("mitigations must hold 'none', which the others are compared with")
        if {*PROBES} & {*self.mitigations, *few}:
            raise ValueError("mitigations must hold no probe; say 'probe:' to ask what is heard")
        if Condition.AS_FOUND in self.conditions:
            raise ValueError(
                "conditions must not include 'as_found', which only imported clips have"
            )
        lists = {n: getattr(self, n) for n in ("scenarios", "voices", "conditions", "models")}
        lists["mitigations (with few_mitigated)"] = (*self.mitigations, *few)
        for field, names in lists.items():
            if repeated := [name for name in names if names.count(name) > 1]:
                raise ValueError(f"{field} names {repeated[0]!r} twice")
        if unknown := sorted({*(self.steered_models or ())} - {*self.models}):
            raise ValueError(f"steered_models names {unknown[0]!r}, which is not one of models")
        return self

    def steers(self, model: str) -> bool:
        """True if the study steers this model, provided that the model can be steered."""
        return self.steered_models is None or model in self.steered_models
