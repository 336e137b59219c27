"""Cost of steering: CPU time of generation with each kind of intervention, relative to none.

A tiny checkpoint, in which the hooks' overhead weighs most, and the local cascade with its 135
million parameters answer written requests, eight at a time, alternately with and without each
intervention. CPU time excludes other work on the machine; it is that of one thread, since two
threads would spend much of it waiting for each other. Prints the median over turns of the ratio to
no steering, with its 95 % interval: python -m benchmarks.steering
"""

import contextlib
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.stats
import torch

from aor_lib.config.params import load_model_cards
from aor_lib.config.records import Generation
from aor_lib.models.base import Turn
from aor_lib.models.cascade import Cascade
from aor_lib.steering.residual_stream import Gate, Intervention, record, steered
from tests.models import checkpoints

REQUESTS = [
    (Turn("user", text=f"How do I {what} {thing} before {when}?"),)
    for what in ("repair", "paint", "sell", "carry")
    for thing in ("a chair", "an old bicycle", "the piano in my mother's house", "two doors")
    for when in ("noon", "the guests arrive")
]


def interventions(model):
    """One intervention of each kind, so weak that it changes no answer."""
    last_token, _ = record(model, REQUESTS[:1])
    _, layers, width = last_token.shape
    layer, direction = layers // 2, np.full(width, 1e-6, np.float32)
    return {
        "addition": Intervention(layer, direction, -1.0),
        "ablation": Intervention(layer, direction),
        "conditional": Intervention(layer, direction, -1.0, Gate(0, direction, 0.0, -1e9)),
    }


def measure(model, requests, tokens, turns):
    generation = Generation(max_new_tokens=tokens)

    def time_of(intervention):
        steering = steered(model, intervention) if intervention else contextlib.nullcontext()
        with steering:
            started = time.process_time()
            model.answer(requests, generation)
            return time.process_time() - started

    for name, intervention in interventions(model).items():
        time_of(intervention)  # the first run loads the model
        ratios = []
        for turn in range(turns):
            # Back to back, since the machine's speed changes within a minute.
            pair = [intervention, None] if turn % 2 else [None, intervention]
            taken = {steering: time_of(steering) for steering in pair}
            ratios.append(taken[intervention] / taken[None])
        # Distribution-free interval of the median, from order statistics.
        below, above = scipy.stats.binom(turns, 0.5).interval(0.95)
        low, high = sorted(ratios)[int(below) - 1], sorted(ratios)[int(above)]
        ratio = statistics.median(ratios)
        print(f"{model.card.id:16} {name:12} {ratio:.3f} ({low:.3f} to {high:.3f})", flush=True)


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        source = checkpoints.build("qwen2_audio", Path(folder) / "tiny")
        tiny = checkpoints.load("qwen2_audio", source, batch_size=8)
        measure(tiny, REQUESTS, tokens=32, turns=60)
    measure(Cascade(load_model_cards()["ref-permissive"]), REQUESTS[:8], tokens=8, turns=60)


if __name__ == "__main__":
    main()
