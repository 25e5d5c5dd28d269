"""The signatures that show what a translator does: its pieces, what else was likely, and its attention."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.models import Transformer
from tf_transformer.tasks.inspection import ALTERNATIVES
from tf_transformer.tasks.served import ServedTranslator
from tf_transformer.tasks.translate import Translator
from tf_transformer.text import Preprocessor

LINES = ["a b", "", "c d e"]
ANSWERS = ["b", "p a", "a c"]
OWN = {"min_length": -1, "max_length": -1, "length_penalty": -1.0, "repetition_penalty": -1.0}


@pytest.fixture(scope="module")
def served(words: Preprocessor) -> ServedTranslator:
    sizes = {
        "num_layers": 3,
        "decoder_num_layers": 2,
        "hidden_dim": 8,
        "intermediate_dim": 11,
        "num_heads": 2,
    }
    model = Transformer(words.target_vocabulary_size, seed=4, **sizes)
    return ServedTranslator(Translator(model, words, beam_size=3, max_length_margin=3, length_penalty=0.7))


def plain(texts: Any) -> Any:
    return [plain(text) if isinstance(text, list) else text.decode() for text in texts]


def explore(served: ServedTranslator, lines: list[str], ids: list[str], **options: Any) -> Any:
    values = {name: options.pop(name, value) for name, value in OWN.items()}
    prefix = options.pop("prefix", [""] * len(lines))
    types = {name: tf.int32 if isinstance(value, int) else tf.float32 for name, value in OWN.items()}
    vectors = {name: tf.fill([len(lines)], tf.cast(value, types[name])) for name, value in values.items()}
    return served.explore(
        tf.constant(lines), prefix=tf.constant(prefix), prefix_ids=tf.constant(ids), **vectors
    )


def test_the_beam_is_that_of_the_task(served: ServedTranslator) -> None:
    found, expected = explore(served, LINES, [""] * 3), served.task.n_best(LINES)
    assert plain(found["text"].numpy().tolist()) == [[one.text for one in row] for row in expected]
    np.testing.assert_allclose(found["score"], [[one.score for one in row] for row in expected], rtol=1e-4)
    ids = tf.reshape(found["ids"], [9, -1])
    again = served.task.preprocessor.decode_target(ids)
    assert plain(again.numpy().tolist()) == [one.text for row in expected for one in row]


def test_options_are_taken_where_they_are_given(served: ServedTranslator) -> None:
    given = {"min_length": 4, "max_length": 5, "length_penalty": 0.0, "repetition_penalty": 3.0}
    own = {"min_length_margin": 4, "max_length_margin": 5, "max_length_factor": 0.0}
    own |= {"length_penalty": 0.0, "repetition_penalty": 3.0}
    found = explore(served, ["a b"], [""], **given)["text"].numpy().tolist()
    assert plain(found) == [[one.text for one in served.task.n_best(["a b"], **own)[0]]]


def test_answers_begin_with_pieces_and_then_with_text(served: ServedTranslator) -> None:
    size = served.task.preprocessor.target_vocabulary_size
    found = explore(served, LINES, ["1 9", " 5", str(size - 1)], prefix=["a", "b", ""])
    ids = found["ids"].numpy()
    assert (ids[0, :, :3] == [1, 9, 4]).all()  # the unknown piece, which no text could give, and "a"
    assert (ids[1] == 0).all()  # nothing is there to translate
    assert (ids[2, :, 0] == size - 1).all()


@pytest.mark.parametrize("wrong", [20, -1, 2**31 - 1])
def test_what_is_no_piece_is_refused(served: ServedTranslator, wrong: int) -> None:
    rule = rf"must be numbers of pieces, below 20. Received:\] \[5 {wrong} 6\]"
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"`prefix_ids` {rule}"):
        explore(served, ["a"], [f"5 {wrong} 6"])
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"`target_ids` {rule}"):
        inspect(served, ["a"], [f"5 {wrong} 6"], [""])


@pytest.mark.parametrize("wrong", ["a", "1.5", "99999999999"])
def test_what_is_no_number_is_refused(served: ServedTranslator, wrong: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"could not correctly convert string: {wrong}"):
        inspect(served, ["a"], [f"5 {wrong}"], [""])


def inspect(
    served: ServedTranslator, lines: list[str], ids: list[str], targets: list[str], layer: int = 0
) -> Any:
    found = served.inspect(
        tf.constant(lines),
        target=tf.constant(targets),
        target_ids=tf.constant(ids),
        layer=tf.fill([len(lines)], layer),
    )
    return {name: value.numpy() for name, value in found.items()}


def test_an_answer_is_read_as_it_is_scored(served: ServedTranslator) -> None:
    found, expected = inspect(served, LINES, [""] * 3, ANSWERS), served.task.score(LINES, ANSWERS)
    assert plain(found["text"].tolist()) == ANSWERS
    np.testing.assert_allclose(found["log_probability"], [one.log_probability for one in expected], rtol=1e-4)
    np.testing.assert_allclose(found["score"], [one.score for one in expected], rtol=1e-4)
    assert plain(found["pieces"].tolist()) == [["b", "</s>", ""], ["p", "a", "</s>"], ["a", "c", "</s>"]]
    assert found["ids"].tolist() == [[5, 3, 0], [19, 4, 3], [4, 6, 3]]
    assert plain(found["source_pieces"][2].tolist()) == ["c", "d", "e", "</s>"]
    for row, one in enumerate(expected):
        logs = one.details.log_probabilities
        np.testing.assert_allclose(found["log_probabilities"][row, : len(logs)], logs, rtol=1e-4)
        assert not found["log_probabilities"][row, len(logs) :].any()


def test_pieces_stand_before_the_text(served: ServedTranslator) -> None:
    found = inspect(served, ["a b"] * 2, ["2 9 1 3 0", ""], ["c", "c"])
    assert found["ids"].tolist() == [[9, 1, 6, 3], [6, 3, 0, 0]]


def test_alternatives_are_the_likeliest_that_an_answer_may_have(served: ServedTranslator) -> None:
    found = inspect(served, LINES, [""] * 3, ANSWERS)
    source = served.task.source_ids(tf.constant(LINES)).to_tensor()
    entered = np.array([[2, 5, 0], [2, 19, 4], [2, 4, 6]])
    logits = served.task.model({"source_ids": source, "target_ids": entered}).numpy().astype(float)
    logs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    logs[..., [0, 2]] = -np.inf
    order = np.argsort(-logs, axis=-1)[..., :ALTERNATIVES]
    real = np.array([[True, True, False], [True] * 3, [True] * 3])
    assert found["alternative_ids"][real].tolist() == order[real].tolist()
    expected = np.take_along_axis(logs, order, axis=-1)
    np.testing.assert_allclose(found["alternative_log_probabilities"][real], expected[real], rtol=1e-4)
    tokens = served.task.preprocessor.target_tokenizer.tokens
    assert plain(found["alternatives"][1, 0].tolist()) == [tokens[number] for number in order[1, 0]]
    assert (found["alternatives"][0, 2] == b"").all() and not found["alternative_ids"][0, 2].any()


# The encoder has 3 blocks and the decoder 2; beyond the last one it is the nearest.
@pytest.mark.parametrize(
    ("layer", "of_encoder", "of_decoder"),
    [(1, 0, 0), (2, 1, 1), (3, 2, 1), (9, 2, 1), (-1, 2, 1), (-2, 1, 0), (-9, 0, 0), (0, None, None)],
)
def test_attention_is_that_of_the_layer(
    served: ServedTranslator, layer: int, of_encoder: int | None, of_decoder: int | None
) -> None:
    found = inspect(served, LINES[::2], ["", ""], ANSWERS[::2], layer)
    source = served.task.source_ids(tf.constant(LINES[::2])).to_tensor()
    inputs = {"source_ids": source, "target_ids": np.array([[2, 5, 0], [2, 4, 6]])}
    weights = served.task.model.attention(inputs)
    for name, place in (("encoder", of_encoder), ("decoder", of_decoder), ("cross", of_decoder)):
        blocks = np.stack([block.numpy() for block in weights[name]])
        expected = blocks.mean(axis=0) if place is None else blocks[place]
        np.testing.assert_allclose(found[name], expected, rtol=1e-4, atol=1e-6)
    assert found["cross"].shape == (2, 2, 3, 4) and found["num_layers"].tolist() == [[3, 2]] * 2


def test_each_text_has_a_layer_of_its_own(served: ServedTranslator) -> None:
    found = served.inspect(
        tf.constant(["a b"] * 2),
        target=tf.constant(["c"] * 2),
        target_ids=tf.constant(["", ""]),
        layer=tf.constant([1, 2]),
    )
    for row in range(2):
        alone = inspect(served, ["a b"], [""], ["c"], row + 1)
        np.testing.assert_allclose(found["cross"][row], alone["cross"][0], rtol=1e-4, atol=1e-6)
