"""Content of a results bundle, and what must hold of it, whoever made it.

``manifest.json``
    The versions of the format and of the data set, the sha256 of every other file, and who
    answered and judged.
``trials.parquet``, ``responses.parquet``, ``verdicts.parquet``
    One row per :class:`TrialRow`, ``Response`` and ``Verdict`` of :mod:`aor_lib.config.records`.
``cards.json``
    The model cards, by id.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, model_validator

from aor_lib.config.params import ModelCard
from aor_lib.config.records import (
    Identifier,
    Label,
    Response,
    Row,
    Sha256,
    Status,
    Trial,
    Verdict,
)
from aor_lib.config.typed_yaml import AorError
from aor_lib.inference.provenance import Provenance

FORMAT_VERSION: Literal[2] = 2

_NOT_PLAIN = re.compile(r"[<>\[\]`]|[^\S ]|[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_Model = TypeVar("_Model", bound=BaseModel)


class BundleError(AorError, ValueError):
    """A bundle that cannot be made, read or taken in; the message is one line."""


def _plain(text: str) -> str:
    """Refuse markup: pages show such texts in their prose, where they must be words only."""
    if found := _NOT_PLAIN.search(text):
        raise ValueError(f"must be plain text in one line, without {found.group()!r}")
    return text


def _plain_fields(row: _Model) -> _Model:
    for name, value in row.model_dump(exclude={"settings", "reach"}).items():
        texts = [*value, *value.values()] if isinstance(value, dict) else [value]
        try:
            _plain(" ".join(text for text in texts if isinstance(text, str)))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    return row


def _with_flat_heard(response: Response) -> Response:
    try:
        values = json.loads(response.heard or "{}").values()
    except (ValueError, AttributeError, RecursionError):
        raise ValueError("heard: is no JSON object") from None
    if not all(isinstance(value, str | int | float) for value in values):
        raise ValueError("heard: must hold texts and numbers")
    return response


def _with_plain_version(verdict: Verdict) -> Verdict:
    _plain(verdict.judge_version)
    return verdict


class TrialRow(Row, str_strip_whitespace=False):
    """A trial and its key, by which responses and verdicts name it."""

    trial_key: Sha256
    trial: Trial

    @model_validator(mode="after")
    def _has_its_key(self) -> TrialRow:
        if self.trial.key != self.trial_key:
            raise ValueError("trial_key: is not the hash of what the row says was asked")
        _plain(self.trial.arm.revision)
        return self


class Manifest(Row):
    """Content of ``manifest.json``; ``judged`` lists judges and their versions, by model."""

    format_version: Literal[2]
    dataset_version: Literal[2]
    aor_version: str
    profile: Identifier
    files: dict[str, Sha256]
    answered: tuple[Provenance, ...]
    judged: dict[Identifier, tuple[str, ...]]


class Bundle(Row):
    """The results of a study: trials, their responses and verdicts, and who answered.

    ``profile`` names the study, ``aor_version`` is of whoever exported it. ``cards`` has one for
    each model of the trials.
    """

    profile: Identifier
    aor_version: Annotated[str, AfterValidator(_plain)]
    trials: tuple[TrialRow, ...]
    responses: tuple[Annotated[Response, AfterValidator(_with_flat_heard)], ...]
    verdicts: tuple[Annotated[Verdict, AfterValidator(_with_plain_version)], ...]
    cards: dict[Identifier, Annotated[ModelCard, AfterValidator(_plain_fields)]]
    provenance: tuple[Annotated[Provenance, AfterValidator(_plain_fields)], ...]

    @model_validator(mode="after")
    def _belongs_together(self) -> Bundle:
        trials = [row.trial for row in self.trials]
        rows: dict[str, list[Any]] = {
            "trial": [(trial.key, trial.stimulus_id, trial.arm.mitigation) for trial in trials],
            "response to": [row.trial_key for row in self.responses],
            "verdict on": [(row.trial_key, row.judge) for row in self.verdicts],
        }
        for kind, keys in rows.items():
            for key, count in Counter(keys).most_common(1):
                if count > 1:
                    raise ValueError(f"{kind} {key}: is there twice")
        answered = {row.trial_key: row.status is Status.OK for row in self.responses}
        if others := answered.keys() - {trial.key for trial in trials}:
            raise ValueError(f"response to {min(others)}: is to no trial of the bundle")
        for verdict in self.verdicts:
            if verdict.trial_key not in answered:
                raise ValueError(f"verdict on {verdict.trial_key}: is on no response of the bundle")
            if verdict.label is not Label.UNJUDGED and not answered[verdict.trial_key]:
                raise ValueError(f"verdict on {verdict.trial_key}: label: there is no answer")
        models = {trial.arm.model for trial in trials}
        if {(name, card.id) for name, card in self.cards.items()} != {(m, m) for m in models}:
            raise ValueError("cards: one for each model of the trials is needed")
        if not {row.model for row in self.provenance} <= models:
            raise ValueError("provenance: is of a model without trials")
        return self
