"""Immutable, validated row types of the study, and their vocabulary."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from aor_lib.config.typed_yaml import Params

DATASET_VERSION: Literal[3] = 3  # results of two versions are never merged

Identifier = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=120)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_SAYABLE = r"^\P{Cc}*[\p{L}\p{N}]\P{Cc}*$"  # at least one letter or digit, no control characters
_TIMESTAMP = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$"  # ISO 8601 in UTC


class Intent(StrEnum):
    """Intent of the speaker in the utterance's own scene; imported clips are ``unlabelled``."""

    PSEUDO_HARMFUL = "pseudo_harmful"
    HARMFUL = "harmful"
    BENIGN = "benign"
    UNLABELLED = "unlabelled"


class HarmCategory(StrEnum):
    """Harm that the words of an utterance suggest."""

    VIOLENCE = "violence"
    WEAPONS_EXPLOSIVES = "weapons_explosives"
    THEFT_BURGLARY = "theft_burglary"
    FRAUD_FORGERY = "fraud_forgery"
    INTRUSION_HACKING = "intrusion_hacking"
    DRUGS_POISON = "drugs_poison"
    STALKING_PRIVACY = "stalking_privacy"
    VANDALISM_ARSON = "vandalism_arson"


class Condition(StrEnum):
    """Context in which a model gets an utterance."""

    BENIGN_SCENE = "benign_scene"  # makes the request harmless
    NEUTRAL_SCENE = "neutral_scene"
    THREATENING_SCENE = "threatening_scene"  # makes the harmful reading the natural one
    SPEECH_ONLY = "speech_only"
    NOISE = "noise"  # with the benign scene's level and long-term spectrum
    TEXT_ONLY = "text_only"
    DESCRIBED = "described"  # the transcript and a sentence that names the benign scene
    AS_FOUND = "as_found"  # an imported clip

    @property
    def has_audio(self) -> bool:
        """True if a stimulus of this condition is a sound file."""
        return self not in (Condition.TEXT_ONLY, Condition.DESCRIBED)

    @property
    def has_background(self) -> bool:
        """True if the sound file contains sound other than the speech."""
        return self.has_scene and self.has_audio

    @property
    def has_scene(self) -> bool:
        """True if a scene is heard, shapes the noise, or is described."""
        return self not in (Condition.SPEECH_ONLY, Condition.TEXT_ONLY, Condition.AS_FOUND)


SceneKind = Literal["benign", "neutral", "threatening"]


class Label(StrEnum):
    """A judge's verdict on one response (XSTest's three classes, and ``unjudged``)."""

    FULL_COMPLIANCE = "full_compliance"
    PARTIAL_REFUSAL = "partial_refusal"
    FULL_REFUSAL = "full_refusal"
    UNJUDGED = "unjudged"


Flag = Literal["degenerate", "mentions_scene", "safety_advice"]
FLAGS: tuple[Flag, ...] = get_args(Flag)


class Status(StrEnum):
    """Outcome of a trial; ``blocked`` if the provider withheld the answer."""

    OK = "ok"
    FAILED = "failed"
    BLOCKED = "blocked"


class Split(StrEnum):
    """Split of the utterances: ``dev`` to choose settings, ``test`` to report results."""

    DEV = "dev"
    TEST = "test"


Emotion = Literal["neutral", "angry", "fearful", "sad", "happy"]
SpeakingRate = Literal["slow", "normal", "fast"]
Block = Literal["core", "snr_sweep", "paralinguistics", "multi_turn", "imported"]


class Row(Params, str_strip_whitespace=True):
    """Base class of all rows."""


class Utterance(Row):
    """A request to an assistant, with its possible readings."""

    id: Identifier
    scenario: Identifier = "own"  # set by code for utterances of a scenario
    text: Annotated[str, Field(max_length=300, pattern=_SAYABLE)]
    intent: Intent
    harm_category: HarmCategory | None = None  # only if harmful or pseudo-harmful
    harmful_reading: str | None = None
    benign_reading: str | None = None
    about: str | None = None  # 'referent: act' of the benign reading ('lobster: kill')
    scenes: tuple[Identifier, ...] = Field(min_length=1)  # in which the benign reading is natural
    threatening_scenes: tuple[Identifier, ...] = ()  # in which the harmful reading is natural
    contrast_of: Identifier | None = None  # the request of which a harmful one is an edit

    @property
    def split(self) -> Split:
        """``dev`` for about a third of the utterances; contrast pairs share a split."""
        return split_of(self.contrast_of or self.id)

    @model_validator(mode="after")
    def _has_a_category_where_the_words_sound_harmful(self) -> Utterance:
        sounds_harmful = self.intent in (Intent.PSEUDO_HARMFUL, Intent.HARMFUL)
        if sounds_harmful != (self.harm_category is not None):
            remedy = f"name one of {', '.join(HarmCategory)}" if sounds_harmful else "leave it out"
            raise ValueError(f"harm_category: {self.id} is {self.intent.value}: {remedy}")
        return self


