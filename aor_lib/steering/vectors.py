"""Steering vectors on disk: an intervention, the model it is for, and what it was fitted on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from aor_lib.config.records import content_hash
from aor_lib.steering import SteeringError
from aor_lib.steering.activations import Floats, OpenModel
from aor_lib.steering.interventions import Ablation, Addition, Gate, Gated, Intervention
from aor_lib.storage.atomic_write import atomic_write

_FORMAT = "aor-steering-2"
_ORIGIN = ("model", "revision", "method", "source", "layer", "lam", "components", "data_sha256")


@dataclass(frozen=True, eq=False)
class SteeringVector:
    """An intervention, and where it comes from.

    ``method``, ``source``, ``layer``, ``lam`` and ``components`` say how its direction was found
    (:class:`aor_lib.steering.candidates.Candidate`). ``data_sha256`` is of the trials that it was
    fitted on, ``utterances`` are theirs: no report may hold one of them
    (:func:`aor_lib.analysis.splits.for_scoring`).
    """

    intervention: Intervention
    model: str
    revision: str
    method: str
    source: str
    layer: int
    lam: float | None
    components: int | None
    data_sha256: str
    utterances: frozenset[str]

    @property
    def name(self) -> str:
        """A hash of all that decides what the vector does."""
        numbers, tensors = _parts(self.intervention)
        return content_hash([{key: array.tolist() for key, array in tensors.items()}, numbers])


def save_vector(vector: SteeringVector, path: Path) -> None:
    """Write a vector as safetensors; the same vector gives the same bytes."""
    numbers, tensors = _parts(vector.intervention)
    about = {key: getattr(vector, key) for key in _ORIGIN} | {
        "format": _FORMAT,
        "utterances": sorted(vector.utterances),
        "intervention": numbers,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    # One entry: safetensors keeps several in no order.
    metadata = {"steering": json.dumps(about, sort_keys=True)}
    with atomic_write(path) as stream:
        stream.write(save(tensors, metadata))


def load_vector(path: Path, model: OpenModel) -> SteeringVector:
    """Read a vector that is for this very model.

    Raises
    ------
    SteeringError
        If the file holds no steering vector, or one for another model or another revision of it.
    """
    vector = read_vector(path)
    for name, of_vector, of_model in (
        ("model", vector.model, model.card.id),
        ("revision", vector.revision, model.revision),
    ):
        if of_vector != of_model:
            raise SteeringError(
                f"{path}: {name}: the vector is for {of_vector!r}, this is {of_model!r}; "
                "fit one for it with 'aor steer'"
            )
    return vector


def read_vector(path: Path) -> SteeringVector:
    """Read a vector to look at it, whatever model it is for.

    Raises
    ------
    SteeringError
        If the file holds no steering vector.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads((file.metadata() or {})["steering"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if about["format"] != _FORMAT:
            raise ValueError(f"format: {about['format']!r} is not {_FORMAT!r}")
        return SteeringVector(
            _intervention(about["intervention"], tensors),
            utterances=frozenset(about["utterances"]),
            **{key: about[key] for key in _ORIGIN},
        )
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        reason = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise SteeringError(f"{path}: holds no steering vector: {reason}") from error


def _parts(intervention: Intervention) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Numbers and arrays of an intervention."""
    match intervention:
        case Ablation(direction):
            return {"kind": "ablation"}, {"direction": np.ascontiguousarray(direction)}
        case Addition(layer, direction, coefficient):
            numbers = {"kind": "addition", "layer": layer, "coefficient": coefficient}
            return numbers, {"direction": np.ascontiguousarray(direction)}
        case Gated(gate, then):
            numbers, tensors = _parts(then)
            gated = {
                "kind": "gated",
                "gate_layer": gate.layer,
                "intercept": gate.intercept,
                "threshold": gate.threshold,
            }
            return numbers | gated, tensors | {"gate": gate.normal}


def _intervention(numbers: dict[str, Any], tensors: dict[str, Floats]) -> Intervention:
    direction = tensors["direction"]
    if numbers["kind"] == "ablation":
        return Ablation(direction)
    addition = Addition(numbers["layer"], direction, numbers["coefficient"])
    if numbers["kind"] == "addition":
        return addition
    gate = Gate(numbers["gate_layer"], tensors["gate"], numbers["intercept"], numbers["threshold"])
    return Gated(gate, addition)
