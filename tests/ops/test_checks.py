"""Checks of ids, shapes and weights: what passes, what is refused, and that a graph is left alone."""

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.ops.checks import check_ids, check_same_sizes, token_weights


@pytest.mark.parametrize("ids", [[[0, 4], [1, 2]], [[0.0, 4.0]], [[]]])
def test_ids_of_the_vocabulary_pass(ids: list[list[float]]) -> None:
    check_ids("ids", np.array(ids), 5)
    check_ids("ids", tf.constant(ids), 5)


@pytest.mark.parametrize("wrong", [-1, 5, 1.5])
def test_others_are_named(wrong: float) -> None:
    message = rf"^`ids` must be whole .* below the size of the vocabulary, 5\. Received: {wrong}$"
    with pytest.raises(ValueError, match=message):
        check_ids("ids", np.array([2, wrong, 3]), 5)
    check_ids("ids", np.array([2, wrong, 3]), 5, ignore_id=wrong)  # type: ignore[arg-type]
    check_ids("ids", np.array([2, wrong, 3]), None)


def test_nothing_is_known_in_a_graph() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def passes(ids: tf.Tensor) -> tf.Tensor:
        check_ids("ids", ids, 5)
        check_same_sizes("These", ids.shape, (3,))
        return ids

    assert passes([-1]).numpy() == [-1]


@pytest.mark.parametrize(
    ("first", "second"), [((2, 3), (2, 3)), ((None, 3), (2, 3)), ((2, None), (None, 5)), ((), ())]
)
def test_sizes_that_may_be_the_same(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    check_same_sizes("These", first, second)
    check_same_sizes("These", tf.TensorShape(first), tf.TensorShape(second))
    check_same_sizes("These", first, tf.TensorShape(None))


@pytest.mark.parametrize(("first", "second"), [((2, 3), (2, 1)), ((None, 3), (2, 5)), ((2, 3), (2,))])
def test_sizes_that_differ(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"^These must have the same sizes\. Received: \(.*\) and \(.*\)$"):
        check_same_sizes("These", first, second)


def test_weights_of_sentences_and_of_tokens() -> None:
    labels = np.zeros((2, 3), "int32")
    assert np.array_equal(token_weights([5, 7], labels), [[5.0], [7.0]])
    assert np.array_equal(token_weights([[5], [7]], labels), [[5.0], [7.0]])
    assert np.array_equal(token_weights(np.arange(6).reshape(2, 3), labels), [[0, 1, 2], [3, 4, 5]])
    assert float(token_weights(3, labels)) == 3.0
    assert token_weights([3.0], np.zeros((1, 3))).shape == (1, 1)


def test_weights_of_unknown_sizes() -> None:
    spec = [tf.TensorSpec([None]), tf.TensorSpec([None, None])]
    weights = tf.function(token_weights, input_signature=spec)
    assert np.array_equal(weights([5.0, 7.0], np.zeros((2, 3))), [[5.0], [7.0]])


@pytest.mark.parametrize("shape", [(3,), (1,), (1, 3), (2, 2), (2, 3, 1)])
def test_other_weights(shape: tuple[int, ...]) -> None:
    message = r"^`sample_weight` must be one weight a token or one a sentence: .*\(2, 3\), .*shape \("
    with pytest.raises(ValueError, match=message):
        token_weights(np.ones(shape), np.zeros((2, 3)))
