"""What ``train --overfit-one-batch`` prints."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.cli.streams import teller
from tf_transformer.errors import counted, printable

if TYPE_CHECKING:
    from tf_transformer.diagnosis.one_batch import OneBatch


def learn_one_batch(recipe: Path, overrides: Sequence[str], quiet: bool) -> int:
    """Learns one batch of a recipe by heart and prints what came of it.

    Args:
        recipe: Its file.
        overrides: Values in place of its own.
        quiet: Whether progress is kept back.

    Returns:
        The exit code: 0 when it was learnt, 1 when something is wrong.
    """
    from tf_transformer.recipe import load_recipe, with_files

    found = with_files(load_recipe(recipe, overrides), recipe.parent)
    with quiet_import():
        from tf_transformer.diagnosis.one_batch import overfit_one_batch
    seen = overfit_one_batch(found, teller(quiet))
    for line in lines_of(seen):
        print(printable(line))
    return 1 if seen.signs else 0


def lines_of(seen: "OneBatch") -> Iterator[str]:
    """What was tried, what it has shown, and the verdict."""
    part = counted(seen.of, seen.row) if seen.rows == seen.of else f"{seen.rows} of {seen.of:,} {seen.row}s"
    part = f"{part} of the first batch"
    yield f"batch  {part}, from {seen.where}; without dropout and the like; no run is written"
    if (floor := seen.floor) is not None:
        smoothing = f", label smoothing {seen.label_smoothing:g}" if seen.label_smoothing else ""
        yield (
            f"floor  {floor.lowest:.4f} nats a label ({counted(floor.labels, 'label')}{smoothing}); label "
            f"frequencies alone give {floor.frequencies:.4f}"
        )
    for attempt in seen.attempts:
        own = ", the highest of training.schedule" if attempt is seen.attempts[0] else ""
        end = f"learnt, below {seen.near:.4f}" if attempt.learnt else f"not below {seen.near:.4f}"
        yield (
            f"rate   {attempt.rate:.2g}{own}: loss {attempt.losses[0]:.3f} to {attempt.losses[-1]:.3f} in "
            f"{attempt.updates} updates, {end}"
        )
    for sign in seen.signs:
        yield f"wrong: {sign.name}: {sign.line}"
    if not seen.signs:
        yield "right: the batch is learnt by heart, so data, labels, model and learning rate go together"
