"""Batches as large as fit, and the next one's inputs made meanwhile."""

import threading

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
    """Results by their places, in the order in which they came."""
    came = {}
    for results in batches.results(alike, lambda batch: ("inputs of", batch), gpu.answer):
        came |= results
    return came


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3 GiB"),
        torch.AcceleratorError("CUDA error: out of memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    ],
)
def test_a_batch_that_does_not_fit_is_halved_and_the_size_that_fitted_is_kept(error):
    gpu, batches = Gpu(lambda batch: error if len(batch) > 2 else None), Batches(8)
    results = ask(batches, gpu, dict.fromkeys(range(10)))
    assert list(map(len, gpu.asked)) == [8, 4, 2, 2, 2, 2, 2]
    assert results == dict(enumerate(answers(range(10))))
    ask(batches, gpu, dict.fromkeys(range(3)))
    assert gpu.asked[-2:] == [(0, 1), (2,)]


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        (MemoryError("3 GiB"), [(0, 1, 2), (0,), (1,), (2,), (3,), (4,), (5,), (6,)]),
        (ValueError("an odd clip"), [(0, 1, 2), (0,), (1,), (2,), (3, 4, 5), (6,)]),
    ],
)
def test_an_error_that_is_the_fault_of_one_conversation_costs_no_other(error, asked):
    gpu = Gpu(lambda batch: error if 2 in batch else None)
    results = ask(Batches(3), gpu, dict.fromkeys(range(7)))
    assert gpu.asked == asked
    assert results.pop(2) == Failure(f"{type(error).__name__}: {error}")
    assert list(results.values()) == answers([0, 1, 3, 4, 5, 6])


def test_unlike_conversations_share_no_batch_and_like_ones_do_wherever_they_stand():
    gpu = Gpu()
    ask(Batches(2), gpu, {0: "long", 1: "short", 2: "long", 3: "long", 4: "short"})
    assert gpu.asked == [(0, 2), (3,), (1, 4)]


def test_the_next_batchs_inputs_are_made_while_one_is_answered():
    made = {batch: threading.Event() for batch in ((0, 1), (2, 3), (4,))}

    def answer(batch, inputs):
        following = tuple(range(batch[-1] + 1, min(batch[-1] + 3, 5)))
        assert not following or made[following].wait(timeout=60)
        return answers(batch)

    def prepare(batch):
        made[batch].set()

    results = Batches(2).results(dict.fromkeys(range(5)), prepare, answer)
    assert [list(some) for some in results] == [[0, 1], [2, 3], [4]]


def test_inputs_that_cannot_be_made_are_the_failure_of_their_conversation():
    def prepare(batch):
        if 3 in batch:
            raise ValueError("no such token")

    results = Batches(2).results(dict.fromkeys(range(4)), prepare, lambda batch, _: answers(batch))
    came = {place: result for some in results for place, result in some.items()}
    assert came == dict(enumerate([*answers(range(3)), Failure("ValueError: no such token")]))
