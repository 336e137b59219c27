"""Audio language models as GGUF files, run by llama.cpp's server in a separate process.

The server is an optional package: ``make llama`` installs it, without a compiler or a GPU.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from aor_lib.config.params import ModelCard
from aor_lib.models import hf_checkpoint
from aor_lib.models.api_messages import Request
from aor_lib.models.api_settings import ApiSettings
from aor_lib.models.base import Failure, ModelError
from aor_lib.models.openai_api import OpenAIModel

_running: dict[str, tuple[subprocess.Popen[str], str]] = {}  # at most one, with its address


class LlamaCppSettings(ApiSettings):
    """Settings and reach of a model whose server is started here."""

    weights: str  # file name pattern of the language model's GGUF file
    projector: str  # file name pattern of the audio encoder's GGUF file
    context_tokens: PositiveInt = 8192
    threads: PositiveInt = 4  # fixed, because their number changes answers
    api_key_variable: str | None = None
    base_url: str | None = "http://127.0.0.1"  # the port is known once the server runs
    concurrency: PositiveInt = 1
    max_retries: NonNegativeInt = 1
    timeout_s: PositiveFloat = 1800
    extra: dict[str, Any] = Field(
        # With earlier prompts cached, the answer to the same question may change.
        default={"cache_prompt": False, "repeat_penalty": 1.0, "top_k": 0, "min_p": 0.0}
    )


class LlamaCppModel(OpenAIModel):
    """A model that downloads its files and starts its server at the first question."""

    kind_of_settings: ClassVar[type[ApiSettings]] = LlamaCppSettings
    _settings: LlamaCppSettings

    def __init__(self, card: ModelCard) -> None:
        if importlib.util.find_spec("xllamacpp") is None:
            raise ModelError(f"{card.id} needs llama.cpp's server: make llama")
        super().__init__(card)
        self._names = (self._settings.weights, self._settings.projector)
        self.revision = card.revision
        if hf_checkpoint.local_folder(card):
            self.revision = hf_checkpoint.revision(card, self._names)
        self._identity = f"{card.model_dump_json()}@{self.revision}"

    async def _try(self, made: Request) -> Any:
        server, address = _running.get(self._identity, (None, ""))
        if server is None or server.poll() is not None:  # not started yet, or crashed on a request
            self._budget.reserve(0.0)  # raises if a server did not start
            # Not in a thread, so that concurrent requests wait for the same server.
            address = self._start()
        self._client.base_url = f"{address}/v1"
        return await super()._try(made)

    def _start(self) -> str:
        while _running:
            _running.popitem()[1][0].kill()
        settings = self._settings
        try:
            folder = hf_checkpoint.folder(self.card, self.card.revision, self._names)
            files = [str(_file(folder, name)) for name in self._names]
        except Exception as error:
            self._budget.close(str(Failure.of(error).error))  # else each request would try again
            raise ModelError(f"{self.card.id}: {self._budget.closed}") from error
        options = (self.card.source, str(settings.context_tokens), str(settings.threads))
        server: Any = subprocess.Popen(
            [sys.executable, "-m", __name__, *files, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        if address := server.stdout.readline().strip():
            _running[self._identity] = server, str(address)
            return str(address)
        self._budget.close("its server did not start; see its output above")
        raise ModelError(f"{self.card.id}: {self._budget.closed}")


def _file(folder: Path, pattern: str) -> Path:
    hears = "mmproj" in pattern
    files = [file for file in folder.glob(pattern) if ("mmproj" in file.name) == hears]
    if len(files) != 1:
        raise FileNotFoundError(f"one file {pattern} is needed, found {len(files)} in {folder}")
    return files[0]


def _serve(weights: str, projector: str, name: str, context_tokens: str, threads: str) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.mmproj.path, params.model_alias = weights, projector, {name}
    params.n_ctx, params.n_parallel, params.verbosity = int(context_tokens), 1, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(threads)
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()  # until the process that started it ends, for any reason


if __name__ == "__main__":
    _serve(*sys.argv[1:])
