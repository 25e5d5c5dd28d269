"""The whole dev text each time, by the weights of the moment."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import keras
import pytest
import tensorflow as tf

from tf_transformer.build.data import EvaluationSet
from tf_transformer.callbacks.dev_sets import DevSets
from tf_transformer.callbacks.validation import Sample
from tf_transformer.text import Normalizer

VOCABULARY = 7


class Toy(keras.Model):
    """Believes in one class, as strongly as its weight says."""

    def __init__(self) -> None:
        super().__init__()
        self.logit = self.add_weight(name="logit", shape=(), initializer="zeros")
        self.built = True

    def call(self, inputs: dict[str, tf.Tensor], training: bool = False) -> tf.Tensor:
        return tf.one_hot(tf.fill(tf.shape(inputs["target_ids"]), 4), VOCABULARY) * self.logit


class Task:
    """Answers with the source, once more for each unit of its model's weight."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.preprocessor = SimpleNamespace(normalizer=Normalizer())
        self.asked: list[Any] = []

    def translate(self, texts: Sequence[str], **search: Any) -> list[str]:
        self.asked.append((list(texts), search))
        return [" ".join([text] * (1 + int(self.model.logit.numpy()))) for text in texts]


def dev_set(name: str, sources: list[str], labels: list[list[list[int]]]) -> EvaluationSet:
    batches = []
    for rows in labels:
        ids = tf.constant(rows, tf.int32)
        batches.append(({"source_ids": ids, "target_ids": ids}, ids))
    return EvaluationSet(name, sources, [sources], batches)


SETS = [
    dev_set("one", ["a b c d e", "f g h i", "j k l m n o"], [[[4, 4], [4, 0]], [[5]]]),
    dev_set("two", ["x y z w v"], [[[4, 4, 4]]]),
]


def measure(trained: Any, task: Any, **options: Any) -> DevSets:
    search = {"label_smoothing": 0.0, "tokenize": "13a", "beam": 3, "samples": 2, **options}
    return DevSets(trained, task, SETS, **search)


def test_every_sentence_of_every_set_is_measured_each_time() -> None:
    model = Toy()
    task = Task(model)
    validate = measure(model, task)
    first, again = validate(), validate()
    assert first == again
    assert task.asked == [(list(dev.sources), {"beam_size": 3}) for dev in (*SETS, *SETS)]
    log = pytest.approx(1.9459101)  # every class of 7 is as likely: ln 7
    assert {name: first.figures[name] for name in ("val_loss", "val_two_loss")} == {
        "val_loss": log,
        "val_two_loss": log,
    }
    assert first.figures["val_accuracy"] == 0.0  # of equals, the first class: padding
    assert first.figures["val_bleu"] == first.figures["val_two_bleu"] == pytest.approx(100.0)
    assert set(first.figures) == {
        f"{prefix}{name}"
        for prefix in ("val_", "val_two_")
        for name in ("loss", "perplexity", "accuracy", "bleu", "chrf")
    }


def test_samples_are_the_first_sentences_of_the_first_set() -> None:
    model = Toy()
    samples = measure(model, Task(model))().samples
    assert samples == [Sample(text, text, text) for text in SETS[0].sources[:2]]
    assert measure(model, Task(model), samples=0)().samples == []


def test_another_precision_lends_its_weights_each_time() -> None:
    trained, decoder = Toy(), Toy()
    validate = measure(trained, Task(decoder))
    assert validate().figures["val_accuracy"] == 0.0
    trained.logit.assign(2.0)
    figures = validate().figures
    assert float(decoder.logit.numpy()) == 2.0
    assert figures["val_accuracy"] == pytest.approx(0.75)  # three labels of four are class 4
    assert figures["val_bleu"] < 50.0  # said three times
