"""Batches as large as fit, and the next one's inputs made meanwhile."""

import pytest
import torch

from aor_lib.models.base import Answer, Failure
from aor_lib.models.hf_batches import Batches


def answers(batch):
    return [Answer(f"answer {place}", 1, finish_reason="stop") for place in batch]


class Gpu:
    """Answers each conversation with its place; ``fails`` gives the error of a batch, or None."""

    def __init__(self, fails=lambda batch: None):
        self.fails, self.asked = fails, []

    def answer(self, batch, inputs):
        assert inputs == ("inputs of", batch)
        self.asked.append(batch)
        if error := self.fails(batch):
            raise error
        return answers(batch)


def ask(batches, gpu, alike):
    came = {}
    for results in batches.results(alike, lambda batch: ("inputs of", batch), gpu.answer):
        came |= results
    return came


def test_a_batch_that_does_not_fit_is_halved_and_the_size_that_fitted_is_kept():
    error = torch.OutOfMemoryError("CUDA out of memory")
    gpu, batches = Gpu(lambda batch: error if len(batch) > 2 else None), Batches(8)
    results = ask(batches, gpu, dict.fromkeys(range(10)))
    assert list(map(len, gpu.asked)) == [8, 4, 2, 2, 2, 2, 2]
    assert results == dict(enumerate(answers(range(10))))
    ask(batches, gpu, dict.fromkeys(range(3)))
    assert gpu.asked[-2:] == [(0, 1), (2,)]


@pytest.mark.parametrize("error", [MemoryError("3 GiB"), ValueError("an odd clip")])
def test_an_error_that_is_the_fault_of_one_conversation_costs_no_other(error):
    gpu = Gpu(lambda batch: error if 2 in batch else None)
    results = ask(Batches(3), gpu, dict.fromkeys(range(7)))
    assert results.pop(2) == Failure(f"{type(error).__name__}: {error}")
    assert list(results.values()) == answers([0, 1, 3, 4, 5, 6])


def test_unlike_conversations_share_no_batch_and_like_ones_do_wherever_they_stand():
    gpu = Gpu()
    ask(Batches(2), gpu, {0: "long", 1: "short", 2: "long", 3: "long", 4: "short"})
    assert gpu.asked == [(0, 2), (3,), (1, 4)]
