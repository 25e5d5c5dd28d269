"""The command line, with a witness: what each update was really given is noted in a file.

    python tests/witness.py NOTES START train RECIPE …

Each batch of a training step adds one object to NOTES: ``start`` (the number of this start of the run),
``step`` (the update that the batch is for), ``pairs`` (its sentence pairs as ids, without padding).
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Pair = tuple[tuple[int, ...], tuple[int, ...]]


def main() -> int:
    """Runs the command with the witness in its training step."""
    notes, start, *words = sys.argv[1:]
    from tf_transformer.cli import main as command
    from tf_transformer.cli.quiet_import import quiet_import

    with quiet_import():
        import tensorflow as tf

        from tf_transformer.training_step import TrainingModel
    step = TrainingModel.train_step

    def note(updates: Any, sources: Any, labels: Any) -> None:
        pairs = [[[int(i) for i in row if i] for row in rows] for rows in zip(sources, labels, strict=True)]
        line = json.dumps({"start": int(start), "step": int(updates) + 1, "pairs": pairs}) + "\n"
        # One write: a process that is killed leaves the whole line or nothing.
        os.write(file, line.encode())

    def train_step(self: Any, data: Any) -> Any:
        inputs, labels = data
        tf.numpy_function(note, [self.optimizer.iterations, inputs["source_ids"], labels], [])
        return step(self, data)

    TrainingModel.train_step = train_step
    file = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    return command(words)


def updates_in(notes: Path) -> dict[int, list[Pair]]:
    """The pairs of each update that a run is made of.

    What a start did after its last checkpoint was lost with it and done again: the last start that came to
    an update counts. Batches of one update are put together.
    """
    latest: dict[int, int] = {}
    pairs: dict[int, list[Pair]] = {}
    for line in notes.read_bytes().split(b"\n")[:-1]:
        row = json.loads(line)
        step = row["step"]
        if latest.get(step) != row["start"]:
            latest[step], pairs[step] = row["start"], []
        pairs[step] += [(tuple(source), tuple(label)) for source, label in row["pairs"]]
    return {step: sorted(found) for step, found in pairs.items()}  # devices take notes in any order


def epochs_in(updates: dict[int, list[Pair]], size: int) -> Iterator[Counter[Pair]]:
    """How often each pair was seen in each epoch of so many pairs; the last one may be unfinished.

    Raises:
        AssertionError: When an update is missing, or one lies in two epochs.
    """
    assert sorted(updates) == list(range(1, len(updates) + 1))
    seen: Counter[Pair] = Counter()
    for step in sorted(updates):
        seen.update(updates[step])
        assert seen.total() <= size, f"update {step} goes on over the end of an epoch"
        if seen.total() == size:
            yield seen
            seen = Counter()
    yield seen


if __name__ == "__main__":
    sys.exit(main())
