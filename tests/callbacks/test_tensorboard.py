"""Events that TensorBoard itself can read, all on the axis of optimizer updates."""

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tf_transformer.callbacks.state import TrainingState
from tf_transformer.callbacks.tensorboard import TensorBoardEvents
from tf_transformer.evaluation import Outcome, Sample
from tf_transformer.run_folder import RunFolder


def read(folder: Path) -> EventAccumulator:
    events = EventAccumulator(str(folder), size_guidance={"tensors": 0})
    events.Reload()
    return events


def points(events: EventAccumulator, tag: str) -> dict[int, float]:
    return {event.step: float(tf.make_ndarray(event.tensor_proto)) for event in events.Tensors(tag)}


def text(events: EventAccumulator, tag: str) -> str:
    return events.Tensors(tag)[0].tensor_proto.string_val[0].decode()


def test_a_runs_curves_lie_on_one_axis(trained_run: Path) -> None:
    train, dev = (read(trained_run / "tensorboard" / side) for side in ("train", "dev"))
    assert set(train.Tags()["tensors"]) == {
        "loss",
        "learning_rate",
        "gradient_norm",
        "skipped_updates",
        "padding/target_share",
        "padding/source_share",
        "speed/target_tokens_per_second",
        "speed/source_tokens_per_second",
        "recipe",
    }
    assert set(dev.Tags()["tensors"]) == {
        "loss",
        "perplexity",
        "accuracy",
        "bleu",
        "chrf",
        "samples",
    }
    assert list(points(train, "loss")) == list(range(20, 601, 20))
    # Update 60 has the peak of 0.005, and update 240 half of it.
    rates = points(train, "learning_rate")
    expected = {20: 0.005 / 3, 60: 0.005, 240: 0.0025}
    assert {step: rates[step] for step in expected} == pytest.approx(expected)
    records = {record["step"]: record for record in RunFolder.open(trained_run).metrics()}
    for tag in ("loss", "bleu", "perplexity"):
        expected = {step: record[f"val_{tag}"] for step, record in records.items()}
        assert points(dev, tag) == pytest.approx(expected, rel=1e-5)
    assert "task: translate" in text(train, "recipe")
    assert text(dev, "samples").startswith("| source | reference | output |\n| --- | --- | --- |\n| ")


def test_points_come_every_few_updates_and_once(training: Any, tmp_path: Path) -> None:
    state = TrainingState()
    events = TensorBoardEvents(state, tmp_path, every=2)
    events.set_model(training)
    for step in (1, 2, 2, 3, 4):  # the second 2 is a skipped update, whose loss may be no number
        state.step = step
        events.on_train_batch_end(0, {"loss": float(step)})
    events.on_train_end()
    assert [event.step for event in read(tmp_path / "train").Tensors("loss")] == [2, 4]


def test_the_loss_scale_is_shown_where_there_is_one(training: Any, tmp_path: Path) -> None:
    training.optimizer.dynamic_scale = 1024.0
    events = TensorBoardEvents(TrainingState(step=0), tmp_path, every=1)
    events.state.step = 1
    events.set_model(training)
    events.on_train_batch_end(0, {"loss": 1.0})
    events.on_train_end()
    assert points(read(tmp_path / "train"), "loss_scale") == {1: 1024.0}


def test_samples_cannot_break_their_table(training: Any, tmp_path: Path) -> None:
    state = TrainingState(step=7)
    events = TensorBoardEvents(state, tmp_path)
    record = dict.fromkeys(
        (
            "gradient_norm",
            "skipped_updates",
            "target_padding",
            "source_padding",
            "target_tokens_per_second",
            "source_tokens_per_second",
        ),
        0.5,
    )
    outcome = Outcome({"val_bleu": 3.0, "val_other_bleu": 4.0}, [Sample("a|b", "x\ny", "z")])
    events.on_validation(record, outcome)
    events.on_train_end()
    dev = read(tmp_path / "dev")
    assert text(dev, "samples").split("\n")[2:] == ["| a\\|b | x y | z |"]
    assert points(dev, "other_bleu") == {7: 4.0}
