"""Labelled sequences of vectors, such as audio features or series of sensors: files of NumPy, or tables."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tf_transformer.data.arrays import array_labels, read_arrays, read_vectors
from tf_transformer.data.images import class_files
from tf_transformer.data.labelled import LabelledCorpus, OnBadRow, labelled_corpus
from tf_transformer.data.number_rows import read_number_rows
from tf_transformer.data.sources import read_table
from tf_transformer.errors import DataError

Sequence32 = np.ndarray[Any, np.dtype[np.float32]]


def read_vector_folder(
    folder: str | Path,
    *,
    features: int | None = None,
    on_bad_row: OnBadRow = "error",
    name: str | None = None,
) -> LabelledCorpus:
    """Reads a folder whose subfolders are the classes, each holding its sequences, a file each.

    A sequence is an `.npy` array `[T, F]` (or `[T]`, of one feature), or a `.csv` or `.tsv` table, also with
    `.gz`, of a row a vector, with or without a header.

    Args:
        folder: The folder.
        features: How many features every vector has; None for as many as in the first sequence.
        on_bad_row: What happens to a file that is no such sequence: `"error"` stops, `"skip"` leaves it out
            and counts it.
        name: What reports call the corpus; by default the folder's name.

    Raises:
        DataError: When the folder or a class in it is missing or empty; or there are bad files and
            `on_bad_row` is `"error"`.
    """
    top = Path(folder)
    rows = [
        (str(path.relative_to(top)), label) for label, paths in class_files(top).items() for path in paths
    ]
    return _from_files(top, rows, top, features, on_bad_row, name)


def read_vector_list(
    path: str | Path,
    *,
    file: str | int = "file",
    label: str | int = "label",
    features: int | None = None,
    encoding: str = "utf-8",
    on_bad_row: OnBadRow = "error",
    name: str | None = None,
) -> LabelledCorpus:
    """Reads a table that names a file and its label a row; the files are as for `read_vector_folder`.

    Args:
        path: The table: `.tsv`, `.csv` or `.jsonl`.
        file: The column of file names, which begin at the table's folder.
        label: The column of labels.
        features: See `read_vector_folder`.
        encoding: Encoding of the table.
        on_bad_row: See `read_vector_folder`.
        name: What reports call the corpus; by default the table's name.

    Raises:
        DataError: When the table cannot be read, or there are bad files and `on_bad_row` is `"error"`.
    """
    table = Path(path)
    columns = read_table(table, {"file": file, "label": label}, encoding=encoding, on_bad_row=on_bad_row)
    rows = list(zip(columns.columns["file"], columns.columns["label"], strict=True))
    return _from_files(table, rows, table.parent, features, on_bad_row, name)


def _from_files(
    path: Path,
    rows: list[tuple[str, str]],
    folder: Path,
    features: int | None,
    on_bad_row: OnBadRow,
    name: str | None,
) -> LabelledCorpus:
    return _checked(path, rows, lambda row: read_sequence(folder / rows[row][0]), features, on_bad_row, name)


def read_sequence(path: Path) -> Sequence32:
    """One sequence from an `.npy` file or a table of numbers, float32 `[T, F]`.

    Raises:
        DataError: When the file is none, or no such sequence.
    """
    if path.suffix.lower() != ".npy":
        table = read_number_rows(path)
        if table.bad:
            number, fault = next(iter(table.bad.items()))
            raise DataError(f"{path}: line {table.lines[number]} {fault}")
        return np.stack(table.values)
    array = read_vectors(path)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or not array.size or array.dtype.kind not in "iubf":
        rule = "must be numbers [vectors, features], at least one"
        raise DataError(f"{path}: {rule}. Received: {array.dtype} {list(array.shape)}")
    return array.astype(np.float32)


def read_vector_arrays(
    path: str | Path,
    *,
    vectors: str = "vectors",
    labels: str = "labels",
    lengths: str | None = None,
    features: int | None = None,
    on_bad_row: OnBadRow = "error",
    name: str | None = None,
) -> LabelledCorpus:
    """Reads sequences and labels out of an `.npz` file of named arrays.

    Args:
        path: The file, as `numpy.savez` writes it.
        vectors: The array of sequences, `[rows, T, F]`, or `[rows, T]` of one feature.
        labels: The array of labels, `[rows]`: whole numbers or text.
        lengths: An array of how many vectors of each sequence are real, `[rows]`; None where all are.
        features: See `read_vector_folder`.
        on_bad_row: What happens to a sequence with a number that is not finite, or with no vector.
        name: What reports call the corpus; by default the file's name.

    Raises:
        DataError: When the file is none, an array is missing or of another shape, or sequences are bad.
    """
    file = Path(path)
    arrays = read_arrays(file, (vectors, labels, *([lengths] if lengths else [])))
    values = arrays[vectors]
    values = values[..., None] if values.ndim == 2 else values
    if values.ndim != 3 or not values.size or values.dtype.kind not in "iubf":
        rule = f"{vectors} must be numbers [rows, vectors, features] or [rows, vectors]"
        raise DataError(f"{file}: {rule}. Received: {values.dtype} {list(values.shape)}")
    names = array_labels(file, labels, arrays[labels], len(values))
    sizes = np.full(len(values), values.shape[1])
    if lengths:
        sizes = _lengths(file, lengths, arrays[lengths], values.shape)
    rows = [(f"row {number}", label) for number, label in enumerate(names, start=1)]

    def read(row: int) -> Sequence32:
        if not sizes[row]:
            raise DataError("has no vector")
        return values[row, : sizes[row]].astype(np.float32)

    return _checked(file, rows, read, features, on_bad_row, name)


def _lengths(path: Path, name: str, sizes: np.ndarray[Any, Any], shape: tuple[int, ...]) -> Any:
    right = sizes.shape == shape[:1] and sizes.dtype.kind in "iu"
    if not right or sizes.min() < 0 or sizes.max() > shape[1]:
        raise DataError(
            f"{path}: {name} must be whole numbers from 0 to {shape[1]}, one for each of {shape[0]:,} rows. "
            f"Received: {sizes.dtype} {list(sizes.shape)}"
            + (f" from {sizes.min()} to {sizes.max()}" if right else "")
        )
    return sizes


def _checked(
    path: Path,
    rows: list[tuple[str, str]],
    read_row: Callable[[int], Sequence32],
    features: int | None,
    on_bad_row: OnBadRow,
    name: str | None,
) -> LabelledCorpus:
    read: dict[int, Sequence32] = {}
    bad: dict[int, str] = {}
    for number in range(len(rows)):
        try:
            found = read_row(number)
        except DataError as error:
            bad[number] = _without_place(str(error), path, rows[number][0])
            continue
        features = features or found.shape[1]
        if fault := sequence_fault(found, features):
            bad[number] = fault
        else:
            read[number] = found
    return labelled_corpus(rows, read, bad, path, name, on_bad_row, list)


def sequence_fault(sequence: np.ndarray[Any, Any], features: int) -> str | None:
    """Why an array is no sequence that a model can take; None where it is one.

    Args:
        sequence: The array.
        features: How many features every vector has.
    """
    if sequence.ndim != 2 or not len(sequence) or sequence.dtype.kind not in "iubf":
        received = f"is {sequence.dtype} {list(sequence.shape)}"
        return f"must be numbers [vectors, features], at least one vector, and {received}"
    if sequence.shape[1] != features:
        return f"has {sequence.shape[1]} features, and all must have {features}"
    finite = np.isfinite(sequence).all(axis=1)
    if not finite.all():
        return f"has a number that is not finite in vector {int(np.flatnonzero(~finite)[0]) + 1}"
    return None


def _without_place(message: str, path: Path, place: str) -> str:
    """A message about a file that the report names already."""
    return message.split(f"{place}: ", 1)[-1]
