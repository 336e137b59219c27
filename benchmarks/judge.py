"""Answers a second of the default judge on one core: python -m benchmarks.judge

Answers of about 150 words are put together from the project's own, of every label. Time is
that of the processor, so that other work on the machine does not count.
"""

import json
import random
import statistics
import time
from pathlib import Path

from aor_lib.judge.speech_acts import judge_answer

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


if __name__ == "__main__":
    main()
