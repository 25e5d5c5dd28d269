"""Where a training stands: what the callbacks share, and what a checkpoint keeps of it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, get_args, get_type_hints


@dataclass
class TrainingState:
    """The counters of one training, over all the pieces it ran in.

    Args:
        step: Optimizer updates taken.
        epoch: Epoch of the next batch, from 0.
        batch: Place of the next batch in that epoch's plan, from 0.
        seconds: Training time of all pieces, validation included.
        interval_seconds: Time spent in updates since the last validation.
        best: Best value of the measure that ``best`` is chosen by; None before the first validation.
        best_step: The step that reached it.
        waited: Validations since then.
        skipped: Updates that changed nothing, over the whole training.
        skipped_in_a_row: Of those, how many came last, one after the other.
        smoothed_loss: Exponential mean of the updates' losses; None before the first.
        lowest_loss: Its lowest value.
        updates_above: Updates in a row that it has been far above that.
        restored: Times that the best checkpoint was taken up again after a divergence.
        plan: Digest of the batch plan that ``batch`` counts in.
        side: Digest of the files in ``tokenizer/`` of the run; None in a checkpoint that is older than this.
        devices: Devices that the last updates were spread over.
        validated: Step of the last validation.
        ended: Why training is complete (``"steps"``, ``"epochs"``, ``"minutes"``, ``"early stopping"``);
            None while it is not.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    seconds: float = 0.0
    interval_seconds: float = 0.0
    best: float | None = None
    best_step: int | None = None
    waited: int = 0
    skipped: int = 0
    skipped_in_a_row: int = 0
    smoothed_loss: float | None = None
    lowest_loss: float | None = None
    updates_above: int = 0
    restored: int = 0
    plan: str | None = None
    side: str | None = None
    devices: int = 1
    validated: int = 0
    ended: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values for a checkpoint."""
        return asdict(self)

    def restore(self, values: Mapping[str, Any]) -> None:
        """Takes over what ``to_json`` wrote; other keys of a checkpoint's state are left alone.

        Raises:
            ValueError: When a value is of another type.
        """
        kinds = get_type_hints(TrainingState)
        for entry in fields(self):
            if entry.name not in values:
                continue
            value, allowed = values[entry.name], get_args(kinds[entry.name]) or (kinds[entry.name],)
            # JSON writes a float that is whole as it likes; a truth value is no number.
            is_number = isinstance(value, int) and not isinstance(value, bool)
            if type(value) not in allowed and not (is_number and float in allowed):
                names = " or ".join(kind.__name__.replace("NoneType", "null") for kind in allowed)
                raise ValueError(f"{entry.name} must be of type {names}. Received: {value!r}")
            if int in allowed and is_number and value < 0:
                raise ValueError(f"{entry.name} must be at least 0. Received: {value}")
            setattr(self, entry.name, value)
