"""Training of the ear on random mixtures of sounds: a quarter of an hour of two cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from aor_lib.audio.hearing.compositions import Composition, compositions
from aor_lib.audio.hearing.ear import WEIGHTS, inputs
from aor_lib.storage.cache import Arrays
from aor_lib.storage.whole_file import whole_file

CLIPS = 2592
SEED = 0
_HIDDEN = 512
_EPOCHS = 25
_BATCH = 32
_DROPOUT = 0.3
_NOISE = 0.2
_THREADS = 1


def train(workers: int, report: Callable[[int, int], None], into: Path = WEIGHTS) -> None:
    """Train the ear and write it to the file ``into``; the clips are kept in the cache."""
    weights = fit(compositions(CLIPS, [None], SEED, workers, report))
    with whole_file(into) as stream:
        np.savez(stream, allow_pickle=False, **weights)


def fit(clips: Sequence[Composition]) -> Arrays:
    """Weights of the ear (:mod:`aor_lib.audio.hearing.ear`), in half precision.

    Cross entropies of each sound in each segment and of the mood, with AdamW, dropout, and noise on
    the standardised features.
    """
    names = sorted({name for clip in clips for segment in clip.sounds for name in segment})
    moods = sorted({clip.emotion for clip in clips})
    heard = torch.from_numpy(np.stack([inputs(clip.features) for clip in clips]))
    mean, scale = heard.mean(dim=(0, 1)), heard.std(dim=(0, 1)) + 1e-3
    heard = (heard - mean) / scale
    sounds = torch.tensor(
        [[[name in segment for name in names] for segment in clip.sounds] for clip in clips]
    ).float()
    mood = torch.tensor([moods.index(clip.emotion) for clip in clips])

    threads = torch.get_num_threads()
    torch.set_num_threads(_THREADS)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED)
            hidden = torch.nn.Linear(heard.shape[-1], _HIDDEN)
            out = torch.nn.Linear(_HIDDEN, len(names))
            of_mood = torch.nn.Linear(_HIDDEN, len(moods))
            torch.nn.init.constant_(out.bias, -4.0)  # most sounds are not heard
            parameters = [*hidden.parameters(), *out.parameters(), *of_mood.parameters()]
            optimizer = torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.01)
            steps = _EPOCHS * (len(clips) // _BATCH)
            schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps)
            for _ in range(_EPOCHS):
                order = torch.randperm(len(clips))
                for start in range(0, len(clips) - _BATCH + 1, _BATCH):
                    rows = order[start : start + _BATCH]
                    noisy = heard[rows] + _NOISE * torch.randn_like(heard[rows])
                    state = torch.nn.functional.gelu(hidden(noisy))
                    state = torch.nn.functional.dropout(state, _DROPOUT)
                    loss = torch.nn.functional.binary_cross_entropy_with_logits(
                        out(state), sounds[rows], reduction="sum"
                    ) / (_BATCH * heard.shape[1])
                    loss = loss + torch.nn.functional.cross_entropy(
                        of_mood(state.mean(dim=1)), mood[rows]
                    )
                    optimizer.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimizer.step()
                    schedule.step()
    finally:
        torch.set_num_threads(threads)
    trained = {
        "mean": mean,
        "scale": scale,
        "hidden": hidden.weight.T,
        "hidden_bias": hidden.bias,
        "out": out.weight.T,
        "out_bias": out.bias,
        "mood": of_mood.weight.T,
        "mood_bias": of_mood.bias,
    }
    arrays: Arrays = {k: v.detach().half().numpy() for k, v in trained.items()}
    return arrays | {"sounds": np.array(names), "moods": np.array(moods)}
