"""Requests that wait, and run together: a bounded queue in front of a few threads.

A thread that is free takes what waits. Under load requests gather while all threads are busy, so batches grow
with the load, and a request that comes alone waits for ``wait`` seconds at most.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from tf_transformer.serving.fault import Code, Fault
from tf_transformer.serving.options import BatchOptions
from tf_transformer.serving.signature import Arrays, ServedSignature, reason

Answer = dict[str, Any]
"""Arrays by name."""


@dataclass(eq=False)
class Task:
    """A part of a request that runs as one.

    Args:
        signature: What is called.
        inputs: Its arguments.
        rows: How many rows they have.
        deadline: Time of ``time.monotonic`` after which nobody wants the answer.

    Attributes:
        arrived: When it was submitted.
        size: Bytes of its longest text.
        future: Its answer.
    """

    signature: ServedSignature
    inputs: Arrays
    rows: int
    deadline: float
    arrived: float = 0.0
    future: "Future[Answer]" = field(default_factory=Future)

    def __post_init__(self) -> None:
        self.size = max((len(text) for array in self.inputs.values() for text in _texts(array)), default=0)

    @property
    def kind(self) -> tuple[Any, ...]:
        """What tasks that run together have in common; no two have, where they must run alone."""
        if not self.signature.joins:
            return (id(self),)
        return (id(self.signature), *self.signature.kind(self.inputs))

    def unwanted(self, now: float) -> bool:
        """Whether nobody waits for the answer any more; one that comes too late is told so."""
        if self.future.cancelled():
            return True
        if now <= self.deadline:
            return False
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(Fault(Code.DEADLINE_EXCEEDED, "the deadline has passed in the queue"))
        return True


class Batcher:
    """Runs tasks.

    Args:
        options: How they are put together.
        ran: Told of each batch: how many rows it has, and the seconds that it took.
    """

    def __init__(self, options: BatchOptions, ran: Callable[[int, float], None] = lambda *_: None) -> None:
        self.options = options
        self._ran = ran
        self._waiting: dict[tuple[Any, ...], list[Task]] = {}
        self._rows = 0
        self._closed = False
        self._changed = threading.Condition()
        self._threads = [
            threading.Thread(target=self._work, name=f"batch-{number}", daemon=True)
            for number in range(options.threads)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def rows(self) -> int:
        """How many rows wait."""
        return self._rows

    def submit(self, tasks: Sequence[Task]) -> None:
        """Takes all tasks of a request, or none.

        Raises:
            Fault: When they do not fit into the queue, or it is closed.
        """
        rows, now = sum(task.rows for task in tasks), time.monotonic()
        with self._changed:
            if self._closed:
                raise Fault(Code.UNAVAILABLE, "the server is stopping")
            if self._rows + rows > self.options.queue:
                self._sweep(now)
            if self._rows + rows > self.options.queue:
                raise Fault(
                    Code.UNAVAILABLE,
                    f"the queue is full: {self._rows} rows wait, at most {self.options.queue} may. Try again",
                )
            for task in tasks:
                task.arrived = now
                self._waiting.setdefault(task.kind, []).append(task)
            self._rows += rows
            self._changed.notify(len(tasks))

    def close(self, seconds: float | None = None) -> None:
        """Takes no more, answers what waits, and ends the threads.

        Args:
            seconds: After which a batch that still runs is left to end with the process; None for never.
        """
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        end = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            thread.join(None if end is None else max(0.0, end - time.monotonic()))

    def _sweep(self, now: float) -> None:
        """Makes room: drops tasks whose answers nobody waits for."""
        for kind, tasks in list(self._waiting.items()):
            kept = [task for task in tasks if not task.unwanted(now)]
            self._rows -= sum(task.rows for task in tasks) - sum(task.rows for task in kept)
            if kept:
                self._waiting[kind] = kept
            else:
                del self._waiting[kind]

    def _work(self) -> None:
        while self._run_next():
            pass

    def _run_next(self) -> bool:
        """Runs a batch; false when there will be none. What it has run it does not hold while it waits."""
        batch = self._next()
        if batch:
            started, rows = time.perf_counter(), sum(task.rows for task in batch)
            run_together(batch)
            self._ran(rows, time.perf_counter() - started)
        return bool(batch)

    def _next(self) -> list[Task]:
        """Waits for tasks to run together; none when the queue is closed and empty."""
        with self._changed:
            while True:
                ready, wait = self._ready(time.monotonic())
                if ready is not None:
                    if batch := self._take(ready):
                        return batch
                elif self._closed and not self._waiting:
                    return []
                else:
                    self._changed.wait(wait)

    def _ready(self, now: float) -> tuple[tuple[Any, ...] | None, float | None]:
        """The kind whose turn it is, the oldest that is full or has waited; or how long to wait for one."""
        ready, oldest, wait = None, 0.0, None
        for kind, tasks in self._waiting.items():
            arrived = tasks[0].arrived
            left = arrived + self.options.wait - now
            if self._closed or left <= 0 or sum(task.rows for task in tasks) >= self.options.rows:
                if ready is None or arrived < oldest:
                    ready, oldest = kind, arrived
            else:
                wait = left if wait is None else min(wait, left)
        return ready, wait

    def _take(self, kind: tuple[Any, ...]) -> list[Task]:
        """The oldest task of a kind and those most like it in size, as many as fit into a batch.

        A batch takes as long as its longest row; and since the oldest always goes, none waits for ever.
        """
        batch: list[Task] = []
        oldest, rows, now = self._waiting[kind][0], 0, time.monotonic()
        kept = []
        for task in sorted(self._waiting[kind], key=lambda task: abs(task.size - oldest.size)):
            if task is not oldest and rows + task.rows > self.options.rows:
                kept.append(task)
                continue
            self._rows -= task.rows
            if not task.unwanted(now) and task.future.set_running_or_notify_cancel():
                batch.append(task)
                rows += task.rows
        if kept:
            self._waiting[kind] = sorted(kept, key=lambda task: task.arrived)
        else:
            del self._waiting[kind]
        return batch


def run_together(batch: Sequence[Task]) -> None:
    """Runs tasks of one kind and gives each its rows; one by one where that fails, for the others' sake."""
    signature = batch[0].signature
    try:
        found = signature.run(signature.joined([task.inputs for task in batch]))
        parts = [found] if len(batch) == 1 else list(_parted(found, [task.rows for task in batch]))
    except Exception as error:
        if len(batch) > 1:
            for task in batch:
                run_together([task])
            return
        fault = error if isinstance(error, Fault) else Fault(Code.INTERNAL, f"cannot be run: {reason(error)}")
        batch[0].future.set_exception(fault)
        return
    for task, part in zip(batch, parts, strict=True):
        task.future.set_result(part)


def _texts(array: Any) -> Iterable[bytes]:
    return array.ravel() if array.dtype == object else ()


def _parted(found: Answer, sizes: Sequence[int]) -> Iterator[Answer]:
    """Each task's rows of what was found."""
    total = sum(sizes)
    for name, array in found.items():
        if array.shape[:1] != (total,):
            raise ValueError(f"{name} has shape {list(array.shape)} for {total} rows")
    start = 0
    for size in sizes:
        yield {name: array[start : start + size] for name, array in found.items()}
        start += size
