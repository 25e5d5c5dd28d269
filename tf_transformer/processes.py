"""Work that is dealt out to processes of this machine."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Task = TypeVar("Task")
Done = TypeVar("Done")


def cores() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def in_processes(
    work: Callable[[Task], Done],
    tasks: Sequence[Task],
    workers: int,
    start: Callable[[], None] | None = None,
) -> Iterator[Done]:
    """Does some work on each of some tasks, in this process and in others.

    One that only waited would take as much memory as one that works.

    Args:
        work: Can be sent to other processes, as its results can.
        tasks: What it is called with.
        workers: How many processes there are at most, this one included.
        start: Called first in each of the others.

    Yields:
        What came of each task, in their order.
    """
    if workers == 1 or len(tasks) < 2:
        yield from map(work, tasks)
        return
    # Never by fork: TensorFlow has threads.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(tasks)) - 1, context, _begin, (start,))
    try:
        promised = [pool.submit(work, task) for task in tasks]
        rest, done = iter(range(len(tasks))), {}
        for place, promise in enumerate(promised):
            while place not in done and not promise.done():
                # What can still be called off was not begun elsewhere.
                mine = next((other for other in rest if promised[other].cancel()), None)
                if mine is None:
                    break
                done[mine] = work(tasks[mine])
            yield done.pop(place) if place in done else promise.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(start: Callable[[], None] | None) -> None:
    """The start of a worker, which ends when its parent does, however that ends."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if start is not None:
        start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
