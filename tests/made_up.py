"""A second task, made up for tests: to tell in which quarter of the plane a point lies."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tf_transformer.build.problem import Examples, Heading, Problem, Words
from tf_transformer.build.problems import PROBLEMS
from tf_transformer.data.batching import Batch
from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.pipeline import RowPlan, evaluation_batches
from tf_transformer.data.report import CorpusReport
from tf_transformer.evaluation import Evaluated, EvaluationSet, Evaluator, Sample
from tf_transformer.ops.cross_entropy import smoothed_cross_entropy
from tf_transformer.recipe import RECIPES, Data, EarlyStopping, Recipe, Training
from tf_transformer.recipe.entries import Entry, Weighted
from tf_transformer.recipe.fields import DataFile, Whole, key
from tf_transformer.run_folder import RunFolder

QUARTERS = ("right above", "left above", "left below", "right below")


class Points(Entry, Weighted):
    """A file of points."""

    points: DataFile = key(..., "A point a line, x and y.", midway="logged", example="train.points")

    @property
    def title(self) -> str:
        return self.name or self.points.name


class QuarterData(Data):
    """Points."""

    train: Points = key(..., "Points to learn.", midway="logged")
    dev: Points = key(..., "Points to validate on.", midway="logged")
    test: Points | None = key(None, "Points to score.", midway="free")


class QuarterStopping(EarlyStopping):
    """Stops."""

    metric: Literal["accuracy", "loss"] = key("accuracy", "Measure of the dev set.", midway="free")


class QuarterTraining(Training):
    """How long."""

    BUDGET: ClassVar[str] = "batch_size"
    STOPPING: ClassVar[type[EarlyStopping]] = QuarterStopping

    batch_size: Whole = key(8, "Points of an update.", midway="logged", after="minutes", ge=1)
    early_stopping: QuarterStopping | None = key(None, "Stop early.", midway="free")


class QuarterRecipe(Recipe):
    """Which quarter of the plane."""

    task: Literal["find_quarter"] = key(..., "What is trained.", midway="refused", example="find_quarter")
    data: QuarterData = key(..., "The points.", midway="logged")
    training: QuarterTraining = key(QuarterTraining(), "How long.", midway="logged")


class Scale:
    """The side of points: a number that they are divided by, found in the training data."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "scale.json").write_text(json.dumps(self.scale))

    def assemble(self, point: tf.Tensor, label: tf.Tensor) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        return {"points": point / self.scale}, label


class Quarters(keras.Model):
    """A linear layer."""

    COUNTS = ("examples",)

    def __init__(self) -> None:
        super().__init__(name="quarters")
        self.head = keras.layers.Dense(len(QUARTERS), name="head")
        self.head.build((None, 2))
        self.built = True

    def call(self, inputs: dict[str, Any], training: bool | None = None) -> Any:
        return self.head(inputs["points"])

    def training_loss(
        self, inputs: Any, labels: Any, label_smoothing: float = 0.0, training: bool | None = None
    ) -> Any:
        return smoothed_cross_entropy(labels, self(inputs), label_smoothing, None)

    def counts(self, inputs: Any, labels: Any) -> dict[str, Any]:
        return {"examples": ops.size(labels)}


class QuarterFinder:
    """The task."""

    def __init__(self, model: Quarters, side: Scale) -> None:
        self.model = model
        self.side = side


class QuarterEvaluator(Evaluator):
    """Accuracy and loss."""

    def __init__(self, task: QuarterFinder) -> None:
        self.task = task

    def quick(self, found: EvaluationSet) -> Evaluated:
        losses, hits = 0.0, 0
        for inputs, labels in found.batches:
            logits = self.task.model(inputs)
            losses += float(tf.reduce_sum(smoothed_cross_entropy(labels, logits, 0.0, None)))
            hits += int(tf.math.count_nonzero(tf.argmax(logits, -1, tf.int32) == labels))
        figures = {"loss": losses / len(found), "accuracy": hits / len(found)}
        (x, y), quarter = found.columns["point"][0], QUARTERS[found.columns["label"][0]]
        sample = Sample(f"{x:.1f} {y:.1f}", quarter, "somewhere")
        return Evaluated(figures, brief=f"accuracy {figures['accuracy']:.2f}", samples=[sample])

    def full(self, found: EvaluationSet, advance: Any = None) -> Evaluated:
        return self.quick(found)


