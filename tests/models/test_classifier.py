"""The classifier: padding, losses, weights of classes, what it counts, and saving."""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from tf_transformer.layers import Encoder, TextEmbedding
from tf_transformer.models import Classifier

IDS = np.array([[2, 5, 9, 7, 3, 0, 0], [2, 9, 6, 3, 0, 0, 0], [2, 9, 8, 5, 6, 7, 3]], "int32")
LABELS = np.array([2, 0, 1], "int32")


def classifier(pooling: Any = "mean", dropout: float = 0.0, **options: Any) -> Classifier:
    embedding = TextEmbedding(11, hidden_dim=6, convolutions=[3], marked_ids=[9], dropout=dropout, seed=5)
    encoder = Encoder(2, 3, 7, norm="pre", dropout=dropout, seed=7)
    return Classifier(3, embedding, encoder, pooling, seed=3, **options)


@pytest.mark.parametrize(
    "pooling", ["mean", "first", "max", "attention", "marks", "stem", ["max", "stem", "marks", "attention"]]
)
def test_padding_changes_nothing(pooling: Any) -> None:
    model = classifier(pooling)
    logits = np.asarray(model({"source_ids": IDS}))
    assert logits.shape == (3, 3) and logits.dtype == np.float32
    np.testing.assert_allclose(model({"source_ids": IDS[:1, :5]}), logits[:1], atol=1e-5)
    wider = np.pad(IDS, ((0, 0), (0, 4)))
    np.testing.assert_allclose(model({"source_ids": wider}), logits, atol=1e-5)


def test_a_row_without_a_token_is_finite() -> None:
    for pooling in ("mean", "max", "attention", "marks", "stem"):
        model = classifier(pooling)
        assert np.isfinite(model({"source_ids": np.zeros((1, 3), "int32")})).all()


def test_a_stem_is_pooled_past_the_encoder() -> None:
    model = classifier(["stem", "mean"])
    _, features = model.embedding(IDS, return_features=True)
    states = np.asarray(model.encoder(model.embedding(IDS), attention_mask=IDS != 0))
    greatest = np.stack([np.asarray(row)[ids != 0].max(0) for row, ids in zip(features, IDS, strict=True)])
    means = np.stack([row[ids != 0].mean(0) for row, ids in zip(states, IDS, strict=True)])
    vectors = np.concatenate([greatest, means], axis=-1)
    np.testing.assert_allclose(model({"source_ids": IDS}), model.head(vectors), atol=1e-5)


def test_losses_by_hand() -> None:
    model = classifier()
    logits = np.asarray(model({"source_ids": IDS}), "float64")
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    plain = -logs[range(3), LABELS]
    np.testing.assert_allclose(model.training_loss({"source_ids": IDS}, LABELS), plain, rtol=1e-5)
    smoothed = 0.7 * plain - 0.1 * logs.sum(-1)
    np.testing.assert_allclose(model.training_loss({"source_ids": IDS}, LABELS, 0.3), smoothed, rtol=1e-5)
    weighed = classifier(class_weights=[5.0, 1.0, 0.5])
    expected = plain * [0.5, 5.0, 1.0]
    np.testing.assert_allclose(weighed.training_loss({"source_ids": IDS}, LABELS), expected, rtol=1e-5)


def test_a_label_that_is_none_does_not_count() -> None:
    model, labels = classifier(class_weights=[2.0, 1.0, 1.0]), np.array([2, -1, 1])
    losses = np.asarray(model.training_loss({"source_ids": IDS}, labels, 0.1))
    assert losses[1] == 0 and losses[0] > 0
    assert {name: int(count) for name, count in model.counts({"source_ids": IDS}, labels).items()} == {
        "examples": 2,
        "source_tokens": 16,
        "source_positions": 21,
    }
    assert tuple(model.counts({"source_ids": IDS}, labels)) == model.COUNTS


def test_passes_that_agree_cost_what_one_does() -> None:
    model, labels = classifier(class_weights=[1.0, 2.0, 3.0]), np.array([2, -1, 1])
    once = np.asarray(model.training_loss({"source_ids": IDS}, labels, 0.1)).sum()
    np.testing.assert_allclose(
        model.training_loss({"source_ids": IDS}, labels, 0.1, r_drop=5.0), once, rtol=1e-5
    )
    dropping, losses = classifier(dropout=0.3), []
    for weight in (1.0, 3.0):  # the same dropouts twice
        for seed in (v for v in dropping.variables if "seed_generator" in v.path):
            seed.assign([0, 17])
        losses.append(
            float(dropping.training_loss({"source_ids": IDS}, LABELS, training=True, r_drop=weight))
        )
    assert losses[1] > losses[0] > 0


def test_weights_of_attention() -> None:
    weights = classifier(["mean", "attention"]).attention({"source_ids": IDS})
    assert [layer.shape for layer in weights["encoder"]] == [(3, 3, 7, 7)] * 2
    pooled = np.asarray(weights["pooling"])
    np.testing.assert_allclose(pooled.sum(-1), 1.0, rtol=1e-6)
    assert not pooled[IDS == 0].any()


def test_it_is_saved_and_loaded(tmp_path: Path) -> None:
    model = classifier(["attention", "marks", "stem"], dropout=0.1, class_weights=[1.0, 2.0, 3.0])
    expected = np.asarray(model({"source_ids": IDS}))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded({"source_ids": IDS}), expected)
    assert (loaded.pooling, loaded.class_weights) == (model.pooling, model.class_weights)
    assert [v.path for v in loaded.variables] == [v.path for v in model.variables]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling": "median"}, "`pooling` must be one of 'mean', .*'marks'"),
        ({"pooling": []}, "`pooling` must name at least one pooling"),
        ({"class_weights": [1.0]}, "`class_weights` must have one weight for each of 3 classes. Received: 1"),
        ({"class_weights": [1.0, -1.0, 1.0]}, "`class_weights` must be a finite number, at least 0"),
        ({"dropout": 1.0}, "`dropout` must be at least 0 and less than 1"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    embedding, encoder = TextEmbedding(11, 6, marked_ids=[9]), Encoder(1, 3, 7)
    with pytest.raises(ValueError, match=message):
        Classifier(3, embedding, encoder, **options)


def test_marks_and_stems_need_an_embedding_that_has_some() -> None:
    with pytest.raises(ValueError, match="`pooling` may be 'stem' where the embedding has a stem"):
        Classifier(3, TextEmbedding(11, 6), Encoder(1, 3, 7), "stem")
    with pytest.raises(ValueError, match="`pooling` may be 'marks' where the embedding has marked places"):
        Classifier(3, TextEmbedding(11, 6), Encoder(1, 3, 7), "marks")
    with pytest.raises(ValueError, match=r"Inputs must be a dict with `source_ids`. Received: \['text'\]"):
        classifier()({"text": IDS})
