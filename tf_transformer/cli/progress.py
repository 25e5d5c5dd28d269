"""A progress bar on stderr, where stderr is a terminal and nobody asked for quiet."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(unit: str, quiet: bool, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Shows how much is done while the block runs.

    Args:
        unit: What is counted, such as ``lines``.
        quiet: Show nothing.
        total: How many there will be, where that is known.

    Yields:
        A function that is told how many more are done.
    """
    # Answers on the same terminal are progress enough.
    if quiet or not sys.stderr.isatty() or (total is None and sys.stdout.isatty()):
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(unit, total=total)
        yield lambda count: bar.advance(task, count)
