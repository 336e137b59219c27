"""What a model card says of how a model is reached over HTTP."""

from __future__ import annotations

import os
import re
from typing import Annotated, Any

from pydantic import Field, model_validator

from aor_lib.config.typed_yaml import Params
from aor_lib.models.api_budget import Prices
from aor_lib.models.base import ModelError

_KEY = re.compile(r"[!#-&(-\[\]-~]+")
"""ASCII without what JSON or Python write in another way: it must be found in what is quoted."""


class Settings(Params):
    """Settings and reach of a model behind an API in its model card. Keys are never among them."""

    base_url: str | None = Field(default=None, description="None: the SDK's default.")
    base_url_variable: str | None = Field(
        default=None, description="Environment variable that holds the address, if base_url is None"
    )
    api_key_variable: str = "OPENAI_API_KEY"
    concurrency: Annotated[int, Field(ge=1)] = 8
    timeout_s: Annotated[float, Field(gt=0)] = Field(
        default=120, description="From the start of a request to the end of its response."
    )
    max_retries: Annotated[int, Field(ge=0)] = 5
    max_wait_s: Annotated[float, Field(ge=0)] = Field(
        default=600, description="The longest Retry-After to sit out; a longer one ends the run."
    )
    max_requests: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="Of one process, retries too: a resumed run starts anew."
    )
    max_spend_usd: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="Of one process; needs usd_per_million_tokens."
    )
    usd_per_million_tokens: Prices | None = None
    text_only: bool = Field(default=True, description="False where the API wants audio.")
    send_seed: bool = Field(default=True, description="False where the API refuses a seed.")
    extra: dict[str, Any] = Field(
        default_factory=dict, description="Further fields of every request."
    )

    @model_validator(mode="after")
    def _spend_has_prices(self) -> Settings:
        if self.max_spend_usd is not None and self.usd_per_million_tokens is None:
            raise ValueError("max_spend_usd needs usd_per_million_tokens")
        return self


def address(settings: Settings, model: str) -> str | None:
    """Where the API of a model is reached; None for the SDK's default.

    Raises
    ------
    ModelError
        It is not set, or is no address.
    """
    url = settings.base_url
    if url is None and settings.base_url_variable:
        url = _from_environment(settings.base_url_variable, model, "the address of its API")
    if url and not url.startswith(("http://", "https://")):
        raise ModelError(f"{model}: the address of its API must begin with http(s)://")
    return url


def key(settings: Settings, model: str) -> str:
    """The key to the API of a model.

    Raises
    ------
    ModelError
        It is not set, or cannot be a key.
    """
    variable = settings.api_key_variable
    value = _from_environment(variable, model, "the API key")
    if not _KEY.fullmatch(value):
        # An HTTP client would quote it in its complaint.
        raise ModelError(
            f"{model} needs the API key in ${variable}; "
            "what is set there has characters that no key has"
        )
    return value


def _from_environment(variable: str, model: str, what: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        raise ModelError(f"{model} needs {what} in ${variable}; it is not set")
    return value
