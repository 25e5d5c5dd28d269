"""Saves all that continuing needs, at validations, on the clock, and when the training stops."""

from collections.abc import Callable
from typing import Any

import keras

from tf_transformer.callbacks.state import TrainingState
from tf_transformer.checkpoints import Arrays, Checkpoint, CheckpointStore, step_name

RAW = "raw/"
"""Begins the names of raw weights in ``training.npz``, where ``weights.npz`` holds averages of them."""


class Checkpointing(keras.callbacks.Callback):
    """Writes checkpoints; stands after ``Validation`` in the list, so that a due validation is in them.

    Args:
        state: Saved with each checkpoint.
        store: The run's checkpoints.
        every: Updates between two checkpoints, beside those at each validation.
        minutes: Minutes between two checkpoints; None is no such limit.
        keep: Validation checkpoints that stay on disk, for averaging; the best and the last always do.
        rank: Puts validated steps in the order in which they are worth keeping, the best at the end; by
            default they stay in the order of training.
    """

    def __init__(
        self,
        state: TrainingState,
        store: CheckpointStore,
        every: int,
        minutes: float | None,
        keep: int,
        rank: Callable[[list[int]], list[int]] = list,
    ) -> None:
        super().__init__()
        self.state = state
        self.store = store
        self.every = every
        self.minutes = minutes
        self.keep = keep
        self.rank = rank
        self._saved, self._saved_at = state.step, state.seconds

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        state = self.state
        due = state.validated == state.step or state.step % self.every == 0 or self._is_late()
        if (due and state.step > self._saved) or self.model.stop_training:
            self.save()

    def save(self) -> None:
        """Writes the checkpoint of this moment, then the index, then removes what it no longer names."""
        state, index = self.state, self.store.index()
        weights, training = split_variables(self.model)
        self.store.write(step_name(state.step), weights, training, state.to_json())
        index.last = state.step
        index.best, index.average_is_best = state.best_step, False
        if state.validated == state.step and state.step not in index.kept:
            ranked = self.rank([*index.kept, state.step])
            index.kept = sorted(ranked[-self.keep :]) if self.keep else []
        self.store.write_index(index)
        self._saved, self._saved_at = state.step, state.seconds

    def _is_late(self) -> bool:
        return self.minutes is not None and self.state.seconds - self._saved_at >= 60 * self.minutes


def split_variables(training_model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The weights of the model by path, and everything else that training changes.

    Args:
        training_model: A compiled :class:`~tf_transformer.training_step.TrainingModel`.

    Returns:
        ``weights`` and ``training``, NumPy arrays by variable path; ``training`` holds the optimizer
        (and loss scale), the dropout seeds and the sums of the running interval. With a moving average
        that is what ``weights`` are, since they answer; ``training`` then also holds the raw ones.
    """
    raw = {variable.path: variable.numpy() for variable in training_model.model.weights}
    training = {name: variable.numpy() for name, variable in training_variables(training_model).items()}
    if training_model.average is None:
        return raw, training
    return training_model.average.by_path(), training | {RAW + path: array for path, array in raw.items()}


def raw_weights(checkpoint: Checkpoint) -> Arrays:
    """The weights that training goes on from, by path; no moving average of them."""
    raw = {path: array for path, array in checkpoint.training.items() if path.startswith(RAW)}
    return {path.removeprefix(RAW): array for path, array in raw.items()} or checkpoint.weights


def training_variables(training_model: Any) -> dict[str, Any]:
    """Variables of a compiled training model that are not the model's weights, by path."""
    weights = {id(variable) for variable in training_model.model.weights}
    others = [*training_model.variables, *training_model.optimizer.variables]
    return {variable.path: variable for variable in others if id(variable) not in weights}
