"""This project: a recipe, trained by the function behind `tf-transformer train`; only its fit is watched.

Settings: recipe, run, overrides. No validation, no checkpoint; everything else is as a user has it.
"""

from pathlib import Path
from typing import Any

import keras
from slices import Slices, settings

from tf_transformer import trainer
from tf_transformer.recipe import load_recipe, with_files
from tf_transformer.training_step import TrainingModel

ABOUT: dict[str, Any] = {}


class Watch(keras.callbacks.Callback):
    """Hands each update to the race."""

    def on_train_begin(self, logs: Any = None) -> None:
        ABOUT["precision"] = self.model.model.dtype_policy.name
        self.slices = Slices(self.model.interval, ABOUT)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.slices.after_update()


def watch_fit() -> None:
    """Adds the watch to the callbacks of every training of this process."""
    fit = TrainingModel.fit

    def watched(self: TrainingModel, *args: Any, callbacks: Any = (), **kwargs: Any) -> Any:
        return fit(self, *args, callbacks=[*callbacks, Watch()], **kwargs)

    TrainingModel.fit = watched


def main() -> None:
    """Trains until the race is over."""
    given = settings()
    path = Path(given["recipe"])
    recipe = with_files(load_recipe(path, given["overrides"]), path.parent)
    watch_fit()
    trainer.train(recipe, Path(given["run"]))


if __name__ == "__main__":
    main()
