"""Low-rank adapters: small changes to the linear layers of a language model.

LoRA (Hu et al., ICLR 2022, https://arxiv.org/abs/2106.09685). An adapter is a safetensors file with
two float16 factors for each weight that it changes, and the revision of the model that it fits.

The adapter of a member that hears has one weight more, an audio map: the first layer that it
changes reads the audio tokens again through it, since the layers before, which stay as they are,
blur what is heard.
"""

from __future__ import annotations

import math
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save

from aor_lib.models.base import ModelError
from aor_lib.storage.atomic_write import atomic_write

RANK = 16
SCALE = 2.0
AUDIO_MAP = "audio_map"
"""Name of the linear layer, in a decoder layer, through which this reads the audio tokens again."""
_DOWN, _UP = ".down", ".up"


class LowRank(torch.nn.Module):
    """A frozen linear layer plus ``SCALE * up @ down``, which begins as nothing."""

    def __init__(self, linear: torch.nn.Linear, generator: torch.Generator) -> None:
        super().__init__()
        self.linear = linear
        bound = 1 / math.sqrt(linear.in_features)
        down = torch.empty(RANK, linear.in_features).uniform_(-bound, bound, generator=generator)
        self.down = torch.nn.Parameter(down)
        self.up = torch.nn.Parameter(torch.zeros(linear.out_features, RANK))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The layer's output, ``(..., out_features)``."""
        small = torch.nn.functional.linear(inputs, self.down)
        changed: torch.Tensor = torch.nn.functional.linear(small, SCALE * self.up)
        unchanged: torch.Tensor = self.linear(inputs)
        return unchanged + changed


def add_adapter(
    layers: torch.nn.ModuleList, first: int, hears: bool, seed: int, begin: Path | None = None
) -> dict[str, LowRank]:
    """Replace every linear layer of the decoder layers from ``first`` on by a low-rank one.

    Everything else should be frozen by the caller. If the member ``hears``, an audio map is added.
    The layers begin as those of the adapter ``begin``, which must be like this one.

    Returns
    -------
    The new layers, by the name of the weight that they change.
    """
    generator = torch.Generator().manual_seed(seed)
    added = {}
    if hears:
        _add_audio_map(layers[first])
    for number in range(first, len(layers)):
        for name, module in list(layers[number].named_modules()):
            if isinstance(module, torch.nn.Linear):
                low_rank = LowRank(module, generator)
                layers[number].set_submodule(name, low_rank)
                added[f"model.layers.{number}.{name}.weight"] = low_rank
    if begin is not None:
        factors = load_file(begin)
        with torch.no_grad():
            for name, low_rank in added.items():
                low_rank.down.copy_(factors[name + _DOWN])
                low_rank.up.copy_(factors[name + _UP] / SCALE)
    return added


def save_adapter(added: dict[str, LowRank], path: Path, base: str) -> None:
    """Write an adapter for the base model of the revision ``base``."""
    factors = {}
    for name, low_rank in added.items():
        factors[name + _DOWN] = low_rank.down.detach().half()
        factors[name + _UP] = (SCALE * low_rank.up).detach().half()
    with atomic_write(path) as stream:
        stream.write(save(factors, metadata={"base": base}))


def merge_adapter(network: torch.nn.Module, path: Path, base: str) -> None:
    """Add an adapter to the weights of the base model.

    Raises
    ------
    ModelError
        If the file cannot be read, or was made for another base model.
    """
    try:
        with safe_open(path, framework="pt") as stored:
            found = (stored.metadata() or {}).get("base")
            factors = {name: stored.get_tensor(name).float() for name in stored.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: is no adapter: {error}") from error
    if found != base:
        raise ModelError(f"{path}: is for the base model {found}, not {base}: train it again")
    for name, down in factors.items():
        if name.endswith(_DOWN):
            if AUDIO_MAP in name:
                _add_audio_map(network.get_submodule(name.partition(f".{AUDIO_MAP}")[0]))
            weight = network.get_parameter(name.removesuffix(_DOWN))
            # Not in place: the weights may be a file's, mapped into memory.
            weight.data = weight.data + factors[name.removesuffix(_DOWN) + _UP] @ down


def _add_audio_map(layer: torch.nn.Module) -> None:
    """Add an audio map that changes nothing yet."""
    (width,) = layer.get_parameter("input_layernorm.weight").shape
    linear = torch.nn.Linear(width, width, bias=False).requires_grad_(False)
    torch.nn.init.zeros_(linear.weight)
    layer.add_module(AUDIO_MAP, linear)
