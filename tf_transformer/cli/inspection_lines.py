"""What ``inspect`` has found, in lines for a person."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tf_transformer.cli.answering import FACES
from tf_transformer.cli.inspection import Inspection
from tf_transformer.data.shared import WHOLE, Shared
from tf_transformer.errors import counted
from tf_transformer.presets import PAD_ID

_MOST_UNKNOWN = 12
_MOST_LETTERS = 60


def inspection_lines(found: Inspection, rows: int, positions: int) -> Iterator[str]:
    """The lines.

    Args:
        found: What was found.
        rows: How many rows of the batch to show.
        positions: How many positions of the first of them to show side by side.
    """
    yield from found.report
    yield ""
    yield from _data(found)
    yield from _batch(found, rows, positions)
    yield ""
    yield from _model(found.model)


def _data(found: Inspection) -> Iterator[str]:
    for column in found.columns:
        unknown, where = column.unknown, f"{column.set}, {column.column}"
        share = unknown.count / max(unknown.total, 1)
        line = f"{where}: {unknown.count:,} of {counted(unknown.total, unknown.unit)} unknown ({share:.3%})"
        named = ", ".join(f"{piece!r} {count:,}" for piece, count in unknown.found[:_MOST_UNKNOWN])
        rest = len(unknown.found) - _MOST_UNKNOWN
        more = f", and {rest:,} more" if rest > 0 else ""
        yield f"{line}: {named}{more}" if named else line
        if column.long.count:
            yield f"{where}: longer than {column.most} positions: {column.long}"
    for shared in found.shared:
        yield from _shared(shared)


def _shared(shared: Shared) -> Iterator[str]:
    if not shared.count:
        return
    alone = f"have a {shared.what} that is in train beside something else"
    what = "are in train" if shared.what == WHOLE else alone
    yield f"{shared.set}: {shared.count:,} of {counted(shared.size, 'row')} {what}"
    for pair in shared.first:
        yield f"  {pair.there} is {pair.in_train}: {_short(pair.text)}"


def _short(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]} …"


def _batch(found: Inspection, rows: int, positions: int) -> Iterator[str]:
    problem, plan, encoded, batch = found.problem, found.plan, found.encoded, found.batch
    training = problem.recipe.training
    if training.budget == "auto":
        yield f"training.{training.BUDGET} is found when training begins; here it is {problem.update_size:,}"
    shapes = counted(len(plan.shapes), "shape")
    updates = counted(plan.num_batches(0), "update")
    yield f"{counted(len(encoded), problem.WORDS.row)}, {updates} an epoch, {shapes} of batches"
    shares = plan.padding()
    if shares:
        named = (f"{shares[name]:.1%} of {name} positions" for name in encoded.lengths)
        yield f"padding: {', '.join(named)}"
    for name, share in found.unknown_shares.items():
        yield f"unknown pieces: {share:.3%} of {name}"
    shown = ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in found.inputs.items())
    size = counted(batch.tokens, f"real {problem.WORDS.unit}")
    yield f"first batch: {shown}, labels {list(found.labels.shape)}, {size}"
    row_lines = FACES[problem.recipe.task].row_lines
    for row in range(min(rows, len(batch.rows))):
        yield ""
        where = encoded.where(batch.rows[[row]])[0]
        yield from row_lines(found.side, where, found.inputs, found.labels, row)
        if row == 0 and positions:
            yield from _aligned(found, positions)
    if found.shifted is not None:
        yield ""
        yield _shift(found.shifted)


def _shift(shifted: bool) -> str:
    if shifted:
        return "labels are target_ids one position on; a position sees target_ids up to itself, not its label"
    return "warning: labels are not target_ids one position on: what is learnt is not what is asked for"


def _aligned(found: Inspection, positions: int) -> Iterator[str]:
    """The first row position by position: what is read there, and what is to be said."""
    tokens = FACES[found.problem.recipe.task].tokens(found.side)
    given = {**found.inputs, "labels": found.labels}
    columns = {name: _pieces(np.asarray(given[name])[0], names) for name, names in tokens.items()}
    if not columns:
        return
    shown = {name: [name, *pieces[:positions]] for name, pieces in columns.items()}
    longest = max(map(len, columns.values()))
    yield ""
    widths = {name: max(map(len, cells)) for name, cells in shown.items()}
    for line in range(min(positions, longest) + 1):
        cells = (f"{(*cells, *[''] * longest)[line]:<{widths[name]}}" for name, cells in shown.items())
        place = "position" if line == 0 else line - 1
        yield f"  {place:>8}  {'  '.join(cells)}".rstrip()
    if longest > positions:
        yield f"  {'…':>8}  {counted(longest - positions, 'further position')} (--positions)"


def _pieces(ids: Any, names: Sequence[str]) -> list[str]:
    """The spelling of each id; a point where nothing is, which no position sees."""
    return ["." if number == PAD_ID else names[number] for number in ids]


def _model(model: Any) -> Iterator[str]:
    width = max(len(variable.path) for variable in model.trainable_variables)
    for variable in model.trainable_variables:
        size = int(np.prod(variable.shape))
        yield f"{variable.path:<{width}}  {list(variable.shape)!s:<18}{size:>12,}"
    yield f"{'all weights':<{width}}  {'':<18}{model.count_params():>12,}"
