"""A figure of pictures and what was looked at: its parts, and that it is written."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.plots.files import save
from tf_transformer.plots.rollout import rollout_figure

GREY = np.arange(12 * 2, dtype="uint8").reshape(2, 3, 4, 1)


def test_each_picture_stands_beside_itself_with_its_shares(tmp_path: Path) -> None:
    shares = np.array([[[0.1, 0.9]], [[0.5, 0.5]]])
    figure = rollout_figure(GREY, shares, ["cat $1", "dog"])
    plain, covered, other, _ = figure.axes
    assert (plain.get_title(loc="left"), other.get_title(loc="left")) == ("cat $1", "dog")
    np.testing.assert_array_equal(plain.images[0].get_array(), GREY[0, :, :, 0])
    overlay = covered.images[1]
    np.testing.assert_array_equal(overlay.get_array(), shares[0])
    assert tuple(overlay.get_extent()) == tuple(covered.images[0].get_extent())
    save(figure, tmp_path / "x.png")
    assert tf.io.decode_png((tmp_path / "x.png").read_bytes()).shape[-1] == 4


def test_colours_and_many_pictures() -> None:
    figure = rollout_figure(np.zeros((5, 3, 4, 4), "uint8"), np.ones((5, 1, 2)), list("abcde"))
    assert len(figure.axes) == 2 * 8 and figure.axes[0].images[0].get_array().shape == (3, 4, 3)


def test_unequal_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match=r"must be equally many, and at least one. Received: 2, 1 and 2"):
        rollout_figure(GREY, np.ones((1, 1, 1)), ["a", "b"])
