"""Steering: directions in a model's residual stream that change what it refuses.

:func:`steer` finds and applies a direction in one call. ``study`` steers a study's models:
``residual_stream`` records activations, and adds or ablates a direction while a model answers;
``directions`` finds directions and lists interventions along them, ``layer_sweep`` estimates their
effects on ``dev``, ``choice`` picks the best, ``trials`` runs it and random controls on ``test``.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from aor_lib.config.params import ModelCard
from aor_lib.config.typed_yaml import AorError
from aor_lib.models.base import Conversation

if TYPE_CHECKING:
    from aor_lib.steering.residual_stream import OpenModel, SteeredModel

VERSION = 8
"""Increase this when the same answers would give other vectors, choices or tables."""
MAX_HRR_LOSS = 0.025
"""Largest allowed loss of HRR; an intervention chosen on ``dev`` loses more on ``test``."""


class SteeringError(AorError, ValueError):
    """Error for a vector that does not fit, or a model that cannot be steered."""


def steer(
    model: "OpenModel | ModelCard | str | Path",
    refused: Sequence[Conversation],
    answered: Sequence[Conversation],
    *,
    layer: int | None = None,
    coefficient: float = 1.0,
) -> "SteeredModel":
    """Steer a model away from refusing, using conversations that it refused and answered.

    The direction is the mean residual stream of the refused conversations minus that of the
    answered ones, at the prompt's last token. While the steered model answers, ``coefficient``
    times this direction is subtracted after one layer, at every token.

    Parameters
    ----------
    model
        A model whose layers can be changed (``capabilities.activations``: the reference models and
        those of kind ``hf``), its card, the id of a card in ``params/models``, or a card's path.
    refused, answered
        Conversations that the model refused, and others that it answered: tuples of
        :class:`aor_lib.models.base.Turn`. Score the steered model on other conversations.
    layer
        Decoder layer, counted from 0; by default the one at two thirds of the depth.
    coefficient
        Multiple of the direction that is subtracted (the book's tables list its negative, which is
        added). 1 moves the mean of the refused conversations onto that of the answered ones; with a
        negative value, the model refuses more.

    Returns
    -------
    The steered model, with the same ``answer`` method; ``model`` itself is unchanged.

    Raises
    ------
    SteeringError
        If the model cannot be steered, a list is empty, or there is no such layer.

    References
    ----------
    Arditi et al., "Refusal in language models is mediated by a single direction", NeurIPS 2024.

    Examples
    --------
    >>> from aor_lib.config.params import load_scenarios
    >>> from aor_lib.config.records import Generation
    >>> from aor_lib.models.base import Turn
    >>> gaming = load_scenarios()["video_gaming"].utterances
    >>> refused, answered = (
    ...     [(Turn("user", text=spoken.text),) for spoken in gaming if spoken.intent == intent]
    ...     for intent in ("pseudo_harmful", "benign")
    ... )
    >>> steered = steer("ref-wordbound", refused[:6], answered[:6], coefficient=2)
    >>> steered.answer(refused[6:7], Generation(max_new_tokens=3))[0].text  # was "You mean harm"
    'You mean no'
    """
    from aor_lib.models.registry import load_model
    from aor_lib.steering.residual_stream import Intervention, SteeredModel, record

    if not refused or not answered:
        raise SteeringError("refused, answered: each needs at least one conversation")
    loaded = cast("OpenModel", load_model(model))
    activations = record(loaded, [*refused, *answered])
    layers = activations.shape[1]
    layer = 2 * layers // 3 if layer is None else layer
    if not 0 <= layer < layers:
        raise SteeringError(f"layer: {layer} is not one of the model's {layers} layers, from 0")
    at_layer = activations[:, layer]
    direction = at_layer[: len(refused)].mean(axis=0) - at_layer[len(refused) :].mean(axis=0)
    return SteeredModel(loaded, Intervention(layer, direction, -coefficient))
