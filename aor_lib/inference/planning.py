"""Plan a study's trials: which stimuli each model gets and how, and what remains to be run."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from aor_lib.config.params import ModelCard, StudyParams, card_settings
from aor_lib.config.profile import PROBES, Mitigation, Prompt, SomeUtterances
from aor_lib.config.records import Arm, Generation, Intent, Split, Stimulus, Trial, content_hash
from aor_lib.inference.store import STORE, STUDY, Store
from aor_lib.models.base import AudioModel, Capabilities, Conversation, ModelError, Turn
from aor_lib.models.registry import claimed_capabilities
from aor_lib.stimuli.manifest import load_stimuli


@dataclass(frozen=True)
class AbsentModel:
    """Properties of a model that determine its trials, known without loading it."""

    card: ModelCard
    revision: str
    capabilities: Capabilities


_AS_IT_IS = Prompt()
_Model = AudioModel | AbsentModel


def absent(card: ModelCard, revisions: Mapping[str, str]) -> AbsentModel:
    """Describe a card's model without loading it, in the revision that answered before, if any."""
    revision = revisions.get(card.id, card.revision)
    if card.kind == "openai_api":  # from its card, as in OpenAIModel
        revision = f"{card.source}@{card.revision}"
    try:
        capabilities = claimed_capabilities(card)
    except ModelError:  # its package is not installed: assume the defaults
        capabilities = Capabilities()
    return AbsentModel(card, revision, capabilities)


def plan_trials(
    study: StudyParams, stimuli: Sequence[Stimulus], models: Sequence[_Model]
) -> list[Trial]:
    """List every trial of a study, model by model, in the stimuli's order.

    Without a mitigation, a model gets every stimulus of the ``test`` split and every imported clip;
    with one, the core block in benign scenes. Steered models also get the core clips of ``dev``.
    Stimuli that a model does not take are left out.
    """
    trials = []
    for model, mitigation, tried in _tried(study, stimuli, models):
        trials += trials_of(model, mitigation, tried, study.profile.generation)
    return trials


def trials_of(
    model: _Model, mitigation: Mitigation, stimuli: Sequence[Stimulus], generation: Generation
) -> list[Trial]:
    """Trials of a model on the stimuli that it takes; the mitigation may override generation."""
    arm = Arm(
        model=model.card.id,
        revision=model.revision,
        settings_sha256=content_hash(model.card.settings),
        mitigation=mitigation.id,
        instruction=mitigation.instruction,
        steps=mitigation.steps,
        generation=mitigation.generation(generation),
        arm=mitigation.arm or mitigation.id,
        method=mitigation.method or _method(mitigation),
        is_control=mitigation.is_control,
    )
    return [
        Trial(stimulus.stimulus_id, stimulus.content_sha256, arm)
        for stimulus in stimuli
        if _lacking(model.capabilities, stimulus, mitigation) is None
    ]


def left_out(
    study: StudyParams, stimuli: Sequence[Stimulus], models: Sequence[_Model]
) -> Counter[tuple[str, str]]:
    """Count the trials that :func:`plan_trials` leaves out, by model and what it does not take."""
    return Counter(
        (model.card.id, reason)
        for model, mitigation, tried in _tried(study, stimuli, models)
        for stimulus in tried
        if (reason := _lacking(model.capabilities, stimulus, mitigation)) is not None
    )


def conversation(stimulus: Stimulus, build: Path, asked: Arm | Prompt = _AS_IT_IS) -> Conversation:
    """Turns that present a stimulus: the first step is in its turn, later steps follow it."""
    turns = [Turn("system", text=asked.instruction)] if asked.instruction else []
    for turn in json.loads(stimulus.history):
        if turn["role"] == "user":
            turns.append(Turn("user", audio=build / turn["path"]))
        else:
            turns.append(Turn("assistant", text=turn["text"]))
    first, *later = asked.steps or (None,)
    text = "\n".join(filter(None, [stimulus.presented_text, first])) or None
    turns.append(Turn("user", text, build / stimulus.path if stimulus.path else None))
    return (*turns, *[Turn("user", text=step) for step in later])


