"""Labelled pictures of folders, arrays and tables; and what is said of what cannot be used."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.data.image_form import ImageForm
from tf_transformer.data.images import read_image, read_image_arrays, read_image_folder, read_image_table
from tf_transformer.errors import DataError

ANY = ImageForm()


def write_png(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tf.io.encode_png(pixels).numpy())


def grey(value: int, height: int = 3, width: int = 5) -> np.ndarray:
    return np.full((height, width, 1), value, "uint8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    top = tmp_path / "pets"
    write_png(top / "dog" / "b.png", grey(30))
    write_png(top / "dog" / "a.png", grey(20))
    write_png(top / "cat" / "deep" / "c.png", grey(10))
    (top / "cat" / ".DS_Store").write_bytes(b"x")
    (top / ".hidden").mkdir()
    return top


def test_a_folder_is_read_class_by_class(folder: Path) -> None:
    corpus = read_image_folder(folder, ANY)
    assert corpus.labels == ["cat", "dog", "dog"] and corpus.name == "pets"
    assert corpus.places == ["cat/deep/c.png", "dog/a.png", "dog/b.png"]
    assert corpus.inputs.dtype == np.uint8 and corpus.inputs.shape == (3, 3, 5, 1)
    assert corpus.inputs[:, 0, 0, 0].tolist() == [10, 20, 30] and corpus.lines.tolist() == [1, 2, 3]
    assert corpus.report.to_lines() == ["pets: 3 rows read, 3 kept"]


def test_jpeg_and_others_are_read_beside_png(folder: Path) -> None:
    (folder / "dog" / "z.jpg").write_bytes(tf.io.encode_jpeg(grey(40)).numpy())
    corpus = read_image_folder(folder, ANY)
    assert abs(int(corpus.inputs[3, 0, 0, 0]) - 40) <= 1


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "text": (
        lambda path: path.write_text("hello"),
        "is no whole picture (PNG, JPEG, GIF, BMP or WebP): Unknown",
    ),
    "empty": (lambda path: path.write_bytes(b""), "is empty"),
    "cut": (lambda path: path.write_bytes(tf.io.encode_png(grey(1)).numpy()[:-20]), "is no whole picture"),
    "size": (lambda path: write_png(path, grey(1, 4, 5)), "is 4 x 5 pixels (height x width), not 3 x 5"),
    "channels": (
        lambda path: write_png(path, np.zeros((3, 5, 3), "uint8")),
        "has 3 channels, not 1 channel",
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_bad_file_is_named_with_the_rule_in_one_line(folder: Path, kind: str) -> None:
    write, said = BROKEN[kind]
    write(folder / "dog" / "c.png")
    with pytest.raises(DataError) as raised:
        read_image_folder(folder, ANY)
    message = str(raised.value)
    assert message.startswith(f"{folder}: 1 example of 4 cannot be used: dog/c.png {said}")
    assert message.endswith("set `on_bad_row` to 'skip'") and "\n" not in message


def test_bad_files_may_be_skipped_and_are_counted(folder: Path) -> None:
    (folder / "dog" / "aa.png").write_text("hello")
    corpus = read_image_folder(folder, ANY, on_bad_row="skip", name="train")
    assert corpus.places == ["cat/deep/c.png", "dog/a.png", "dog/b.png"] and corpus.lines.tolist() == [
        1,
        2,
        4,
    ]
    told = corpus.report.to_lines()
    assert told[:2] == ["train: 4 rows read, 3 kept", "  dropped: cannot be used: 1 (line 3)"]
    assert "dog/aa.png is no whole picture" in told[2]


def test_many_bad_files_are_told_in_one_line(folder: Path) -> None:
    for number in range(5):
        (folder / "dog" / f"x{number}.png").write_text("hello")
    with pytest.raises(
        DataError, match=r"5 examples of 8 cannot be used: dog/x0.png .*dog/x2.png .*; and 2 more"
    ):
        read_image_folder(folder, ANY)


def test_nothing_but_bad_files_is_an_error_also_where_they_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("hello")
    with pytest.raises(DataError, match="1 example of 1 cannot be used"):
        read_image_folder(tmp_path, ANY, on_bad_row="skip")


def test_folders_without_classes_or_pictures_are_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere: there is no such folder"):
        read_image_folder(tmp_path / "nowhere", ANY)
    with pytest.raises(DataError, match=r"a.png: this is a file where a folder is needed"):
        read_image_folder(folder / "dog" / "a.png", ANY)
    with pytest.raises(DataError, match=r"dog: must have a subfolder for each class. Received: none"):
        read_image_folder(folder / "dog", ANY)
    (folder / "empty").mkdir()
    with pytest.raises(
        DataError, match=r"empty: the folder of a class must hold its examples. Received: none"
    ):
        read_image_folder(folder, ANY)


def test_a_form_resizes_and_converts(folder: Path) -> None:
    write_png(folder / "dog" / "c.png", np.full((9, 9, 3), 77, "uint8"))
    corpus = read_image_folder(folder, ImageForm(6, 10, 1, resize="stretch", convert=True))
    assert corpus.inputs.shape == (4, 6, 10, 1)
    assert corpus.inputs[:, 3, 3, 0].tolist() == [10, 20, 30, 77]


def write_arrays(path: Path, **arrays: object) -> Path:
    np.savez(path, **arrays)
    return path


LEVELS = np.arange(30, dtype="uint8").reshape(2, 3, 5)


def test_named_arrays_are_read(tmp_path: Path) -> None:
    path = write_arrays(tmp_path / "x.npz", x=LEVELS, y=np.array([7, 1], "uint8"))
    corpus = read_image_arrays(path, ANY, images="x", labels="y")
    np.testing.assert_array_equal(corpus.inputs, LEVELS[..., None])
    assert corpus.labels == ["7", "1"] and corpus.places == ["row 1", "row 2"] and corpus.name == "x.npz"


def test_floats_are_shares_of_white(tmp_path: Path) -> None:
    shares = np.array([[[[0.0, 0.5, 1.0]]], [[[0.2, 0.0, 0.0]]]], "float32")
    path = write_arrays(tmp_path / "x.npz", images=shares, labels=np.array(["a", "b"]))
    corpus = read_image_arrays(path, ANY)
    assert corpus.inputs.reshape(2, 3).tolist() == [[0, 128, 255], [51, 0, 0]] and corpus.labels == ["a", "b"]


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"image": LEVELS, "labels": [1, 2]}, r"no array 'images' \(did you mean 'image'\?\)"),
        ({"images": LEVELS[0], "labels": [1, 2]}, r"images must be numbers .*Received: uint8 \[3, 5\]"),
        ({"images": LEVELS, "labels": [1]}, r"labels must be .*for each of 2 .*Received: int64 \[1\]"),
        ({"images": LEVELS, "labels": [0.5, 1]}, r"labels must be whole .*Received: float64 \[2\]"),
        ({"images": LEVELS + 240.0, "labels": [1, 2]}, r"2 examples of 2 .*row 1 has a pixel 240, .*0 to 1;"),
        ({"images": LEVELS.astype(int) * 9, "labels": [1, 2]}, r"row 2 has a pixel 261, .*from 0 to 255"),
        ({"images": LEVELS * np.nan, "labels": [1, 2]}, r"row 1 has a pixel nan, .*from 0 to 1"),
        ({"images": np.array([{}, {}]), "labels": [1, 2]}, r"cannot be read as .npz \(Object arrays cannot"),
    ],
)  # fmt: skip
def test_bad_arrays_are_refused(tmp_path: Path, arrays: dict[str, object], said: str) -> None:
    path = write_arrays(tmp_path / "x.npz", **{name: np.asarray(value) for name, value in arrays.items()})
    with pytest.raises(DataError, match=said):
        read_image_arrays(path, ANY)


def test_what_is_no_npz_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with pytest.raises(DataError, match=r"x.npz: there is no such file"):
        read_image_arrays(path, ANY)
    for content in (b"", b"hello", b"PK\x03\x04rest"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"x.npz: cannot be read as .npz"):
            read_image_arrays(path, ANY)


def table(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


SIZE = {"height": 1, "width": 3}


def test_a_table_of_pixels_is_read(tmp_path: Path) -> None:
    path = table(tmp_path / "x.csv", "0,8,16,3", "16,0,4,5")
    corpus = read_image_table(path, ANY, label=4, white=16, **SIZE)
    assert corpus.inputs.shape == (2, 1, 3, 1) and corpus.labels == ["3", "5"]
    assert corpus.inputs.reshape(2, 3).tolist() == [[0, 128, 255], [255, 0, 64]]
    assert corpus.places == ["line 1", "line 2"]


def test_a_header_names_the_label(tmp_path: Path) -> None:
    path = table(tmp_path / "x.tsv", "what\tp1\tp2\tp3", "cat\t1\t2\t3")
    corpus = read_image_table(path, ANY, label="what", **SIZE)
    assert corpus.labels == ["cat"] and corpus.inputs.reshape(-1).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1,2,3", r"line 2 has 3 columns, and all must have 4"),
        ("1,2,x,3", r"line 2 has no number in column 3: 'x'"),
        ("1,2,300,3", r"line 2 has a pixel 300, and all must be from 0 to 255"),
        ("1,nan,3,3", r"line 2 has a pixel nan, and all must be from 0 to 255"),
        ("1,2,3,", r"line 2 has no label in column 4"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = table(tmp_path / "x.csv", "1,2,3,4", line, "7,8,9,4")
    with pytest.raises(DataError, match=rf"x.csv: 1 example of 3 cannot be used: {said}\."):
        read_image_table(path, ANY, label=4, **SIZE)
    kept = read_image_table(path, ANY, label=4, on_bad_row="skip", **SIZE)
    assert kept.lines.tolist() == [1, 3] and kept.inputs.reshape(2, 3).tolist() == [[1, 2, 3], [7, 8, 9]]


def test_tables_of_another_form_are_refused(tmp_path: Path) -> None:
    path = table(tmp_path / "x.csv", "1,2,3,4")
    with pytest.raises(
        DataError, match=r"a picture of the table is 1 x 3 pixels \(height x width\), not 3 x 1"
    ):
        read_image_table(path, ImageForm(3, 1), label=4, **SIZE)
    with pytest.raises(DataError, match=r"must have 4 columns. Received: column 9 for label"):
        read_image_table(path, ANY, label=9, **SIZE)
    with pytest.raises(DataError, match=r"must be .csv or .tsv. Received: JSON lines"):
        read_image_table(table(tmp_path / "x.jsonl", "{}"), ANY, label="a", **SIZE)
    with pytest.raises(DataError, match=r"the table has no rows"):
        read_image_table(table(tmp_path / "y.csv", "a,b,c,label"), ANY, label="label", **SIZE)


def test_pixels_that_are_no_file_s_keep_their_channels(tmp_path: Path) -> None:
    colours = ImageForm(channels=3, convert=True)
    file, table = tmp_path / "grey.npz", tmp_path / "grey.csv"
    np.savez(file, images=np.zeros((2, 3, 5), "uint8"), labels=[0, 1])
    table.write_text("7,0,0\n8,0,0\n")
    with pytest.raises(DataError, match=r"grey\.npz: a picture of images has 1 channel, not 3 channels"):
        read_image_arrays(file, colours)
    with pytest.raises(DataError, match=r"grey\.csv: a picture of the table has 1 channel, not 3 channels"):
        read_image_table(table, colours, label=1, height=1, width=2)
    with pytest.raises(DataError, match="picture 4 has 1 channel, not 3 channels"):
        read_image(grey(1), colours, 4)
    assert read_image(tf.io.encode_png(grey(1)).numpy(), colours).shape == (3, 5, 3)


def test_more_channels_than_files_have_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "first.npz", images=np.zeros((2, 3, 8, 8), "uint8"), labels=[0, 1])  # channels first
    with pytest.raises(DataError, match=r"at most 4 channels\. Received: uint8 \[2, 3, 8, 8\]"):
        read_image_arrays(tmp_path / "first.npz", ANY)


def test_truth_values_are_black_and_white(tmp_path: Path) -> None:
    np.savez(tmp_path / "ink.npz", images=[[[True, False]], [[False, True]]], labels=[0, 1])
    assert read_image_arrays(tmp_path / "ink.npz", ANY).inputs[0, 0, :, 0].tolist() == [255, 0]


def test_a_path_that_is_none_is_told() -> None:
    with pytest.raises(DataError, match=r"^no\x00thing cannot be read \(embedded null byte\)"):
        read_image("no\0thing", ANY)


def test_a_picture_of_other_channels_is_refused_by_its_form(tmp_path: Path) -> None:
    write_png(tmp_path / "a.png", np.zeros((3, 5, 3), "uint8"))
    for image in (tmp_path / "a.png", (tmp_path / "a.png").read_bytes()):
        with pytest.raises(DataError, match=r"has 3 channels, not 1 channel$"):
            read_image(image, ImageForm(3, 5, 1))
