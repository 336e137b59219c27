"""Trials, generations, tokens, money and hours of a run, before anything is asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aor_lib.config.params import ModelCard, StudyParams, card_settings
from aor_lib.config.records import Stimulus, Trial, content_hash
from aor_lib.inference.planning import AbsentModel, plan_trials
from aor_lib.inference.provenance import read_provenance
from aor_lib.inference.store import STUDY, Store
from aor_lib.models.base import Capabilities, ModelError
from aor_lib.models.registry import claimed_capabilities
from aor_lib.stimuli.design import StimulusSpec
from aor_lib.stimuli.design import stimuli as designed

if TYPE_CHECKING:
    from aor_lib.models.api_budget import Prices

_WORDS_PER_S = 2.5
_BYTES_PER_TOKEN = 4
_TOKENS_PER_MESSAGE = 16


@dataclass(frozen=True)
class Forecast:
    """Trials left to ask of a model; None where nothing tells.

    ``generations``: answers that it has to write, of which an arm in two steps needs two.
    ``tokens``, ``usd``: with answers as long as the profile lets them be, and without retries.
    ``cap_usd``: the most that its card lets one run spend.
    """

    model: str
    trials: int
    left: int
    generations: int
    tokens: float | None
    usd: float | None
    cap_usd: float | None
    hours: float | None


def forecast(
    study: StudyParams, stimuli: Sequence[Stimulus], cards: Iterable[ModelCard], store: Store | None
) -> list[Forecast]:
    """Forecast of each model, from what earlier answers in a store took if there is one."""
    from aor_lib.models.api_settings import ApiSettings  # with the SDK: a run needs it not

    revisions = answered_revisions(store) if store else {}
    finished = store.finished() if store else set()
    pace_s = store.seconds_per_generation() if store else {}
    by_id = {stimulus.stimulus_id: stimulus for stimulus in stimuli}
    forecasts = []
    for card in cards:
        trials = plan_trials(study, stimuli, [absent(card, revisions)])
        left = [trial for trial in trials if not finished or trial.key not in finished]
        generations = sum(max(1, len(trial.arm.steps)) for trial in left)
        api = card_settings(card, ApiSettings) if card.kind == "openai_api" else None
        tokens = usd = hours = None
        if api and (prices := api.usd_per_million_tokens):
            costs = [_cost(trial, by_id[trial.stimulus_id], prices) for trial in left]
            tokens, usd = (sum(column) for column in zip((0.0, 0.0), *costs, strict=True))
        if card.id in pace_s:
            hours = generations * pace_s[card.id] / (api.concurrency if api else 1) / 3600
        cap_usd = api.max_spend_usd if api else None
        forecasts.append(
            Forecast(card.id, len(trials), len(left), generations, tokens, usd, cap_usd, hours)
        )
    return forecasts


def absent(card: ModelCard, revisions: Mapping[str, str]) -> AbsentModel:
    """The model of a card as its trials see it, in the revision that answered before if any did."""
    decided = {} if card.kind == "openai_api" else revisions  # of an API, its card says it
    try:
        capabilities = claimed_capabilities(card)
    except ModelError:  # its package is not there: it claims what most do
        capabilities = Capabilities()
    return AbsentModel(card, decided.get(card.id, card.revision), capabilities)


def answered_revisions(store: Store) -> dict[str, str]:
    """Revision of each of the study's own models that answered last."""
    rows = sorted(read_provenance(store), key=lambda row: row.since)
    return {row.model: row.revision for row in rows if not row.profile}


def planned_revisions(store: Store) -> dict[str, str]:
    """Revision of each model in the study's plan, which another run may be asking just now."""
    rows = store.read(
        "SELECT DISTINCT model, revision FROM plan JOIN trials USING (trial_key) WHERE part = ?",
        (STUDY,),
    )
    return dict(rows)


def designed_stimuli(study: StudyParams) -> list[Stimulus]:
    """A study's stimuli as far as they are known before they are made."""
    return [_designed(spec, study) for spec in designed(study)]


def _designed(spec: StimulusSpec, study: StudyParams) -> Stimulus:
    mixing, utterance = study.profile.mixing, spec.utterance
    heard = spec.condition.has_audio
    text = utterance.text + (f"\n{spec.scene.description}" if spec.scene else "")
    turns = [
        {"role": role, "text": said}
        for turn in (spec.history.turns if spec.history else ())
        for role, said in (("user", turn.said), ("assistant", turn.answered))
    ]
    return Stimulus.model_construct(
        stimulus_id=spec.stimulus_id,
        utterance_id=utterance.id,
        scenario=utterance.scenario,
        intent=utterance.intent,
        text=utterance.text,
        presented_text=None if heard else text,
        duration_s=mixing.lead_in_s + _speech_s(utterance.text) + mixing.tail_s if heard else None,
        lead_in_s=mixing.lead_in_s,
        block=spec.block,
        condition=spec.condition,
        path=spec.stimulus_id if heard else None,
        sha256=content_hash(spec.stimulus_id),
        history_id=spec.history.id if spec.history else None,
        history=json.dumps(turns),
        split=utterance.split,
    )


def _cost(trial: Trial, stimulus: Stimulus, prices: Prices) -> tuple[float, float]:
    """Tokens and US dollars of all generations of a trial."""
    arm, most = trial.arm, trial.arm.generation.max_new_tokens
    texts = [arm.instruction, stimulus.presented_text]
    audio_s = stimulus.duration_s or 0.0
    for turn in json.loads(stimulus.history) if stimulus.history != "[]" else ():
        if turn["role"] == "user":
            audio_s += (stimulus.lead_in_s or 0.0) + _speech_s(turn["text"])
        else:
            texts.append(turn["text"])
    tokens = usd = earlier = 0.0
    for step in arm.steps or (None,):
        texts.append(step)
        written = [len(text.encode()) / _BYTES_PER_TOKEN for text in texts if text]
        sent = sum(written) + _TOKENS_PER_MESSAGE * (len(written) + 1) + earlier
        tokens += sent + audio_s * prices.audio_tokens_per_s + most
        usd += prices.usd(sent, audio_s, most)
        earlier += most  # the next step is asked with the answer to this one
    return tokens, usd


def _speech_s(text: str) -> float:
    return len(text.split()) / _WORDS_PER_S
