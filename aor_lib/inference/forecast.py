"""Trials, generations, tokens, money and hours of a run, before anything is asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from aor_lib.config.params import ModelCard, StudyParams, card_settings
from aor_lib.config.records import Stimulus, Trial
from aor_lib.inference.planning import absent, plan_trials
from aor_lib.inference.store import STORE, STUDY, Store
from aor_lib.models.api_budget import Prices
from aor_lib.models.api_settings import ApiSettings
from aor_lib.stimuli.manifest import load_stimuli

_WORDS_PER_S = 2.5
_BYTES_PER_TOKEN = 4
_TOKENS_PER_MESSAGE = 16


def forecast(study: StudyParams, build: Path, cards: Sequence[ModelCard]) -> pd.DataFrame:
    """Trials left to ask of each model of a study, with their tokens, cost and hours.

    Returns
    -------
    One row per model: model, trials, left (trials without an answer), generations (answers to
    write), tokens and usd (at most, without retries), cap_usd (of the card), hours (at the pace of
    earlier answers); NaN where unknown.
    """
    stimuli = load_stimuli(build)
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
    if not path.is_file():
        return {}, set(), pd.Series(dtype=float)
    with Store(path) as store:
        revisions = {trial.arm.model: trial.arm.revision for trial in store.planned(STUDY)}
        answers = store.frame("").query("status == 'ok'")
        return revisions, store.finished(), answers.groupby("model")["latency_s"].mean()


def _cost(trial: Trial, stimulus: Stimulus, prices: Prices) -> tuple[float, float]:
    arm, most = trial.arm, trial.arm.generation.max_new_tokens
    texts = [arm.instruction, stimulus.presented_text]
    audio_s = stimulus.duration_s or 0.0
    for turn in json.loads(stimulus.history):
        if turn["role"] == "user":
            audio_s += (stimulus.lead_in_s or 0.0) + len(turn["text"].split()) / _WORDS_PER_S
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
