"""Named arrays of NumPy's `.npz` and `.npy` files, never by unpickling: a file of data runs no code."""

import zipfile
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from tf_transformer.errors import DataError

Array = np.ndarray[Any, Any]


def read_arrays(path: Path, names: Sequence[str]) -> dict[str, Array]:
    """Reads some arrays of an `.npz` file.

    Raises:
        DataError: When the file is none, or has no array of a name.
    """
    try:
        # Opened here: NumPy leaves a file open that it cannot read.
        with _regular(path).open("rb") as opened:
            arrays = np.load(opened, allow_pickle=False)
            if not isinstance(arrays, np.lib.npyio.NpzFile):
                raise DataError(f"{path}: must be an .npz file of named arrays. Received: a single array")
            for name in names:
                _refuse_missing(path, name, arrays.files)
            return {name: arrays[name] for name in names}
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: cannot be read as .npz ({_first_line(error)})") from None


def _refuse_missing(path: Path, name: str, there: Sequence[str]) -> None:
    if name not in there:
        near = get_close_matches(name, there, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        listed = ", ".join(map(repr, there)) or "none"
        raise DataError(f"{path}: has no array {name!r}{hint}. Received: {listed}")


def read_vectors(path: Path) -> Array:
    """Reads the array of an `.npy` file.

    Raises:
        DataError: When the file is none.
    """
    try:
        with _regular(path).open("rb") as opened:
            array = np.load(opened, allow_pickle=False)
    except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: cannot be read as .npy ({_first_line(error)})") from None
    if not isinstance(array, np.ndarray):
        raise DataError(f"{path}: must be an .npy file of one array. Received: several")
    return array


def _regular(path: Path) -> Path:
    if not path.is_file():
        what = "this is a folder where a file is needed" if path.is_dir() else "there is no such file"
        raise DataError(f"{path}: {what}")
    return path


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).split("\n")[0]


def array_labels(path: Path, name: str, labels: Array, count: int) -> list[str]:
    """The labels of an array as text.

    Args:
        path: The file, for errors.
        name: The array's name.
        labels: Whole numbers or text, `[rows]`.
        count: How many there must be.

    Raises:
        DataError: When they are not so many, or of another kind.
    """
    if labels.ndim != 1 or len(labels) != count or labels.dtype.kind not in "iubUS":
        raise DataError(
            f"{path}: {name} must be whole numbers or text, one for each of {count:,} examples. "
            f"Received: {labels.dtype} {list(labels.shape)}"
        )
    if labels.dtype.kind == "S":
        try:
            return [label.decode("utf-8") for label in labels.tolist()]
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: {name} must be text in UTF-8. Received: {error.object!r}") from None
    if labels.dtype.kind == "b":
        labels = labels.astype(np.int64)
    return [str(label) for label in labels.tolist()]
