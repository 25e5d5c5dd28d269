"""The entries of ``data`` sections of pictures: folders, arrays and tables."""

from typing import Annotated

from pydantic import Field

from tf_transformer.recipe.entries import Weighted
from tf_transformer.recipe.example_entries import (
    ArrayName,
    Arrays,
    DevOf,
    ExampleTable,
    Folder,
    TestOf,
    TrainFolder,
    TrainOf,
)
from tf_transformer.recipe.fields import Whole, key

Side = Annotated[Whole, Field(ge=1, le=65536)]


class ImageArrays(Arrays):
    """Named arrays of pictures and labels."""

    images: ArrayName = key(
        "images",
        "The array of pictures, [rows, height, width, channels] or without the last; 0 to 255, or 0 to 1.",
        midway="logged",
        after="arrays",
    )


class PixelTable(ExampleTable):
    """A table with the pixels of a picture a row."""

    height: Side = key(..., "Pixels of the table's pictures from top to bottom.", midway="logged", example=28)
    width: Side = key(..., "Pixels from left to right.", midway="logged", example=28)
    channels: Annotated[Whole, Field(ge=1, le=4)] = key(1, "Columns of a pixel.", midway="logged")
    white: Annotated[float, Field(gt=0)] = key(
        255.0, "Value of the brightest pixel; the darkest is 0.", midway="logged"
    )


class TrainImageArrays(ImageArrays, Weighted):
    """Arrays of training pictures."""


class TrainPixelTable(PixelTable, Weighted):
    """A table of training pictures."""


TrainData = TrainOf[TrainFolder, TrainImageArrays, TrainPixelTable]
DevData = DevOf[Folder, ImageArrays, PixelTable]
TestData = TestOf[Folder, ImageArrays, PixelTable]
