"""Audio language models as GGUF files, behind llama.cpp's own server, which runs in this process.

Its package is an extra: ``make llama`` installs it, and needs neither a compiler nor a GPU.
"""

import importlib.util
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, PositiveInt

from aor_lib.config.params import ModelCard
from aor_lib.config.records import Generation
from aor_lib.models import hf_checkpoint
from aor_lib.models.api_settings import ApiSettings
from aor_lib.models.base import Conversation, ModelError, failure_of
from aor_lib.models.openai_api import OpenAIModel

_running: dict[OpenAIModel, Any] = {}
"""The model whose server runs: one at a time is in memory."""


class LlamaCppSettings(ApiSettings):
    """Settings and reach of a model whose server is started here."""

    weights: str = Field(description="Pattern of the name of the language model's GGUF file.")
    projector: str = Field(description="Pattern of the name of the GGUF file that hears.")
    context_tokens: PositiveInt = 8192
    threads: PositiveInt = Field(default=4, description="Fixed: their number changes answers.")
    api_key_variable: str | None = None
    concurrency: PositiveInt = 1
    timeout_s: float = 1800
    extra: dict[str, Any] = Field(
        # With what is cached of earlier prompts, the same question may change its answer.
        default={"cache_prompt": False, "repeat_penalty": 1.0, "top_k": 0, "min_p": 0.0},
        description="Further fields of every request.",
    )


class LlamaCppModel(OpenAIModel):
    """Fetches its files and starts its server at the first question."""

    kind_of_settings: ClassVar[type[ApiSettings]] = LlamaCppSettings

    def __init__(self, card: ModelCard) -> None:
        if importlib.util.find_spec("xllamacpp") is None:
            raise ModelError(f"{card.id} needs llama.cpp's server: make llama")
        super().__init__(card)
        if hf_checkpoint.local_folder(card):
            self.revision = hf_checkpoint.revision(card)  # of the hub, the card says it

    async def _ask(
        self, conversation: Conversation, generation: Generation, **further: object
    ) -> Any:
        if self not in _running:
            _running.clear()
            # Not in a thread: whoever asks meanwhile waits for the same server.
            try:
                _running[self] = server = self._start()
            except Exception as error:
                why = failure_of(error).error
                raise ModelError(f"{self.card.id}: its server does not start: {why}") from error
            self._client.base_url = f"{server.listening_address}/v1"
        return await super()._ask(conversation, generation, **further)

    def _start(self) -> Any:
        import xllamacpp

        settings: Any = self._settings
        patterns = (settings.weights, settings.projector)
        folder = hf_checkpoint.folder(self.card, self.revision, patterns)
        params = xllamacpp.CommonParams()
        params.model.path = str(_file(folder, settings.weights))
        params.mmproj.path = str(_file(folder, settings.projector))
        params.model_alias = {self.card.source}
        params.n_ctx = settings.context_tokens
        params.n_parallel = 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads
        params.verbosity = 1
        return xllamacpp.Server(params)


def _file(folder: Path, pattern: str) -> Path:
    hears = "mmproj" in pattern
    files = [file for file in folder.glob(pattern) if ("mmproj" in file.name) == hears]
    if len(files) != 1:
        raise FileNotFoundError(f"one file {pattern} is needed, {len(files)} are in {folder}")
    return files[0]
