"""Answers per second of the default judge on one core: python -m benchmarks.judge

Answers of about 150 words are assembled from the project's own answers of every label. Times are
CPU times, so that other work on the machine does not count. The reference is the encoder alone as
ONNX Runtime quantises it: all six layers, on the first 80 and the last 45 tokens. Exits with 1 if
judgements depend on the batch size or on the number of threads.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from onnxruntime.quantization import quantize_dynamic
from tokenizers import Tokenizer
from transformers import BertModel

from aor_lib.judge.encoder import ASSET
from aor_lib.judge.speech_acts import SPEECH_ACTS, judge_answer
from aor_lib.storage.assets import fetch

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


class States(torch.nn.Module):
    """The untuned encoder, as the exporter needs it."""

    def __init__(self):
        super().__init__()
        self.base = BertModel.from_pretrained(fetch(ASSET), attn_implementation="eager").eval()

    def forward(self, ids, mask):
        """Return the states of the last layer, ``(1, tokens, width)``."""
        return self.base(input_ids=ids, attention_mask=mask).last_hidden_state


def reference():
    """Return a function that encodes a text with the untuned encoder, in 8-bit integers."""
    tokenizer = Tokenizer.from_file(str(fetch(ASSET) / "tokenizer.json"))
    tokenizer.no_truncation()
    example = torch.ones(1, 8, dtype=torch.long)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported, quantised = Path(scratch) / "base.onnx", Path(scratch) / "int8.onnx"
        torch.onnx.export(
            States(),
            (example, example),
            exported,
            input_names=["ids", "mask"],
            dynamic_axes={"ids": {1: "tokens"}, "mask": {1: "tokens"}},
            dynamo=False,
        )
        quantize_dynamic(exported, quantised)
        session = onnxruntime.InferenceSession(quantised, options)

    def encode(text):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        row = np.array([[101, *ids[:80], *ids[80:][-45:], 102]])
        return session.run(None, {"ids": row, "mask": np.ones_like(row)})

    return encode


def answers_per_second(judge, texts):
    started = time.process_time()
    for text in texts:
        judge(text)
    return len(texts) / (time.process_time() - started)


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
    encode = reference()
    rates, ratios = [], []
    for _ in range(TURNS):
        rates.append(answers_per_second(judge_answer.__wrapped__, texts))
        ratios.append(rates[-1] / answers_per_second(encode, texts))
    words = statistics.mean(len(text.split()) for text in texts)
    print(
        f"{statistics.median(rates):.0f} answers of {words:.0f} words a second, "
        f"{max(rates):.0f} at best; {statistics.median(ratios):.2f} of the reference"
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
