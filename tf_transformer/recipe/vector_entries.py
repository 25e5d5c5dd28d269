"""The entries of ``data`` sections of sequences: folders, arrays and tables."""

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
from tf_transformer.recipe.fields import Column, key


class VectorArrays(Arrays):
    """Named arrays of sequences and labels."""

    vectors: ArrayName = key(
        "vectors", "The array of sequences, [rows, vectors, features].", midway="logged", after="arrays"
    )
    lengths: ArrayName | None = key(
        None, "The array of how many vectors of each are real; null where all are.", midway="logged"
    )


class VectorTable(ExampleTable):
    """A table with the file of a sequence a row."""

    file: Column = key(
        "file",
        "Column of files, NPY or CSV, from the table's folder on; only the table is watched for changes.",
        midway="logged",
        after="table",
    )


class TrainVectorArrays(VectorArrays, Weighted):
    """Arrays of training sequences."""


class TrainVectorTable(VectorTable, Weighted):
    """A table of training sequences."""


TrainData = TrainOf[TrainFolder, TrainVectorArrays, TrainVectorTable]
DevData = DevOf[Folder, VectorArrays, VectorTable]
TestData = TestOf[Folder, VectorArrays, VectorTable]
