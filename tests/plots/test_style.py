"""Colours of curves can be told apart by everybody, as far as there are enough of them."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from tf_transformer.plots.style import COLOURS, every, line_styles

# Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency"
# (2009), table 1, severity 1: linear RGB as somebody sees it who lacks one kind of cone.
SEEN = {
    "all cones": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> np.ndarray:
    values = np.array(to_rgb(colour))
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(seen: np.ndarray) -> np.ndarray:
    """CIELAB, in which equal distances are about equally different to the eye."""
    xyz = TO_XYZ @ np.clip(seen, 0, 1) / TO_XYZ.sum(axis=1)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("kind", SEEN)
def test_colours_differ_to_every_eye(kind: str) -> None:
    seen = {colour: lab(np.array(SEEN[kind]) @ linear(colour)) for colour in COLOURS}
    apart = {pair: np.linalg.norm(seen[pair[0]] - seen[pair[1]]) for pair in combinations(COLOURS, 2)}
    assert min(apart.values()) > 10, min(apart, key=apart.get)
    # Lines are seen on white: a contrast of 2 to 1 at least, by luminance.
    assert all(1.05 / (float(TO_XYZ[1] @ linear(colour)) + 0.05) > 2 for colour in COLOURS)


def test_where_colours_come_again_the_line_differs() -> None:
    styles = line_styles(2 * len(COLOURS))
    assert len(set(styles)) == len(styles) and styles[0] == (COLOURS[0], "-")
    assert styles[len(COLOURS)] == (COLOURS[0], "--")


def test_labels_that_have_no_room_are_left_out() -> None:
    # 7 points and a bit between lines are 8.05: a inch has room for 8.
    assert (every(8, 1.0), every(9, 1.0), every(24, 1.0), every(3, 0.01)) == (1, 2, 3, 3)
