"""Models on the machines of a dask cluster, asked from one place, which alone writes results.

``dask worker ADDRESS --nthreads 1 --resources "MODEL_ID=1"`` starts a worker on a machine that is
to hold one model: its trials go to the workers that name it so, or to all if none does. Sound
files travel with the questions; the machines need not share a disk.
"""

from __future__ import annotations

import dataclasses
import functools
import tempfile
import threading
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aor_lib.config.params import ModelCard
from aor_lib.config.records import Generation
from aor_lib.inference.executors import Batch, Outcome, Queues, ask
from aor_lib.models.base import Answer, AudioModel, Capabilities, Conversation, Failure, ModelError
from aor_lib.models.registry import load_model

_asking = threading.Lock()
"""A worker may have several threads; its models are asked by one at a time."""


@dataclass
class RemoteModel:
    """A model that answers on a cluster (see :meth:`Cluster.model`)."""

    card: ModelCard
    revision: str
    capabilities: Capabilities
    cluster: Cluster

    def answer(
        self, conversations: Sequence[Conversation], generation: Generation
    ) -> list[Answer | Failure]:
        """See :class:`aor_lib.models.base.AudioModel`."""
        future = self.cluster.submit(self, conversations, generation)
        outcome = self.cluster.outcome(future, len(conversations))
        if outcome.stopped is not None:
            raise ModelError(outcome.stopped)
        return list(outcome.results)


class Cluster:
    """The machines behind a dask scheduler. Use it in a ``with`` statement.

    OSError if no scheduler answers at ``address`` or it has no workers; by any method, if it is
    lost.
    """

    def __init__(self, address: str) -> None:
        from distributed import Client

        connect: Any = Client
        self.address = address
        self._client = connect(address, timeout="10s", set_as_default=False)
        if not self._workers():
            self._client.close()
            raise OSError(
                f"the scheduler at {address} has no workers; start some: 'dask worker {address}'"
            )

    def __enter__(self) -> Cluster:
        """Return the cluster itself, connected."""
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the cluster; what it is still asked is forgotten."""
        self._client.close()

    def model(self, card: ModelCard) -> RemoteModel:
        """The model of a card, as its machines know it; ModelError if it cannot run there."""
        revision, capabilities = self._result(self._submit(_describe, card))
        return RemoteModel(card, revision, capabilities, self)

    def executor(self, queues: Queues) -> Generator[tuple[Batch, Outcome], None, None]:
        """Ask all models at once. Each has one batch more than it has machines, to keep them busy.

        See :data:`aor_lib.inference.executors.Executor`.
        """
        import distributed

        as_completed: Any = distributed.as_completed
        completed = as_completed(loop=self._client.loop)
        asked: dict[Any, tuple[Batch, AudioModel, Iterator[Batch]]] = {}

        def submit_next(model: AudioModel, queue: Iterator[Batch]) -> None:
            if batch := next(queue, None):
                future = self.submit(model, batch.conversations, batch.generation)
                asked[future] = batch, model, queue
                completed.add(future)

        for model, queue in queues:
            for _ in range((self._holders(model.card.id) or len(self._workers())) + 1):
                submit_next(model, queue)
        for future in completed:
            batch, model, queue = asked.pop(future)
            yield batch, self.outcome(future, len(batch.trials))
            submit_next(model, queue)

    def submit(
        self, model: AudioModel, conversations: Sequence[Conversation], generation: Generation
    ) -> Any:
        """Start :func:`aor_lib.inference.executors.ask` on one of the machines; its future."""
        paths = {
            turn.audio
            for conversation in conversations
            for turn in conversation
            if isinstance(turn.audio, Path) and turn.audio.is_file()
        }
        sounds = {path: path.read_bytes() for path in paths}
        return self._submit(_ask, model.card, model.revision, conversations, sounds, generation)

    def outcome(self, future: Any, size: int) -> Outcome:
        """Wait for the outcome of a batch of ``size`` conversations."""
        from distributed import KilledWorker

        try:
            outcome: Outcome = self._result(future)
        except KilledWorker:
            return Outcome([Failure("every worker that was asked this batch died")] * size)
        return outcome

    def _holders(self, model: str) -> int:
        """Number of workers that were started to hold this model."""
        return sum(model in worker["resources"] for worker in self._workers())

    def _workers(self) -> list[dict[str, Any]]:
        return list(self._client.scheduler_info()["workers"].values())

    def _submit(self, function: Any, card: ModelCard, *arguments: object) -> Any:
        resources = {card.id: 1} if self._holders(card.id) else None
        with warnings.catch_warnings():
            # Of large arguments: sent with the task, they survive the loss of a worker.
            warnings.simplefilter("ignore", UserWarning)
            return self._client.submit(function, card, *arguments, resources=resources, pure=False)

    def _result(self, future: Any) -> Any:
        try:
            return future.result()
        except CancelledError as error:
            raise OSError(
                f"the scheduler at {self.address} is lost; what was answered is kept"
            ) from error


@functools.cache
def _loaded(card: str) -> AudioModel:
    """Load the model of a card, given as JSON, once in this worker."""
    return load_model(ModelCard.model_validate_json(card))


def _describe(card: ModelCard) -> tuple[str, Capabilities]:
    with _asking:
        model = _loaded(card.model_dump_json())
    return model.revision, model.capabilities


def _ask(
    card: ModelCard,
    revision: str,
    conversations: Sequence[Conversation],
    sounds: Mapping[Path, bytes],
    generation: Generation,
) -> Outcome:
    with _asking, tempfile.TemporaryDirectory() as folder:
        try:
            model = _loaded(card.model_dump_json())
        except ModelError as error:
            return Outcome(stopped=str(error))
        if model.revision != revision:
            return Outcome(
                stopped=f"{card.id}: one machine has revision {model.revision}, another {revision}"
            )
        places: dict[object, Path] = {}
        for number, (path, content) in enumerate(sounds.items()):
            places[path] = Path(folder) / f"{number}{path.suffix}"
            places[path].write_bytes(content)
        here = [
            tuple(
                dataclasses.replace(turn, audio=places.get(turn.audio, turn.audio))
                for turn in conversation
            )
            for conversation in conversations
        ]
        return ask(model, here, generation)
