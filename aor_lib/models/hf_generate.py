"""Answers of a loaded Hugging Face model, and logits of their first token."""

from __future__ import annotations

from typing import Any

import torch

from aor_lib.config.records import Generation
from aor_lib.models.base import Answer, Failure

_NOTHING = Failure("empty answer: no text was generated", lasting=True)


def answers(
    network: Any, tokenizer: Any, inputs: Any, generation: Generation
) -> list[Answer | Failure]:
    """Answer each row of the inputs: greedy, or above temperature 0 sampled from the seed."""
    sampling: dict[str, Any] = {"do_sample": False}
    if generation.temperature > 0:
        sampling = {"do_sample": True, "temperature": generation.temperature}
        sampling |= {"top_p": 1.0, "top_k": 0}
        torch.manual_seed(generation.seed)
    if (padding := getattr(tokenizer, "pad_token_id", None)) is not None:
        sampling["pad_token_id"] = padding
    with torch.inference_mode():
        output = network.generate(
            **_on_device(network, inputs), max_new_tokens=generation.max_new_tokens, **sampling
        )
    written = output[:, inputs["input_ids"].shape[1] :]
    texts = tokenizer.batch_decode(written, skip_special_tokens=True)
    results: list[Answer | Failure] = []
    for text, tokens in zip(texts, written.tolist(), strict=True):
        answer = Answer(text.strip(), sum(token != padding for token in tokens))
        results.append(answer if answer.text else _NOTHING)
    return results


def next_token_logits(network: Any, inputs: Any) -> torch.Tensor:
    """Logits of the first token of each row's answer.

    float32 on the CPU, ``(rows, vocabulary)``. They come from ``generate``, the way of answers:
    some models put their inputs or adapters in order there.
    """
    with torch.inference_mode():
        output = network.generate(
            **_on_device(network, inputs),
            max_new_tokens=1,
            do_sample=False,
            output_logits=True,
            return_dict_in_generate=True,
        )
    logits: torch.Tensor = output.logits[0].float().cpu()
    return logits


def _on_device(network: Any, inputs: Any) -> Any:
    return inputs.to(network.device, dtype=network.dtype)
