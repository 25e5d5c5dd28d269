"""What tests of trainings share: starting one in this process, and comparing what two have left behind."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tf_transformer.callbacks.advance import Advance
from tf_transformer.checkpoints import CheckpointStore
from tf_transformer.recipe import load_recipe, with_files
from tf_transformer.run_folder import RunFolder
from tf_transformer.trainer import train

TIMING = ("seconds", "target_tokens_per_second", "source_tokens_per_second", "examples_per_second")
"""Fields of a validation that a clock decides."""


def start(recipe: Path, run: Path, *overrides: str, **options: Any) -> int:
    """Trains in this process, or goes on; quietly where nothing else is said."""
    found = with_files(load_recipe(recipe, overrides), recipe.parent)
    return train(found, run, **{"quiet": True, **options})


def after_update(monkeypatch: pytest.MonkeyPatch, step: int, act: Callable[[], None]) -> None:
    """Does something once, right after an update was counted."""
    count = Advance.on_train_batch_end

    def counted(self: Advance, batch: int, logs: Any = None) -> None:
        count(self, batch, logs)
        if self.state.step == step:
            monkeypatch.setattr(Advance, "on_train_batch_end", count)
            act()

    monkeypatch.setattr(Advance, "on_train_batch_end", counted)


class Crash(Exception):
    """Stands for a process that dies between two updates."""


def crash() -> None:
    """Dies."""
    raise Crash


def metrics(run: Path) -> list[dict[str, Any]]:
    """The validations of a run without what a clock measured."""
    rows = RunFolder.open(run).metrics()
    return [{name: value for name, value in row.items() if name not in TIMING} for row in rows]


def events(run: Path) -> list[dict[str, str]]:
    """What the run has logged."""
    return [json.loads(line) for line in (run / "events.jsonl").read_text().split("\n")[:-1]]


def demand_equal(run: Path, other: Path, *checkpoints: str) -> None:
    """Demands that two runs have the same figures and, in some checkpoints, the same bits."""
    assert metrics(run) == metrics(other)
    stores = [CheckpointStore(path / "checkpoints") for path in (run, other)]
    assert stores[0].index() == stores[1].index()
    for name in checkpoints:
        ours, theirs = (store.read(name) for store in stores)
        _demand_equal_arrays(ours.weights, theirs.weights)
        _demand_equal_arrays(ours.training, theirs.training)


def _demand_equal_arrays(ours: Any, theirs: Any) -> None:
    assert ours.keys() == theirs.keys()
    for path in ours:
        np.testing.assert_array_equal(ours[path], theirs[path], err_msg=path)