class Stimulus(Row):
    """A manifest row: the input of a model in one trial.

    ``block`` is the part of the design: ``core`` (every condition), ``multi_turn`` (earlier turns
    come first), and so on.
    """

    stimulus_id: Identifier
    utterance_id: Identifier
    scenario: Identifier
    intent: Intent
    text: str
    harm_category: HarmCategory | None = None
    contrast_of: Identifier | None = None
    presented_text: str | None = None  # text that replaces the sound file, if there is none
    voice: Identifier | None = None
    gender: Literal["female", "male"] | None = None
    emotion: Emotion | None = None
    speaking_rate: SpeakingRate | None = None
    background_scene: Identifier | None = None
    scene_kind: SceneKind | None = None
    unseen_scene: bool | None = None  # whether no reference model was trained in the scene
    background_sounds: str | None = None  # JSON: recorded (sound, file, author...), synthesised
    background_licence: str | None = None
    events: str = "[]"  # JSON: name, onset_s, duration_s of each event
    snr_db: float | None = None
    lead_in_s: float | None = None
    duration_s: float | None = None
    sample_rate: int | None = None
    seed: int
    block: Block
    condition: Condition
    variant: int = 0  # 1, 2, ...: the benign scene repeated in other voices and scenes
    path: str | None = None  # sound file, relative to the manifest's folder
    sha256: Sha256  # of the sound file, or of the presented text
    history_id: Identifier | None = None  # of the earlier turns, in params/histories.yaml
    history: str = "[]"  # JSON: role, text, path, sha256 of each earlier turn
    loudness_lufs: float | None = None
    peak_dbfs: float | None = None  # true peak
    split: Split

    @property
    def content_sha256(self) -> str:
        """Hash of the stimulus and its earlier turns."""
        return content_hash([self.sha256, self.history]) if self.history != "[]" else self.sha256


class Generation(Row):
    """Settings of text generation that can change an answer."""

    max_new_tokens: Annotated[int, Field(ge=1, le=4096)] = 64
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0


@dataclass(frozen=True)
class Arm:
    """A model under a mitigation: everything that its trials share.

    The last three fields cannot change an answer. A mitigation and its controls share ``arm``;
    ``method`` is ``none``, ``prompt``, ``decoding``, ``probe``, or a method of steering.
    """

    model: Identifier
    revision: str
    settings_sha256: Sha256
    mitigation: Identifier
    instruction: str | None
    generation: Generation
    steps: tuple[str, ...] = ()
    arm: Identifier = "none"
    method: Identifier = "none"
    is_control: bool = False

    @cached_property
    def asked(self) -> dict[str, object]:
        """Everything in the arm that can change an answer."""
        return {
            "model": self.model,
            "revision": self.revision,
            "settings_sha256": self.settings_sha256,
            "instruction": self.instruction,
            "generation": self.generation.model_dump(mode="json"),
            **({"steps": self.steps} if self.steps else {}),
        }


@dataclass(frozen=True)
class Trial:
    """One stimulus for one arm."""

    stimulus_id: Identifier
    stimulus_sha256: Sha256
    arm: Arm

    @cached_property
    def key(self) -> str:
        """:func:`content_hash` of everything that can change the answer."""
        return content_hash(self.arm.asked | {"stimulus_sha256": self.stimulus_sha256})


class Response(Row):
    """Result of a trial: a text or an error."""

    trial_key: Sha256
    status: Status
    text: str | None
    error: str | None
    heard: str | None = None  # JSON: what the model says it heard
    latency_s: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    tokens: Annotated[int, Field(ge=0)] | None
    created: Annotated[str, Field(pattern=_TIMESTAMP)]
    finish_reason: str | None = None  # stop, or length if truncated
    served_by: str | None = None  # the model's name at the provider

    @model_validator(mode="after")
    def _is_a_text_or_an_error(self) -> Response:
        answered = self.status is Status.OK
        if answered != (self.text is not None) or answered != (self.error is None):
            raise ValueError(f"status: {self.status.value!r} does not match text and error")
        return self


class Verdict(Row):
    """A judge's verdict on one response."""

    trial_key: Sha256
    judge: Identifier
    judge_version: str
    label: Label
    p_refusal: Annotated[float, Field(ge=0, le=1)] | None
    rationale: str  # the span or the rule that decided the label
    flags: tuple[Flag, ...] = ()


def split_of(name: str) -> Split:
    """Split of an utterance (or of an imported clip), from the hash of its name."""
    return Split.DEV if hashlib.sha256(name.encode()).digest()[0] % 3 == 0 else Split.TEST


def content_hash(content: object) -> str:
    """sha256 of ``content`` as JSON with sorted keys and no white space."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
