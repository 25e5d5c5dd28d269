"""A healthy run, one whose learning rate is too high and one that sees the future are told apart."""

import re
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from keras import ops
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from trainings import Crash, after_update, crash, events, start

from tf_transformer.models import transformer
from tf_transformer.text import Preprocessor


def curve(run: Path, name: str, tag: str) -> dict[int, float]:
    """The points of a tag, by update."""
    found = EventAccumulator(str(run / "tensorboard" / name), size_guidance={"tensors": 0})
    found.Reload()
    return {event.step: float(tf.make_ndarray(event.tensor_proto)) for event in found.Tensors(tag)}


def last(run: Path, name: str, tag: str) -> float:
    """The last point of a tag."""
    return list(curve(run, name, tag).values())[-1]


def growth(run: Path) -> float:
    """How many times as long the weights are after 100 updates as at the beginning."""
    lengths = curve(run, "train", "update/weights")
    return lengths[100] / lengths[0]


def warnings(run: Path) -> list[str]:
    """What was warned of."""
    if not (run / "events.jsonl").exists():
        return []
    return [event["detail"] for event in events(run) if event["event"] == "warning"]


def test_a_healthy_run_has_none_of_the_signs(trained_run: Path) -> None:
    assert growth(trained_run) < 1.5
    assert max(curve(trained_run, "train", "update/ratio").values()) < 0.15
    assert (
        last(trained_run, "dev", "quality/accuracy") > 0.9 and last(trained_run, "dev", "quality/bleu") > 60
    )
    losses = list(curve(trained_run, "train", "quality/loss").values())
    assert losses[-1] < 0.5 * losses[0]
    assert warnings(trained_run) == []


def test_a_rate_that_is_too_high_shows_in_the_change_of_the_weights(
    reversal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    rate = "training.schedule={name: constant, peak: 0.2, warmup_steps: 10}"
    assert start(reversal, run, rate, "training.steps=100", "training.validate_every=100", quiet=False) == 0
    assert growth(run) > 3
    assert last(run, "dev", "quality/accuracy") < 0.5 and last(run, "dev", "quality/bleu") < 10
    (line,) = warnings(run)
    assert re.match(
        r"at update \d+, the weights have grown to [\d.]+ times their length within \d+ updates: ", line
    )
    assert "the learning rate, now 0.2, is probably too high" in line
    assert f"warning: {line}" in capsys.readouterr().err


def test_labels_without_a_shift_are_told_before_the_first_update(
    reversal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Preprocessor.assemble

    def unshifted(self: Any, *arguments: Any, **keywords: Any) -> Any:
        inputs, _ = right(self, *arguments, **keywords)
        return inputs, inputs["target_ids"]

    monkeypatch.setattr(Preprocessor, "assemble", unshifted)
    run = tmp_path / "run"
    after_update(monkeypatch, 1, crash)
    with pytest.raises(Crash):
        start(reversal, run)
    (line,) = warnings(run)
    assert line.startswith("of a batch of training, the labels are not shifted by one place: ")


def test_a_missing_target_mask_shows_between_accuracy_and_bleu(
    reversal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def everything(length: Any, past: Any = 0) -> Any:
        return ops.ones((1, 1, length, past + length), "bool")

    monkeypatch.setattr(transformer, "causal_mask", everything)
    run = tmp_path / "run"
    assert start(reversal, run, "training.steps=140", "training.validate_every=140", quiet=False) == 0
    assert last(run, "dev", "quality/accuracy") > 0.9 and last(run, "dev", "quality/bleu") < 10
    assert last(run, "train", "quality/accuracy") > 0.9
    assert growth(run) < 1.5
    assert len(warnings(run)) == 1
    assert warnings(run)[0].endswith("predict. The causal mask of the target is missing")
    assert "warning: given the reference, " in capsys.readouterr().err
