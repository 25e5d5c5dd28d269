"""Made pictures: one shape somewhere on a dark ground, grey and noisy, as arrays and as files."""

from pathlib import Path

import numpy as np
import tensorflow as tf

SHAPES = ("cross", "disc", "frame", "stripe")
SIZE = 12


def shape(kind: str, draw: np.random.Generator, size: int = 5) -> np.ndarray:
    """One shape, boolean `[size, size]`."""
    rows, columns = np.mgrid[:size, :size] - (size - 1) / 2
    if kind == "cross":
        return (np.abs(rows) < 0.6) | (np.abs(columns) < 0.6)
    if kind == "disc":
        return rows**2 + columns**2 <= (size / 2) ** 2
    if kind == "frame":
        return np.maximum(np.abs(rows), np.abs(columns)) > size / 2 - 1
    return np.abs(rows) < 0.6 if draw.random() < 0.5 else np.abs(rows - 1) < 0.6


def pictures(count: int, seed: int) -> tuple[np.ndarray, list[str], list[tuple[int, int]]]:
    """Pictures uint8 `[count, SIZE, SIZE, 1]`, what is in them, and where its corner is."""
    draw = np.random.default_rng(seed)
    images = draw.integers(0, 60, (count, SIZE, SIZE, 1))
    kinds = [SHAPES[number % len(SHAPES)] for number in range(count)]
    corners = []
    for image, kind in zip(images, kinds, strict=True):
        row, column = draw.integers(0, SIZE - 4, 2)
        image[row : row + 5, column : column + 5, 0] += (shape(kind, draw) * draw.integers(120, 190)).astype(
            int
        )
        corners.append((int(row), int(column)))
    return images.astype("uint8"), kinds, corners


def write_folder(folder: Path, images: np.ndarray, labels: list[str]) -> None:
    """Writes pictures as PNG files into subfolders of their labels."""
    for number, (image, label) in enumerate(zip(images, labels, strict=True)):
        (folder / label).mkdir(parents=True, exist_ok=True)
        (folder / label / f"{number:03}.png").write_bytes(tf.io.encode_png(image).numpy())
