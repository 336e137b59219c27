"""Calls, seconds of audio and price of a run, before anything is asked."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aor_lib.config.params import ModelCard, StudyParams, card_settings
from aor_lib.inference.planning import absent, plan_trials
from aor_lib.inference.store import STORE, STUDY, Store
from aor_lib.models.api_settings import ApiSettings
from aor_lib.stimuli.manifest import load_stimuli


def forecast(study: StudyParams, build: Path, cards: Sequence[ModelCard]) -> pd.DataFrame:
    """Estimate what is left to ask of each model: model, calls, audio_s, minutes, usd.

    ``minutes`` go by the answers that are there, and are NaN without any, as is an unknown price.
    """
    stimuli = {stimulus.stimulus_id: stimulus for stimulus in load_stimuli(build)}
    finished, revisions, seconds = set[str](), dict[str, str](), dict[Any, float]()
    if (build / STORE).is_file():
        with Store(build / STORE) as store:
            finished = store.finished()
            seconds = store.frame("").groupby("model")["latency_s"].mean().to_dict()
            revisions = {trial.arm.model: trial.arm.revision for trial in store.planned(STUDY)}
    rows = []
    for card in cards:
        total = np.zeros(4)
        for trial in plan_trials(study, list(stimuli.values()), [absent(card, revisions)]):
            if trial.key not in finished:
                stimulus, arm = stimuli[trial.stimulus_id], trial.arm
                calls, most = max(1, len(arm.steps)), arm.generation.max_new_tokens
                audio_s = (stimulus.duration_s or 0.0) * (1 + stimulus.history.count('"user"'))
                texts = [arm.instruction, *arm.steps, stimulus.presented_text, stimulus.history]
                # A token is about four bytes; later steps are sent with the answers before them.
                tokens = len(" ".join(filter(None, texts)).encode()) / 4 + most * (calls - 1) + 64
                total += calls * np.array([1, audio_s, tokens, most])
        api = card_settings(card, ApiSettings) if card.kind == "openai_api" else None
        prices = api.usd_per_million_tokens if api else None
        usd = prices.usd(total[2], total[1], total[3]) if prices else np.nan
        minutes = total[0] * seconds.get(card.id, np.nan) / 60
        rows.append((card.id, total[0], total[1], minutes, usd))
    return pd.DataFrame(rows, columns=["model", "calls", "audio_s", "minutes", "usd"])
