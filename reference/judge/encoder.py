"""Tune the upper layers of the default judge's encoder on labelled answers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from aor_lib.judge.encoder import ASSET, CLASSES, FROZEN, Array, layer_arrays, tokens
from aor_lib.storage.assets import fetch

EPOCHS = 2
VERSION = 5  # raise it when the tuning changes: what was tuned is kept
_LEARNING_RATE, _WARM_UP, _DECAY = 2e-4, 0.1, 0.01
_BATCH, _BUCKET = 32, 512

Floats = npt.NDArray[np.floating[Any]]


class Tuned(torch.nn.Module):
    """The layers above the frozen ones, and a linear head on the mean of their output."""

    def __init__(self, layers: Any) -> None:
        super().__init__()
        self.layers = layers
        width = layers[0].attention.output.dense.out_features
        self.head = torch.nn.Linear(width, len(CLASSES))

    def forward(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Scores of the classes, ``(answers, classes)``."""
        allowed = mask[:, None, None, :].bool()
        for layer in self.layers:
            hidden = layer(hidden, allowed)
            hidden = hidden[0] if isinstance(hidden, tuple) else hidden
        mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        scores: torch.Tensor = self.head(mean)
        return scores

    def arrays(self) -> dict[str, Array]:
        """Return what was tuned, as the graph of the encoder holds it."""
        arrays = {"head": self.head.weight, "head bias": self.head.bias}
        kept = {name: value.detach().numpy() for name, value in arrays.items()}
        for layer, module in enumerate(self.layers, start=FROZEN):
            weights = {name: value.numpy() for name, value in module.state_dict().items()}
            kept |= layer_arrays(layer, weights)
        return kept


class Answers:
    """Answers as the frozen layers return them: computed once, for every training."""

    def __init__(self, texts: Sequence[str]) -> None:
        from transformers import BertModel

        base: Any = BertModel.from_pretrained(fetch(ASSET)).eval()
        self._upper = base.encoder.layer[FROZEN:]
        base.encoder.layer = base.encoder.layer[:FROZEN]
        self.hidden: list[torch.Tensor] = [torch.empty(0)] * len(texts)
        ids = [tokens(text) for text in texts]
        order = sorted(range(len(texts)), key=lambda place: len(ids[place]))
        with torch.inference_mode():
            for start in range(0, len(order), _BATCH):
                places = order[start : start + _BATCH]
                padded, mask = _padded([torch.tensor(ids[place]) for place in places])
                states = base(input_ids=padded, attention_mask=mask).last_hidden_state
                for place, state in zip(places, states, strict=True):
                    self.hidden[place] = state[: len(ids[place])].clone()

    def tune(
        self, rows: npt.NDArray[np.intp], targets: Floats, seed: int, epochs: int = EPOCHS
    ) -> Tuned:
        """Return layers tuned on some answers; ``targets`` are their shares of the classes."""
        torch.manual_seed(seed)
        rng = np.random.default_rng(seed)
        model = Tuned(copy.deepcopy(self._upper)).train()
        for layer in model.layers:
            layer.attention.self.dropout.p = 0.0  # attention without it is several times as fast
        groups = [
            {
                "params": [p for p in model.parameters() if p.dim() > 1],
                "weight_decay": _DECAY,
            },
            {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW(groups, _LEARNING_RATE, weight_decay=_DECAY, fused=True)
        steps = epochs * -(-len(rows) // _BATCH)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer,
            lambda step: min(1, (step + 1) / (_WARM_UP * steps)) * max(0.02, 1 - step / steps),
        )
        for _ in range(epochs):
            for batch in self._batches(rows, rng):
                hidden, mask = _padded([self.hidden[rows[place]] for place in batch])
                loss = functional.cross_entropy(
                    model(hidden, mask), torch.tensor(targets[batch], dtype=torch.float32)
                )
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
        return model.eval()

    def scores(self, model: Tuned, rows: npt.NDArray[np.intp]) -> Floats:
        """Scores of some answers, ``(answers, classes)``."""
        order = sorted(range(len(rows)), key=lambda place: len(self.hidden[rows[place]]))
        out = np.zeros((len(rows), len(CLASSES)), np.float32)
        with torch.inference_mode():
            for start in range(0, len(order), _BATCH):
                places = order[start : start + _BATCH]
                out[places] = model(*_padded([self.hidden[rows[p]] for p in places])).numpy()
        return out

    def _batches(self, rows: npt.NDArray[np.intp], rng: np.random.Generator) -> list[list[int]]:
        # Of answers of about the same length, in an order of their own in each epoch.
        order = rng.permutation(len(rows)).tolist()
        batches = []
        for start in range(0, len(order), _BUCKET):
            bucket = sorted(
                order[start : start + _BUCKET], key=lambda place: len(self.hidden[rows[place]])
            )
            batches += [bucket[i : i + _BATCH] for i in range(0, len(bucket), _BATCH)]
        return [batches[i] for i in rng.permutation(len(batches))]


def _padded(rows: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    padded = torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True)
    lengths = torch.tensor([len(row) for row in rows])
    mask = (torch.arange(padded.shape[1]) < lengths[:, None]).to(torch.long)
    return padded, mask
