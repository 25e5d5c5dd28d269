"""A signature that is loaded by itself answers as it does among the others."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.errors import ExportError
from tf_transformer.export.one_signature import OneByOne


class Counting(tf.Module):
    """Three signatures over one weight and one table; two of them call the same function."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = tf.Variable([2.0, 3.0])
        keys = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([5, 7], tf.int64))
        self.table = tf.lookup.StaticHashTable(keys, -1)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def number(self, text: Any) -> Any:
        return {"number": self._number(text)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def scaled(self, text: Any) -> Any:
        return {"scaled": tf.cast(self._number(text), tf.float32)[:, tf.newaxis] * self.weight}

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32, name="count")])
    def looped(self, count: Any) -> Any:
        grown = tf.while_loop(lambda i, _: i < count, lambda i, x: (i + 1, x * self.weight), (0, tf.ones(2)))
        return {"grown": grown[1]}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def _number(self, text: Any) -> Any:
        return self.table.lookup(text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("counting")
    model = Counting()
    signatures = {name: getattr(model, name) for name in ("number", "scaled", "looped")}
    tf.saved_model.save(model, str(folder), signatures=signatures)
    return folder


def test_each_answers_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    load = tf.saved_model.load
    monkeypatch.setattr(tf.saved_model, "load", lambda path: loads.append(path) or load(path))
    signatures = OneByOne(folder)
    assert sorted(signatures) == ["looped", "number", "scaled"] and len(signatures) == 3
    assert "scaled" in signatures and "other" not in signatures
    assert loads == []  # not by a look at their names
    text = tf.constant(["b", "?"])
    np.testing.assert_array_equal(signatures["number"](text=text)["number"], [7, -1])
    np.testing.assert_array_equal(signatures["scaled"](text=text)["scaled"], [[14, 21], [-2, -3]])
    np.testing.assert_array_equal(signatures["looped"](count=tf.constant(3))["grown"], [8, 27])
    assert len(loads) == 3
    assert signatures["number"] is signatures["number"] and len(loads) == 3
    assert not any(Path(path).exists() for path in loads)
    with pytest.raises(KeyError, match="other"):
        signatures["other"]


def test_the_others_and_what_only_they_call_are_not_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Any] = []
    load = tf.saved_model.load
    monkeypatch.setattr(tf.saved_model, "load", lambda path: kept.append(load(path)) or kept[-1])
    whole = load(str(folder))
    assert set(OneByOne(folder)["number"].structured_input_signature[1]) == {"text"}
    assert set(kept[0].signatures) == {"number"} < set(whole.signatures)


def test_what_is_damaged_is_refused_when_it_is_met(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").write_bytes(b"\x00garbage")
    with pytest.raises(ExportError, match=rf"^{tmp_path}: cannot be loaded \(.*\)$"):
        OneByOne(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes((folder / "saved_model.pb").read_bytes())
    signatures = OneByOne(tmp_path)  # without its variables
    with pytest.raises(ExportError, match=rf"^{tmp_path}: cannot be loaded \(.*\)$"):
        signatures["number"]
