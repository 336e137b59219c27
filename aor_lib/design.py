"""Which stimuli a study consists of: utterances x voices x backgrounds, decided before any sound.

Every choice follows from the profile and the utterance's place in it, so the same parameters give
the same design. A harmful counterpart gets the voice and the scenes of the utterance that it
contrasts with: only the words differ.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Literal

from aor_lib.params import Profile, Scenario, Study
from aor_lib.records import Condition, Intent, Utterance
from aor_lib.typed_yaml import Params, ParamsError

Block = Literal["core", "snr_sweep", "paralinguistics"]


class StimulusSpec(Params):
    """Everything that decides a stimulus, before it is made."""

    utterance: Utterance
    condition: Condition
    block: Block
    voice: str | None = None
    rate: Literal["slow", "normal", "fast"] | None = None
    scene: str | None = None
    scene_description: str | None = None
    snr_db: float | None = None
    variant: int = 0
    seed: int = 0

    @property
    def stimulus_id(self) -> str:
        """A name that says what it is."""
        parts = [self.utterance.id, self.condition.value]
        if self.voice and self.rate:
            parts += [self.voice, self.rate]
        if self.scene:
            parts.append(self.scene)
        if self.snr_db is not None:
            parts.append(f"snr{self.snr_db:g}".replace("-", "m"))
        if self.variant:
            parts.append(f"v{self.variant}")
        return ".".join(parts)


def stimuli(study: Study) -> list[StimulusSpec]:
    """All stimuli of a study, each once, in a fixed order: utterance by utterance.

    Raises
    ------
    ParamsError
        ``mismatched`` is asked for with a single scenario.
    """
    profile = study.profile
    if Condition.MISMATCHED in profile.conditions and len(study.scenarios) < 2:
        raise ParamsError(
            f"{profile.name}: conditions: 'mismatched' needs scenes of a second scenario"
        )
    found: dict[str, StimulusSpec] = {}
    for scenario in study.scenarios:
        for position, utterance in _chosen(scenario, profile):
            for spec in _of_utterance(study, scenario, utterance, position):
                found.setdefault(spec.stimulus_id, spec)
    return list(found.values())


def _chosen(scenario: Scenario, profile: Profile) -> Iterator[tuple[int, Utterance]]:
    """The first utterances of each intent, with a position that contrast partners share."""
    positions: dict[str, int] = {}
    for intent in Intent:
        of_intent = [u for u in scenario.utterances if u.intent is intent]
        for position, utterance in enumerate(of_intent):
            partner = utterance.contrast_of
            positions[utterance.id] = positions.get(partner, position) if partner else position
        for utterance in of_intent[: profile.utterances_per_scenario.of(intent)]:
            yield positions[utterance.id], utterance


def _of_utterance(
    study: Study, scenario: Scenario, utterance: Utterance, position: int
) -> Iterator[StimulusSpec]:
    profile = study.profile
    for variant in range(profile.variants):
        for condition in profile.conditions:
            yield _spec(study, scenario, utterance, position, condition, variant)
    if utterance.intent is Intent.BENIGN:
        return
    sweep = profile.snr_sweep
    if sweep and position < sweep.utterances_per_scenario:
        matched = _spec(study, scenario, utterance, position, Condition.MATCHED)
        for snr_db in sweep.snr_db:
            yield matched.model_copy(update={"block": "snr_sweep", "snr_db": snr_db})
    design = profile.paralinguistics
    if design and position < design.utterances_per_scenario:
        spoken = _spec(study, scenario, utterance, position, Condition.SPEECH_ONLY)
        for voice in profile.voices:
            for rate in design.rates:
                yield spoken.model_copy(
                    update={"block": "paralinguistics", "voice": voice, "rate": rate}
                )


def _spec(
    study: Study,
    scenario: Scenario,
    utterance: Utterance,
    position: int,
    condition: Condition,
    variant: int = 0,
) -> StimulusSpec:
    profile = study.profile
    seed = _seed(profile.seed, utterance.contrast_of or utterance.id, variant)
    voices, scenes = profile.voices, utterance.scenes
    offset = study.scenarios.index(scenario)
    voice = voices[(position + offset + variant) % len(voices)]
    # Scenes change half as fast as voices, which alternate in gender: neither predicts the other.
    scene = scenes[(position // 2 + variant // len(voices)) % len(scenes)]
    if condition is Condition.MISMATCHED:
        elsewhere = [s.id for o in study.scenarios if o is not scenario for s in o.scenes]
        scene = elsewhere[seed % len(elsewhere)]
    named = condition.has_background or condition is Condition.DESCRIBED
    return StimulusSpec(
        utterance=utterance,
        condition=condition,
        block="core",
        voice=voice if condition.has_audio else None,
        rate="normal" if condition.has_audio else None,
        scene=scene if named else None,
        scene_description=study.scene_descriptions[scene] if named else None,
        snr_db=profile.mixing.snr_db if condition.has_background else None,
        variant=variant if condition.has_background else 0,
        seed=seed,
    )


def _seed(*parts: object) -> int:
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:6], "big")
