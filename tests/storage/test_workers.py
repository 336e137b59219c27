import operator
import os

import pytest
import torch

from aor_lib.storage.workers import in_threads, map_jobs


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_jobs_and_the_first_failure_is_raised(workers):
    assert list(map_jobs(operator.neg, range(8), workers)) == [-n for n in range(8)]
    with pytest.raises(OSError, match="no such"):
        list(map_jobs(os.stat, ["no such file"], workers))


def test_threads_compute_on_one_core_each_and_all_are_free_again_after_a_failure():
    cores, before = [], torch.get_num_threads()
    torch.set_num_threads(2)

    def fail(number):
        cores.append(torch.get_num_threads())
        raise OSError(f"no such {number}")

    with pytest.raises(OSError, match="no such 0"):
        list(in_threads(fail, range(2), side_by_side=True))
    free = torch.get_num_threads()
    torch.set_num_threads(before)
    assert (set(cores), free) == ({1}, 2)
