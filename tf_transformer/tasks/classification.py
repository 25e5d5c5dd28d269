"""What tasks that give an example one of some labels share, whatever the example is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.errors import ExportError
from tf_transformer.tasks.task import Call, Inputs, Trial

TOLERANCE = 1e-4
"""Probabilities of another batch differ by float32 rounding."""


@dataclass(frozen=True)
class Answer:
    """The answer to one example.

    Args:
        label: The most probable label; empty where there was nothing to answer to, a text without a word say.
        probability: Its probability; 0 where there is no label.
        probabilities: Those of all labels, in their order; all 0 where there is none.
    """

    label: str
    probability: float
    probabilities: tuple[float, ...]


def answers_of(probabilities: np.ndarray[Any, Any], labels: Sequence[str]) -> list[Answer]:
    """Answers from probabilities `[N, C]`; a row of zeros is an example without an answer."""
    answers = []
    for row in probabilities:
        best = int(row.argmax())
        label = labels[best] if row[best] > 0 else ""
        answers.append(Answer(label, float(row[best]), tuple(row.tolist())))
    return answers


def answered(logits: tf.Tensor, answerable: tf.Tensor, labels: Sequence[str]) -> dict[str, tf.Tensor]:
    """What a SavedModel answers.

    Args:
        logits: Float32 `[B, C]`.
        answerable: Boolean `[B]`, where there is something to answer to.
        labels: The C labels.

    Returns:
        `label`, string `[B]`, empty where there is no answer; `probabilities`, float32 `[B, C]`, zeros there;
        `labels`, string `[B, C]`, what each probability is of, in every row, so that a server may part rows.
    """
    names = tf.constant(list(labels))
    best = tf.gather(names, tf.argmax(logits, axis=-1))
    probabilities = tf.where(answerable[:, None], tf.nn.softmax(logits), 0.0)
    return {
        "label": tf.where(answerable, best, ""),
        "probabilities": probabilities,
        "labels": tf.tile(names[None], [tf.shape(logits)[0], 1]),
    }


def classification_trial(name: str, examples: Sequence[Any], expected: Sequence[Answer]) -> Trial:
    """How a SavedModel of a classifier is tried, in batches of one and of all.

    Args:
        name: The argument of its signature.
        examples: What it is tried on.
        expected: The answers of the task in memory.
    """
    answers = dict(zip(examples, expected, strict=True))
    alone = examples[: len(examples) : max(1, len(examples) // 4)]

    def check(inputs: Inputs, found: Mapping[str, Any]) -> None:
        rows = zip(inputs[name], found["label"], found["probabilities"], strict=True)
        for example, label, probabilities in rows:
            compare_answers(example, answers[example], label, probabilities)

    batches = [{name: list(examples)}, *({name: [example]} for example in alone)]
    return Trial([Call("serving_default", batches, check)], {"examples": len(examples), "alone": len(alone)})


def compare_answers(example: Any, expected: Answer, label: str, probabilities: Sequence[float]) -> None:
    """Refuses an export's answer whose probabilities are not the task's, or whose label they do not allow.

    Args:
        example: What was answered, for a message.
        expected: The task's answer.
        label: The export's.
        probabilities: The export's.

    Raises:
        ExportError: Then; names the example and both answers.
    """
    close = np.allclose(probabilities, expected.probabilities, rtol=0, atol=TOLERANCE)
    second, first = sorted(expected.probabilities)[-2:]
    tie = expected.label and label and first - second <= TOLERANCE  # either may be the label
    if not close or (label != expected.label and not tie):
        shown = repr(example)
        raise ExportError(
            f"the exported model answers differently, so it was not kept: "
            f"{shown if len(shown) <= 60 else shown[:60] + '…'} gives {expected.label!r} "
            f"({expected.probability:.4f}) in the run and {label!r} ({max(probabilities):.4f}) in the export"
        )
