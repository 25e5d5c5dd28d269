"""Text and labels to a classifier's inputs."""

import pytest
import tensorflow as tf

from tf_transformer.text import ClassificationPreprocessor, Labels, Normalizer, train_tokenizer


@pytest.fixture(scope="module")
def side() -> ClassificationPreprocessor:
    tokenizer = train_tokenizer("characters", ["abcdefg"], 11)
    return ClassificationPreprocessor(tokenizer, Labels(["no", "yes"]), Normalizer(lowercase=True))


def test_by_hand(side: ClassificationPreprocessor) -> None:
    inputs, labels = side([" aB", "", "x"], ["yes", "no", "maybe"])
    assert inputs["source_ids"].numpy().tolist() == [[2, 4, 5, 3], [2, 3, 0, 0], [2, 1, 3, 0]]
    assert labels.numpy().tolist() == [1, 0, -1]  # a label that is none is none of the others
    assert {inputs["source_ids"].dtype, labels.dtype} == {tf.int32}


def test_padding_to_a_length(side: ClassificationPreprocessor) -> None:
    ids = side.encode_text(["ab"])
    inputs, _ = side.assemble(ids, tf.constant([1]), tf.constant(7))
    assert inputs["source_ids"].numpy().tolist() == [[2, 4, 5, 3, 0, 0, 0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"`text_ids` must fit .*a longer row"):
        side.assemble(ids, tf.constant([1]), tf.constant(3))


def test_ids_outside_the_vocabulary_are_refused(side: ClassificationPreprocessor) -> None:
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"`text_ids` must be at least 0 and below .* 11"
    ):
        side.assemble(tf.ragged.constant([[11]]), tf.constant([0]))


def test_an_empty_text_cannot_be_answered(side: ClassificationPreprocessor) -> None:
    texts = ["", "abc", "\u200b \u3164", "?"]
    assert side.answerable(texts, side.encode_text(texts)).numpy().tolist() == [False, True, False, True]


def test_in_a_pipeline(side: ClassificationPreprocessor) -> None:
    data = tf.data.Dataset.from_tensor_slices((["a", "bc"], ["no", "yes"])).batch(2).map(side)
    ((inputs, labels),) = list(data)
    assert inputs["source_ids"].numpy().tolist() == [[2, 4, 3, 0], [2, 5, 6, 3]]
    assert labels.numpy().tolist() == [0, 1]


def test_what_cannot_be_trained_on() -> None:
    with pytest.raises(ValueError, match=r"`texts` and `labels` must be equally many.*Received: 2 and 1"):
        ClassificationPreprocessor.train(["a", "b"], ["x"])
    with pytest.raises(TypeError, match=r"`labels` must be a Labels. Received: 'ab'"):
        ClassificationPreprocessor(train_tokenizer("bytes", ["a"]), "ab")


@pytest.mark.parametrize(
    ("names", "received"), [(["a"], "'a'"), (["a", "a"], "'a', 'a'"), (["", "b"], "'', 'b'")]
)
def test_what_are_no_labels(names: list[str], received: str) -> None:
    with pytest.raises(
        ValueError, match=f"`names` must be at least two different labels.*Received: {received}"
    ):
        Labels(names)
