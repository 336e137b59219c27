"""What is in a results bundle, and what must hold of it, whoever made it."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from aor_lib.config.errors import AorError
from aor_lib.config.params import ModelCard
from aor_lib.config.records import FLAGS, Label, Response, Status, Trial, Verdict
from aor_lib.inference.provenance import Provenance

_NOT_PLAIN = re.compile(r"[<>\[\]`]|[^\S ]|[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class BundleError(AorError, ValueError):
    """A bundle that cannot be made, read or taken in; the message is one line."""


@dataclass(frozen=True)
class Bundle:
    """The results of a study: trials, what came of them, and who answered.

    ``profile`` names the study, ``aor_version`` is of whoever exported it. There is a card for
    each model of the trials.
    """

    profile: str
    aor_version: str
    trials: tuple[Trial, ...]
    responses: tuple[Response, ...]
    verdicts: tuple[Verdict, ...]
    cards: tuple[ModelCard, ...]
    provenance: tuple[Provenance, ...]

    def check(self) -> None:
        """Raise ``ValueError`` where this cannot be what a study has recorded.

        The message says where, and quotes no answer.
        """
        _once("trial", ((t.key, t.stimulus_id, t.arm.mitigation) for t in self.trials))
        _once("response to", (response.trial_key for response in self.responses))
        _once("verdict on", ((verdict.trial_key, verdict.judge) for verdict in self.verdicts))
        keys = {trial.key for trial in self.trials}
        statuses: dict[str, Status] = {}
        for response in self.responses:
            with_trial = f"response to {response.trial_key}"
            _require(response.trial_key in keys, f"{with_trial}: is to no trial of the bundle")
            _check_response(response, with_trial)
            statuses[response.trial_key] = response.status
        for verdict in self.verdicts:
            where = f"verdict of {verdict.judge} on {verdict.trial_key}"
            _require(verdict.trial_key in statuses, f"{where}: is on no response of the bundle")
            answered = statuses[verdict.trial_key] is Status.OK
            _require(answered or verdict.label is Label.UNJUDGED, f"{where}: label: no answer")
            _check_verdict(verdict, where)
        self._check_models()

    def _check_models(self) -> None:
        models = {trial.arm.model for trial in self.trials}
        _once("card of", (card.id for card in self.cards))
        _require({card.id for card in self.cards} == models, "cards: one for each model is needed")
        _require({row.model for row in self.provenance} <= models, "provenance: of no model here")
        for revision in {trial.arm.revision for trial in self.trials}:
            _require_plain("trials: revision", revision)
        for card in self.cards:
            for name in ("title", "family", "kind", "licence", "source", "revision", "note"):
                _require_plain(f"model {card.id}: {name}", getattr(card, name))
        for row in self.provenance:
            for name, value in row.model_dump().items():
                for text in sum(value.items(), ()) if isinstance(value, dict) else (value,):
                    _require_plain(f"provenance of {row.model}: {name}", text)
        _require_plain("aor_version", self.aor_version)


def _check_response(response: Response, where: str) -> None:
    answered = response.status is Status.OK
    _require(
        answered == (response.text is not None) and answered == (response.error is None),
        f"{where}: status: {response.status.value!r} does not go with its text and error",
    )
    latency_s, tokens = response.latency_s, response.tokens
    _require(math.isfinite(latency_s) and latency_s >= 0, f"{where}: latency_s: is {latency_s}")
    _require(tokens is None or tokens >= 0, f"{where}: tokens: is {tokens}")
    try:
        datetime.datetime.fromisoformat(response.created)
        heard = json.loads(response.heard or "{}").values()
    except (ValueError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"{where}: created or heard: is not ISO 8601, or no JSON object"
        ) from error
    plain = all(isinstance(value, str | int | float) for value in heard)
    _require(plain, f"{where}: heard: must hold texts and numbers")


def _check_verdict(verdict: Verdict, where: str) -> None:
    score = verdict.score
    _require(score is None or 0 <= score <= 1, f"{where}: score: {score} is no probability")
    _require(set(verdict.flags) <= set(FLAGS), f"{where}: flags: valid are {', '.join(FLAGS)}")
    _require_plain(f"{where}: judge_version", verdict.judge_version)


def _require_plain(where: str, text: str | None) -> None:
    """Pages show such texts in their prose: none must be taken for anything but words."""
    found = _NOT_PLAIN.search(text or "")
    if found:
        raise ValueError(f"{where}: must be plain text in one line, without {found.group()!r}")


def _once(what: str, keys: Iterable[object]) -> None:
    seen = set()
    for key in keys:
        _require(key not in seen, f"{what} {key}: is there twice")
        seen.add(key)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
