"""Work in several processes: in order, and this process takes part."""

import operator
import os
from functools import partial

import pytest

from tf_transformer.processes import in_processes

called = operator.methodcaller("__call__")
"""Calls a task: what other processes can import without this file."""


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_are_in_the_order_of_the_tasks(workers: int) -> None:
    assert [*in_processes(called, [partial(pow, 3, number) for number in range(20)], workers)] == [
        3**number for number in range(20)
    ]
    assert [*in_processes(called, [], workers)] == []


def test_this_process_is_one_of_them() -> None:
    found = [*in_processes(called, [os.getpid] * 20, 2)]
    assert os.getpid() in found and len(set(found)) <= 2


def test_an_error_of_any_task_is_raised() -> None:
    tasks = [partial(divmod, 5, 7 - number) for number in range(20)]
    with pytest.raises(ZeroDivisionError):
        list(in_processes(called, tasks, 2))
