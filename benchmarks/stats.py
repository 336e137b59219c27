"""Time to compute each table of statistics of a full study: python -m benchmarks.stats

The study has 600 pseudo-harmful and 150 harmful utterances, with five answers of one model to each.
"""

import time

import numpy as np
import pandas as pd

from aor_lib.analysis.stats import detection, intervals, paired

PSEUDO, HARMFUL, ANSWERS = 600, 150, 5
TURNS = 5


def study(seed):
    """Answers whose probability of refusal varies between utterances."""
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
    """Print the shortest time of a few runs, after a warm-up run."""
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
