"""Answers per second of the default judge on one core: python -m benchmarks.judge

Answers of about 150 words are assembled from the project's own answers of every label. Times are
CPU times, so that other work on the machine does not count. Exits with 1 if judgements depend on
the batch size or on the number of threads.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

from aor_lib.judge.speech_acts import SPEECH_ACTS, judge_answer

OWN = Path(__file__).parents[1] / "reference" / "judge" / "answers.jsonl"
WORDS = 150
ANSWERS = 200
TURNS = 5


def answers(rng):
    lines = OWN.read_text(encoding="utf-8").split("\n")
    texts = [json.loads(line)["completion"] for line in lines if line]
    texts = [text for text in texts if len(text.split()) >= 20]
    made = []
    while len(made) < ANSWERS:
        text = ""
        while len(text.split()) < WORDS:
            text += rng.choice(texts) + "\n\n"
        made.append(" ".join(text.split(" ")[:WORDS]))
    return made


def judge_in_batches(texts, size):
    exchanges = [(text, None) for text in texts]
    batches = [exchanges[i : i + size] for i in range(0, len(exchanges), size)]
    return [repr(verdict) for batch in batches for verdict in SPEECH_ACTS.judgements(batch)]


def judge_with_threads(texts, size, threads):
    program = "import json, sys; from benchmarks import judge;"
    program += f"print(json.dumps(judge.judge_in_batches(json.load(sys.stdin), {size})))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(texts),
        env=os.environ | {"OMP_NUM_THREADS": str(threads)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def main():
    texts = answers(random.Random(0))
    judge_answer(texts[0])
    rates = []
    for _ in range(TURNS):
        started = time.process_time()
        for text in texts:
            judge_answer.__wrapped__(text)
        rates.append(len(texts) / (time.process_time() - started))
    words = statistics.mean(len(text.split()) for text in texts)
    print(
        f"{statistics.median(rates):.0f} answers of {words:.0f} words a second, "
        f"{max(rates):.0f} at best"
    )
    first = judge_in_batches(texts, len(texts))
    for size, threads in ((1, 1), (7, 2), (64, 4)):
        same = judge_with_threads(texts, size, threads) == first
        print(
            f"batches of {size} on {threads} threads: {'the same' if same else 'other'} judgements"
        )
        if not same:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
