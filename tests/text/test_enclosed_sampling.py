"""Sampled pieces between a start and an end, special tokens in their places."""

import numpy as np
import pytest

from tf_transformer.errors import TextError
from tf_transformer.text import ClassificationPreprocessor, MarkingNormalizer, Normalizer

TEXTS = ["one <e1>two</e1> three", "<e1>one</e1>", "", "three two one two"]


def side(normalizer: Normalizer, kind: str = "sentencepiece") -> ClassificationPreprocessor:
    options = {"model_type": "bpe", "byte_fallback": False} if kind == "sentencepiece" else {}
    texts, labels = TEXTS * 9, ["a", "b", "a", "b"] * 9
    return ClassificationPreprocessor.train(texts, labels, kind, 30, normalizer=normalizer, **options)


def rows(values: np.ndarray, sizes: np.ndarray) -> list[list[int]]:
    return [part.tolist() for part in np.split(values, np.cumsum(sizes)[:-1])]


@pytest.mark.parametrize(
    "normalizer", [Normalizer(), MarkingNormalizer(["<e1>", "</e1>"])], ids=["plain", "marked"]
)
def test_without_dropout_it_is_the_usual_segmentation(normalizer: Normalizer) -> None:
    made = side(normalizer)
    texts = normalizer.normalize_texts(TEXTS)
    values, sizes = made.sampler(texts, 0.0)([1])
    assert values.dtype == np.int32
    assert rows(values, sizes) == made.encode_text(texts).to_list()


def test_special_tokens_stay_where_they_are() -> None:
    made = side(MarkingNormalizer(["<e1>", "</e1>"]))
    texts = made.normalizer.normalize_texts(TEXTS)
    sampler = made.sampler(texts, 0.9)
    usual, drawn = made.encode_text(texts).to_list(), rows(*sampler([7]))
    assert drawn != usual and rows(*sampler([7])) == drawn != rows(*sampler([8]))

    def spelled(ids: list[int]) -> str:
        return "".join(made.tokens[number] for number in ids)

    assert [spelled(row) for row in drawn] == [spelled(row) for row in usual]


def test_only_sentencepiece_can_be_sampled_from() -> None:
    with pytest.raises(TextError, match=r"only sentencepiece can be sampled from\. Received: words"):
        side(Normalizer(), "words").sampler(["a"], 0.1)