def forecast(
    study: StudyParams, build: Path, cards: Sequence[ModelCard], loaded: Sequence[AudioModel] = ()
) -> pd.DataFrame:
    """Estimate each model's remaining calls, in columns model, calls, audio_s, minutes, usd.

    ``loaded`` are the models that can run here; others are assumed unchanged since they answered.
    ``minutes`` are extrapolated from the stored answers; NaN without any, as is an unknown price.
    """
    from aor_lib.models.api_settings import ApiSettings  # imports the SDK, which is slow

    stimuli = {stimulus.stimulus_id: stimulus for stimulus in load_stimuli(build)}
    finished, revisions, seconds = set[str](), dict[str, str](), pd.Series(dtype=float)
    if (build / STORE).is_file():
        with Store(build / STORE) as store:
            finished = store.finished()
            seconds = store.frame("").query("status == 'ok'").groupby("model").latency_s.mean()
            revisions = {trial.arm.model: trial.arm.revision for trial in store.planned(STUDY)}
    rows, here = [], {model.card.id: model for model in loaded}
    for card in cards:
        total = np.zeros(5)
        for trial in plan_trials(
            study, list(stimuli.values()), [here.get(card.id) or absent(card, revisions)]
        ):
            if trial.key not in finished:
                stimulus, arm = stimuli[trial.stimulus_id], trial.arm
                calls, most = max(1, len(arm.steps)), arm.generation.max_new_tokens
                audio_s = (stimulus.duration_s or 0.0) * (1 + stimulus.history.count('"user"'))
                texts = [arm.instruction, *arm.steps, stimulus.presented_text, stimulus.history]
                # A token is about four bytes; later steps include the answers before them.
                tokens = len(" ".join(filter(None, texts)).encode()) / 4 + most * (calls - 1) + 64
                total += [1, *calls * np.array([1, audio_s, tokens, most])]
        api = card_settings(card, ApiSettings) if card.kind == "openai_api" else None
        prices = api.usd_per_million_tokens if api else None
        usd = prices.usd(total[3], total[2], total[4]) if prices else np.nan
        minutes = total[0] * seconds.get(card.id, np.nan) / 60
        rows.append((card.id, total[1], total[2], minutes, usd))
    return pd.DataFrame(rows, columns=["model", "calls", "audio_s", "minutes", "usd"])


def _tried(
    study: StudyParams, stimuli: Sequence[Stimulus], models: Sequence[_Model]
) -> Iterator[tuple[_Model, Mitigation, Sequence[Stimulus]]]:
    profile, few = study.profile, study.profile.few_mitigated

    def is_reported(stimulus: Stimulus) -> bool:
        return stimulus.split is Split.TEST or stimulus.block == "imported"

    reported = [s for s in stimuli if is_reported(s)]
    # `dev` is used only to choose the steering.
    with_dev = [s for s in stimuli if is_reported(s) or (s.block == "core" and s.path)]
    mitigated = [s for s in reported if (s.block, s.condition) == ("core", "benign_scene")]
    probed = _first([s for s in mitigated if s.intent is Intent.PSEUDO_HARMFUL], profile.probe)
    doubtful = [s for s in mitigated if s.intent in (Intent.PSEUDO_HARMFUL, Intent.HARMFUL)]
    of_few = _first(doubtful, few)
    for model in models:
        steered = model.capabilities.activations and profile.steers(model.card.id)
        for mitigation in study.mitigations:
            tried: Sequence[Stimulus] = mitigated
            if mitigation.is_none:
                tried = with_dev if steered else reported
            elif mitigation.id in PROBES:
                tried = probed
            elif few and (mitigation.arm or mitigation.id) in few.mitigations:
                tried = of_few
            yield model, mitigation, tried


def _method(mitigation: Mitigation) -> str:
    if mitigation.id in PROBES:
        return "probe"
    if mitigation.is_none:
        return "none"
    return "decoding" if mitigation.decoding else "prompt"


def _first(stimuli: Sequence[Stimulus], some: SomeUtterances | None) -> list[Stimulus]:
    kinds = [(clip.scenario, clip.intent, clip.utterance_id) for clip in stimuli]
    utterances = pd.DataFrame(kinds, columns=["scenario", "intent", "id"]).drop_duplicates()
    by_kind = utterances.groupby(["scenario", "intent"])
    chosen = set(by_kind.head(some.utterances_per_scenario if some else 0)["id"])
    return [stimulus for stimulus in stimuli if stimulus.utterance_id in chosen]


def _lacking(capabilities: Capabilities, stimulus: Stimulus, mitigation: Mitigation) -> str | None:
    if stimulus.path is not None and not capabilities.audio:
        return "audio"
    if stimulus.path is None and not capabilities.text_only:
        return "text without audio"
    if (stimulus.duration_s or 0) > capabilities.longest_clip_s:
        return f"{stimulus.path} ({stimulus.duration_s:.1f} s)"
    turns = stimulus.history != "[]" or len(mitigation.steps) > 1
    if turns and not capabilities.multi_turn:
        return "several turns"
    spoken = sum(turn["role"] == "user" for turn in json.loads(stimulus.history))
    if capabilities.clips is not None and spoken + bool(stimulus.path) > capabilities.clips:
        return f"more than {capabilities.clips} sound files in a conversation"
    return None
