"""From a model's card to the adapter that runs it."""

import importlib
from collections.abc import Callable
from typing import Any

from aor_lib.config.params import ModelCard
from aor_lib.config.typed_yaml import ParamsError, did_you_mean
from aor_lib.models.base import AudioModel, Capabilities, ModelError

# Adapters import SDKs: only the one that is asked for is loaded.
ADAPTERS = {
    "cascade": "aor_lib.models.cascade:Cascade",
    "hf": "aor_lib.models.hf:HuggingFaceModel",
    "openai_api": "aor_lib.models.openai_api:OpenAIModel",
}
"""The study's kinds of models. A card can also name a class of its own, as ``module:Class``."""


def load_model(card: ModelCard) -> AudioModel:
    """Make the model of a card; its weights are loaded at the first question.

    Raises
    ------
    ModelError
        If it cannot run here (no GPU, no key, no package); the message says what it needs.
    ParamsError
        If its kind or its settings are wrong.
    """
    return _adapter(card)(card)


def claimed_capabilities(card: ModelCard) -> Capabilities:
    """Capabilities of a card's model, which need not be able to run here.

    Raises as :func:`load_model`.
    """
    adapter: Any = _adapter(card)
    of_card = getattr(adapter, "capabilities_of", None)
    claimed: Capabilities = of_card(card) if of_card else adapter.capabilities
    return claimed


def _adapter(card: ModelCard) -> Callable[[ModelCard], AudioModel]:
    module, colon, name = ADAPTERS.get(card.kind, card.kind).partition(":")
    if not colon:
        raise ParamsError(
            f"model {card.id}: kind: no kind {card.kind!r}{did_you_mean(card.kind, ADAPTERS)}, "
            "or a class as module:Class"
        )
    try:
        adapter: Callable[[ModelCard], AudioModel] = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name and not f"{module}.".startswith(f"{error.name}."):
            raise ModelError(f"{card.id} needs the package {error.name}") from error
        raise ParamsError(f"model {card.id}: kind: {card.kind}: {error}") from error
    except AttributeError as error:
        raise ParamsError(f"model {card.id}: kind: {card.kind}: {error}") from error
    return adapter
