"""Fluency: perplexity of answers under a language model that nobody steers.

Steering that goes too far leaves words that no longer make sense. That shows in the perplexity of
what is said, given what was asked, under SmolLM2-135M-Instruct without an adapter: the same reader
for the answers of every model.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import torch

from aor_lib.models.smollm import LanguageModel, language_model
from aor_lib.steering.spacing import spaced
from aor_lib.storage.workers import in_threads

ANSWERS = 20
"""Answers of each mitigation that are read, evenly spaced."""


def fluency(results: pd.DataFrame, report: Callable[[int, int], None]) -> pd.DataFrame:
    """Perplexity of the answers to requests that are not harmful, for each mitigation.

    ``results`` are rows of :func:`aor_lib.analysis.results.load_results` of one model.

    Returns
    -------
    One row per mitigation: ``mitigation``, ``answers`` that were read, and of their perplexities
    the median ``perplexity`` and the quartiles ``low`` and ``high``.
    """
    readable = results[(results["status"] == "ok") & results["response"].notna()]
    reader = language_model()
    rows = []
    arms = list(readable.groupby("mitigation", sort=False))
    for number, (mitigation, answers) in enumerate(arms, 1):
        read = answers.iloc[spaced(len(answers), ANSWERS)]
        pairs = zip(read["text"], read["response"], strict=True)
        perplexities = list(
            in_threads(lambda pair: perplexity(reader, *pair), pairs, side_by_side=True)
        )
        low, median, high = np.quantile(perplexities, [0.25, 0.5, 0.75])
        rows.append((mitigation, len(read), median, low, high))
        report(number, len(arms))
    return pd.DataFrame(rows, columns=["mitigation", "answers", "perplexity", "low", "high"])


def perplexity(reader: LanguageModel, request: str, answer: str) -> float:
    """Perplexity of an answer's tokens, given the request."""
    prompt = reader.prompt([{"role": "user", "content": request}]).text
    asked, both = (
        reader.tokenizer(text, return_tensors="pt", add_special_tokens=False)["input_ids"]
        for text in (prompt, prompt + answer)
    )
    answered = both[0, asked.shape[1] :]
    with torch.inference_mode():
        logits = reader.network(input_ids=both, logits_to_keep=len(answered) + 1).logits[0, :-1]
    surprise = torch.nn.functional.cross_entropy(logits.float(), answered)
    return float(surprise.exp())
