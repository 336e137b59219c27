"""Rows of the results file: their columns, and what the columns hold of a trial or a response."""

import functools
import json
from collections.abc import Sequence
from typing import Any

from aor_lib.config.records import Arm, Generation, Response, Trial, Verdict, content_hash

TRIAL = (
    "trial_key",
    "stimulus_sha256",
    "model",
    "revision",
    "settings_sha256",
    "instruction",
    "generation",
    "steps",
)
PLAN = ("trial_key", "stimulus_id", "mitigation", "part")
RESPONSE = tuple(Response.model_fields)
VERDICT = (*Verdict.model_fields, "response_sha256")


def insertion(verb: str, table: str, columns: Sequence[str]) -> str:
    """SQL that inserts a row: ``verb`` is INSERT, INSERT OR IGNORE or INSERT OR REPLACE."""
    return f"{verb} INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def trial_values(trial: Trial) -> tuple[str | None, ...]:
    """Values of the columns ``TRIAL``."""
    arm = trial.arm
    return (
        trial.key,
        trial.stimulus_sha256,
        arm.model,
        arm.revision,
        arm.settings_sha256,
        arm.instruction,
        arm.generation.model_dump_json(),
        json.dumps(arm.steps),
    )


@functools.lru_cache(maxsize=1000)
def arm_of(
    model: str,
    revision: str,
    settings_sha256: str,
    mitigation: str,
    instruction: str | None,
    generation: str,
    steps: str,
) -> Arm:
    """The arm that a trial's columns say, the same object for all of its trials."""
    asked = Generation.model_validate_json(generation), tuple(json.loads(steps))
    return Arm(model, revision, settings_sha256, mitigation, instruction, *asked)


def response_of(values: Sequence[Any]) -> Response:
    """The response that the columns ``RESPONSE`` hold."""
    return Response(**dict(zip(RESPONSE, values, strict=True)))


def response_sha256(response: Response) -> str:
    """Hash of what a judge reads, so that a verdict on an older text is not taken for current."""
    return content_hash([response.status, response.text, response.error])
