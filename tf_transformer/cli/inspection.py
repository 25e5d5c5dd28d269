"""What a model is fed with, found out for ``inspect``: a real batch as it gets it, and its data."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tf_transformer.build import Problem, load_run, problem_of
from tf_transformer.build.problem import Examples
from tf_transformer.cli.answering import FACES
from tf_transformer.data.batching import Batch
from tf_transformer.data.encoding import EncodedCorpus, encode_column
from tf_transformer.data.pipeline import Plan, batch_of, columns_in
from tf_transformer.data.prepared import StoredColumn
from tf_transformer.data.report import Finding
from tf_transformer.data.shared import Shared, TrainingRows
from tf_transformer.presets import PAD_ID, UNKNOWN_ID
from tf_transformer.recipe import Recipe
from tf_transformer.text.unknown_pieces import UnknownPieces, unknown_pieces

_MOST_NUMBERS = 4096
"""Numbers of a row that JSON has; of larger ones it has the shape."""
_MOST_UNKNOWN = 50


@dataclass(frozen=True)
class ColumnOfSet:
    """A column of text in a set.

    Args:
        set: ``train``, or the name of a dev or test set.
        column: Its name.
        unknown: What its tokenizer does not know.
        most: Positions that the model reads at most; None for no limit.
        long: Rows with more, which lose their end where answers are measured; of training, the report tells.
    """

    set: str
    column: str
    unknown: UnknownPieces
    most: int | None
    long: Finding


@dataclass(frozen=True)
class Inspection:
    """What was found.

    Args:
        problem: What the recipe asks for.
        side: What makes ids.
        model: In float32.
        report: What was read, kept, dropped and noticed, for a person.
        encoded: The training data.
        plan: Its batches.
        batch: The first of them.
        inputs: It, as the model gets it.
        labels: What is to be answered.
        columns: Each column of text of each set.
        shared: What dev and test sets share with the training data.
    """

    problem: Problem[Any]
    side: Any
    model: Any
    report: Sequence[str]
    encoded: EncodedCorpus
    plan: Plan
    batch: Batch
    inputs: Any
    labels: Any
    columns: Sequence[ColumnOfSet]
    shared: Sequence[Shared]

    @property
    def unknown_shares(self) -> dict[str, float]:
        """Of each column of ids in the epoch, the share of unknown pieces."""
        found = {}
        columns = columns_in(0, self.encoded, self.plan)
        for name in self.encoded.lengths:
            if isinstance(columns[name], StoredColumn):  # told when it was prepared
                continue
            ids = columns[name].flat_values.numpy()
            if np.issubdtype(ids.dtype, np.integer):
                found[name] = float(np.mean(ids == UNKNOWN_ID))
        return found

    @property
    def shifted(self) -> bool | None:
        """Whether each label is what the decoder reads one position later; None where there is no decoder."""
        if "target_ids" not in self.inputs:
            return None
        read, labels = np.asarray(self.inputs["target_ids"]), np.asarray(self.labels)
        real = read[:, 1:] != PAD_ID
        return bool(np.all(read[:, 1:][real] == labels[:, :-1][real]))

    def to_dict(self, rows: int) -> dict[str, Any]:
        """The same as plain values.

        Args:
            rows: How many rows of the batch.
        """
        problem, plan = self.problem, self.plan
        return {
            "task": problem.recipe.task,
            "corpora": [report.to_dict() for report in self.encoded.reports],
            "report": list(self.report),
            "rows": len(self.encoded),
            "updates_an_epoch": plan.num_batches(0),
            "shapes": len(plan.shapes),
            "padding": plan.padding(),
            "unknown_pieces": self.unknown_shares,
            "labels_are_shifted": self.shifted,
            "batch": {
                "shapes": {name: list(tensor.shape) for name, tensor in self.inputs.items()},
                "tokens": int(self.batch.tokens),
                "rows": list(self._rows(rows)),
            },
            "columns": [_plain(column) for column in self.columns],
            "shared": [shared.to_dict() for shared in self.shared],
            "weights": {each.path: list(each.shape) for each in self.model.trainable_variables},
            "parameters": int(self.model.count_params()),
        }

    def _rows(self, rows: int) -> Iterator[dict[str, Any]]:
        tokens = FACES[self.problem.recipe.task].tokens(self.side)
        for row in range(min(rows, len(self.batch.rows))):
            found: dict[str, Any] = {"where": self.encoded.where(self.batch.rows[[row]])[0]}
            for name, values in {**self.inputs, "labels": self.labels}.items():
                array = np.asarray(values)[row]
                found[name] = array.tolist() if array.size <= _MOST_NUMBERS else list(array.shape)
                if name in tokens:
                    found[f"{name}_pieces"] = [tokens[name][number] for number in array[array != PAD_ID]]
            yield found


def inspect_recipe(recipe: Recipe) -> Inspection:
    """What a recipe would train, and with what.

    Args:
        recipe: A resolved recipe.
    """
    problem = problem_of(recipe)
    examples = problem.read()
    side = problem.make_side(examples)
    return _inspected(
        problem, examples, side, problem.model(side, "float32"), problem.update_lines(examples, side)
    )


def inspect_run(folder: Path) -> Inspection:
    """The same of a run, with the tokenizer and data that it has."""
    loaded = load_run(folder)
    return _inspected(loaded.problem, loaded.problem.read(), loaded.task.side, loaded.task.model)


def _inspected(
    problem: Problem[Any], examples: Examples, side: Any, model: Any, update: Iterable[str] = ()
) -> Inspection:
    encoded = problem.encode(examples, side)
    plan = problem.plan(examples, encoded, side)
    batch = plan.epoch(0)[0]
    inputs, labels = batch_of(columns_in(0, encoded, plan), batch, side.assemble)
    sets = [("train", examples.train), *((found.name, found.corpora) for found in _sets(examples))]
    train = TrainingRows(examples.train)
    shared = [each for name, corpora in sets[1:] for each in train.shared_with(name, corpora)]
    return Inspection(
        problem=problem,
        side=side,
        model=model,
        report=[*problem.report(examples, encoded), *update],
        encoded=encoded,
        plan=plan,
        batch=batch,
        inputs=inputs,
        labels=labels,
        columns=[each for name, corpora in sets for each in _columns(problem, side, name, corpora)],
        shared=shared if examples.train else [],
    )


def _sets(examples: Examples) -> list[Any]:
    return [*examples.dev, *examples.test]


def _columns(problem: Problem[Any], side: Any, name: str, corpora: Sequence[Any]) -> Iterator[ColumnOfSet]:
    """The columns of text of a set; those that hold further references are not read by the model."""
    for column, reading in FACES[problem.recipe.task].readings(side).items():
        texts = [text for corpus in corpora for text in corpus.columns[column]]
        if not texts:
            continue
        most = getattr(problem.recipe.data, f"max_{column}_length", None)
        lines = np.concatenate([corpus.lines for corpus in corpora])
        long = Finding.at([])
        if most is not None:
            _, sizes = encode_column(column, texts, reading.encode)
            assert sizes is not None  # pieces, not a label
            long = Finding.at(lines[sizes + reading.extra > most].tolist())
        unknown = unknown_pieces(reading.tokenizer, reading.plain(texts))
        yield ColumnOfSet(name, column, unknown, most, long)


def _plain(column: ColumnOfSet) -> dict[str, Any]:
    unknown = column.unknown
    return {
        "set": column.set,
        "column": column.column,
        f"{unknown.unit}s": unknown.total,
        "unknown": unknown.count,
        "most_frequent_unknown": [list(pair) for pair in unknown.found[:_MOST_UNKNOWN]],
        "longest": column.most,
        "longer": asdict(column.long),
    }
