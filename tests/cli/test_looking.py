"""A text as a model looks at it: each row and column of a picture is named after the right token."""

from typing import Any

import numpy as np
import pytest

from tf_transformer.cli.looking import look
from tf_transformer.layers import Encoder, TextEmbedding
from tf_transformer.models import Classifier, LanguageModel, Transformer
from tf_transformer.tasks import Generator, TextClassifier, Translator
from tf_transformer.text import ClassificationPreprocessor, LanguagePreprocessor, Normalizer, Preprocessor

SIZES = {"num_layers": 2, "hidden_dim": 6, "intermediate_dim": 7, "num_heads": 3}


def check(task: Any, looked: Any) -> None:
    """Weights of every kind have a row for each token that looks and a column for each that is looked at."""
    found = task.model.attention(looked.inputs)
    for kind, (rows, columns) in looked.sides.items():
        for layer in found[kind]:
            weights = np.asarray(layer)
            assert weights.shape == (1, 3, len(rows), len(columns))
            np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-5)


@pytest.mark.parametrize("shared", [True, False])
def test_a_translation_that_is_given(shared: bool) -> None:
    side = Preprocessor.train(["ab cd"], ["x yz"], tokenizer="words", shared=shared)
    sizes = (
        {"source_vocabulary_size": 6, "target_vocabulary_size": 6} if not shared else {"vocabulary_size": 8}
    )
    task = Translator(Transformer(**sizes, **SIZES, positions="learned", max_length=4), side)
    looked = look(task, "ab cd", "yz x x x x")  # no more of it than the model has positions for
    assert looked.answer == "yz x x x x"
    assert looked.sides["encoder"] == (["ab", "cd", "</s>"], ["ab", "cd", "</s>"])
    assert looked.sides["decoder"] == (["<s>", "yz", "x", "x"], ["<s>", "yz", "x", "x"])
    assert looked.sides["cross"] == (["yz", "x", "x", "</s>"], ["ab", "cd", "</s>"])
    check(task, looked)


def test_a_text_that_is_classified() -> None:
    side = ClassificationPreprocessor.train(["abc", "cab"], ["yes", "no"], "characters", 9)
    model = Classifier(2, TextEmbedding(side.vocabulary_size, 6), Encoder(2, 3, 7))
    task = TextClassifier(model, side, max_length=5)
    looked = look(task, "cabcab")  # cut as it is for an answer
    tokens = ["<s>", "c", "a", "b", "c"]
    assert looked.sides == {"encoder": (tokens, tokens)} and looked.answer in ("yes", "no")
    check(task, looked)


def test_a_text_that_is_gone_on_with() -> None:
    side = LanguagePreprocessor.train(["abc\n "], normalizer=Normalizer(keep="all"), has_end=False)
    task = Generator(LanguageModel(side.vocabulary_size, **SIZES), side, window=5)
    looked = look(task, "b a\nc")
    tokens = ["<s>", "b", " ", "a", "\n"]  # the window is full
    assert looked.sides == {"decoder": (tokens, tokens)} and looked.answer is None
    check(task, looked)
