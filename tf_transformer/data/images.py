"""Labelled pictures from folders, arrays and tables of pixels; or an error that names the place."""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.data.arrays import array_labels, read_arrays
from tf_transformer.data.image_form import FORMATS, ImageForm, decode_pixels, fit_image
from tf_transformer.data.image_size import MOST_PIXELS, declared_size, too_large
from tf_transformer.data.labelled import LabelledCorpus, OnBadRow, labelled_corpus
from tf_transformer.data.number_rows import read_number_rows
from tf_transformer.errors import DataError
from tf_transformer.files import files_below

Pixels = np.ndarray[Any, np.dtype[np.uint8]]
Image = str | os.PathLike[str] | bytes | np.ndarray[Any, Any]
"""The path of a picture's file, its content, or pixels, uint8 `[height, width, channels]`."""
_AHEAD = 64
WHITE = 255
MOST_CHANNELS = 4
"""What files of pictures can have; an export answers to files alone."""


def read_image_folder(
    folder: str | Path, form: ImageForm, *, on_bad_row: OnBadRow = "error", name: str | None = None
) -> LabelledCorpus:
    """Reads a folder whose subfolders are the classes, each holding its pictures, at any depth.

    Files and folders whose name begins with a dot are passed over.

    Args:
        folder: The folder.
        form: What all pictures are; what it leaves open, the first picture decides.
        on_bad_row: What happens to a file that is no picture, is broken, or has another form: `"error"`
            stops, `"skip"` leaves it out and counts it.
        name: What reports call the corpus; by default the folder's name.

    Raises:
        DataError: When the folder or a class in it is missing or empty; or there are bad files and
            `on_bad_row` is `"error"`.
    """
    top = Path(folder)
    rows = [
        (str(path.relative_to(top)), label) for label, paths in class_files(top).items() for path in paths
    ]
    read: dict[int, Pixels] = {}
    bad: dict[int, str] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for start in range(0, len(rows), _AHEAD):
            paths = [top / place for place, _ in rows[start : start + _AHEAD]]
            for number, found in enumerate(pool.map(decoded_file, paths, [form] * len(paths)), start):
                if isinstance(found, str):
                    bad[number] = found
                elif fault := form.fault(found.shape):
                    bad[number] = fault
                else:
                    read[number] = fitted(found, form)
                    form = form.completed(read[number].shape)
    return labelled_corpus(rows, read, bad, top, name, on_bad_row, np.stack)


def encoded_folder(corpus: LabelledCorpus, folder: Path) -> LabelledCorpus:
    """The corpus of a folder with the content of each file in place of its pixels.

    Raises:
        DataError: When a file cannot be read any more.
    """
    try:
        contents = [(folder / place).read_bytes() for place in corpus.places]
    except OSError as error:
        raise DataError(f"{error.filename}: {error.strerror or error}") from None
    return replace(corpus, inputs=contents)


def class_files(folder: Path) -> dict[str, list[Path]]:
    """The files of each class: those below the subfolder of its name, sorted.

    Raises:
        DataError: When the folder is none, has no subfolder, or one of them holds no file.
    """
    if not folder.is_dir():
        what = "this is a file where a folder is needed" if folder.exists() else "there is no such folder"
        raise DataError(f"{folder}: {what}")
    classes = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    if not classes:
        raise DataError(f"{folder}: must have a subfolder for each class. Received: none")
    try:
        found = {path.name: files_below(path) for path in classes}
    except OSError as error:
        raise DataError(f"{error.filename or folder}: {error.strerror or error}") from None
    empty = [label for label, paths in found.items() if not paths]
    if empty:
        raise DataError(f"{folder / empty[0]}: the folder of a class must hold its examples. Received: none")
    return found


def decoded_file(path: Path, form: ImageForm) -> Pixels | str:
    """The pixels of a picture's file as it is, or why there are none."""
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:  # a path with a null character is none
        return f"cannot be read ({getattr(error, 'strerror', None) or error})"
    return decoded(content, form)


