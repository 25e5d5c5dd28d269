"""Pictures sampled at other places, worked out by hand."""

import math

import numpy as np
import pytest
from keras import ops

from tf_transformer.ops.warping import affine_places, sample_pixels, smooth_basis, smooth_field

STILL = {
    "angle": np.zeros(1, "float32"),
    "shear": np.zeros(1, "float32"),
    "scale": np.ones((1, 2), "float32"),
    "shift": np.zeros((1, 2), "float32"),
}
PICTURE = np.arange(15, dtype="float32").reshape(1, 3, 5, 1)


def moved(picture: np.ndarray, outside: str = "black", **changes: object) -> np.ndarray:
    settings = {**STILL, **{name: np.array([value], "float32") for name, value in changes.items()}}
    places = affine_places(picture.shape[1], picture.shape[2], **settings)
    return ops.convert_to_numpy(sample_pixels(picture, places, outside))[0, :, :, 0]


def test_standing_still_changes_nothing() -> None:
    np.testing.assert_allclose(moved(PICTURE), PICTURE[0, :, :, 0], atol=1e-5)


def test_a_shift_moves_down_and_to_the_right() -> None:
    np.testing.assert_allclose(
        moved(PICTURE, shift=(1.0, 2.0)), [[0, 0, 0, 0, 0], [0, 0, 0, 1, 2], [0, 0, 5, 6, 7]], atol=1e-5
    )


def test_beyond_the_edge_its_pixels_go_on() -> None:
    expected = [[0, 0, 0, 1, 2], [0, 0, 0, 1, 2], [5, 5, 5, 6, 7]]
    np.testing.assert_allclose(moved(PICTURE, "edge", shift=(1.0, 2.0)), expected, atol=1e-5)


def test_half_a_pixel_mixes_two() -> None:
    np.testing.assert_allclose(moved(PICTURE, shift=(0.0, -0.5))[0], [0.5, 1.5, 2.5, 3.5, 2.0], atol=1e-5)


def test_a_negative_scale_mirrors() -> None:
    np.testing.assert_allclose(moved(PICTURE, scale=(1.0, -1.0)), PICTURE[0, :, ::-1, 0], atol=1e-5)


def test_twice_as_large_shows_the_middle() -> None:
    row = np.array([[[[0.0], [8.0], [16.0], [8.0], [0.0]]]], "float32")
    np.testing.assert_allclose(moved(row, scale=(1.0, 2.0))[0], [8, 12, 16, 12, 8], atol=1e-5)


def test_a_quarter_turn_is_exact() -> None:
    square = np.arange(9, dtype="float32").reshape(1, 3, 3, 1)
    turned = moved(square, angle=math.pi / 2)
    np.testing.assert_allclose(turned, np.rot90(square[0, :, :, 0], k=-1), atol=1e-4)


def test_a_shear_moves_rows_apart() -> None:
    # The place of row r in the original has 1 column more for each row below the middle.
    line = np.zeros((1, 3, 5, 1), "float32")
    line[0, :, 2] = 1.0
    np.testing.assert_allclose(moved(line, shear=1.0).argmax(axis=1), [3, 2, 1])


def test_pictures_move_by_themselves() -> None:
    two = np.concatenate([PICTURE, PICTURE])
    shift = np.array([[0.0, 0.0], [0.0, 1.0]], "float32")
    settings = {name: np.repeat(value, 2, axis=0) for name, value in STILL.items()} | {"shift": shift}
    seen = ops.convert_to_numpy(sample_pixels(two, affine_places(3, 5, **settings)))
    np.testing.assert_allclose(seen[0], PICTURE[0], atol=1e-5)
    np.testing.assert_allclose(seen[1, :, 1:], PICTURE[0, :, :-1], atol=1e-5)


@pytest.mark.parametrize(("size", "smoothness"), [(7, 1.0), (29, 4.0)])
def test_smooth_noise_keeps_its_deviation(size: int, smoothness: float) -> None:
    np.testing.assert_allclose((smooth_basis(size, smoothness) ** 2).sum(axis=1), 1.0, atol=1e-6)


def test_smooth_noise_is_alike_beside_and_not_far_away() -> None:
    rows, columns = smooth_basis(31, 3.0), smooth_basis(37, 3.0)
    noise = np.random.default_rng(5).normal(size=(400, rows.shape[1], columns.shape[1])).astype("float32")
    field = ops.convert_to_numpy(smooth_field(noise, rows, columns))
    assert field.shape == (400, 31, 37)
    assert abs(field.std() - 1.0) < 0.03
    beside = np.corrcoef(field[:, 15, 15], field[:, 15, 16])[0, 1]
    far = np.corrcoef(field[:, 15, 5], field[:, 15, 30])[0, 1]
    assert beside > 0.9 and abs(far) < 0.15
