"""Labelled pictures and sequences as tensors that batches are gathered from."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.data.encoding import EncodedCorpus, IntArray
from tf_transformer.data.labelled import LabelledCorpus, digest
from tf_transformer.data.report import CorpusReport, Finding
from tf_transformer.errors import counted
from tf_transformer.text.labels import Labels


@dataclass(frozen=True)
class EncodedExamples(EncodedCorpus):
    """An encoded corpus whose rows have places with a name.

    Attributes:
        places: Where each row is found: a file, or a row of one.
    """

    places: tuple[str, ...] = ()

    def where(self, rows: Collection[int] | IntArray) -> list[str]:
        """Corpus and place of rows, such as `train: cat/7.png`."""
        return [f"{self.reports[self.corpora[row]].name}: {self.places[row]}" for row in rows]


def encode_examples(
    corpora: Sequence[LabelledCorpus], labels: Labels, max_length: int | None = None
) -> EncodedExamples:
    """Joins corpora into one of tensors.

    Args:
        corpora: All of pictures of one form, or all of sequences with the same features.
        labels: What gives numbers to labels.
        max_length: The most vectors of a sequence; a longer one is cut, and counted in the report.

    Returns:
        Columns `images`, uint8 `[rows, height, width, channels]`, or `vectors`, ragged float32
        `[rows, None, F]`; and `labels`, int32 `[rows]`.
    """
    names = [label for corpus in corpora for label in corpus.labels]
    with tf.device("CPU:0"):  # batches are gathered there, whatever the model runs on
        inputs, lengths = _inputs(corpora, max_length)
        columns = {**inputs, "labels": labels.number(names)}
    sizes = [len(corpus) for corpus in corpora]
    return EncodedExamples(
        columns,
        lengths,
        np.repeat(np.arange(len(corpora)), sizes),
        np.concatenate([corpus.lines for corpus in corpora]),
        tuple(_report(corpus, max_length) for corpus in corpora),
        tuple(place for corpus in corpora for place in corpus.places),
    )


def _inputs(
    corpora: Sequence[LabelledCorpus], max_length: int | None
) -> tuple[dict[str, Any], dict[str, IntArray]]:
    if isinstance(corpora[0].inputs, np.ndarray):
        parts = [corpus.inputs for corpus in corpora]
        # Pictures may be most of what memory holds: one corpus is not copied on the way.
        return {"images": tf.constant(np.concatenate(parts) if len(parts) > 1 else parts[0])}, {}
    sequences = [sequence[:max_length] for corpus in corpora for sequence in corpus.inputs]
    sizes = np.array([len(sequence) for sequence in sequences], np.int64)
    values = tf.constant(np.concatenate(sequences))
    return {"vectors": tf.RaggedTensor.from_row_lengths(values, sizes)}, {"vectors": sizes}


def _report(corpus: LabelledCorpus, max_length: int | None) -> CorpusReport:
    if max_length is None:
        return corpus.report
    pairs = zip(corpus.lines.tolist(), corpus.inputs, strict=True)
    cut = [line for line, sequence in pairs if len(sequence) > max_length]
    return corpus.report.extended(noted={f"cut to {max_length} vectors": Finding.at(cut)})


def shared_examples(train: Sequence[LabelledCorpus], other: LabelledCorpus) -> Iterator[str]:
    """A line that tells how many examples of a dev or test set are in the training data too, if any are."""
    known = {digest(example) for corpus in train for example in corpus.inputs}
    shared = [
        place for place, example in zip(other.places, other.inputs, strict=True) if digest(example) in known
    ]
    if shared:
        more = ", …" if len(shared) > 3 else ""
        yield (
            f"  noted: in train too: {counted(len(shared), 'example')} of {len(other):,} "
            f"({', '.join(shared[:3])}{more})"
        )
