"""What counts as the same answer of a signature, and how another one is told."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.errors import ExportError
from tf_transformer.tasks.signature_trial import call_as_in_memory

TEXTS = [f"t{number}" for number in range(16)]


class Served(tf.Module):
    """Says how often, and by what weights."""

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.string, "text"), tf.TensorSpec([None], tf.int32, "n")]
    )
    def times(self, text: tf.Tensor, n: tf.Tensor) -> dict[str, tf.Tensor]:
        weights = tf.cast(n, tf.float32)[:, None] * tf.constant([1.0, 2.0])
        return {"said": tf.strings.join([text, tf.strings.as_string(n)]), "weights": weights}


def answer(**other: Any) -> dict[str, Any]:
    said = [f"{text}{number}" for number, text in enumerate(TEXTS)]
    weights = [[float(number), 2.0 * number] for number in range(16)]
    for row in other.get("said", ()):
        said[row] = "else"
    for row in other.get("weights", ()):
        weights[row] = [7.1, 7.2]
    return {"said": said, "weights": weights}


def call(may_differ: float = 0.0) -> Any:
    return call_as_in_memory(Served(), "times", {"text": TEXTS, "n": list(range(16))}, may_differ)


def test_the_same_answer() -> None:
    found = call()
    assert (found.signature, len(found.batches)) == ("times", 1)
    found.check(found.batches[0], answer())
    rounded = answer()
    rounded["weights"] = (np.array(rounded["weights"]) + 1e-4).tolist()
    found.check(found.batches[0], rounded)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"said": [3]}, r"said of times for 't3' is t33 in the run and else in the export"),
        ({"weights": [2]}, r"weights of times for 't2' is \[2\.0, 4\.0\] in the run and \[7\.1, 7\.2\] in"),
    ],
)
def test_another_answer_is_told(other: dict[str, list[int]], message: str) -> None:
    found = call()
    with pytest.raises(ExportError, match=f"answers differently, so it was not kept: {message}"):
        found.check(found.batches[0], answer(**other))


def test_a_share_may_differ() -> None:
    found = call(1 / 8)
    found.check(found.batches[0], answer(said=[3, 5], weights=[5]))
    with pytest.raises(ExportError, match="'t3'"):
        found.check(found.batches[0], answer(said=[3, 5], weights=[6]))


def test_another_number_of_weights_is_another_answer() -> None:
    found, longer = call(), answer()
    longer["weights"][4] = [4.0, 8.0, 0.0]
    with pytest.raises(ExportError, match="'t4'"):
        found.check(found.batches[0], longer)
