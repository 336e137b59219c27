"""The only loop over trials: plan, batch, answer, record, resume.

Batches are cut from the whole plan, not from what is left of it. A resumed run therefore asks a
model in the same batches as an uninterrupted one, and padding cannot make their answers differ.
"""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aor_lib.models.base import Answer, AudioModel, Conversation, Failure, Turn
from aor_lib.params import Study
from aor_lib.records import Response, Status, Stimulus, Trial, content_hash
from aor_lib.store import Store

BATCH = 256
"""Trials given to a model at once; the adapter cuts them into batches that suit it."""


@dataclass(frozen=True)
class Progress:
    """How far a run has come: trials finished now or earlier, failed now, and all of the plan."""

    done: int
    failed: int
    planned: int


def plan_trials(
    study: Study, stimuli: Sequence[Stimulus], models: Sequence[AudioModel]
) -> list[Trial]:
    """Every trial of a study, model by model, in the stimuli's order.

    Without mitigation every stimulus is tried; with one, those of the core block in the
    profile's ``mitigated_conditions``.
    """
    profile = study.profile
    return [
        Trial(
            stimulus_id=stimulus.stimulus_id,
            stimulus_sha256=stimulus.content_sha256,
            model=model.card.id,
            revision=model.revision,
            settings_sha256=content_hash(model.card.settings),
            mitigation=mitigation.id,
            instruction=mitigation.instruction,
            generation=profile.generation,
        )
        for model in models
        for mitigation in study.mitigations
        for stimulus in stimuli
        if mitigation.instruction is None
        or (stimulus.block == "core" and stimulus.condition in profile.mitigated_conditions)
    ]


def run_trials(
    trials: Sequence[Trial],
    models: Sequence[AudioModel],
    stimuli: Sequence[Stimulus],
    build: Path,
    store: Store,
    report: Callable[[Progress], None],
) -> Progress:
    """Answer the trials that have no answer yet and record each result as it comes.

    Parameters
    ----------
    build
        The folder that the stimuli's paths are relative to.
    report
        Called at the start and after every batch.

    Raises
    ------
    ModelError
        A model cannot run here; what was answered until then is in the store.
    StoreError
        A result cannot be written.
    """
    store.set_plan(trials)
    planned = {trial.key for trial in trials}
    answered = store.finished() & planned
    failed: set[str] = set()
    by_id = {stimulus.stimulus_id: stimulus for stimulus in stimuli}
    report(Progress(len(answered), 0, len(planned)))
    for model in models:
        for batch in _batches([trial for trial in trials if trial.model == model.card.id]):
            if all(trial.key in answered for trial in batch):
                continue
            conversations = [_conversation(t, by_id[t.stimulus_id], build) for t in batch]
            started = time.monotonic()
            results = model.answer(conversations, batch[0].generation)
            latency_s = (time.monotonic() - started) / len(batch)
            for trial, result in zip(batch, results, strict=True):
                if trial.key in answered:
                    continue
                response = _response(trial, result, latency_s)
                store.record(response)
                (answered if response.status is Status.OK else failed).add(trial.key)
            report(Progress(len(answered), len(failed), len(planned)))
    return Progress(len(answered), len(failed), len(planned))


def _batches(trials: Sequence[Trial]) -> Iterator[list[Trial]]:
    for start in range(0, len(trials), BATCH):
        yield list(trials[start : start + BATCH])


def _conversation(trial: Trial, stimulus: Stimulus, build: Path) -> Conversation:
    turns = [Turn("system", text=trial.instruction)] if trial.instruction else []
    for turn in json.loads(stimulus.history):
        if turn["role"] == "user":
            turns.append(Turn("user", audio=build / turn["path"]))
        else:
            turns.append(Turn("assistant", text=turn["text"]))
    if stimulus.path is not None:
        turns.append(Turn("user", audio=build / stimulus.path))
    else:
        turns.append(Turn("user", text=stimulus.presented_text))
    return tuple(turns)


def _response(trial: Trial, result: Answer | Failure, latency_s: float) -> Response:
    if isinstance(result, Answer) and not result.text.strip():
        result = Failure("empty answer")
    answer = result if isinstance(result, Answer) else None
    return Response(
        trial_key=trial.key,
        status=Status.OK if answer else Status.FAILED,
        text=answer.text if answer else None,
        error=result.error if isinstance(result, Failure) else None,
        heard=json.dumps(answer.heard, ensure_ascii=False) if answer and answer.heard else None,
        latency_s=round(latency_s, 3),
        tokens=answer.tokens if answer else None,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
