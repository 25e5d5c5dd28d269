"""Pictures to captions: patches before the encoder of the same Transformer, until captions are exact."""

from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from shapes import SIZE, pictures

from tf_transformer.decoding.greedy import greedy_search
from tf_transformer.layers import PatchEmbedding, VectorEmbedding
from tf_transformer.losses import MaskedCrossEntropy
from tf_transformer.models import Transformer
from tf_transformer.presets import END_ID, PAD_ID, START_ID
from tf_transformer.schedules import WarmupCosine
from tf_transformer.text import train_tokenizer

MIDDLE = (SIZE - 5) / 2


def captioned(count: int, seed: int) -> tuple[np.ndarray, list[str]]:
    """Pictures of shapes, and where each is: `disc , low and left`."""
    images, kinds, corners = pictures(count, seed)
    places = [
        f"{'low' if row > MIDDLE else 'high'} and {'right' if column > MIDDLE else 'left'}"
        for row, column in corners
    ]
    return images, [f"{kind} , {place}" for kind, place in zip(kinds, places, strict=True)]


def captioner(vocabulary_size: int) -> Transformer:
    return Transformer(
        target_vocabulary_size=vocabulary_size,
        source_embedding=PatchEmbedding(48, patch_size=2, stem=[16, 32], seed=1, name="patches"),
        source_shape=(SIZE, SIZE, 1),
        num_layers=2,
        hidden_dim=48,
        intermediate_dim=96,
        num_heads=4,
        dropout=0.0,
        norm="pre",
        seed=2,
    )


def test_captions_of_pictures_are_learnt_exactly(figure: Callable[[str], None]) -> None:
    images, captions = captioned(1600, seed=1)
    tokenizer = train_tokenizer("words", captions, 40)
    ids = tokenizer.tokenize(captions)
    ends = tf.fill([ids.nrows(), 1], END_ID)
    inputs = {
        "images": images,
        "target_ids": tf.concat([tf.fill([ids.nrows(), 1], START_ID), ids], 1).to_tensor(),
    }
    labels = tf.concat([ids, ends], axis=1).to_tensor()
    data = tf.data.Dataset.from_tensor_slices((inputs, labels)).shuffle(1600, seed=1).batch(64)
    model = captioner(tokenizer.vocabulary_size)
    schedule = WarmupCosine(peak=0.003, total_steps=16 * 25, warmup_steps=40)
    model.compile(optimizer=keras.optimizers.Adam(schedule, beta_2=0.98), loss=MaskedCrossEntropy())
    model.fit(data, epochs=16, verbose=0, shuffle=False)
    images, references = captioned(200, seed=2)
    memory = model.encode(images)
    found = greedy_search(
        model.step,
        model.start_cache(memory),
        batch_size=200,
        max_lengths=tf.fill([200], 9),
        start_id=START_ID,
        end_id=END_ID,
        forbidden_ids=(PAD_ID, START_ID),
        length_penalty=1.0,
        length_formula="mean",
    )
    answers = [text.decode() for text in tokenizer.detokenize(found.ids[:, 0]).numpy()]
    exact = np.mean([answer == reference for answer, reference in zip(answers, references, strict=True)])
    assert exact >= 0.95, exact
    figure(f"{exact:.1%} exact captions of 200 pictures that training has not seen")


def test_one_forward_path_whatever_the_source(tmp_path: Path) -> None:
    model = captioner(11)
    images, _ = captioned(3, seed=3)
    target = np.array([[2, 5, 6, 7], [2, 8, 9, 0], [2, 4, 0, 0]], "int32")
    inputs = {"images": images, "target_ids": target}
    logits = np.asarray(model(inputs))
    memory = model.encode(images)
    assert memory["mask"].shape == (3, 1, 1, 36) and np.asarray(memory["mask"]).all()
    np.testing.assert_allclose(model.decode(target, memory), logits, atol=1e-5)
    cache, steps = model.start_cache(memory), []
    for place in range(4):
        step, cache = model.step(target[:, place : place + 1], cache)
        steps.append(np.asarray(step)[:, 0])
    np.testing.assert_allclose(np.stack(steps, axis=1), logits, atol=1e-4)
    assert [weights.shape for weights in model.attention(inputs)["cross"]] == [(3, 4, 4, 36)] * 2
    labels = np.array([[5, 6, 7, 3], [8, 9, 3, 0], [4, 3, 0, 0]], "int32")
    counts = {name: int(count) for name, count in model.counts(inputs, labels).items()}
    assert counts == {"target_tokens": 9, "target_positions": 12} and tuple(counts) == model.COUNTS
    model.save(tmp_path / "m.keras")
    np.testing.assert_array_equal(keras.saving.load_model(tmp_path / "m.keras")(inputs), logits)


def test_padding_of_vectors_is_seen_by_nobody() -> None:
    embedding = VectorEmbedding(8, seed=1, name="vectors")
    model = Transformer(
        target_vocabulary_size=7, source_embedding=embedding, source_shape=(None, 3), num_layers=1,
        hidden_dim=8, intermediate_dim=11, num_heads=2, seed=3,
    )  # fmt: skip
    vectors = np.random.default_rng(1).normal(size=(2, 5, 3)).astype("float32")
    inputs = {"vectors": vectors, "lengths": np.array([5, 2]), "target_ids": np.array([[2, 4], [2, 5]])}
    logits = np.asarray(model(inputs))
    vectors = vectors.copy()
    vectors[1, 2:] = 99.0
    np.testing.assert_allclose(model({**inputs, "vectors": vectors}), logits, atol=1e-5)
    np.testing.assert_allclose(
        model.decode(inputs["target_ids"], model.encode([vectors, inputs["lengths"]])), logits, atol=1e-5
    )
    assert set(model.counts(inputs, inputs["target_ids"])) == set(model.COUNTS)


def test_a_source_has_a_vocabulary_or_a_layer() -> None:
    sizes = {"num_layers": 1, "hidden_dim": 8, "intermediate_dim": 11, "num_heads": 2}
    for given in ({"vocabulary_size": 7}, {"source_vocabulary_size": 5, "target_vocabulary_size": 7}, {}):
        with pytest.raises(ValueError, match="With `source_embedding`, give `target_vocabulary_size` alone"):
            Transformer(source_embedding=VectorEmbedding(8), **given, **sizes)
    with pytest.raises(ValueError, match=r"`tie_embeddings` must be 'output' or 'none'"):
        Transformer(
            target_vocabulary_size=7, source_embedding=VectorEmbedding(8), tie_embeddings="all", **sizes
        )
    with pytest.raises(ValueError, match=r"must be that of the model\. Received: 9 and hidden_dim=8"):
        Transformer(target_vocabulary_size=7, source_embedding=VectorEmbedding(9), **sizes)
    with pytest.raises(
        ValueError, match=r"must be a dict with `images` and `target_ids`. Received: \['images'\]"
    ):
        captioner(7)({"images": np.zeros((1, SIZE, SIZE, 1), "uint8")})
