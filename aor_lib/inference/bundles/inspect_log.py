"""Answers in a log of inspect_ai, as a bundle of results.

A sample is not taken at its word: each call of the model in it must be the one that
``aor run`` would have made for the trial, with the same messages and the same settings.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from aor_lib import __version__
from aor_lib.config.params import StudyParams
from aor_lib.config.records import Response, Trial
from aor_lib.config.typed_yaml import AorError
from aor_lib.inference.bundles.folder import first_problem
from aor_lib.inference.bundles.schema import Bundle, BundleError, TrialRow
from aor_lib.inference.executors import Outcome
from aor_lib.inference.inspect_trials import TASK, InspectTrials, facts, read_output
from aor_lib.inference.provenance import Provenance
from aor_lib.inference.store import STORE, Store
from aor_lib.models.api_messages import are_one_model, build_request, quote
from aor_lib.models.base import Answer, Conversation, Failure
from aor_lib.models.steps import in_steps

_CHANGES_NOTHING = {
    "adaptive_connections",
    "attempt_timeout",
    "batch",
    "cache",
    "cache_prompt",
    "max_connections",
    "max_retries",
    "stream_idle_timeout",
    "timeout",
}
"""Fields of ``GenerateConfig`` that decide how a request is sent, and not what is answered."""
_REMOVED = "<base64-data-removed>"
"""Stands for a sound in a log of ``inspect eval --no-log-images``."""

_Message = tuple[str, list[tuple[str, str]]]
"""Role of a message, and kind and content of each of its parts."""


def read_inspect_log(
    path: Path, study: StudyParams, build: Path, card_id: str | None = None
) -> Bundle:
    """Read the answers in a log of :mod:`aor_lib.analysis.inspect_task` as a bundle.

    Its trials are all that ``aor run`` would ask the model; those that are not in the log are
    without a response. A sample that ended in an error, and an empty or unfinished answer, are
    failures.

    Parameters
    ----------
    card_id : str, optional
        The card in the profile under which the answers are to stand; it must be the log's.

    Raises
    ------
    BundleError
        If inspect_ai is not installed, the log cannot be read or is of another study, or the model
        was asked otherwise; the message names the file, the field and the value.
    ParamsError, FileNotFoundError
        As :class:`InspectTrials`.
    """
    try:
        return _Log(path).bundle(study, build, card_id)
    except ModuleNotFoundError as error:
        raise BundleError(f"{path}: needs the package {error.name}; run 'make inspect'") from error
    except ValidationError as error:
        raise BundleError(f"{path}: {first_problem(error)}") from error
    except AorError:
        raise
    except (zipfile.BadZipFile, ValueError, KeyError, RuntimeError) as error:
        raise BundleError(f"{path}: cannot be read: {quote(error, '')}") from error


class _Log:
    """A log and what its header says."""

    def __init__(self, path: Path) -> None:
        from inspect_ai.log import read_eval_log

        self._path = path
        self._header = read_eval_log(path, header_only=True)

    def bundle(self, study: StudyParams, build: Path, card_id: str | None) -> Bundle:
        from inspect_ai.log import read_eval_log_samples

        spec = self._header.eval
        if spec.task.rpartition("/")[2] != TASK:
            raise self._unlike("eval.task", spec.task, f"only logs of {TASK!r} can be imported")
        named = (spec.metadata or {}).get("card")
        cards = {card.id: card for card in study.models}
        if named not in cards or named != (card_id or named):
            wanted = card_id or f"one of the profile's: {', '.join(cards)}"
            raise self._unlike("eval.metadata.card", named, f"the answers are to be of {wanted}")
        trials = InspectTrials(study, cards[named], build)
        if why := trials.why_not(spec.model):
            raise self._unlike("eval.model", spec.model, why)
        if (spec.config.epochs or 1) > 1:
            raise self._unlike("eval.config.epochs", spec.config.epochs, "a trial is asked once")
        samples = read_eval_log_samples(
            self._path,
            all_samples_required=False,  # a run that ended early has some of them
            resolve_attachments="core",
            exclude_fields={"messages", "store"},
        )
        responses = tuple(self._response(sample, trials) for sample in samples)
        if not responses:
            raise self._unlike("samples", None, "the log holds no sample that came to its end")
        self._require_one_model(responses, trials, build)
        return Bundle(
            profile=study.profile.name,
            aor_version=__version__,
            trials=tuple(TrialRow(trial_key=trial.key, trial=trial) for trial in trials.plan),
            responses=responses,
            verdicts=(),
            cards={named: trials.card},
            provenance=(self._provenance(study, trials),),
        )

    def _response(self, sample: Any, trials: InspectTrials) -> Response:
        trial = trials.by_key.get(sample.metadata.get("trial_key"))
        if trial is None:
            raise self._of_no_trial(sample, trials)
        calls = [event for event in sample.events if event.event == "model" and event.error is None]
        result = self._replay(sample, calls, trial, trials)
        if sample.error is not None:
            result = Failure(quote(sample.error.message, ""))
        elif sample.invalidation is not None:
            result = Failure("the sample was invalidated")
        latency_s = sum(call.working_time or call.output.time or 0.0 for call in calls)
        (response,) = Outcome([result], latency_s).responses([trial.key])
        when = {"created": sample.completed_at} if sample.completed_at else {}
        return Response(**response.model_dump() | when)

    def _replay(
        self, sample: Any, calls: list[Any], trial: Trial, trials: InspectTrials
    ) -> Answer | Failure:
        """Result of a trial's conversation with the logged calls in the place of the model."""
        steps = in_steps(trials.conversation(trial))
        asked = next(steps)
        options = trials.options(trial)
        for call in calls:
            self._require_same(sample, call, asked, options)
            answer = read_output(call.output)
            served = answer.served_by if isinstance(answer, Answer) else None
            if served and not are_one_model(served, trials.served_as):
                why = f"the card {trials.card.id!r} is of {trials.served_as!r}"
                raise self._unlike("output.model", served, why)
            try:
                asked = steps.send(answer)
            except StopIteration as end:
                result: Answer | Failure = end.value
                return result
        limit = f" ({sample.limit.type} limit)" if sample.limit else ""
        return Failure(f"the log ends before the answer{limit}")

    def _require_same(
        self, sample: Any, call: Any, asked: Conversation, options: dict[str, Any]
    ) -> None:
        """Raise unless a call was given these turns and these settings."""
        where = f"sample {sample.id!r}: "
        config = call.config.model_dump(exclude_none=True)
        for name in sorted(config.keys() - _CHANGES_NOTHING | options.keys()):
            if config.get(name) != options.get(name):
                why = f"the trial's is {options.get(name)!r}"
                raise self._unlike(f"{where}config.{name}", config.get(name), why)
        given = [_logged(message) for message in call.input]
        expected = [_expected(message) for message in build_request(asked, {}).body["messages"]]
        no_message: _Message = ("no message", [])
        pairs = zip_longest(given, expected, fillvalue=no_message)
        for place, (one, other) in enumerate(pairs):
            if not _are_same(one, other):
                role, parts = one
                # Answers are not quoted.
                texts = [text for kind, text in parts if kind == "text" and role != "assistant"]
                why = "the trial's has other words, or another sound"
                raise self._unlike(f"{where}input[{place}]", f"{role}: {texts}"[:200], why)

    def _require_one_model(
        self, responses: tuple[Response, ...], trials: InspectTrials, build: Path
    ) -> None:
        names = {response.served_by for response in responses if response.served_by}
        if (build / STORE).is_file():
            with Store(build / STORE) as store:
                before = store.served_by(trials.card.id, trials.card.revision)
            names |= {before} if before else set()
        if len(names) > 1:
            why = "one model is to answer all trials, those in the study too"
            raise self._unlike("output.model", ", ".join(sorted(names)), why)

    def _of_no_trial(self, sample: Any, trials: InspectTrials) -> BundleError:
        """Error that names the first thing in which a sample differs from the study's trial."""
        logged, where = sample.metadata, f"sample {sample.id!r}: "
        alike = list(map(facts, trials.plan))
        for name in ("stimulus_id", "mitigation"):
            alike = [trial for trial in alike if trial[name] == logged.get(name)]
            if not alike:
                why = "the study has no such trial"
                return self._unlike(f"{where}{name}", logged.get(name), why)
        for name, value in alike[0].items():
            if logged.get(name) != value:
                return self._unlike(f"{where}{name}", logged.get(name), f"the study's is {value!r}")
        raise AssertionError("a trial with these facts has this key")

    def _provenance(self, study: StudyParams, trials: InspectTrials) -> Provenance:
        spec = self._header.eval
        return Provenance(
            model=trials.card.id,
            revision=trials.card.revision,
            profile=study.profile.name,
            aor_version=str((spec.metadata or {}).get("aor_version", "unknown")),
            python="unknown",
            device=f"{spec.model}, through inspect_ai",
            libraries=spec.packages,
            since=spec.created,
        )

    def _unlike(self, field: str, value: object, why: str) -> BundleError:
        return BundleError(f"{self._path}: {field}: {value!r}: {why}")


def _logged(message: Any) -> _Message:
    """A message in the log; reasoning is no part of what is said."""
    content = message.content
    if isinstance(content, str):
        return message.role, [("text", content.strip())] if content else []
    return message.role, [
        ("audio", part.audio.rpartition("base64,")[2])
        if part.type == "audio"
        else (part.type, getattr(part, "text", "").strip())
        for part in content
        if part.type != "reasoning"
    ]


def _expected(message: Mapping[str, Any]) -> _Message:
    """A message as the study's own request has it."""
    return message["role"], [
        ("text", part["text"].strip())
        if part["type"] == "text"
        else ("audio", part["input_audio"]["data"])
        for part in message["content"]
    ]


def _are_same(given: _Message, expected: _Message) -> bool:
    (role, parts), (other_role, others) = given, expected
    same_parts = len(parts) == len(others) and all(
        one == other or (one == ("audio", _REMOVED) and other[0] == "audio")
        for one, other in zip(parts, others, strict=True)
    )
    return role == other_role and same_parts
