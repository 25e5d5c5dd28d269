"""Some of the training data as batches, the same ones whenever they are asked for."""

from dataclasses import replace
from typing import Any

import numpy as np

from tf_transformer.data.batching import Batch
from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.pipeline import Assemble, Plan, WindowPlan, batch_of

ROWS, POSITIONS = 128, 4096
"""Of the training data that each validation measures beside dev, at most."""


def training_sample(
    encoded: EncodedCorpus, plan: Plan, assemble: Assemble, rows: int = ROWS, positions: int = POSITIONS
) -> Any:
    """One batch from evenly all over the training data.

    Args:
        encoded: The data.
        plan: What it is trained in: windows are what is sampled where it has such.
        assemble: As for `training_dataset`.
        rows: Rows of the batch, at most.
        positions: Positions of its longest side, padding included, at most; one row at least.

    Returns:
        What ``assemble`` returns.
    """
    if isinstance(plan, WindowPlan):
        first = plan.epoch(0)[0]
        count = max(1, min(rows, positions // max(first.lengths.values())))
        kept = {name: getattr(first, name)[:count] for name in ("rows", "starts", "sizes")}
        return batch_of(encoded.columns, replace(first, **kept), assemble)
    chosen = _evenly(len(encoded), rows)
    longest = max((int(values[chosen].max()) for values in encoded.lengths.values()), default=1)
    chosen = chosen[_evenly(len(chosen), max(1, positions // longest))]
    lengths = {name: int(values[chosen].max()) for name, values in encoded.lengths.items()}
    tokens = sum(int(values[chosen].sum()) for values in encoded.lengths.values())
    return batch_of(encoded.columns, Batch(chosen, lengths, tokens), assemble)


def _evenly(size: int, count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """So many places of a list, all different and evenly apart."""
    return np.unique(np.linspace(0, size - 1, min(size, count)).astype(np.int64))
