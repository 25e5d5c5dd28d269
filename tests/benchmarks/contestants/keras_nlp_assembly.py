"""A model put together from keras_nlp's layers and trained by `fit`, as the public Keras example has it.

Settings: model (SentencePiece), source, target, padded_tokens, precision. As there: sentences padded or cut
to a fixed length, two embeddings with learned positions, a softmax layer of its own, rmsprop, Keras' sparse
cross-entropy without smoothing (which it does not offer) and the accuracy. What differs: ids are made before
the training, padding is left out of the loss, and sizes and dropout are those of the other contestants.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import keras_nlp
import numpy as np
import sentencepiece
import tensorflow as tf
from slices import Slices, settings

LENGTH = 40
LAYERS, WIDTH, INNER, HEADS, DROPOUT = 4, 128, 256, 4, 0.3
START, END = 2, 3

Ids = np.ndarray[Any, np.dtype[np.int32]]


class Watch(keras.callbacks.Callback):
    """Hands each update to the race, with the tokens of its batch; batches come in a fixed order."""

    def __init__(self, tokens: list[dict[str, int]], about: dict[str, Any]) -> None:
        super().__init__()
        self.tokens = tokens
        self.totals: dict[str, float] = dict.fromkeys(tokens[0], 0)
        self.slices = Slices(lambda: dict(self.totals), about)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        for name, count in self.tokens[batch % len(self.tokens)].items():
            self.totals[name] += count
        self.slices.after_update()


def padded(rows: list[list[int]], length: int) -> Ids:
    """Ids in a matrix, cut or filled with zeros."""
    ids = np.zeros((len(rows), length), np.int32)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row[:length]
    return ids


def read(given: dict[str, Any]) -> tuple[Ids, Ids]:
    """The corpus in one random order: source [rows, LENGTH] and target [rows, LENGTH + 1] ids."""
    pieces = sentencepiece.SentencePieceProcessor(model_file=given["model"])
    sides = [Path(given[side]).read_text(encoding="utf-8").split("\n")[:-1] for side in ("source", "target")]
    source, target = (pieces.encode(lines) for lines in sides)
    order = np.random.default_rng(1).permutation(len(source))
    source_ids = padded([[*row, END] for row in source], LENGTH)
    target_ids = padded([[START, *row, END] for row in target], LENGTH + 1)
    return source_ids[order], target_ids[order]


def build(vocabulary_size: int) -> keras.Model:
    """The model of the example in the size of the race."""
    source = keras.Input((None,), dtype="int32", name="source")
    states = keras_nlp.layers.TokenAndPositionEmbedding(vocabulary_size, LENGTH, WIDTH)(source)
    for _ in range(LAYERS):
        states = keras_nlp.layers.TransformerEncoder(INNER, HEADS, dropout=DROPOUT)(states)
    target = keras.Input((None,), dtype="int32", name="target")
    outputs = keras_nlp.layers.TokenAndPositionEmbedding(vocabulary_size, LENGTH, WIDTH)(target)
    for _ in range(LAYERS):
        outputs = keras_nlp.layers.TransformerDecoder(INNER, HEADS, dropout=DROPOUT)(outputs, states)
    outputs = keras.layers.Dense(vocabulary_size, activation="softmax", dtype="float32")(outputs)
    model = keras.Model([source, target], outputs)
    loss = keras.losses.SparseCategoricalCrossentropy(ignore_class=0)
    model.compile("rmsprop", loss=loss, metrics=["accuracy"])
    return model


def token_counts(source_ids: Ids, labels: Ids, rows: int) -> Iterator[dict[str, int]]:
    """Real tokens and positions of each full batch."""
    for start in range(0, len(labels) - rows + 1, rows):
        source, target = source_ids[start : start + rows], labels[start : start + rows]
        yield {
            "target_tokens": int(np.count_nonzero(target)),
            "source_tokens": int(np.count_nonzero(source)),
            "target_positions": target.size,
            "source_positions": source.size,
        }


def main() -> None:
    """Trains until the race is over."""
    given = settings()
    keras.mixed_precision.set_dtype_policy(given["precision"])
    source_ids, target_ids = read(given)
    inputs = {"source": source_ids, "target": target_ids[:, :-1]}
    labels, rows = target_ids[:, 1:], given["padded_tokens"] // LENGTH
    data = tf.data.Dataset.from_tensor_slices((inputs, labels))
    data = data.batch(rows, drop_remainder=True).repeat().prefetch(16)
    vocabulary_size = sentencepiece.SentencePieceProcessor(model_file=given["model"]).get_piece_size()
    tokens = list(token_counts(source_ids, labels, rows))
    watch = Watch(tokens, {"precision": given["precision"]})
    build(vocabulary_size).fit(data, epochs=1, verbose=0, shuffle=False, callbacks=[watch])


if __name__ == "__main__":
    main()