class QuarterProblem(Problem[QuarterRecipe]):
    """A recipe with ``task: find_quarter``."""

    WORDS: ClassVar[Words] = Words("point", "plane", "point", "find", "nothing")
    HEADINGS: ClassVar[tuple[Heading, ...]] = (
        ("val_accuracy", "accuracy", 9, "{:.2f}"),
        ("examples_per_second", "points/s", 9, "{:,.0f}"),
    )
    BUDGET_COLUMN: ClassVar[str | None] = None

    def read(self) -> Examples:
        data = self.recipe.data
        test = [] if data.test is None else [("test", _read(data.test))]
        train, dev = [_read(data.train)], [("dev", _read(data.dev))]
        return Examples(train, [data.train.weight], dev, test, [f"{len(train[0])} points"])

    def new_side(self, examples: Examples) -> Scale:
        return Scale(float(np.abs(examples.train[0]).max()))

    def load_side(self, folder: Path) -> Scale:
        return Scale(json.loads((folder / "scale.json").read_text()))

    def encode(self, examples: Examples, side: Scale) -> EncodedCorpus:
        return _encoded(examples.train[0])

    def batches(self, encoded: EncodedCorpus, weights: Sequence[float], size: int) -> RowPlan:
        seed = self.recipe.training.seed
        return RowPlan(len(encoded), size, seed=seed, corpora=encoded.corpora, weights=weights)

    def describe_batch(self, batch: Batch) -> str:
        return f"{len(batch.rows)} points"

    def smaller_updates(self) -> str:
        return "training.batch_size"

    def smaller_validation(self) -> str:
        return "nothing"

    def model(self, side: Scale, precision: str) -> Quarters:
        keras.utils.set_random_seed(self.recipe.training.seed)
        return Quarters()

    def task(self, model: Quarters, side: Scale) -> Any:
        return QuarterFinder(model, side)

    def samples(self, folder: RunFolder) -> list[Any]:
        return []

    def dev_sets(self, examples: Examples, side: Scale) -> list[EvaluationSet]:
        return [_set(name, points, side) for name, points in examples.dev]

    def test_sets(self, examples: Examples, side: Scale) -> list[EvaluationSet]:
        return [_set(name, points, side) for name, points in examples.test]

    def evaluator(self, task: QuarterFinder) -> QuarterEvaluator:
        return QuarterEvaluator(task)


def _read(entry: Points) -> Any:
    return np.loadtxt(entry.points, dtype=np.float32, ndmin=2)


def _labels(points: Any) -> Any:
    right, above = points[:, 0] > 0, points[:, 1] > 0
    return np.where(above, np.where(right, 0, 1), np.where(right, 3, 2)).astype(np.int32)


def _encoded(points: Any) -> EncodedCorpus:
    columns = {"point": tf.constant(points), "label": tf.constant(_labels(points))}
    lines, zeros = np.arange(len(points)) + 1, np.zeros(len(points), np.int64)
    return EncodedCorpus(columns, {}, zeros, lines, (CorpusReport("train", len(points)),))


def _set(name: str, points: Any, side: Scale) -> EvaluationSet:
    batches = evaluation_batches(_encoded(points), 16, side.assemble)
    return EvaluationSet(name, {"point": points, "label": _labels(points)}, list(batches.dataset))


def register(patch: pytest.MonkeyPatch) -> None:
    """Makes the task known while a test runs."""
    patch.setitem(RECIPES, "find_quarter", QuarterRecipe)
    patch.setitem(PROBLEMS, "find_quarter", QuarterProblem)


def write(folder: Path) -> Path:
    """Writes a recipe of the task, with its data; a hundred points, equally many in each quarter."""
    draw = np.random.default_rng(3)
    for name, count in (("train", 100), ("dev", 40), ("test", 20)):
        points = draw.uniform(1, 9, (count, 2)) * np.array(
            [[1, 1], [-1, 1], [-1, -1], [1, -1]] * (count // 4)
        )
        np.savetxt(folder / f"{name}.points", points)
    path = folder / "recipe.yaml"
    path.write_text(
        "task: find_quarter\n"
        "data: {train: {points: train.points}, dev: {points: dev.points}, test: {points: test.points}}\n"
        "training: {steps: 40, batch_size: 30, validate_every: 20, precision: float32, average: 2,\n"
        "  schedule: {name: constant, peak: 0.1}}\n"
    )
    return path
