"""Models whose answers are made up, for the page: what it shows can be said beforehand."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import tensorflow as tf
from toy_server import NUMBERS, TEXT, Function

from tf_transformer.manifest import Manifest

FLOATS = tf.TensorSpec([None, None], tf.float32)
TEXTS = tf.TensorSpec([None, None], tf.string)
SHARES = tf.TensorSpec([None], tf.float32)
PIECES = {4: "ein", 5: "hund", 6: "katze", 3: "</s>"}
SOURCE = ["a", "dog", "</s>"]
LIKELY = {4: 0.5, 5: 0.3, 6: 0.15, 3: 0.05}
"""How likely each piece is at any place."""


def hypotheses(text: Any) -> Any:
    pairs = [[word.upper(), b"<b>" + word] for word in text.numpy().tolist()]
    return {"text": tf.constant(pairs, tf.string), "score": tf.constant([[-0.25, -1.5]] * len(pairs))}


def with_tag(text: Any, tag: Any) -> Any:
    return hypotheses(text=tf.strings.join([tag, text], ":"))


def labels(image: Any) -> Any:
    count = int(tf.size(image))
    return {
        "label": tf.fill([count], b"cat"),
        "labels": tf.constant([[b"dog", b"cat"]] * count),
        "probabilities": tf.constant([[0.25, 0.75]] * count),
    }


def relevance(image: Any) -> Any:
    return {"relevance": tf.constant([[[0.5, 0.25], [0.25, 0.0]]] * int(tf.size(image)))}


def nothing(**_: Any) -> Any:
    return {}


def drawn(text: Any, **_: Any) -> Any:
    return {name: tf.constant([value]) for name, value in (("text", "hund"), ("score", -3.0))}


def numbers(ids: bytes) -> list[int]:
    return [int(number) for number in ids.split() if int(number) > 3]


class Translation:
    """Its beam has two answers, or one that begins as it is told; each piece looks where the layer says.

    Attributes:
        explored: What it was asked for, beside the text.
        layers: The layers that it was asked for.
    """

    def __init__(self) -> None:
        self.explored: list[dict[str, Any]] = []
        self.layers: list[int] = []

    def explore(self, text: Any, **given: Any) -> Any:
        self.explored.append({name: value.numpy().tolist()[0] for name, value in given.items()})
        begun = numbers(self.explored[-1]["prefix_ids"])
        if begun:
            ids, scores = [begun, [0] * len(begun)], [-2.0, -math.inf]
        else:
            ids, scores = [[4, 5], [4, 0]], [-0.25, -1.5]
        texts = [" ".join(PIECES[number] for number in row if number) for row in ids]
        return {"text": tf.constant([texts]), "score": tf.constant([scores]), "ids": tf.constant([ids])}

    def inspect(self, text: Any, target: Any, target_ids: Any, layer: Any) -> Any:
        known = {name: number for number, name in PIECES.items()}
        ids = numbers(target_ids.numpy()[0])
        ids += [known.get(word.decode(), 5) for word in target.numpy()[0].split()]
        self.layers.append(int(layer[0]))
        size = len(ids) + 1
        likely = np.array([list(LIKELY.values())] * size, np.float32)
        return {
            "text": tf.constant([" ".join(PIECES[number] for number in ids)]),
            "score": tf.constant([-4.0]),
            "ids": tf.constant([[*ids, 3]]),
            "pieces": tf.constant([[PIECES[number] for number in [*ids, 3]]]),
            "source_pieces": tf.constant([SOURCE]),
            "log_probabilities": tf.constant([[math.log(LIKELY[number]) for number in ids] + [0.0]]),
            "alternatives": tf.constant([[list(PIECES.values())] * size]),
            "alternative_ids": tf.constant([[list(PIECES)] * size]),
            "alternative_log_probabilities": tf.constant(np.log(likely)[None]),
            "cross": self._looks(size, 3),
            "encoder": self._looks(3, 3),
            "decoder": self._looks(size, size),
            "num_layers": tf.constant([[3, 2]]),
        }

    def _looks(self, rows: int, columns: int) -> Any:
        """One head looks at one place, `layer` places on; the other one everywhere."""
        places = (np.arange(rows) + self.layers[-1]) % columns
        heads = [np.eye(columns)[places], np.full((rows, columns), 1 / columns)]
        return tf.constant(np.array([heads], np.float32))

    def signatures(self) -> dict[str, Function]:
        options = {"prefix": TEXT, "min_length": NUMBERS, "max_length": NUMBERS}
        options |= {"length_penalty": SHARES, "repetition_penalty": SHARES, "prefix_ids": TEXT}
        drawing = {"text": TEXT, "seed": NUMBERS, "temperature": SHARES, "top_k": NUMBERS, "top_p": SHARES}
        found = {"text": TEXT, "score": SHARES}
        reading = {"text": TEXT, "target": TEXT, "target_ids": TEXT, "layer": NUMBERS}
        return {
            "n_best": Function({"text": TEXT}, {"text": TEXTS, "score": FLOATS}, hypotheses),
            "explore": Function({"text": TEXT, **options}, {"text": TEXTS, "score": FLOATS}, self.explore),
            "inspect": Function(reading, {"pieces": TEXTS}, self.inspect),
            "sample": Function(drawing, found, drawn),
        }


def loaded(signatures: dict[str, Function], task: str = "translate", **facts: Any) -> Any:
    """Loads these signatures, whatever the folder."""
    manifest = Manifest(task=task, signatures=(), verification={}, **facts)
    return lambda _: SimpleNamespace(manifest=manifest, signatures=signatures)
