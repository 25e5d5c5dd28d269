"""From a request to its answer, whatever interface it came by."""

import asyncio
import time
from collections.abc import Sequence

import numpy as np

from tf_transformer.serving.batching import Answer, Batcher, Task
from tf_transformer.serving.fault import Code, Fault, invalid
from tf_transformer.serving.model_host import ModelHost
from tf_transformer.serving.signature import Arrays, ServedSignature
from tf_transformer.serving.version import ServedVersion


class Answering:
    """Answers requests by the current version.

    Args:
        host: The versions.
        batcher: Runs them.
        timeout: Seconds that a request may take.
    """

    def __init__(self, host: ModelHost, batcher: Batcher, timeout: float) -> None:
        self.host = host
        self.batcher = batcher
        self.timeout = timeout

    async def answer(
        self, version: ServedVersion, signature: ServedSignature, inputs: Arrays, seconds: float | None = None
    ) -> Answer:
        """Runs a signature.

        Args:
            version: That the signature is of.
            signature: What is called.
            inputs: Its arguments.
            seconds: How long the client waits, when it has said so.

        Returns:
            Arrays by name.

        Raises:
            Fault: When there is no answer.
        """
        within = self.timeout if seconds is None else min(seconds, self.timeout)
        tasks = self._tasks(signature, inputs, time.monotonic() + within)
        for task in tasks:
            version.begin()
            # Not when the client stops waiting: a version is in use until what it runs has ended.
            task.future.add_done_callback(version.end)
        futures = [task.future for task in tasks]
        try:
            self.batcher.submit(tasks)
            whole = asyncio.gather(*map(asyncio.wrap_future, futures))
            return _joined(await asyncio.wait_for(whole, within))
        except TimeoutError:
            raise Fault(Code.DEADLINE_EXCEEDED, f"no answer within {within:g} seconds") from None
        finally:
            for future in futures:  # parts that nobody waits for any more
                future.cancel()

    def _tasks(self, signature: ServedSignature, inputs: Arrays, deadline: float) -> list[Task]:
        """A request in parts that a batch has room for."""
        rows, most = signature.check(inputs), self.batcher.options.rows
        if rows > self.batcher.options.queue:
            raise invalid(f"a request must have at most {self.batcher.options.queue} rows. Received: {rows}")
        if rows <= most:
            return [Task(signature, inputs, rows, deadline)]
        if not signature.joins:
            raise invalid(f"a request of {signature.name} must have at most {most} rows. Received: {rows}")
        starts = range(0, rows, most)
        return [
            Task(signature, signature.part(inputs, start, start + most), min(most, rows - start), deadline)
            for start in starts
        ]


def _joined(parts: Sequence[Answer]) -> Answer:
    first, *others = parts
    if not others:
        return first
    return {name: np.concatenate([part[name] for part in parts]) for name in first}
