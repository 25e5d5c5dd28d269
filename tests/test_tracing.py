"""A training is traced once, whatever the shapes of its batches: compiling costs seconds each time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from tf_transformer.recipe import load_recipe, with_files
from tf_transformer.trainer import train
from tf_transformer.training_step import TrainingModel


def test_no_shape_of_a_batch_is_compiled_again(
    reversal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced: list[tf.TensorShape] = []
    shapes: set[tuple[int, ...]] = set()
    step: Callable[..., Any] = TrainingModel.train_step

    def counted(self: TrainingModel, data: tuple[dict[str, tf.Tensor], tf.Tensor]) -> dict[str, tf.Tensor]:
        traced.append(data[1].shape)
        tf.py_function(lambda labels: shapes.add(tuple(labels.shape)), [data[1]], [])
        return step(self, data)

    monkeypatch.setattr(TrainingModel, "train_step", counted)
    settings = ["training.steps=30", "training.validate_every=30", "model.hidden_dim=8", "model.num_layers=1"]
    recipe = with_files(load_recipe(reversal, settings), reversal.parent)
    assert train(recipe, tmp_path / "run", quiet=True) == 0
    assert len(shapes) > 3  # rows of an update differ with its lengths
    assert len(traced) == 1 and traced[0].as_list() == [None, None]