def decoded(content: bytes, form: ImageForm) -> Pixels | str:
    """The pixels of an encoded picture as it is, or why there are none."""
    if not content:
        return "is empty"
    try:
        size = declared_size(tf.constant(content))
        if too_large(size):
            height, width = size.numpy().tolist()
            return f"is {height} x {width} pixels (height x width), more than {MOST_PIXELS:,} in all"
        # Of any form: what it must be its `ImageForm` says, and better than an assertion in a graph.
        pixels: Pixels = decode_pixels(tf.constant(content), form).numpy()
    except tf.errors.OpError as error:
        return f"is no whole picture ({FORMATS}): {reason(error)}"
    return pixels


def read_image(image: Image, form: ImageForm, number: int = 1) -> Pixels:
    """One picture as pixels of a form.

    Args:
        image: The path of a file, its content, or pixels.
        form: What it is brought to.
        number: What it is called where it has no path.

    Raises:
        DataError: When it cannot be read, or must not have the form that it has; names it and the rule.
        TypeError: When it is none of these.
    """
    if isinstance(image, bytes):
        name, found = f"picture {number}", decoded(image, form)
    elif isinstance(image, np.ndarray):
        name, found = f"picture {number}", _as_pixels(image)
    elif isinstance(image, str | os.PathLike):
        name, found = os.fspath(image), decoded_file(Path(image), form)
    else:
        raise TypeError(
            f"A picture must be a path, the bytes of a file, or an array. Received: {type(image).__name__}"
        )
    if isinstance(found, str):
        raise DataError(f"{name} {found}")
    asked = _as_it_is(form) if isinstance(image, np.ndarray) else form
    if fault := asked.fault(found.shape):
        raise DataError(f"{name} {fault}")
    return fitted(found, form)


def _as_it_is(form: ImageForm) -> ImageForm:
    """The form for pixels that are no file's: nothing converts their channels."""
    return replace(form, convert=False)


def _as_pixels(array: np.ndarray[Any, Any]) -> Pixels | str:
    if array.dtype != np.uint8 or array.ndim != 3:
        return f"must be uint8 [height, width, channels], and is {array.dtype} {list(array.shape)}"
    return array


def reason(error: Exception) -> str:
    """What TensorFlow says of a picture, without where it says so."""
    return str(error).split("}} ")[-1].split(" [Op:")[0].split("\n")[0].rstrip(".")


def fitted(pixels: Pixels, form: ImageForm) -> Pixels:
    """The pixels of a picture in the size that is wanted."""
    return pixels if form.resize == "none" else fit_image(tf.constant(pixels), form).numpy()


def read_image_arrays(
    path: str | Path,
    form: ImageForm,
    *,
    images: str = "images",
    labels: str = "labels",
    on_bad_row: OnBadRow = "error",
    name: str | None = None,
) -> LabelledCorpus:
    """Reads pictures and labels out of an `.npz` file of named arrays.

    Args:
        path: The file, as `numpy.savez` writes it.
        form: What all pictures are; what it leaves open, the array decides.
        images: The array of pictures: `[rows, height, width]` of grey ones, or `[rows, height, width,
            channels]`; whole numbers from 0 to 255, or numbers from 0 to 1, or truth values.
        labels: The array of labels, `[rows]`: whole numbers or text.
        on_bad_row: As for `read_image_folder`; here only for values out of range.
        name: What reports call the corpus; by default the file's name.

    Raises:
        DataError: When the file is none, an array is missing or of another shape, or values are out of range.
    """
    file = Path(path)
    arrays = read_arrays(file, (images, labels))
    pixels = _with_channels(file, images, arrays[images])
    if fault := _as_it_is(form).fault(pixels.shape[1:]):
        raise DataError(f"{file}: a picture of {images} {fault}")
    names = array_labels(file, labels, arrays[labels], len(pixels))
    levels, bad = _levels(pixels, WHITE if pixels.dtype.kind in "iu" else 1.0)
    rows = [(f"row {number}", label) for number, label in enumerate(names, start=1)]
    read = {number: fitted(levels[number], form) for number in range(len(levels)) if number not in bad}
    return labelled_corpus(rows, read, bad, file, name, on_bad_row, np.stack)


