"""Linear layers that compute with integers, in about half of the time that floats take.

Every row of the input, and the weights of every output, are integers times a scale of their own
(Dettmers et al., NeurIPS 2022, https://arxiv.org/abs/2208.07339, section 2), so that no row depends
on the others of its batch. Weights have seven bits, not eight: processors without instructions for
it add products in pairs, in 16 bits, which larger ones would overflow. So sums are exact, whatever
the processor. What floats remain between the layers may differ from one to another in the last bit,
which rounding to an integer can make a step of one.
"""

from __future__ import annotations

import torch

_INPUTS, _WEIGHTS = 127, 63
"""Largest integers."""


class IntegerLinear(torch.nn.Module):
    """A linear layer without a bias, of which no gradient can be had."""

    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        weight, scale = _integers(linear.weight.detach(), _WEIGHTS)
        self.register_buffer("weight", weight.t())
        self.register_buffer("scale", scale.t())

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The layer's output, float32, ``(..., out_features)``."""
        rows, scale = _integers(inputs.flatten(0, -2), _INPUTS)
        sums = torch._int_mm(rows, self.get_buffer("weight")).float()
        outputs: torch.Tensor = sums.mul_(scale).mul_(self.get_buffer("scale"))
        return outputs.view(*inputs.shape[:-1], -1)


def with_integers(network: torch.nn.Module) -> None:
    """Replace every linear layer of a network by one that computes with integers."""
    for name, module in list(network.named_modules()):
        if isinstance(module, torch.nn.Linear):
            network.set_submodule(name, IntegerLinear(module))


def _integers(rows: torch.Tensor, largest: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows as integers, int8, and the scale of each, ``(rows, 1)``."""
    scale = rows.abs().amax(dim=1, keepdim=True).clamp_min(torch.finfo(rows.dtype).tiny) / largest
    return (rows / scale).round_().to(torch.int8), scale
