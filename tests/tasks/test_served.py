"""The signatures of a served translator: names, shapes, types, and the answers of the task itself."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.models import Transformer
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


@pytest.fixture(scope="module")
def real(words: Preprocessor) -> ServedTranslator:
    sizes = {"num_layers": 1, "hidden_dim": 8, "intermediate_dim": 12, "num_heads": 2}
    model = Transformer(words.target_vocabulary_size, seed=4, **sizes)
    return ServedTranslator(Translator(model, words, beam_size=2, max_length_margin=3))


LINES = ["a b", "", "c d e"]


def plain(texts: Any) -> list[str]:
    return [text.decode() for text in texts.numpy().tolist()]


def test_options_are_each_text_s_own(real: ServedTranslator) -> None:
    def search(lines: list[str], rows: slice) -> list[str]:
        values = {
            "prefix": tf.constant(["p", "o", ""][rows]),
            "min_length": tf.constant([-1, 3, 4][rows]),
            "max_length": tf.constant([2, 5, -1][rows]),
            "length_penalty": tf.constant([0.0, 1.0, 2.0][rows]),
            "repetition_penalty": tf.constant([1.0, 1.0, 2.0][rows]),
        }
        return plain(real.search(tf.constant(lines), **values)["text"])

    task = real.task
    own = {"max_length_factor": 0.0, "max_length_margin": 2, "length_penalty": 0.0}
    other = {"min_length_margin": 4, "length_penalty": 2.0, "repetition_penalty": 2.0}
    expected = [*task.translate(["a b"], prefix="p", **own), "", *task.translate(["c d e"], **other)]
    assert search(LINES, slice(3)) == expected
    assert [search(LINES[row : row + 1], slice(row, row + 1))[0] for row in range(3)] == expected
    answers = real.prefix(tf.constant(LINES), tf.constant(["p", "o", "n m"]))
    assert plain(answers["text"]) == task.translate(LINES, prefix=["p", "o", "n m"])


def test_draws_are_those_of_the_task(real: ServedTranslator) -> None:
    one, none = tf.ones([3]), tf.zeros([3], tf.int32)
    drawn = real.sample(tf.constant(LINES), none + 7, one, none, one)
    assert plain(drawn["text"]) == real.task.translate(LINES, sample=True, seed=7)
    cold = real.sample(tf.constant(LINES), none, one * 0.0, none, one)
    assert plain(cold["text"]) == real.task.translate(LINES, beam_size=1)


def test_scores_and_attention_are_those_of_the_task(real: ServedTranslator) -> None:
    targets = ["b", "a c", "d e f"]
    found, expected = real.score(tf.constant(LINES), tf.constant(targets)), real.task.score(LINES, targets)
    np.testing.assert_allclose(found["log_probability"], [one.log_probability for one in expected], rtol=1e-4)
    np.testing.assert_allclose(found["score"], [one.score for one in expected], rtol=1e-4)
    assert plain(found["pieces"][1]) == ["a", "c", ""]
    np.testing.assert_allclose(
        found["log_probabilities"][1, :3], expected[1].details.log_probabilities, rtol=1e-4
    )
    assert not found["log_probabilities"][1, 3:].numpy().any()
    seen = real.attention(tf.constant(LINES))
    for row, (one,) in enumerate(real.task.n_best(LINES, 1, details=True)):
        details = one.details
        assert plain(seen["text"])[row] == one.text
        assert plain(seen["pieces"][row])[: len(details.pieces)] == list(details.pieces)
        assert plain(seen["source_pieces"][row])[: len(details.source_pieces)] == list(details.source_pieces)
        shape = np.shape(details.attention)
        found = seen["attention"][row, : shape[0], : shape[1]]
        np.testing.assert_allclose(found, details.attention, rtol=1e-4, atol=1e-6)


@pytest.fixture(scope="module")
def short(real: ServedTranslator, words: Preprocessor) -> ServedTranslator:
    """Reads 5 pieces, so that no answer has more than 2 * 5 + 3 pieces, and none that is given over 4 * 5."""
    options = {"beam_size": 2, "max_length_margin": 3, "max_source_length": 5}
    return ServedTranslator(Translator(real.task.model, words, **options))


def test_no_request_keeps_a_server_busy_for_ever(short: ServedTranslator) -> None:
    most = 2**31 - 1
    vectors = {
        "prefix": tf.constant([""]),
        "min_length": tf.constant([most]),
        "max_length": tf.constant([most]),
    }
    penalties = {name: tf.ones([1]) for name in ("length_penalty", "repetition_penalty")}
    answer = plain(short.search(tf.constant(["a b"]), **vectors, **penalties)["text"])[0]
    assert short.task.longest_answer == 13 and len(answer.split()) == 13
    explored = short.explore(tf.constant(["a b"]), **vectors, **penalties, prefix_ids=tf.constant(["4"]))
    assert explored["ids"].shape[-1] == 13


@pytest.mark.parametrize("name", ["prefix", "target", "prefix_ids", "target_ids"])
def test_pieces_that_are_given_have_a_bound(short: ServedTranslator, name: str) -> None:
    def ask(count: int) -> None:
        text, line, ids = (
            tf.constant(["a"]),
            tf.constant([" ".join("b" * count)]),
            tf.constant([" ".join("5" * count)]),
        )
        ones, none, empty = tf.ones([1]), tf.zeros([1], tf.int32), tf.constant([""])
        calls = {
            "prefix": lambda: short.prefix(text, line),
            "target": lambda: short.score(text, line),
            "prefix_ids": lambda: short.explore(text, empty, none - 1, none - 1, ones, ones, ids),
            "target_ids": lambda: short.inspect(text, empty, ids, none),
        }
        calls[name]()

    ask(20)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=rf"`{name}` must have at most 20 pieces. Received:\] \[21\]"
    ):
        ask(21)


def ops_of(function: Any) -> set[str]:
    """The operations of a graph and of all that it calls."""
    graph = function.get_concrete_function().graph.as_graph_def()
    functions = {one.signature.name for one in graph.library.function}
    nodes = [*graph.node, *(node for one in graph.library.function for node in one.node_def)]
    return {node.op for node in nodes} - functions


def test_ids_need_nothing_but_core_tensorflow(echo: Any) -> None:
    text = ["abcdefghijklmnop"]
    pieces = Preprocessor.train(
        text, text, tokenizer="sentencepiece", vocabulary_size=30, byte_fallback=False
    )
    model = echo()
    model.source_vocabulary_size = model.target_vocabulary_size = pieces.target_vocabulary_size
    served = ServedTranslator(Translator(model, pieces, beam_size=3))
    custom = set(pieces.custom_ops)
    assert custom & ops_of(served.serving_default)
    found = ops_of(served.ids)
    assert not custom & found and not {name for name in found if "Sentencepiece" in name or "String" in name}


def test_ids_in_and_ids_out(served: ServedTranslator, real: ServedTranslator) -> None:
    # Two pieces and the end; nothing but the end; more than the five that are read, cut as texts are.
    source_ids = tf.constant([[5, 6, 3, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0, 0], [7, 8, 9, 10, 11, 12, 3]])
    found = served.ids(source_ids)
    assert found["ids"].numpy().tolist() == [[5, 6, 0, 0], [0, 0, 0, 0], [7, 8, 9, 10]]
    assert {name: value.shape.rank for name, value in found.items()} == {
        "ids": 2,
        "score": 1,
        "log_probability": 1,
    }
    task = real.task
    by_ids = real.ids(task.source_ids(tf.constant(LINES)).to_tensor())
    by_text = real.serving_default(tf.constant(LINES))
    assert plain(task.preprocessor.decode_target(by_ids["ids"])) == plain(by_text["text"])
    np.testing.assert_allclose(by_ids["score"], by_text["score"], rtol=1e-5)
