"""Pictures of a batch are a function of seed, epoch and batch, whatever was drawn before."""

import keras
import numpy as np
import tensorflow as tf

from tf_transformer.data.augmented import BatchSeeds, image_augment
from tf_transformer.layers import Augmentation

IMAGES = np.random.default_rng(0).integers(0, 256, (3, 7, 5, 1)).astype("uint8")


def seeds_of(*numbers: int, purpose: str = "x") -> list[list[int]]:
    seed, epoch, batch = numbers
    seeds = BatchSeeds(seed, purpose, tf.constant(epoch, tf.int64), tf.constant(batch, tf.int64))
    return [seeds.next().numpy().tolist() for _ in range(3)]


def test_seeds_depend_on_all_numbers_and_on_nothing_else() -> None:
    first = seeds_of(1, 2, 3)
    assert first == seeds_of(1, 2, 3) and len({tuple(seed) for seed in first}) == 3
    others = [
        seeds_of(2, 2, 3),
        seeds_of(1, 3, 3),
        seeds_of(1, 2, 4),
        seeds_of(1, 3, 2),
        seeds_of(1, 2, 3, purpose="y"),
    ]
    assert all(first[0] not in other for other in others)


def test_keras_draws_from_them() -> None:
    seeds = BatchSeeds(1, "x", tf.constant(0), tf.constant(0))
    numbers = keras.random.uniform((4, 1000), seed=seeds)
    assert abs(float(tf.reduce_mean(numbers)) - 0.5) < 0.02
    assert not np.array_equal(numbers, keras.random.uniform((4, 1000), seed=seeds))


def test_a_graph_gives_the_same_pictures_in_any_order() -> None:
    augment = image_augment(Augmentation(shift=0.2, elastic=0.05, flip="both"), seed=5)

    def pictures(place: tf.Tensor) -> tf.Tensor:
        (inputs, labels) = augment(
            ({"images": tf.constant(IMAGES)}, tf.constant([1, 2, 3])), place[0], place[1]
        )
        return inputs["images"], labels

    places = [(0, 0), (0, 1), (1, 0)]
    found = {}
    for order in (places, places[::-1]):
        dataset = tf.data.Dataset.from_tensor_slices(np.array(order, "int64"))
        for place, (images, labels) in zip(order, dataset.map(pictures, tf.data.AUTOTUNE), strict=True):
            np.testing.assert_array_equal(found.setdefault(place, images), images)
            assert labels.numpy().tolist() == [1, 2, 3]
    assert not np.array_equal(found[0, 1], found[1, 0]) and not np.array_equal(found[0, 0], found[0, 1])
