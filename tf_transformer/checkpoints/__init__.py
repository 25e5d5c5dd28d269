"""Checkpoints: one folder a step, holding all that exact continuation needs, checked by SHA-256.

::

    checkpoints/
      index.json               which steps are kept, which is best, which is last
      step-00001000/
        weights.npz            the weights that answer, by variable path
        training.npz           optimizer, loss scale, dropout seeds, sums of the running interval; with a
                               moving average, the weights that training goes on from
        state.json             step, position in the data, clock, SHA-256 of the three files
      average/
        weights.npz state.json

In place of ``weights.npz`` a run that began from another may have ``apart.npz``, see `checkpoints.apart`.
A folder is written aside, flushed and renamed: a checkpoint is whole or it is not there.
Arrays are plain ``.npz`` read with ``allow_pickle=False``; reading one never runs code.
"""

from tf_transformer.checkpoint_index import AVERAGE, WEIGHTS, Index, name_fault, step_name
from tf_transformer.checkpoints.content import Arrays, Checkpoint
from tf_transformer.checkpoints.store import CheckpointStore

__all__ = [
    "AVERAGE",
    "WEIGHTS",
    "Arrays",
    "Checkpoint",
    "CheckpointStore",
    "Index",
    "name_fault",
    "step_name",
]
