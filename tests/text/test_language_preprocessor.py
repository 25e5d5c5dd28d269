"""Running text to labels and back: lines, ends, prompts, saving."""

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.errors import TextError
from tf_transformer.text import LanguagePreprocessor, Normalizer, train_tokenizer

VERSE = "One fish,\ntwo fish.\n\n  Red  fish,\nblue fish."
LINES = "One fish,\ntwo fish.\n\nRed fish,\nblue fish."


def preprocessor(kind: str, keep: str = "all", has_end: bool = False) -> LanguagePreprocessor:
    sizes = {"sentencepiece": 300, "bytes": 260}
    normalizer = Normalizer(keep=keep)  # type: ignore[arg-type]
    return LanguagePreprocessor.train(
        [VERSE], kind, sizes.get(kind, 100), normalizer=normalizer, has_end=has_end
    )


@pytest.mark.parametrize(
    ("kind", "keep", "expected"),
    [
        ("characters", "all", VERSE),
        ("bytes", "all", VERSE),
        ("characters", "lines", LINES),
        ("sentencepiece", "lines", LINES),
        ("sentencepiece", "words", " ".join(LINES.split())),
        ("words", "words", " ".join(LINES.split())),
    ],
)
def test_what_is_kept_comes_back(kind: str, keep: str, expected: str) -> None:
    made = preprocessor(kind, keep)
    for text in (expected, *(expected[:size] for size in (5, 9, 10, 20, 21) if kind != "words")):
        text = made.normalizer.normalize_texts([text])[0]
        ids = made.encode_text(tf.constant([text]))
        assert made.decode(ids).numpy()[0].decode() == text


def test_labels_are_shifted_and_end_where_texts_end() -> None:
    made = preprocessor("bytes", has_end=True)
    inputs, labels = made(["ab", ""])
    assert inputs["target_ids"].numpy().tolist() == [[2, 101, 102], [2, 0, 0]]
    assert labels.numpy().tolist() == [[101, 102, 3], [3, 0, 0]]
    endless = preprocessor("bytes")
    inputs, labels = endless.assemble(endless.encode_text(["ab", "a"]), 4)
    assert inputs["target_ids"].numpy().tolist() == [[2, 101, 0, 0], [2, 0, 0, 0]]
    assert labels.numpy().tolist() == [[101, 102, 0, 0], [101, 0, 0, 0]]
    assert made.encode_prompt(["ab"]).to_list() == [[101, 102]]


@pytest.mark.parametrize(
    ("kind", "keep"),
    [("characters", "all"), ("bytes", "all"), ("sentencepiece", "lines"), ("words", "words")],
)
def test_what_follows_a_prompt_has_the_space_between(kind: str, keep: str) -> None:
    made = preprocessor(kind, keep)
    text = made.normalizer.normalize_texts(["One fish,\ntwo fish."])[0]
    whole = made.encode_prompt([text]).numpy()[0]
    for place in range(len(whole) + 1):
        # The same pieces in either half, as a model would have written them.
        before, after = tf.constant([[*whole[:place], 0, 0]]), tf.constant([[*whole[place:], 0]])
        begun = made.decode(before).numpy()[0].decode()
        if keep == "all" or not begun.endswith(" "):  # else no prompt ends in a space
            assert begun + made.decode_after(before, after).numpy()[0].decode() == text
    nothing = tf.zeros([1, 0], tf.int32)
    assert made.decode_after(nothing, tf.constant([whole])).numpy()[0].decode() == text
    assert made.decode_after(tf.constant([whole]), nothing).numpy()[0] == b""


def test_a_prompt_that_would_be_written_otherwise_is_left_out_all_the_same() -> None:
    class Contrary(LanguagePreprocessor):
        def decode(self, ids: tf.Tensor) -> tf.Tensor:
            return tf.strings.upper(super().decode(ids)) if tf.shape(ids)[1] > 2 else super().decode(ids)

    made = Contrary(train_tokenizer("bytes", ["a"], 260), Normalizer(keep="all"), has_end=False)
    assert made.decode_after(tf.constant([[101, 102]]), tf.constant([[103]])).numpy()[0] == b"c"


def test_a_piece_of_several_bytes_is_not_torn() -> None:
    made = preprocessor("bytes")
    whole = made.encode_prompt(["aé"]).numpy()[0]  # é has two bytes
    assert (
        made.decode_after(tf.constant([whole[:1]]), tf.constant([whole[1:2]])).numpy()[0].decode() == "\ufffd"
    )
    assert made.decode_after(tf.constant([whole[:1]]), tf.constant([whole[1:]])).numpy()[0].decode() == "é"


@pytest.mark.parametrize("kind", ["characters", "sentencepiece"])
def test_saved_and_loaded(kind: str, tmp_path: Path) -> None:
    made = preprocessor(kind, "lines", has_end=True)
    made.save(tmp_path / "side")
    loaded = LanguagePreprocessor.load(tmp_path / "side")
    for text in (VERSE, ""):
        np.testing.assert_array_equal(loaded([text])[1], made([text])[1])
    assert (loaded.has_end, loaded.normalizer.keep) == (True, "lines")
    assert loaded.vocabulary_size == made.vocabulary_size
    assert loaded.custom_ops == made.custom_ops and loaded.core_ops_only is (kind == "characters")
    path = tmp_path / "side" / "preprocessor.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "normalizer": {"keep": "tabs"}}))
    with pytest.raises(
        TextError, match=r"preprocessor\.json: `normalizer` must hold a Normalizer's arguments"
    ):
        LanguagePreprocessor.load(tmp_path / "side")
    path.write_text(json.dumps({**manifest, "normalizer": {"keep": "all"}}))
    if kind == "sentencepiece":
        with pytest.raises(TextError, match=r"tokenizer and normalizer do not fit.*keep='all'"):
            LanguagePreprocessor.load(tmp_path / "side")
    path.write_text(json.dumps({name: manifest[name] for name in manifest if name != "has_end"}))
    with pytest.raises(TextError, match=r"`has_end` must be of type bool\. Received: None"):
        LanguagePreprocessor.load(tmp_path / "side")


@pytest.mark.parametrize(
    ("kind", "keep", "possible"),
    [
        ("words", "lines", '"words"'),
        ("wordpiece", "all", '"words"'),
        ("sentencepiece", "all", '"words" or "lines"'),
    ],
)
def test_a_tokenizer_that_cannot_write_line_ends(kind: str, keep: str, possible: str) -> None:
    with pytest.raises(
        ValueError, match=rf"must keep {possible} for the tokenizer {kind}\. Received: keep='{keep}'"
    ):
        preprocessor(kind, keep)


def test_wrong_parts() -> None:
    tokenizer = train_tokenizer("bytes", ["a"], 260)
    with pytest.raises(TypeError, match=r"`tokenizer` must be a Tokenizer\. Received: 'bytes'"):
        LanguagePreprocessor("bytes")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"`has_end` must be a bool\. Received: 1"):
        LanguagePreprocessor(tokenizer, has_end=1)  # type: ignore[arg-type]
