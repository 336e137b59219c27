"""Answers of a loaded Hugging Face model, and logits of their first token."""

from typing import Any

import torch
from transformers import GenerationConfig

from aor_lib.config.records import Generation
from aor_lib.models.base import Answer, Failure
from aor_lib.models.hf_inputs import end_of_turn

_NOTHING = Failure("empty answer: no text was generated")


def set_plain_decoding(network: Any, processor: Any) -> None:
    """Drop a checkpoint's penalties, beams and cut-offs, and stop at every end of a turn.

    The thinkers of the omni models lack the token that ends a turn.
    """
    own, tokenizer = network.generation_config, processor.tokenizer
    configs = (own, network.config, network.config.get_text_config(), tokenizer)
    ends = {end_of_turn(processor)}
    for stated in (getattr(config, "eos_token_id", None) for config in configs):
        ends.update(stated if isinstance(stated, list) else [stated])
    paddings = (tokenizer.pad_token_id, own.pad_token_id, tokenizer.eos_token_id)
    network.generation_config = GenerationConfig(
        bos_token_id=own.bos_token_id,
        eos_token_id=sorted(token for token in ends if token is not None),
        pad_token_id=next((token for token in paddings if token is not None), None),
        suppress_tokens=own.suppress_tokens,
    )


def answers(
    network: Any, tokenizer: Any, inputs: Any, generation: Generation
) -> list[Answer | Failure]:
    """Answer each row of the inputs: greedy, or above temperature 0 sampled from the seed."""
    sampling: dict[str, Any] = {"do_sample": False}
    if generation.temperature > 0:
        sampling = {"do_sample": True, "temperature": generation.temperature}
        sampling |= {"top_p": 1.0, "top_k": 0}
        torch.manual_seed(generation.seed)
    inputs = inputs.to(network.device, dtype=network.dtype)
    with torch.inference_mode():
        output = network.generate(**inputs, max_new_tokens=generation.max_new_tokens, **sampling)
    written = output[:, inputs["input_ids"].shape[1] :]
    texts = tokenizer.batch_decode(written, skip_special_tokens=True)
    padding, ends = (getattr(network.generation_config, f"{n}_token_id") for n in ("pad", "eos"))
    results: list[Answer | Failure] = []
    for text, tokens in zip(texts, written.tolist(), strict=True):
        answer = Answer(
            text.strip(),
            sum(token != padding for token in tokens),
            finish_reason="length" if set(tokens).isdisjoint(ends) else "stop",
        )
        results.append(answer if answer.text else _NOTHING)
    return results


def next_token_logits(network: Any, inputs: Any) -> torch.Tensor:
    """Logits of the first token of each row's answer: float32, ``(rows, vocabulary)``."""
    # By generate, as answers: some models put their inputs or adapters in order there.
    with torch.inference_mode():
        output = network.generate(
            **inputs.to(network.device, dtype=network.dtype),
            max_new_tokens=1,
            do_sample=False,
            output_logits=True,
            return_dict_in_generate=True,
        )
    logits: torch.Tensor = output.logits[0].float().cpu()
    return logits
