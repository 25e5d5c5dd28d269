"""A text as a model looks at it: the inputs, and the token that stands at each position."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tf_transformer.build.looking import pair_seen, prompt_seen, text_seen
from tf_transformer.presets import END_ID


@dataclass(frozen=True)
class Looked:
    """One text, ready to be looked at.

    Args:
        inputs: What the model's ``attention`` takes, a batch of one.
        sides: For each kind of attention the tokens that look, and those that are looked at.
        answer: The text that answers it, where there is one.
    """

    inputs: Any
    sides: Mapping[str, tuple[Sequence[str], Sequence[str]]]
    answer: str | None = None


def look(task: Any, text: str, answer: str | None = None) -> Looked:
    """What a trained task makes of a text.

    Args:
        task: A translator, a classifier of text, or a generator.
        text: As ``predict`` takes it.
        answer: The translation that is looked at; by default the task's own.
    """
    return _LOOKS[task.TASK](task, text, answer)


def _translation(task: Any, text: str, answer: str | None) -> Looked:
    answer = task.translate([text])[0] if answer is None else answer
    pieces = task.side.encode_target([answer])
    if task.model.max_length is not None:  # an answer that was given may be longer than any of the model's
        pieces = pieces[:, : task.model.max_length - 1]
    return Looked(*pair_seen(task.side, task.encode([text]), pieces), answer)


def _classification(task: Any, text: str, answer: str | None) -> Looked:
    ids = task.side.encode_text(task.normalize([text]))[:, : task.max_length]
    return Looked(*text_seen(task.side, ids), task.answers([text])[0].label)


def _generation(task: Any, text: str, answer: str | None) -> Looked:
    ids = task.side.encode_prompt([text])[:, : task.window - 1]
    # The last piece is read, too, and not only predicted.
    return Looked(*prompt_seen(task.side, tf.concat([ids, tf.ragged.constant([[END_ID]], tf.int32)], axis=1)))


_LOOKS: dict[str, Callable[[Any, str, str | None], Looked]] = {
    "translate": _translation,
    "classify_text": _classification,
    "generate": _generation,
}
