"""Cost of answers with integers, against floats: python -m benchmarks.integers

The local language model answers written requests, 32 at a time, in one thread. Both take turns
within one run; time is that of the processor. Printed is the median over turns of the ratio to
floats, and its quartiles.
"""

import statistics
import time

import torch

from aor_lib.config.records import Generation
from aor_lib.models import smollm

REQUESTS = [
    f"How do I {what} {thing} before {when}?"
    for what in ("repair", "paint", "sell", "carry")
    for thing in ("a chair", "an old bicycle", "the piano in my mother's house", "two doors")
    for when in ("noon", "the guests arrive")
]
TURNS = 5


def main():
    torch.set_num_threads(1)
    models = {"floats": smollm.load(), "integers": smollm.language_model()}
    prompts = [
        models["floats"].prompt([{"role": "user", "content": request}]) for request in REQUESTS
    ]
    times = {name: [] for name in models}
    for turn in range(TURNS + 1):
        for name in sorted(models, reverse=bool(turn % 2)):
            started = time.process_time()
            models[name].generate(prompts, Generation(max_new_tokens=24))
            if turn:  # the first one warms up
                times[name].append(time.process_time() - started)
    ratios = [a / b for a, b in zip(times["integers"], times["floats"], strict=True)]
    low, ratio, high = statistics.quantiles(ratios, n=4)
    print(f"{ratio:.2f} ({low:.2f} to {high:.2f}) of {statistics.median(times['floats']):.1f} s")


if __name__ == "__main__":
    main()
