"""The parts of a study's design, as a profile (params/PROFILE.yaml) states them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from aor_lib.config.records import Condition, Emotion, Generation, Identifier, Intent, SpeakingRate
from aor_lib.config.typed_yaml import Params


class Mixing(Params):
    """Levels and times of speech over a scene, by ITU-T P.56 and ITU-R BS.1770."""

    snr_db: Annotated[float, Field(ge=-20, le=40)] = 6.0
    lead_in_s: Annotated[float, Field(ge=0.5, le=20)] = 2.0
    tail_s: Annotated[float, Field(ge=0, le=10)] = 0.5
    loudness_lufs: Annotated[float, Field(ge=-40, le=-14)] = -23.0
    true_peak_dbfs: Annotated[float, Field(ge=-20, le=-0.1)] = -1.0


class UtteranceCounts(Params):
    """Number of utterances of each intent that are taken from a scenario, from its first on."""

    pseudo_harmful: Annotated[int, Field(ge=1)]
    harmful: Annotated[int, Field(ge=0)]
    benign: Annotated[int, Field(ge=0)]

    def of(self, intent: Intent) -> int:
        """Count for one intent."""
        return int(getattr(self, intent.value))


class SnrSweep(Params):
    """`benign_scene` stimuli of some utterances at further SNRs."""

    snr_db: tuple[Annotated[float, Field(ge=-20, le=40)], ...]
    utterances_per_scenario: Annotated[int, Field(ge=1)]


class Paralinguistics(Params):
    """`speech_only` stimuli of some utterances: gender x emotion x rate, all else held.

    ``third`` keeps one rate of each gender and emotion, so that over three utterances every cell
    comes once and no factor predicts another (a Latin square).
    """

    emotions: tuple[Emotion, ...] = ("neutral", "angry", "fearful", "sad", "happy")
    rates: tuple[SpeakingRate, ...] = ("slow", "normal", "fast")
    fraction: Literal["full", "third"] = "full"
    utterances_per_scenario: Annotated[int, Field(ge=1)]


class SomeUtterances(Params):
    """A part of the design that is made for the first utterances of a scenario only."""

    utterances_per_scenario: Annotated[int, Field(ge=1)]


class FewMitigations(SomeUtterances):
    """Mitigations that are tried on the first ``test`` utterances of each scenario only.

    These are so many pseudo-harmful ones, and as many harmful ones.
    """

    mitigations: tuple[Identifier, ...] = Field(min_length=1)


PROBES = ("probe_background", "probe_words")
"""Prompts that ask what was heard; answers to them are neither refusals nor compliance."""


class EarlierTurn(Params):
    """An earlier exchange: what the speaker said, and the assistant's answer."""

    said: Annotated[str, Field(min_length=3, max_length=200)]
    in_scene: bool = Field(description="Whether the scene is heard behind it.")
    answered: Annotated[str, Field(min_length=2, max_length=300)]


class History(Params):
    """One to four earlier turns that come before an utterance (params/histories.yaml)."""

    id: Identifier
    title: str
    final: Literal[Condition.BENIGN_SCENE, Condition.SPEECH_ONLY] = Field(
        description="Condition of the utterance itself."
    )
    turns: tuple[EarlierTurn, ...] = Field(min_length=1, max_length=4)


class Histories(Params):
    """All histories of the study."""

    histories: tuple[History, ...]


class Profile(Params):
    """One study: which stimuli, models and mitigations."""

    name: Identifier
    seed: int = 0
    scenarios: tuple[Identifier, ...] = Field(min_length=1)
    utterances_per_scenario: UtteranceCounts
    scenes: tuple[Identifier, ...] | None = Field(
        default=None, description="Benign scenes that are taken; None: all. What suits none is not."
    )
    variants: Annotated[int, Field(ge=1, le=100)] = Field(
        default=1,
        description="`benign_scene` stimuli of each pseudo-harmful utterance: voice, scene vary.",
    )
    voices: tuple[Identifier, ...] = Field(min_length=1)
    conditions: tuple[Condition, ...] = Field(min_length=1)
    mixing: Mixing = Field(default_factory=Mixing)
    snr_sweep: SnrSweep | None = None
    paralinguistics: Paralinguistics | None = None
    secondary_voices: SomeUtterances | None = Field(
        default=None, description="`benign_scene` stimuli in which other people call out."
    )
    multi_turn: SomeUtterances | None = Field(
        default=None, description="Stimuli after every history of params/histories.yaml."
    )
    recordings: Path | None = Field(
        default=None, description="Folder of 'aor import-recordings'; its clips are preferred."
    )
    probe: SomeUtterances | None = Field(
        default=None,
        description="Pseudo-harmful `test` utterances of which models are asked what they hear.",
    )
    models: tuple[Identifier, ...] = Field(min_length=1)
    mitigations: tuple[Identifier, ...] = ("none",)
    mitigated_conditions: tuple[Condition, ...] = (Condition.BENIGN_SCENE,)
    steered_models: tuple[Identifier, ...] | None = Field(
        default=None,
        description="Models that are steered, and so asked clips of dev; None: all that can be.",
    )
    few_mitigated: FewMitigations | None = Field(
        default=None, description="Further mitigations, tried on some utterances only."
    )
    generation: Generation = Field(default_factory=Generation)
    judge: Identifier = "speech-acts"

    @model_validator(mode="after")
    def _has_a_baseline(self) -> Profile:
        few = self.few_mitigated.mitigations if self.few_mitigated else ()
        if set(PROBES) & {*self.mitigations, *few}:
            raise ValueError("mitigations must hold no probe; say 'probe:' to ask what is heard")
        if "none" not in self.mitigations:
            raise ValueError("mitigations must hold 'none', which the others are compared with")
        for name in ("scenarios", "voices", "conditions", "models", "mitigations"):
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise ValueError(f"{name} names something twice")
        if unknown := sorted({*(self.steered_models or ())} - {*self.models}):
            raise ValueError(f"steered_models names {unknown[0]!r}, which is not one of models")
        if len({*self.mitigations, *few}) < len(self.mitigations) + len(few):
            raise ValueError("few_mitigated.mitigations names something twice")
        return self

    def steers(self, model: str) -> bool:
        """Tell if a model is to be steered, where it can be."""
        return self.steered_models is None or model in self.steered_models
