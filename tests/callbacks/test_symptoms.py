"""What is told of trainings that cannot come to anything, and that healthy ones are left in peace."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tf_transformer.callbacks.state import TrainingState
from tf_transformer.callbacks.symptoms import Symptoms
from tf_transformer.evaluation.signs import Sign
from tf_transformer.models import LanguageModel


class Watched:
    """The callback, and what it has told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.probe: Any = SimpleNamespace(point=None, every=20, changes=SimpleNamespace(length=8.0))
        self.state = TrainingState()
        self.symptoms = Symptoms(self.state, self.probe, lambda kind, line: self.told.append((kind, line)))
        self.symptoms.on_train_begin()

    def update(self, ratio: float | None, length: float = 8.0, **more: float) -> None:
        self.state.step += 20
        point = {"update/ratio": ratio, "update/learning_rate": 0.5, "update/weights": length, **more}
        self.probe.point = None if ratio is None else point
        self.symptoms.on_train_batch_end(0)


def test_weights_that_leap_again_and_again_are_told_once() -> None:
    watched = Watched()
    for ratio in (0.2, 0.2, 0.2, 0.2, 0.01, 0.2, 0.2, None, 0.2, 0.2):
        watched.update(ratio)
    assert watched.told == []
    for _ in range(9):
        watched.update(0.2)
    assert [kind for kind, _ in watched.told] == ["warning"]
    assert watched.told[0][1] == (
        "at update 220, each update changes the weights by 20% of their length (healthy: 0.1 % to 5 %): the "
        "learning rate, now 0.5, is probably too high; `tf-transformer plot lr-range` finds one"
    )


def test_weights_that_grow_fast_are_told_once() -> None:
    watched = Watched()
    for length in (10.0, 12.0, 14.0, 15.5, 16.0, 19.0, 23.5, 27.0):  # never twice as long as 100 updates ago
        watched.update(0.01, length)
    assert watched.told == []
    for length in (31.1, 40.0, 90.0):
        watched.update(0.01, length)
    assert [line.split(":")[0] for _, line in watched.told] == [
        "at update 180, the weights have grown to 2.0 times their length within 100 updates"
    ]


@pytest.mark.parametrize(
    ("figures", "told"),
    [
        ({"accuracy": 0.98, "bleu": 0.4, "chrf": 12.0}, "given the reference, 98% of dev's"),
        ({"accuracy": 0.98, "bleu": 70.0, "chrf": 80.0}, None),
        ({"accuracy": 0.95, "bleu": 0.0, "chrf": 80.0}, None),  # sentences too short for BLEU's four words
        ({"accuracy": 0.4, "bleu": 0.4, "chrf": 12.0}, None),
        ({"accuracy": 0.999, "perplexity": 1.01, "nats_per_token": 0.01}, "the dev text has a perplexity"),
        ({"accuracy": 0.9, "perplexity": 1.4, "nats_per_token": 0.3}, None),
        ({"accuracy": 1.0, "macro_f1": 1.0, "loss": 0.0}, None),  # a classifier may be right
    ],
)  # fmt: skip
def test_a_model_that_sees_what_it_predicts_is_told(figures: dict[str, float], told: str | None) -> None:
    watched = Watched()
    for _ in range(2):
        watched.symptoms.on_validation({f"val_{name}": value for name, value in figures.items()}, None)
    assert [line[: len(told or "")] for _, line in watched.told] == ([] if told is None else [told])


@pytest.mark.parametrize(
    ("ratio", "cause"),
    [
        (0.01, "labels have probably nothing to do with inputs; train with --overfit-one-batch tells more"),
        (1e-6, "updates change next to nothing: the learning rate, now 0.5, is too low so far, or weights"),
    ],
)
def test_a_loss_that_stays_at_the_logarithm_of_the_vocabulary_is_told(ratio: float, cause: str) -> None:
    watched = Watched()
    watched.symptoms.set_model(SimpleNamespace(model=SimpleNamespace(num_classes=100)))  # ln 100 = 4.605
    losses = [4.6] * 24 + [4.4] + [4.65] * 25 + [4.6] * 50
    for loss in losses[:-51]:
        watched.update(ratio, **{"quality/loss": loss})
    assert watched.told == []
    for loss in losses[-51:]:
        watched.update(ratio, **{"quality/loss": loss})
    (line,) = (line for _, line in watched.told)
    assert line.startswith(
        "at update 1,000, the loss has been 4.61, the logarithm of the 100 possible labels, for 500 updates: "
        f"nothing is learnt; {cause}"
    )


def test_what_answers_have_in_common_is_told_when_it_stays() -> None:
    watched = Watched()
    shown = iter([["copies"], [], ["copies", "repeats"], ["repeats"], ["repeats"]])
    watched.symptoms.signs = lambda _: [Sign(name, f"all {name}") for name in next(shown)]
    outcome: Any = SimpleNamespace(sets=[None])
    for _ in range(5):
        watched.state.step += 100
        watched.symptoms.on_validation({}, outcome)
    assert watched.told == [("warning", "at update 400, all repeats")]
    watched.symptoms.signs = lambda _: [Sign("no end", "never ends")]
    for _ in range(5):  # once its cause was told it is none of its own
        watched.update(0.2)
    for _ in range(3):
        watched.symptoms.on_validation({}, outcome)
    assert len(watched.told) == 2 and "learning rate" in watched.told[1][1]


def test_where_a_batch_is_at_hand_the_mask_is_tried() -> None:
    watched = Watched()
    model = LanguageModel(11, num_layers=1, hidden_dim=6, intermediate_dim=7, num_heads=2, seed=3)
    pieces = np.array([[5, 7, 6, 9, 3]])
    watched.symptoms.batch = lambda: ({"target_ids": np.array([[2, 5, 7, 6, 9]])}, pieces)
    watched.symptoms.answering = model
    watched.symptoms.on_validation({"val_perplexity": 1.01, "val_nats_per_token": 0.01}, None)
    assert watched.told[0][1].endswith("there is a causal mask, so dev is probably part of train")
