"""The end of a training: dev chooses between the best and the average, and test is scored once."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.build import problem_of
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.checkpoints import CheckpointStore, Index, step_name
from tf_transformer.closing import Closing
from tf_transformer.evaluation import EvaluationSet
from tf_transformer.recipe import load_recipe, with_files
from tf_transformer.run_folder import RunFolder
from tf_transformer.text import Normalizer, Preprocessor

SENTENCE = "a quick brown fox jumps over"
STATE = TrainingState(step=30, seconds=3725.0, ended="steps")


class Toy(keras.Model):
    """Believes in class 4, as strongly as its weight says."""

    def __init__(self) -> None:
        super().__init__()
        self.logit = self.add_weight(name="logit", shape=(), initializer="zeros")
        self.built = True

    def call(self, inputs: dict[str, tf.Tensor], training: bool = False) -> tf.Tensor:
        return tf.one_hot(tf.fill(tf.shape(inputs["target_ids"]), 4), 7) * self.logit


class Task:
    """Right when its model's weight is the one that is wanted; else it drops as many words as that is off."""

    def __init__(self, wanted: float) -> None:
        self.model = Toy()
        self.wanted = wanted
        self.side = Preprocessor.train(["a"], ["b"], tokenizer="words")
        self.normalize = Normalizer().normalize_texts
        self.asked: list[str] = []

    def translate(self, texts: Sequence[str], **search: Any) -> list[str]:
        self.asked.append(texts[0])
        off = round(2 * abs(float(self.model.logit.numpy()) - self.wanted))
        return [" ".join(text.split()[off:]) for text in texts]


def one_set(name: str) -> EvaluationSet:
    ids = tf.constant([[4, 4, 5]], tf.int32)
    text = f"{name} {SENTENCE}"
    return EvaluationSet(
        name, {"source": [text], "target": [text]}, [({"source_ids": ids, "target_ids": ids}, ids)]
    )


def close(
    folder: Path,
    wanted: float,
    average: int,
    metric: str = "bleu",
    damaged: int | None = None,
    average_by: str = "last",
) -> tuple[dict[str, Any], Task, list[str]]:
    """Closes a run whose weight is 1, 2 and 3 at steps 10, 20 and 30, of which 20 was the best."""
    (folder / "a.tsv").write_text("source\ttarget\na\tb\n")
    (folder / "recipe.yaml").write_text(
        "task: translate\ndata: {train: {table: a.tsv}, dev: {fraction: 0.5}}\n"
        f"training: {{steps: 30, keep: 3, average: {average}, average_by: {average_by}, precision: float32, "
        f"label_smoothing: 0.0, early_stopping: {{metric: {metric}}}}}\n"
    )
    recipe = with_files(load_recipe(folder / "recipe.yaml"), folder)
    run, task, said = RunFolder(folder / "run"), Task(wanted), list[str]()
    run.create(recipe)
    store = CheckpointStore(run.checkpoints)
    path = task.model.weights[0].path
    for step in (10, 20, 30):
        store.write(step_name(step), {path: np.array(step / 10, np.float32)}, {}, {"step": step})
        run.append_metrics({"step": step, "val_bleu": 50.0 - abs(step - 19), "val_loss": 1.0 - step / 100})
    store.write_index(Index(last=30, best=20, kept=[10, 20, 30]))
    if damaged is not None:
        (store.folder / step_name(damaged) / "weights.npz").write_bytes(b"cut")
    translator: Any = task
    problem = problem_of(recipe)
    closing = Closing(run, problem, store, translator, problem.evaluator(translator), said.append)
    closing.run([one_set("dev"), one_set("more")], [one_set("one"), one_set("two")], STATE)
    return json.loads(run.results_file.read_text()), task, said


