"""Pictures of what a model looks at in the same examples."""

from typing import Any

import numpy as np
import pytest

from tf_transformer.build.looking import pair_attention, prompt_attention, text_attention
from tf_transformer.evaluation.attention import LONGEST, AttentionPictures
from tf_transformer.layers import Encoder, TextEmbedding
from tf_transformer.models import Classifier, LanguageModel, Transformer
from tf_transformer.plots import attention
from tf_transformer.text import ClassificationPreprocessor, LanguagePreprocessor, Preprocessor

SIZES = {"num_layers": 2, "hidden_dim": 8, "intermediate_dim": 9, "num_heads": 2}


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is drawn, as it is asked for."""
    asked: list[Any] = []
    monkeypatch.setattr(attention, "attention_figure", lambda *arguments: asked.append(arguments))
    return asked


def test_a_pair_with_self_attention(drawn: list[Any]) -> None:
    side = Preprocessor.train(["a b c"], ["a b c"], tokenizer="words")
    model = Transformer(side.source_vocabulary_size, **SIZES)
    pictures = pair_attention(model, side, True)([("a b c", "c a"), ("b", "a"), ("c", "c")])
    assert list(pictures) == [
        f"views/{kind}_attention_{number}" for number in (1, 2) for kind in ("cross", "encoder", "decoder")
    ]
    assert not drawn  # until it is asked for
    for kind in ("cross", "encoder", "decoder"):
        pictures[f"views/{kind}_attention_1"]()
    start, end = side.source_tokens[2:4]
    source, predicted, read = ["a", "b", "c", end], ["c", "a", end], [start, "c", "a"]
    assert [(columns, rows) for _, columns, rows, _ in drawn] == [
        (source, predicted),
        (source, source),
        (read, read),
    ]
    inputs, _ = side(["a b c"], ["c a"])
    np.testing.assert_allclose(drawn[0][0], model.attention(inputs)["cross"][-1][0], atol=1e-6)
    assert list(pair_attention(model, side, False)([("b", "a")])) == ["views/cross_attention_1"]


def test_a_prompt_and_a_text(drawn: list[Any]) -> None:
    side = LanguagePreprocessor.train(["ab ba"], tokenizer="characters")
    model = LanguageModel(side.vocabulary_size, **SIZES)
    prompt_attention(model, side)([("ba",)])["views/decoder_attention_1"]()
    assert drawn[0][1] == drawn[0][2] == [side.tokenizer.tokens[2], "b", "a"]  # what is read
    assert drawn[0][0].shape == (2, 3, 3)
    texts = ClassificationPreprocessor.train(["a b", "b"], ["x", "y"], tokenizer="words")
    encoder = Encoder(num_layers=2, num_heads=2, intermediate_dim=9)
    classifier = Classifier(2, TextEmbedding(texts.vocabulary_size, 8), encoder)
    text_attention(classifier, texts)([("b a",)])["views/encoder_attention_1"]()
    assert drawn[1][1] == [
        texts.tokens[place] for place in (2, *(texts.tokens.index(one) for one in "ba"), 3)
    ]


def test_long_sentences_are_cut(drawn: list[Any]) -> None:
    class Model:
        def attention(self, inputs: Any) -> Any:
            return {"cross": [np.zeros((1, 2, 9, 90))]}

    look = lambda text: (text, {"cross": (["t"] * 9, ["s"] * 90)})  # noqa: E731
    AttentionPictures(Model(), look, ["cross"])([("a",)])["views/cross_attention_1"]()
    assert drawn[0][0].shape == (2, 9, LONGEST) and len(drawn[0][1]) == LONGEST


def test_more_than_a_model_can_take_is_left_out(drawn: list[Any]) -> None:
    side = Preprocessor.train(["a b c"], ["a b c"], tokenizer="words")
    model = Transformer(side.source_vocabulary_size, **SIZES, positions="learned", max_length=4)
    pair_attention(model, side, False)([("a b c a b c", "c b a c b a")])["views/cross_attention_1"]()
    assert drawn[0][1:3] == (["a", "b", "c", "a"], ["c", "b", "a", side.source_tokens[3]])
    texts = ClassificationPreprocessor.train(["a b", "b"], ["x", "y"], tokenizer="words")
    embedding = TextEmbedding(texts.vocabulary_size, 8, positions="learned", max_length=3)
    classifier = Classifier(2, embedding, Encoder(num_layers=1, num_heads=2, intermediate_dim=9))
    text_attention(classifier, texts)([("b a b a",)])["views/encoder_attention_1"]()
    assert drawn[1][1] == [texts.tokens[2], "b", "a"]