def _with_channels(path: Path, name: str, pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if pixels.ndim == 3:
        pixels = pixels[..., None]
    right = pixels.ndim == 4 and pixels.size and pixels.dtype.kind in "iubf"
    if not right or pixels.shape[3] > MOST_CHANNELS:
        raise DataError(
            f"{path}: {name} must be numbers [rows, height, width] or [rows, height, width, channels], "
            f"at most {MOST_CHANNELS} channels. Received: {pixels.dtype} {list(pixels.shape)}"
        )
    return pixels


def _levels(values: np.ndarray[Any, Any], white: float) -> tuple[Pixels, dict[int, str]]:
    """Values from 0 to white as pixels from 0 to 255, and the rows that have others."""
    flat = values.reshape(len(values), -1)
    # Not (… > white): NaN is neither above nor below.
    wrong = ~((flat.min(axis=1) >= 0) & (flat.max(axis=1) <= white))
    bad = {}
    for row in np.flatnonzero(wrong).tolist():
        value = next(value for value in flat[row].tolist() if not 0 <= value <= white)
        bad[row] = f"has a pixel {value:g}, and all must be from 0 to {white:g}"
    if white == WHITE and values.dtype.kind in "iu":
        if bad:
            values = np.where(wrong.reshape(-1, *[1] * (values.ndim - 1)), 0, values)
        return values.astype(np.uint8, copy=False), bad
    scaled = np.zeros(values.shape, np.uint8)
    scaled[~wrong] = np.round(values[~wrong] * (WHITE / white)).astype(np.uint8)
    return scaled, bad


def read_image_table(
    path: str | Path,
    form: ImageForm,
    *,
    label: str | int,
    height: int,
    width: int,
    channels: int = 1,
    white: float = WHITE,
    encoding: str = "utf-8",
    on_bad_row: OnBadRow = "error",
    name: str | None = None,
) -> LabelledCorpus:
    """Reads a table with a picture a row: a column with the label, and one for each number of a pixel.

    Pixels stand row by row, the channels of a pixel side by side.

    Args:
        path: A `.csv` or `.tsv` file, also with `.gz`.
        form: What all pictures are; what it leaves open, the table decides.
        label: The label's column: its name where the table has a header, or its number from 1.
        height: Pixels from top to bottom of the table's pictures.
        width: Pixels from left to right.
        channels: Numbers of a pixel.
        white: The value of the brightest pixel; the darkest is 0.
        encoding: Encoding of the file.
        on_bad_row: What happens to a row with another number of columns, or with a pixel that is no number
            from 0 to `white`.
        name: What reports call the corpus; by default the file's name.

    Raises:
        DataError: When the file cannot be read, lacks the label's column, or its pictures have another form;
            or there are bad rows and `on_bad_row` is `"error"`.
    """
    file, shape = Path(path), (height, width, channels)
    if fault := _as_it_is(form).fault(shape):
        raise DataError(f"{file}: a picture of the table {fault}")
    table = read_number_rows(file, label, math.prod(shape), encoding)
    bad = dict(table.bad)
    good = [number for number in range(len(table.lines)) if number not in bad]
    values = np.array([table.values[number] for number in good], np.float32).reshape(-1, *shape)
    levels, wrong = _levels(values, float(white)) if good else (values, {})
    bad |= {good[row]: fault for row, fault in wrong.items()}
    read = {number: fitted(levels[row], form) for row, number in enumerate(good) if row not in wrong}
    rows = [(f"line {line}", name) for line, name in zip(table.lines, table.labels, strict=True)]
    return labelled_corpus(rows, read, bad, file, name, on_bad_row, np.stack)
