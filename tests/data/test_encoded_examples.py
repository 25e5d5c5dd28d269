"""Pictures and sequences as tensors, each row with its place."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tf_transformer.data.encoded_examples import encode_examples, shared_examples
from tf_transformer.data.labelled import LabelledCorpus
from tf_transformer.data.pipeline import RowPlan, training_dataset
from tf_transformer.data.report import CorpusReport
from tf_transformer.text.labels import Labels


def corpus(name: str, inputs: object, labels: str) -> LabelledCorpus:
    lines = np.arange(1, len(labels) + 1)
    places = [f"{name}/{line}.png" for line in lines]
    return LabelledCorpus(
        inputs, list(labels), places, lines, name, (Path(name),), CorpusReport(name, len(labels))
    )


IMAGES = np.arange(30, dtype="uint8").reshape(5, 2, 3, 1)
LABELS = Labels(["a", "b", "c"])


def test_corpora_of_pictures_are_joined() -> None:
    encoded = encode_examples([corpus("one", IMAGES[:2], "ba"), corpus("two", IMAGES[2:], "cab")], LABELS)
    np.testing.assert_array_equal(encoded.columns["images"], IMAGES)
    assert encoded.columns["images"].dtype == "uint8" and encoded.lengths == {}
    assert encoded.columns["labels"].numpy().tolist() == [1, 0, 2, 0, 1]
    assert encoded.corpora.tolist() == [0, 0, 1, 1, 1] and len(encoded) == 5
    assert encoded.where([1, 2]) == ["one: one/2.png", "two: two/1.png"]


def test_sequences_are_cut_and_counted() -> None:
    sequences = [np.ones((size, 2), "float32") * size for size in (3, 1, 5)]
    encoded = encode_examples([corpus("one", sequences, "abc")], LABELS, max_length=3)
    assert encoded.columns["vectors"].shape.as_list() == [3, None, 2]
    assert encoded.lengths["vectors"].tolist() == [3, 1, 3]
    assert encoded.reports[0].to_lines()[1:] == ["  noted: cut to 3 vectors: 1 (line 3)"]


def test_what_train_and_dev_share_is_told() -> None:
    train, dev = corpus("train", IMAGES[:3], "abc"), corpus("dev", IMAGES[2:], "cab")
    assert list(shared_examples([train], dev)) == ["  noted: in train too: 1 example of 3 (dev/1.png)"]
    assert list(shared_examples([], dev)) == []
    assert list(shared_examples([replace(train, inputs=IMAGES[:2], labels=["a", "b"])], dev)) == []


def test_batches_hold_what_belongs_together() -> None:
    encoded = encode_examples([corpus("one", IMAGES, "abcab")], LABELS)
    dataset = training_dataset(encoded, RowPlan(5, 2, seed=1), lambda images, labels: (images, labels))
    seen = [pair for pair, _ in zip(dataset, range(3), strict=False)]
    pictures = np.concatenate([images for images, _ in seen])
    numbers = np.concatenate([labels for _, labels in seen])
    order = [int(np.flatnonzero((picture == IMAGES).all(axis=(1, 2, 3)))[0]) for picture in pictures]
    assert sorted(order) == [0, 1, 2, 3, 4]
    assert numbers.tolist() == [[0, 1, 2, 0, 1][place] for place in order]


def test_what_changes_a_batch_is_told_its_epoch_and_number() -> None:
    encoded, plan = encode_examples([corpus("one", IMAGES, "abcab")], LABELS), RowPlan(5, 2, seed=1)

    def augment(batch: Any, epoch: Any, number: Any) -> Any:
        return {"labels": batch, "epoch": epoch, "number": number}

    def seen(start: tuple[int, int], count: int) -> list[tuple[int, int]]:
        dataset = training_dataset(encoded, plan, lambda images, labels: labels, start, augment=augment)
        return [
            (int(one["epoch"]), int(one["number"])) for one, _ in zip(dataset, range(count), strict=False)
        ]

    places = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    assert seen((0, 0), 5) == places and seen((0, 2), 3) == places[2:]
