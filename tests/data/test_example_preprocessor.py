"""What stands between pictures or sequences and a classifier: scale, labels, form; saved and loaded."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.data.example_preprocessor import ImagePreprocessor, VectorPreprocessor
from tf_transformer.data.image_form import ImageForm
from tf_transformer.data.labelled import LabelledCorpus
from tf_transformer.data.report import CorpusReport
from tf_transformer.errors import DataError, TextError


def corpus(inputs: object, labels: str) -> LabelledCorpus:
    names, lines = list(labels), np.arange(1, len(labels) + 1)
    return LabelledCorpus(inputs, names, names, lines, "x", (Path("x"),), CorpusReport("x", len(names)))


# Two channels: 0 and 255 half each, a mean and a deviation of 0.5; and 51, 0.2, which never changes.
PICTURES = np.stack([np.array([[0, 0, 255], [255, 0, 255]]), np.full((2, 3), 51)], axis=-1).astype("uint8")
IMAGES = corpus(np.stack([PICTURES, PICTURES, PICTURES]), "bab")


def test_scale_and_labels_are_those_of_training() -> None:
    side = ImagePreprocessor.of([IMAGES], ImageForm())
    assert side.labels.names == ("a", "b") and side.labels.counts == (1, 2)
    assert side.form.shape == (2, 3, 2) and side.custom_ops == ()
    np.testing.assert_allclose(side.mean, [0.5, 0.2])
    np.testing.assert_allclose(side.deviation, [0.5, 1.0])


def test_several_corpora_are_one_to_it() -> None:
    dark, bright = (
        corpus(np.full((count, 1, 1, 1), level, "uint8"), "a" * count) for count, level in ((3, 0), (1, 255))
    )
    side = ImagePreprocessor.of([dark, bright, corpus(np.full((1, 1, 1, 1), 255, "uint8"), "b")], ImageForm())
    np.testing.assert_allclose(side.mean, [0.4])
    np.testing.assert_allclose(side.deviation, [0.24**0.5])


def test_one_label_is_too_few() -> None:
    with pytest.raises(DataError, match=r"x: must have two different labels at least. Received: 'a' alone"):
        ImagePreprocessor.of([corpus(IMAGES.inputs, "aaa")], ImageForm())


def test_encoded_pictures_become_pixels_of_one_form() -> None:
    grey = ImagePreprocessor.of([corpus(np.zeros((2, 2, 3, 1), "uint8"), "ab")], ImageForm())
    pixels = np.arange(12, dtype="uint8").reshape(2, 2, 3, 1)
    contents = tf.stack([tf.io.encode_png(picture) for picture in pixels])
    decoded = tf.function(grey.decode, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
    np.testing.assert_array_equal(decoded(contents), pixels)
    assert decoded(tf.constant([], tf.string)).shape == (0, 2, 3, 1)
    other = tf.stack([contents[0], tf.io.encode_png(np.zeros((4, 3, 1), "uint8"))])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)image 2.*must be 2 x 3 pixels.*4"):
        decoded(other)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    side = ImagePreprocessor.of([IMAGES], ImageForm(2, 3, resize="pad"))
    side.save(tmp_path / "side")
    again = ImagePreprocessor.load(tmp_path / "side")
    assert again.form == side.form and again.form.resize == "pad"
    assert (again.labels.names, again.labels.counts) == (side.labels.names, side.labels.counts)
    assert (again.mean, again.deviation) == (side.mean, side.deviation)
    with pytest.raises(TextError, match=r"preprocessor.json: `kind` must be vectors. Received: images"):
        VectorPreprocessor.load(tmp_path / "side")


@pytest.mark.parametrize("wrong", ['"channels": 0', '"channels": null', '"width": "x"', '"more": 1'])
def test_a_damaged_file_is_named(tmp_path: Path, wrong: str) -> None:
    ImagePreprocessor.of([IMAGES], ImageForm()).save(tmp_path / "side")
    path = tmp_path / "side" / "preprocessor.json"
    name = wrong.split(":")[0]
    text = path.read_text()
    lines = [f"{wrong}," if line.strip().startswith(name) else line for line in text.split("\n")]
    if name == '"more"':
        lines = [line.replace('"form": {', '"form": {"more": 1,') for line in lines]
    path.write_text("\n".join(lines))
    with pytest.raises(TextError, match=r"preprocessor.json: must be what was saved. Received: "):
        ImagePreprocessor.load(tmp_path / "side")


SEQUENCES = [np.array([[1.0, 5.0], [3.0, 5.0]], "float32"), np.array([[5.0, 5.0]], "float32")]


def test_sequences_are_padded_and_their_lengths_kept(tmp_path: Path) -> None:
    side = VectorPreprocessor.of([corpus(SEQUENCES, "ab")], max_length=7)
    np.testing.assert_allclose(side.mean, [3.0, 5.0])
    np.testing.assert_allclose(side.deviation, [(8 / 3) ** 0.5, 1.0], rtol=1e-6)
    side.save(tmp_path / "side")
    side = VectorPreprocessor.load(tmp_path / "side")
    assert side.features == 2 and side.max_length == 7
    ragged = tf.RaggedTensor.from_row_lengths(np.concatenate(SEQUENCES), [2, 1])
    inputs, labels = side.assemble(ragged, tf.constant([0, 1]), tf.constant(3))
    assert inputs["vectors"].numpy().tolist() == [[[1, 5], [3, 5], [0, 0]], [[5, 5], [0, 0], [0, 0]]]
    assert inputs["lengths"].numpy().tolist() == [2, 1] and labels.numpy().tolist() == [0, 1]
    assert side.assemble(ragged, labels)[0]["vectors"].shape == (2, 2, 2)


def test_a_feature_in_a_large_unit_is_scaled_as_any_other() -> None:
    volts = [np.array([[2e-8, 1e5], [4e-8, 1e5]], "float32")]
    side = VectorPreprocessor.of([corpus([*volts, *volts], "ab")], max_length=7)
    np.testing.assert_allclose(side.mean, [3e-8, 1e5], rtol=1e-6)
    np.testing.assert_allclose(side.deviation, [1e-8, 1.0], rtol=1e-6)
