"""Patches: which pixels a vector is made of, where it stands, and what is refused."""

import numpy as np
import pytest
from keras import ops

from tf_transformer.layers import PatchEmbedding
from tf_transformer.ops.positions import sinusoidal_grid_positions


def embed(layer: PatchEmbedding, images: np.ndarray) -> np.ndarray:
    return ops.convert_to_numpy(layer(images))


def test_a_patch_is_the_product_of_its_standardised_pixels() -> None:
    layer = PatchEmbedding(2, patch_size=2, positions="none", mean=0.2, deviation=0.5)
    image = np.zeros((1, 2, 4, 1), "uint8")
    image[0, :, 2:, 0] = [[255, 0], [51, 0]]  # of 255: 1, 0, 0.2, 0, standardised 1.6, -0.4, 0, -0.4
    layer(image)
    kernel = np.array([[1, 10], [2, 20], [3, 30], [4, 40]], "float32")  # the pixels of a patch row by row
    layer.set_weights([kernel.reshape(2, 2, 1, 2), np.array([0.5, 0.25], "float32")])
    # 1.6 * 1 - 0.4 * 2 + 0 * 3 - 0.4 * 4 = -0.8
    np.testing.assert_allclose(embed(layer, image)[0, 1], [-0.8 + 0.5, -8.0 + 0.25], atol=1e-5)


def test_floats_and_integers_are_the_same_pixels() -> None:
    layer = PatchEmbedding(5, patch_size=2, seed=3)
    images = np.random.default_rng(1).integers(0, 256, (2, 4, 6, 3)).astype("uint8")
    np.testing.assert_array_equal(embed(layer, images), embed(layer, images.astype("float32")))


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ({"patch_size": 3}, 9),  # the patch alone
        ({"patch_size": 3, "overlap": 1}, 25),
        ({"patch_size": 4, "stem": [5]}, 25),  # a stride of 2 and a 2x2 projection: 3 + 2 columns, squared
        ({"patch_size": 3, "stem": [5]}, 25),  # an odd patch cannot be halved: 3x3, then a 3x3 projection
    ],
)
def test_which_pixels_a_patch_sees(options: dict[str, object], seen: int) -> None:
    layer = PatchEmbedding(7, positions="none", seed=2, **options)
    size = 4 * layer.patch_size
    image = np.full((1, size, size, 1), 100, "uint8")
    patch = 4 + 1  # second row, second column
    others = np.repeat(image, size * size, axis=0)
    others.reshape(size * size, -1)[np.diag_indices(size * size)] = 250  # another pixel in each
    changes = np.abs(embed(layer, others)[:, patch] - embed(layer, image)[0, patch]).max(axis=1)
    assert (changes > 1e-6).sum() == seen


def test_patches_are_as_many_with_a_stem() -> None:
    image = np.zeros((2, 8, 12, 3), "uint8")
    for stem in ([], [5], [5, 7], [5, 7, 11], [5, 7, 11, 13]):
        assert embed(PatchEmbedding(6, patch_size=4, stem=stem), image).shape == (2, 6, 6)


def test_positions_tell_equal_patches_apart() -> None:
    image = np.full((1, 4, 6, 1), 90, "uint8")
    for positions, equal in (("none", True), ("learned", False), ("sinusoidal", False)):
        states = embed(PatchEmbedding(8, patch_size=2, positions=positions, seed=1), image)[0]
        assert np.allclose(states[0], states[1:], atol=1e-6) == equal
    plain = PatchEmbedding(8, patch_size=2, positions="none", seed=1)
    np.testing.assert_allclose(states - embed(plain, image)[0], sinusoidal_grid_positions(2, 3, 8), atol=1e-6)


def test_a_class_token_comes_first_and_is_the_same_for_all_pictures() -> None:
    layer = PatchEmbedding(5, patch_size=2, class_token=True, seed=4)
    states = embed(layer, np.random.default_rng(0).integers(0, 256, (3, 4, 4, 1)).astype("uint8"))
    assert states.shape == (3, 5, 5)
    np.testing.assert_array_equal(states[:, 0], np.repeat(layer.class_vector[0], 3, axis=0))


def test_wrong_sizes_are_refused() -> None:
    layer = PatchEmbedding(4, patch_size=3)
    with pytest.raises(ValueError, match=r"multiples of `patch_size`, 3. Received: height=6, width=7"):
        layer.build((None, 6, 7, 1))
    with pytest.raises(ValueError, match=r"must be known. Received: height=None, width=6"):
        layer.build((None, None, 6, 1))
    with pytest.raises(ValueError, match=r"`mean` must be one number, or one for each of 3 channels"):
        PatchEmbedding(4, patch_size=3, mean=[0.1, 0.2]).build((None, 6, 6, 3))
    with pytest.raises(ValueError, match=r"`deviation` must be greater than 0. Received: 0.0"):
        PatchEmbedding(4, deviation=0.0)
    with pytest.raises(ValueError, match=r"`positions` must be one of 'learned', .*Received: positions='x'"):
        PatchEmbedding(4, positions="x")
    with pytest.raises(TypeError, match=r"`stem` must be a whole number, at least 1. Received: 0.5"):
        PatchEmbedding(4, stem=[0.5])
