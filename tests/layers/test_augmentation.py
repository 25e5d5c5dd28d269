"""What augmentation does to pictures, how far, and that it depends on its seeds alone."""

import keras
import numpy as np
import pytest
from keras import ops

from tf_transformer.layers import Augmentation


def spots(count: int, size: int, row: int, column: int) -> np.ndarray:
    """Pictures with one spot of light, wide enough to be seen wherever it moves."""
    places = np.arange(size)
    distance = (places[:, None] - row) ** 2 + (places[None, :] - column) ** 2
    spot = np.round(255 * np.exp(-distance / 4.0)).astype("uint8")
    return np.repeat(spot[None, :, :, None], count, axis=0)


SPOT = spots(400, 21, 10, 10)


def seen(images: np.ndarray, seed: int = 1, **options: object) -> np.ndarray:
    return ops.convert_to_numpy(Augmentation(seed=seed, **options)(images, training=True))


def centres(pictures: np.ndarray) -> np.ndarray:
    """The middle of the light of each picture, `[N, 2]`."""
    light = pictures[..., 0] / pictures[..., 0].sum(axis=(1, 2), keepdims=True)
    rows = (light.sum(axis=2) * np.arange(pictures.shape[1])).sum(axis=1)
    return np.stack([rows, (light.sum(axis=1) * np.arange(pictures.shape[2])).sum(axis=1)], axis=1)


def test_nothing_happens_unless_training_or_without_an_amount() -> None:
    images = np.random.default_rng(0).integers(0, 256, (2, 5, 7, 3)).astype("uint8")
    still = Augmentation(shift=0.3, flip="both", contrast=1.0, erase=0.5)(images)
    assert still.dtype == "float32"
    np.testing.assert_array_equal(still, images)
    np.testing.assert_array_equal(seen(images), images)


def test_a_shift_reaches_its_share_of_the_side_and_no_further() -> None:
    moved = centres(seen(SPOT, shift=0.2)) - 10
    assert np.abs(moved).max() <= 4.2 + 1e-3 and np.abs(moved).max() > 3.8
    assert abs(moved.mean()) < 0.4


def test_smooth_displacements_have_their_deviation() -> None:
    moved = centres(seen(SPOT, elastic=0.05, smoothness=0.4)) - 10
    assert abs(moved.std() - 0.05 * 21) < 0.15


def test_a_turn_keeps_distances() -> None:
    images = spots(200, 29, 7, 14)  # 7 above the middle
    moved = centres(seen(images, rotate=90.0)) - 14
    np.testing.assert_allclose(np.hypot(*moved.T), 7.0, atol=0.1)
    assert np.ptp(np.degrees(np.arctan2(moved[:, 1], -moved[:, 0]))) > 160


def test_zoom_and_stretch_stay_within_bounds() -> None:
    images = spots(300, 41, 10, 20)  # 10 above the middle
    for options, most in (({"zoom": 0.5}, 1.5), ({"stretch": 0.21}, 1.1)):
        distances = 20 - centres(seen(images, **options))[:, 0]
        assert 10 / most - 0.1 <= distances.min() < 10 / most + 0.2
        assert 10 * most - 0.3 < distances.max() <= 10 * most + 0.1


def test_half_of_the_pictures_are_mirrored() -> None:
    images = np.zeros((400, 1, 2, 1), "uint8")
    images[:, 0, 0] = 200
    right = seen(images, flip="horizontal")[:, 0, 1, 0]
    assert set(np.round(right).tolist()) == {0.0, 200.0}
    assert abs((right > 100).mean() - 0.5) < 0.1
    np.testing.assert_allclose(seen(images, flip="vertical"), images, atol=1e-3)


def test_light_changes_within_bounds() -> None:
    images = np.full((300, 2, 2, 1), 100, "uint8")
    lit = seen(images, brightness=0.1)[:, 0, 0, 0]
    assert 74.5 - 0.1 <= lit.min() < 78 and 122 < lit.max() <= 125.5 + 0.1
    images[:, 0] = 140  # the mean is 120: 20 above and below it
    lit = seen(images, contrast=1.0)
    assert 130 - 0.1 <= lit.max(axis=(1, 2, 3)).min() < 131 and 159 < lit.max() <= 160.1
    np.testing.assert_allclose(lit.mean(axis=(1, 2, 3)), 120.0, atol=1e-3)


def test_erased_rectangles_are_black_and_not_too_large() -> None:
    images = np.full((300, 20, 30, 1), 200, "uint8")
    black = seen(images, erase=0.5)[..., 0] == 0
    assert black.any(axis=2).sum(axis=1).max() <= 10 and black.any(axis=1).sum(axis=1).max() <= 15
    np.testing.assert_array_equal(black, black.any(axis=2)[:, :, None] & black.any(axis=1)[:, None])


def test_the_seeds_decide_alone() -> None:
    layer, images = Augmentation(shift=0.2, elastic=0.1, seed=1), SPOT[:3]

    def with_seed(seed: int) -> np.ndarray:
        seeds = keras.random.SeedGenerator(seed)
        return ops.convert_to_numpy(layer(images, training=True, seeds=seeds))

    np.testing.assert_array_equal(with_seed(7), with_seed(7))
    assert not np.array_equal(with_seed(7), with_seed(8))
    assert not np.array_equal(layer(images, training=True), layer(images, training=True))


def test_another_amount_of_one_movement_leaves_the_others_alone() -> None:
    shifted = centres(seen(SPOT, shift=0.1))
    np.testing.assert_allclose(centres(seen(SPOT, shift=0.1, rotate=40.0)), shifted, atol=0.05)


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match=r"`shift` must be at least 0 and less than 1. Received: shift=1.5"):
        Augmentation(shift=1.5)
    with pytest.raises(ValueError, match=r"`flip` must be one of 'none', .*Received: flip='left'"):
        Augmentation(flip="left")
    with pytest.raises(ValueError, match=r"`rotate` must be a finite number, at least 0. Received: -3"):
        Augmentation(rotate=-3)
    with pytest.raises(ValueError, match=r"`outside` must be one of 'black', 'edge'"):
        Augmentation(outside="white")
