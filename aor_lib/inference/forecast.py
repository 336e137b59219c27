"""Trials, generations, tokens, money and hours of a run, before anything is asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from aor_lib.config.params import ModelCard, StudyParams, card_settings
from aor_lib.config.records import Stimulus, Trial, content_hash
from aor_lib.inference.planning import absent, plan_trials
from aor_lib.inference.store import STORE, STUDY, Store
from aor_lib.stimuli.design import StimulusSpec
from aor_lib.stimuli.design import stimuli as designed
from aor_lib.stimuli.manifest import MANIFEST, load_stimuli

if TYPE_CHECKING:
    from aor_lib.models.api_budget import Prices

_WORDS_PER_S = 2.5
_BYTES_PER_TOKEN = 4
_TOKENS_PER_MESSAGE = 16


def forecast(study: StudyParams, build: Path, cards: Sequence[ModelCard]) -> pd.DataFrame:
    """What is left to ask of models, and what it takes, by what earlier answers took.

    Where no stimuli have been made in ``build``, clips are as long as their words let expect.

    Returns
    -------
    One row per model: model, trials, left (trials without an answer), generations (answers to
    write, of which an arm in two steps needs two), tokens and usd (with answers as long as the
    profile lets them be, without retries), cap_usd (the most that its card lets one run spend),
    hours; NaN where nothing tells.
    """
    from aor_lib.models.api_settings import ApiSettings  # with the SDK: a run needs it not

    made = (build / MANIFEST).is_file()
    stimuli = load_stimuli(build) if made else [_designed(spec, study) for spec in designed(study)]
    by_id = {stimulus.stimulus_id: stimulus for stimulus in stimuli}
    revisions, finished, pace_s = _answered(build / STORE)
    rows = []
    for card in cards:
        trials = plan_trials(study, stimuli, [absent(card, revisions)])
        left = [trial for trial in trials if trial.key not in finished]
        row: dict[str, object] = {"model": card.id, "trials": len(trials), "left": len(left)}
        row["generations"] = sum(max(1, len(trial.arm.steps)) for trial in left)
        at_once = 1
        if card.kind == "openai_api":
            settings = card_settings(card, ApiSettings)
            at_once, row["cap_usd"] = settings.concurrency, settings.max_spend_usd
            if prices := settings.usd_per_million_tokens:
                costs = [_cost(trial, by_id[trial.stimulus_id], prices) for trial in left]
                row["tokens"] = sum(tokens for tokens, _ in costs)
                row["usd"] = sum(usd for _, usd in costs)
        if card.id in pace_s:
            row["hours"] = len(left) * pace_s[card.id] / at_once / 3600
        rows.append(row)
    columns = ["model", "trials", "left", "generations", "tokens", "usd", "cap_usd", "hours"]
    return pd.DataFrame(rows, columns=columns)


def _answered(path: Path) -> tuple[dict[str, str], set[str], pd.Series[float]]:
    """Revisions of planned models, keys of finished trials, mean seconds per answer of a model."""
    if not path.is_file():
        return {}, set(), pd.Series(dtype=float)
    with Store(path) as store:
        revisions = {trial.arm.model: trial.arm.revision for trial in store.planned(STUDY)}
        answers = store.frame("").query("status == 'ok'")
        return revisions, store.finished(), answers.groupby("model")["latency_s"].mean()


def _designed(spec: StimulusSpec, study: StudyParams) -> Stimulus:
    mixing, utterance, heard = study.profile.mixing, spec.utterance, spec.condition.has_audio
    turns = [
        {"role": role, "text": said}
        for turn in (spec.history.turns if spec.history else ())
        for role, said in (("user", turn.said), ("assistant", turn.answered))
    ]
    text = utterance.text + (f"\n{spec.scene.description}" if spec.scene else "")
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
        history=json.dumps(turns),
        split=utterance.split,
    )


def _cost(trial: Trial, stimulus: Stimulus, prices: Prices) -> tuple[float, float]:
    """Tokens and US dollars of all generations of a trial."""
    arm, most = trial.arm, trial.arm.generation.max_new_tokens
    texts = [arm.instruction, stimulus.presented_text]
    audio_s = stimulus.duration_s or 0.0
    for turn in json.loads(stimulus.history):
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
