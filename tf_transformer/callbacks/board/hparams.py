"""TensorBoard's HParams: what a recipe says that others do not, and the figures that came of it."""

import time
from collections.abc import Mapping
from pathlib import Path

from tensorboard.plugins.hparams import api as hp
from tensorboard.plugins.hparams import api_pb2
from tensorboard.plugins.hparams import summary as sessions

from tf_transformer.callbacks.board.allowance import Allowance
from tf_transformer.callbacks.board.event_files import EventFile

FOLDER = "results"
"""The run of TensorBoard that has the final figures, and nothing else: all its scalars become columns."""


class Results:
    """The figures of the best update so far, then the final ones, beside what the recipe says.

    Args:
        folder: ``tensorboard/`` of the run.
        allowance: Told what is written.
    """

    def __init__(self, folder: Path, allowance: Allowance) -> None:
        self.file = EventFile(folder / FOLDER, allowance)

    def begin(self, name: str, values: Mapping[str, bool | int | float | str]) -> None:
        """Writes what the recipe says.

        Args:
            name: The run's; two runs of one recipe are two rows.
            values: The recipe's values that are no defaults.
        """
        self.file.raw(0, hp.hparams_pb(dict(values), trial_id=name).SerializeToString())

    def figures(self, step: int, figures: Mapping[str, float]) -> None:
        """Writes figures as they are named in ``results.json``."""
        self.file.scalars(step, {f"results/{name}": value for name, value in figures.items()})
        self.file.flush()

    def end(self) -> None:
        """Marks the session as done."""
        done = sessions.session_end_pb(api_pb2.STATUS_SUCCESS, end_time_secs=time.time())
        self.file.raw(0, done.SerializeToString())
        self.file.close()


def write_final(folder: Path, step: int, figures: Mapping[str, float]) -> None:
    """Writes the final figures of a run that is complete.

    Args:
        folder: ``tensorboard/`` of the run.
        step: Its last update.
        figures: As in ``results.json``.

    Raises:
        OSError: When the disk takes no more.
    """
    results = Results(folder, Allowance(lambda: 0.0))
    results.figures(step, figures)
    results.end()
