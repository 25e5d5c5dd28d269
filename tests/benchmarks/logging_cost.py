"""What logging costs a training: the same updates with all of TensorBoard's callbacks and without, in turns.

    python tests/benchmarks/logging_cost.py training/quickstart/recipe.yaml --updates 60 --rounds 8

Two models are built from one recipe. They take the same updates on the same batches in slices, one after the
other within each round; which one begins changes from round to round. The one that logs has the probe, its
clock of the input and the norms of each part in its graph; it writes every 20 updates, and at the end of each
slice what a validation writes, pictures and histograms included (the validation itself is not timed). What
counts is the median over the rounds of how much longer its slice took; a first round does not count. On a
machine with other work to do, the time of the processors tells more than that of the clock.

`--json FILE` writes all figures.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import numpy as np

from tf_transformer.build import problem_of
from tf_transformer.callbacks.advance import Advance, Interruption, Limits
from tf_transformer.callbacks.input_clock import InputClock
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.callbacks.symptoms import Symptoms
from tf_transformer.callbacks.tensorboard import TensorBoardEvents
from tf_transformer.callbacks.terminal import Terminal
from tf_transformer.data.pipeline import training_dataset
from tf_transformer.devices import open_devices
from tf_transformer.evaluation import over_sets
from tf_transformer.recipe import load_recipe, with_files
from tf_transformer.run_folder import RunFolder
from tf_transformer.trainer import _Training
from tf_transformer.training_step import TrainingModel

Times = np.ndarray[Any, np.dtype[np.float64]]
"""Seconds of the clock, and of all processors."""


def now() -> Times:
    """Both clocks."""
    return np.array([time.perf_counter(), time.process_time()])


class Side:
    """One of the two: a model, its data, and what is called between its updates.

    Args:
        recipe: What is trained.
        folder: Where the run would be.
        logs: Whether it logs.
    """

    def __init__(self, recipe: Any, folder: Path, logs: bool) -> None:
        problem = problem_of(recipe)
        terminal = Terminal(TrainingState(), problem.HEADINGS, quiet=True)
        devices = open_devices(recipe.training.devices)
        training = _Training(RunFolder(folder), recipe, frozenset(), terminal, devices)
        examples = problem.read()
        side = problem.make_side(examples)
        self.fitting = fitting = training._fitting(examples, side, problem.encode(examples, side), [])
        self.state, self.logs = fitting.state, logs
        self.dataset = training_dataset(fitting.encoded, fitting.plan, side.assemble)
        self.callbacks: list[Any] = [
            Advance(self.state, fitting.plan.num_batches, Limits(steps=10**9), Interruption())
        ]
        self.events: Any = None
        if logs:
            self.events = TensorBoardEvents(self.state, folder / "tensorboard", fitting._about())
            self.events.probe.clock = clock = InputClock()
            self.dataset = clock.watch(self.dataset)
            symptoms = Symptoms(self.state, self.events.probe, lambda kind, line: None)
            self.callbacks += [self.events.probe, symptoms, _Open(self.events)]

    def slice(self, updates: int) -> Times:
        """What some updates take, and what follows them."""
        with self._parts():
            begin = now()
            self.fitting.model.fit(
                self.dataset,
                steps_per_epoch=updates,
                epochs=1,
                verbose=0,
                shuffle=False,
                callbacks=self.callbacks,
            )
            taken = now() - begin
        if not self.logs:
            return taken
        outcome = over_sets(self.fitting.dev, self.fitting.evaluator.quick, "val")
        record = {"loss": 1.0, "gradient_norm": 1.0, "skipped_updates": 0, **outcome.figures}
        begin = now()
        self.events.on_validation(record, outcome)
        taken += now() - begin
        self.fitting.model.clear_interval()
        return taken

    @contextmanager
    def _parts(self) -> Iterator[None]:
        """Without logging, the graph has no norms of parts."""
        if self.logs:
            yield
            return
        with mock.patch.object(TrainingModel, "parts", {}):
            yield


class _Open:
    """Events that stay open when a slice ends."""

    def __init__(self, events: TensorBoardEvents) -> None:
        self._events = events

    def __getattr__(self, name: str) -> Any:
        return (
            (lambda *_, **__: None)
            if name in ("on_train_begin", "on_train_end")
            else getattr(self._events, name)
        )


def measured(recipe: Path, overrides: list[str], updates: int, rounds: int, folder: Path) -> dict[str, Any]:
    """All figures."""
    found = with_files(load_recipe(recipe, overrides), recipe.parent)
    sides = [Side(found, folder / name, name == "on") for name in ("off", "on")]
    seconds: list[dict[str, Times]] = []
    for number in range(rounds + 1):
        order = sides if number % 2 else sides[::-1]
        seconds.append({"on" if side.logs else "off": side.slice(updates) for side in order})
    kept = seconds[1:]
    sides[1].events.train.flush()
    size = sum(file.stat().st_size for file in (folder / "on").rglob("events*"))
    hours = sides[1].state.seconds / 3600
    costs = [one["on"] / one["off"] - 1 for one in kept]
    return {
        "cost_by_clock": median(float(one[0]) for one in costs),
        "cost_by_processors": median(float(one[1]) for one in costs),
        "rounds": [{name: taken.tolist() for name, taken in one.items()} for one in kept],
        "megabytes_an_hour": size / 1e6 / hours,
        "bytes": size,
        "seconds": sides[1].state.seconds,
    }


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recipe", type=Path)
    parser.add_argument("overrides", nargs="*", help="section.key=value")
    parser.add_argument("--updates", type=int, default=60, help="of a slice")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--json", type=Path, help="write all figures there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(given.recipe, given.overrides, given.updates, given.rounds, Path(folder))
    for number, one in enumerate(found["rounds"], start=1):
        parts = [
            f"{name} {one['off'][place]:.2f} s off, {one['on'][place]:.2f} s on"
            for place, name in enumerate(("clock", "processors"))
        ]
        print(f"round {number}: {'; '.join(parts)}")
    print(
        f"cost of logging (median): {found['cost_by_clock']:.2%} by the clock, "
        f"{found['cost_by_processors']:.2%} of the processors; {found['bytes'] / 1e6:.2f} MB in "
        f"{found['seconds']:.0f} s, {found['megabytes_an_hour']:.1f} MB an hour"
    )
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
