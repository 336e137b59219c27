"""How long statistics of a full study take: each table.

The study is 600 pseudo-harmful utterances with five answers each and 150 harmful ones, of one
model: python -m benchmarks.stats
"""

import time

import numpy as np
import pandas as pd

from aor_lib.analysis.stats import detection, intervals, paired

PSEUDO, HARMFUL, ANSWERS = 600, 150, 5
TURNS = 5


def study(seed):
    """Answers whose chance of refusal differs from utterance to utterance."""
    rng = np.random.default_rng(seed)
    intents = np.repeat(["pseudo_harmful", "harmful"], [PSEUDO, HARMFUL])
    own = np.where(intents == "harmful", rng.beta(4, 1, len(intents)), rng.beta(1, 2, len(intents)))
    frame = pd.DataFrame(
        {
            "utterance_id": np.repeat(np.arange(len(intents)).astype(str), ANSWERS),
            "intent": np.repeat(intents, ANSWERS),
            "condition": np.tile(["speech_only", *["benign_scene"] * (ANSWERS - 1)], len(intents)),
        }
    )
    refused = rng.random(len(frame)) < np.repeat(own, ANSWERS)
    label = np.where(refused, "full_refusal", "full_compliance")
    return frame.assign(status="ok", label=label, model="m")


def timed(name, work):
    """Print the quickest of a few turns, after one to warm up."""
    work()
    seconds = []
    for _ in range(TURNS):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    print(f"{name:60} {min(seconds) * 1e3:9.1f} ms")


def main():
    results = study(0)
    pseudo = results[results["intent"] == "pseudo_harmful"]
    timed("rates", lambda: intervals.rates(pseudo, ["model", "intent"]))
    timed(
        "paired_differences",
        lambda: paired.paired_differences(pseudo, "condition", "speech_only", ["model"]),
    )
    timed("signal_detection", lambda: detection.signal_detection(results, ["model"]))


if __name__ == "__main__":
    main()
