"""The signatures of a served translator: names, shapes, types, and the answers of the task itself."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.tasks.served import ServedTranslator
from tf_transformer.tasks.translate import Translator
from tf_transformer.text import Preprocessor


@pytest.fixture(scope="module")
def served(echo: Any, words: Preprocessor) -> ServedTranslator:
    return ServedTranslator(Translator(echo(), words, beam_size=3, max_source_length=5))


TEXTS = ["a b c", "", "d", "e f g h i j", "p \t o"]


def test_the_default_signature_gives_one_answer_a_text(served: ServedTranslator) -> None:
    outputs = served.serving_default(tf.constant(TEXTS))
    assert {name: (value.dtype, value.shape.rank) for name, value in outputs.items()} == {
        "text": (tf.string, 1),
        "score": (tf.float32, 1),
        "log_probability": (tf.float32, 1),
    }
    expected = [hypotheses[0] for hypotheses in served.task.n_best(TEXTS, 1)]
    assert [text.decode() for text in outputs["text"].numpy()] == ["a b c", "", "d", "e f g h", "p o"]
    np.testing.assert_allclose(outputs["score"], [h.score for h in expected], rtol=1e-5)
    np.testing.assert_allclose(outputs["log_probability"], [h.log_probability for h in expected], rtol=1e-5)


def test_n_best_gives_the_whole_beam(served: ServedTranslator) -> None:
    outputs = served.n_best(tf.constant(TEXTS))
    assert {name: tuple(value.shape) for name, value in outputs.items()} == {"text": (5, 3), "score": (5, 3)}
    expected = served.task.n_best(TEXTS)
    texts = [[text.decode() for text in row] for row in outputs["text"].numpy()]
    assert texts == [[hypothesis.text for hypothesis in hypotheses] for hypotheses in expected]
    scores = [[hypothesis.score for hypothesis in hypotheses] for hypotheses in expected]
    np.testing.assert_allclose(outputs["score"], scores, rtol=1e-5)
    assert (np.diff(outputs["score"].numpy(), axis=1) <= 0).all()


def test_empty_texts_are_left_out_of_the_search(endless: Any, words: Preprocessor) -> None:
    class Watching(endless):  # type: ignore[misc]
        def logits(self, ids: tf.Tensor, source: tf.Tensor, time: tf.Tensor) -> tf.Tensor:
            with tf.control_dependencies([tf.debugging.assert_equal(tf.shape(ids)[0], 1)]):
                return super().logits(ids, source, time)

    watched = ServedTranslator(Translator(Watching(), words, beam_size=2, max_length_margin=1))
    for signature in (watched.serving_default, watched.n_best):
        texts = np.reshape(signature(tf.constant(["", "b", " \t", ""]))["text"], (4, -1))
        assert (texts[[0, 2, 3]] == b"").all() and (texts[1] != b"").all()
        assert (signature(tf.constant(["", " "]))["text"].numpy() == b"").all()
        with pytest.raises(tf.errors.InvalidArgumentError):
            signature(tf.constant(["b", "b"]))  # the watch is awake


def test_no_text_at_all_is_a_batch_too(served: ServedTranslator) -> None:
    outputs = served.serving_default(tf.constant([], tf.string))
    assert outputs["text"].shape == (0,) and outputs["score"].shape == (0,)


def test_both_signatures_take_any_number_of_texts_called_text(served: ServedTranslator) -> None:
    for signature in (served.serving_default, served.n_best):
        (spec,) = signature.input_signature
        assert (spec.name, spec.dtype, spec.shape.as_list()) == ("text", tf.string, [None])
