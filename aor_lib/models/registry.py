"""Load a model from its card, and ask any model one question."""

import importlib
from pathlib import Path
from typing import Any

from aor_lib.audio.clip import Clip
from aor_lib.config.params import PARAMS, SERVED, ModelCard, load_model_cards
from aor_lib.config.records import Generation
from aor_lib.config.typed_yaml import ParamsError, did_you_mean, read
from aor_lib.models.base import Answer, AudioModel, Capabilities, Failure, ModelError, Turn

ADAPTERS = {
    "cascade": "aor_lib.models.cascade:Cascade",
    "hf": "aor_lib.models.hf:HuggingFaceModel",
    "llama_cpp": "aor_lib.models.llama_cpp:LlamaCppModel",
    "openai_api": "aor_lib.models.openai_api:OpenAIModel",
}
"""Adapter of each kind of model. A card can also name a class of its own: ``module:Class``."""


def load_card(name: str | Path) -> ModelCard:
    """Read a model card by its id, or by the path of its YAML file."""
    if Path(name).suffix in (".yaml", ".yml"):
        return read(Path(name), ModelCard)
    cards = load_model_cards() | load_model_cards(folder=SERVED)
    if name not in cards:
        raise ParamsError(f"{PARAMS}/models: no model {name!r}{did_you_mean(str(name), cards)}")
    return cards[str(name)]


def load_model(model: AudioModel | ModelCard | str | Path) -> AudioModel:
    """Make a model from its card, or the card's id or path; weights load at the first question.

    A model object is returned unchanged. ModelError, which names what is missing (GPU, key,
    package), if the model cannot run here; ParamsError if the card does not exist or is invalid.
    """
    if isinstance(model, str | Path):
        model = load_card(model)
    return _adapter(model)(model) if isinstance(model, ModelCard) else model


def ask(
    model: AudioModel | ModelCard | str | Path,
    clip: Clip | str | Path | None = None,
    *,
    text: str | None = None,
    instruction: str | None = None,
    generation: Generation = Generation(),  # noqa: B008 - immutable
) -> Answer:
    """Ask a model one question: a clip, a text, or both.

    Parameters
    ----------
    model
        A model, its card, the id of a card in ``params/models``, or the path of a card.
    clip
        Clip in memory, or path of a sound file.
    text
        Text of the user's turn, in addition to the clip or instead of it.
    instruction
        System prompt.
    generation
        Decoding settings; by default temperature 0 and at most 64 tokens.

    Raises
    ------
    ModelError
        If the model cannot run here or gives no answer, or if there is neither clip nor text.

    Examples
    --------
    >>> from aor_lib.stimuli.rendering import make_clip
    >>> "France" in ask("ref-permissive", make_clip("What is the capital of France?")).text
    True
    """
    model = load_model(model)
    if clip is None and not text:
        raise ModelError(f"{model.card.id}: no question: give a clip, a text, or both")
    turns = [Turn("system", text=instruction)] if instruction else []
    sound = Path(clip) if isinstance(clip, str) else clip
    (answer,) = model.answer([(*turns, Turn("user", text, sound))], generation)
    if isinstance(answer, Failure):
        raise ModelError(f"{model.card.id} gave no answer: {answer.error}")
    return answer


def claimed_capabilities(card: ModelCard) -> Capabilities:
    """Capabilities that a card's model claims, even if the model cannot run here."""
    adapter = _adapter(card)
    of_card = getattr(adapter, "capabilities_of", None)
    return of_card(card) if of_card else getattr(adapter, "capabilities", Capabilities())


def _adapter(card: ModelCard) -> Any:
    # Adapters import SDKs, so only the card's own adapter is imported.
    module, colon, name = ADAPTERS.get(card.kind, card.kind).partition(":")
    if not colon:
        advice = f"{did_you_mean(card.kind, ADAPTERS)}, or a class as module:Class"
        raise ParamsError(f"model {card.id}: kind: no kind {card.kind!r}{advice}")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name and not f"{module}.".startswith(f"{error.name}."):
            raise ModelError(f"{card.id} needs the package {error.name}") from error
        problem = f"{error}; is its folder in PYTHONPATH?"
        raise ParamsError(f"model {card.id}: kind: {card.kind}: {problem}") from error
    except AttributeError as error:
        raise ParamsError(f"model {card.id}: kind: {card.kind}: {error}") from error
