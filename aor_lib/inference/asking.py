"""Run a model on batches of trials, and make the rows that record results and provenance."""

import datetime
import itertools
import json
import platform
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from aor_lib import __version__
from aor_lib.config.records import Identifier, Response, Row, Status, Trial
from aor_lib.config.typed_yaml import one_line
from aor_lib.models import base
from aor_lib.models.base import Answer, AudioModel, Conversation, Failure
from aor_lib.models.steps import answers_in_steps
from aor_lib.storage.workers import one_core_threads

Batch = Mapping[Trial, Conversation]  # run together, with the same generation settings


@dataclass(frozen=True)
class Outcome:
    """Results of a batch, or of a part of it."""

    batch: Batch
    results: Mapping[str, Answer | Failure]  # by trial key
    latency_s: float  # per trial
    stopped: str | None = None  # reason if the model cannot answer any more
    is_last: bool = True  # True if the batch has no further results


class Provenance(Row):
    """A machine and the library versions with which a revision of a model answered trials."""

    model: Identifier
    revision: str
    profile: str = ""  # study that it was imported from; empty if this one
    aor_version: str
    python: str
    device: str  # CPU and GPUs of the machine, or what a server reports
    libraries: dict[str, str]  # versions, by name
    since: str  # time of the first answer: UTC, ISO 8601


_version = cache(version)
_Outcomes = Future[list[Outcome]]
_LIBRARIES = ("ctranslate2", "numpy", "openai", "peft", "tokenizers", "torch", "transformers")


def ask(model: AudioModel, batches: Iterator[Batch]) -> Generator[Outcome, None, None]:
    """Run a model on batches of trials and yield the outcomes."""
    if isinstance(model, base.ConcurrentModel):
        with ThreadPoolExecutor(model.calls_at_once) as threads:
            yield from _at_once(model, batches, threads.submit, model.calls_at_once)
    elif model.capabilities.side_by_side:
        with one_core_threads() as (submit, count):
            yield from _at_once(model, batches, submit, count)
    else:
        for batch in batches:
            yield from _parts(model, batch)


def response_of(key: str, result: Answer | Failure, latency_s: float) -> Response:
    """Make the row that records the result of a trial."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
    row: dict[str, Any] = {"trial_key": key, "latency_s": round(latency_s, 3), "created": now}
    if isinstance(result, Failure):
        status = Status.BLOCKED if result.blocked else Status.FAILED
        return Response(**row, status=status, text=None, error=one_line(result.error), tokens=None)
    try:
        heard = json.dumps(result.heard, ensure_ascii=False) if result.heard else None
        return Response(**row | asdict(result) | {"heard": heard}, status=Status.OK, error=None)
    except (AttributeError, TypeError, ValueError) as error:  # not a valid answer
        return response_of(key, Failure.of(error), latency_s)


def provenance_of(model: AudioModel) -> Provenance:
    """Provenance of the answers that a model gives now."""
    torch = sys.modules.get("torch")  # without torch, no GPU is in use
    gpus = map(torch.cuda.get_device_name, range(torch.cuda.device_count())) if torch else ()
    return Provenance(
        model=model.card.id,
        revision=model.revision,
        aor_version=__version__,
        python=platform.python_version(),
        device=getattr(model, "server", None) or ", ".join(dict.fromkeys([_processor(), *gpus])),
        libraries={name: _version(name) for name in _LIBRARIES},
        since=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )


def _at_once(
    model: AudioModel, batches: Iterator[Batch], submit: Callable[..., _Outcomes], count: int
) -> Generator[Outcome, None, None]:
    under_way: set[_Outcomes] = set()
    while True:
        taken = itertools.islice(batches, count - len(under_way))
        under_way |= {submit(list, _parts(model, batch)) for batch in taken}
        if not under_way:
            return
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            under_way.remove(future)
            for outcome in future.result():
                yield replace(outcome, latency_s=outcome.latency_s / count)


def _parts(model: AudioModel, batch: Batch) -> Iterator[Outcome]:
    keys = [trial.key for trial in batch]
    left, began = set(keys), time.monotonic()
    generation = next(iter(batch)).arm.generation
    try:
        for came in answers_in_steps(model, list(batch.values()), generation):
            results = {keys[place]: result for place, result in came.items()}
            left -= results.keys()
            latency_s = (time.monotonic() - began) / len(results)
            yield Outcome(batch, results, latency_s, is_last=not left)
            began = time.monotonic()
        if left:
            raise ValueError(f"no results for {len(left)} of {len(keys)} conversations")
    except Exception as error:  # noqa: BLE001 - one adapter's bug must not end a run of many
        if left:
            stopped = str(error) if isinstance(error, base.ModelError) else None
            failed = {} if stopped else dict.fromkeys(left, Failure.of(error))
            yield Outcome(batch, failed, (time.monotonic() - began) / len(left), stopped)


@cache
def _processor() -> str:
    with suppress(OSError):  # not Linux
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
