"""What a model card says of how a model is reached over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from aor_lib.models.api_budget import Prices
from aor_lib.typed_yaml import Params


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