def test_the_best_is_scored_on_every_test_set(tmp_path: Path) -> None:
    results, task, said = close(tmp_path, wanted=2.0, average=0)
    assert results["checkpoint"] == "step-00000020"
    assert (results["step"], results["seconds"], results["ended_by"]) == (30, 3725.0, "steps")
    metrics = results["metrics"]
    for name in ("val_bleu", "val_more_bleu", "test_bleu", "test_two_bleu"):
        assert metrics[name] == pytest.approx(100.0)
    assert metrics["test_exact_match"] == metrics["test_two_exact_match"] == 100.0
    assert "tok:13a" in results["signatures"]["test_bleu"]
    assert {"test_two_bleu", "test_chrf", "test_ter"} <= set(results["signatures"])
    assert [text.split()[0] for text in task.asked] == ["dev", "more", "one", "two"]
    assert not (tmp_path / "run" / "checkpoints" / "average").exists()
    assert any(line.startswith("dev, step-00000020: BLEU 100.00") for line in said)
    assert any("complete (steps) after 30 updates in 1:02:05" in line for line in said)


def test_the_average_wins_where_dev_says_so(tmp_path: Path) -> None:
    results, task, _ = close(tmp_path, wanted=2.5, average=2)  # the mean of steps 20 and 30
    assert results["checkpoint"] == "average"
    assert results["metrics"]["test_exact_match"] == 100.0
    assert float(task.model.logit.numpy()) == 2.5
    # Test is translated by the chosen one alone.
    assert [text.split()[0] for text in task.asked] == ["dev", "more", "dev", "more", "one", "two"]
    average = CheckpointStore(tmp_path / "run" / "checkpoints").read("average")
    assert (average.state["step"], average.state["averaged"]) == (30, [20, 30])


def test_the_average_may_be_that_of_the_best(tmp_path: Path) -> None:
    # By BLEU 10 and 20 are the best two, by loss 20 and 30.
    for metric, steps in (("bleu", [10, 20]), ("loss", [20, 30])):
        folder = tmp_path / metric
        folder.mkdir()
        close(folder, wanted=1.5, average=2, metric=metric, average_by="best")
        average = CheckpointStore(folder / "run" / "checkpoints").read("average")
        assert average.state["averaged"] == steps
        assert [float(weight) for weight in average.weights.values()] == [sum(steps) / 20]


def test_the_best_stays_where_the_average_is_worse(tmp_path: Path) -> None:
    # The mean of 10 and 20: fewer words are right, and less of what is right is believed in.
    results, task, _ = close(tmp_path, wanted=2.0, average=2, average_by="best")
    assert results["checkpoint"] == "step-00000020"
    assert float(task.model.logit.numpy()) == 2.0  # the weights that were tried last are not those that stay
    assert results["metrics"]["val_bleu"] == results["metrics"]["test_bleu"] == pytest.approx(100.0)


def test_a_lower_loss_outweighs_the_luck_of_the_best(tmp_path: Path) -> None:
    # Two labels of three are class 4, so the mean of 20 and 30, 2.5, has a lower loss than 2, and less BLEU.
    results, _, said = close(tmp_path, wanted=2.0, average=2)
    assert results["checkpoint"] == "average"
    assert results["metrics"]["val_bleu"] < 99.0
    assert any(line.startswith("dev, step-00000020: BLEU 100.00") for line in said)


def test_dev_may_decide_by_loss(tmp_path: Path) -> None:
    # Two labels of three are class 4, so e^w / (6 + e^w) = 2 / 3 is best: w = ln 12, which is 2.48.
    results, _, _ = close(tmp_path, wanted=2.0, average=2, metric="loss")
    assert results["checkpoint"] == "average"
    assert results["metrics"]["test_exact_match"] == 0.0


def test_a_damaged_best_is_told_and_the_newest_is_scored(tmp_path: Path) -> None:
    results, _, said = close(tmp_path, wanted=2.0, average=0, damaged=20)
    assert results["checkpoint"] == "step-00000030"
    line = "step-00000030 is scored in its place"
    assert "step-00000020: damaged checkpoint" in said[0] and said[0].endswith(line)
    assert line in (tmp_path / "run" / "events.jsonl").read_text()


def test_there_is_no_average_where_one_of_its_parts_is_damaged(tmp_path: Path) -> None:
    results, _, said = close(tmp_path, wanted=2.0, average=3, damaged=30)
    assert results["checkpoint"] == "step-00000020"
    assert "step-00000030: damaged checkpoint" in said[0] and said[0].endswith("so there is no average")
    assert not (tmp_path / "run" / "checkpoints" / "average").exists()
