"""From a model's card to the adapter that runs it."""

from __future__ import annotations

from aor_lib.models.base import AudioModel
from aor_lib.params import ModelCard


def load_model(card: ModelCard) -> AudioModel:
    """The model of a card, ready to answer.

    Raises
    ------
    ModelError
        It cannot run here (no GPU, no key, a package is missing); the message says what it needs.
    ParamsError
        Its settings are wrong.
    """
    # Adapters import torch and SDKs: only the one that is asked for is loaded.
    if card.kind == "cascade":
        from aor_lib.models.cascade import Cascade

        return Cascade(card)
    if card.kind == "hf":
        from aor_lib.models.hf import HuggingFaceModel

        return HuggingFaceModel(card)
    from aor_lib.models.openai_api import OpenAIModel

    return OpenAIModel(card)
