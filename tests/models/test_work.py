"""Products with weights, counted by hand."""

import keras
import pytest

from tf_transformer.layers import Encoder, PatchEmbedding, TextEmbedding
from tf_transformer.models import Classifier, LanguageModel, Transformer
from tf_transformer.models.work import update_products

SIZES = {"hidden_dim": 6, "intermediate_dim": 11, "num_heads": 2}
BLOCK = 4 * 6 * 6 + 2 * 6 * 11
"""Query, key, value and output, and two layers of the feed-forward network."""


@pytest.mark.parametrize("share_layers", [False, True])
def test_a_transformer(share_layers: bool) -> None:
    model = Transformer(13, **SIZES, num_layers=2, decoder_num_layers=3, share_layers=share_layers)
    counts = {"source_tokens": 5.0, "target_tokens": 7.0, "source_positions": 99.0}
    # Keys and values of cross-attention are made of the source, its queries and outputs of the target.
    source, target = 2 * BLOCK + 3 * 2 * 36, 3 * (BLOCK + 2 * 36) + 13 * 6
    assert update_products(model, counts) == 3 * (5 * source + 7 * target)


def test_a_language_model() -> None:
    model = LanguageModel(13, **SIZES, num_layers=2)
    assert update_products(model, {"target_tokens": 7.0}) == 3 * 7 * (2 * BLOCK + 13 * 6)


def test_classifiers_of_texts_and_of_pictures() -> None:
    def encoder() -> Encoder:
        return Encoder(num_layers=2, num_heads=2, intermediate_dim=11)

    text = Classifier(3, TextEmbedding(vocabulary_size=13, hidden_dim=6), encoder())
    assert update_products(text, {"examples": 5.0, "source_tokens": 17.0}) == 3 * (17 * 2 * BLOCK + 5 * 3 * 6)
    pictures = Classifier(
        3, PatchEmbedding(hidden_dim=6, patch_size=2, class_token=True), encoder(), inputs_shape=(4, 6, 1)
    )
    # 2 x 3 patches and the class token.
    assert update_products(pictures, {"examples": 5.0}) == 3 * (5 * 7 * 2 * BLOCK + 5 * 3 * 6)


def test_another_model_is_not_known() -> None:
    assert update_products(keras.Sequential(), {"examples": 5.0}) is None
