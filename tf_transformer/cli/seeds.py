"""``train --seeds``: one recipe several times, one run after another, and what they reach together."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from tf_transformer.cli.figures import figure_number, figure_title
from tf_transformer.cli.tables import aligned
from tf_transformer.errors import counted, printable

if TYPE_CHECKING:
    from tf_transformer.run_folder.seeds import SeedsFolder

MOST_SEEDS = 1000
_RULE = f"must be how many, at most {MOST_SEEDS}, or a list such as 3,5,8 of different ones below 2147483648"
_WRONG_COMMAND = 2


def seeds_of(text: str | None) -> list[int] | None:
    """The seeds that are asked for: ``5`` is 1 to 5, ``3,5`` or ``7,`` are those themselves.

    Raises:
        BadParameter: When it is neither.
    """
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    if len(words) > 1 and not words[-1]:
        words.pop()
    if not all(word.isascii() and word.isdecimal() and len(word) <= 10 for word in words):
        raise typer.BadParameter(f"{_RULE}. Received: {text}")
    numbers = [int(word) for word in words]
    if "," not in text:
        if not 1 <= numbers[0] <= MOST_SEEDS:
            raise typer.BadParameter(f"{_RULE}. Received: {text}")
        return list(range(1, numbers[0] + 1))
    if len(set(numbers)) < len(numbers) or len(numbers) > MOST_SEEDS or max(numbers) >= 2**31:
        raise typer.BadParameter(f"{_RULE}. Received: {text}")
    return numbers


def train_seeds(folder: "SeedsFolder", seeds: Sequence[int], words: Sequence[str], quiet: bool) -> int:
    """Trains one run a seed, each by a ``train`` of its own; those that are complete are left as they are.

    A seed that fails keeps no other from its turn. An interruption goes to the run that is trained, which
    saves, and is the end.

    Args:
        folder: Where the runs go.
        seeds: Those of the runs, in turn.
        words: The command line of ``train`` but for seed and folder.
        quiet: Whether nothing is told.

    Returns:
        0 when all are complete, 1 when some have failed, else the exit code of what ended it.
    """
    failed = []
    for place, seed in enumerate(seeds, start=1):
        if not quiet:
            print(f"\nseed {seed} ({place} of {len(seeds)})", file=sys.stderr)
        code = run_train([*words, f"training.seed={seed}", "--run", str(folder.run(seed))])
        if code == _WRONG_COMMAND or code >= 128:
            return code
        if code:
            failed.append(seed)
            print(printable(f"seed {seed} has failed: {folder.run(seed)}"), file=sys.stderr)
    return int(bool(failed))


def run_train(words: Sequence[str]) -> int:
    """Runs ``train`` as a process of its own, as if nothing had been trained before; returns its exit code.

    A Ctrl-C reaches both processes, a SIGTERM this one alone, which passes it on; either way the training
    has the last word.
    """
    child = subprocess.Popen([sys.executable, "-m", "tf_transformer", "train", *words])
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    try:
        code = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


def seeds_table(results: Mapping[str, Any]) -> Iterator[str]:
    """Mean and deviation of each figure, and its value of each seed where they are few.

    Args:
        results: What `SeedsFolder.write_results` has written.
    """
    seeds, metrics = results["seeds"], results["metrics"]
    shown = seeds if len(seeds) <= 5 else []
    rows = [["figure", "mean", "deviation", *(f"seed {seed}" for seed in shown)]]
    for name, found in metrics.items():
        deviation = "-" if found["deviation"] is None else figure_number(name, found["deviation"])
        values = [figure_number(name, value) for value in found["values"]][: len(shown)]
        rows.append([_titled(name), figure_number(name, found["mean"]), deviation, *values])
    yield from aligned(rows, right=range(1, len(rows[0])))
    yield f"{counted(len(seeds), 'seed')}: {', '.join(map(str, seeds))}"


def _titled(name: str) -> str:
    split, _, figure = name.partition("_")
    return f"{ {'val': 'dev'}.get(split, split) } {figure_title(figure)}".strip()


def spread_text(name: str, values: Sequence[float]) -> str:
    """Mean and deviation of a figure in one cell: ``BLEU 39.80 ± 0.31``."""
    from tf_transformer.run_folder.seeds import spread

    mean, deviation = spread(values)
    shown = f"{figure_title(name)} {figure_number(name, mean)}"
    return shown if deviation is None else f"{shown} ± {figure_number(name, deviation)}"
