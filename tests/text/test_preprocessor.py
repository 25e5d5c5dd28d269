"""From strings to a training step's arguments and back: the shift, padding, ranges, saving."""

import json
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from tf_transformer.errors import TextError
from tf_transformer.text import Normalizer, Preprocessor, SourceForm, train_tokenizer

LETTERS = ["abcdefg"]  # ids 4 to 10


@pytest.fixture(scope="module")
def preprocessor() -> Preprocessor:
    return Preprocessor.train(LETTERS, LETTERS, "characters", 11)


def test_the_shift_by_hand(preprocessor: Preprocessor) -> None:
    inputs, labels = preprocessor(["abc", "", " d "], ["b", "gf", ""])
    assert inputs["source_ids"].numpy().tolist() == [[4, 5, 6, 3], [3, 0, 0, 0], [7, 3, 0, 0]]
    assert inputs["target_ids"].numpy().tolist() == [[2, 5, 0], [2, 10, 9], [2, 0, 0]]
    assert labels.numpy().tolist() == [[5, 3, 0], [10, 9, 3], [3, 0, 0]]
    assert {tensor.dtype for tensor in (*inputs.values(), labels)} == {tf.int32}


def test_empty_is_the_end_and_unknown_is_not_padding(preprocessor: Preprocessor) -> None:
    assert preprocessor.encode_source(["", "x"]).to_list() == [[3], [1, 3]]
    assert preprocessor.encode_target(["", "x"]).to_list() == [[], [1]]


def test_sources_without_an_end(preprocessor: Preprocessor, tmp_path: Path) -> None:
    tokenizer = preprocessor.source_tokenizer
    preprocessor = Preprocessor(tokenizer, source_end=False)
    preprocessor.save(tmp_path / "side")
    for one in (preprocessor, Preprocessor.load(tmp_path / "side")):
        assert one.encode_source(["abc", "", "x"]).to_list() == [[4, 5, 6], [3], [1]]
        assert one(["a"], ["b"])[1].numpy().tolist() == [[5, 3]]  # targets have theirs
    with pytest.raises(TextError, match=r"cannot be sampled from: text.source_end is false"):
        preprocessor.source_sampler(["a"], 0.1)


@pytest.mark.parametrize("as_tensor", [False, True])
def test_padding_to_lengths(preprocessor: Preprocessor, as_tensor: bool) -> None:
    ids = preprocessor.encode_source(["ab"]), preprocessor.encode_target(["cd"])
    lengths = [tf.constant(length) if as_tensor else length for length in (5, 7)]
    inputs, labels = preprocessor.assemble(*ids, *lengths)
    assert inputs["source_ids"].numpy().tolist() == [[4, 5, 3, 0, 0]]
    assert inputs["target_ids"].numpy().tolist() == [[2, 6, 7, 0, 0, 0, 0]]
    assert labels.numpy().tolist() == [[6, 7, 3, 0, 0, 0, 0]]


def test_nothing_is_cut_without_a_word(preprocessor: Preprocessor) -> None:
    ids = preprocessor.encode_source(["ab"]), preprocessor.encode_target(["cd"])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"`source_ids` must fit .*Received a longer row"
    ):
        preprocessor.assemble(*ids, 2, 3)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"`target_ids` must fit .*Received a longer row"
    ):
        preprocessor.assemble(*ids, 3, 2)


@pytest.mark.parametrize("side", ["source_ids", "target_ids"])
@pytest.mark.parametrize(("wrong", "received"), [(11, "one too large"), (-1, "a negative one")])
def test_ids_outside_the_vocabulary_are_refused(
    preprocessor: Preprocessor, side: str, wrong: int, received: str
) -> None:
    good, bad = tf.ragged.constant([[10]], tf.int32), tf.ragged.constant([[wrong]], tf.int32)
    ids = {"source_ids": good, "target_ids": good} | {side: bad}
    message = rf"`{side}` must be at least 0 and below the size of the vocabulary, 11\. Received {received}"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        preprocessor.assemble(**ids)
    data = tf.data.Dataset.from_tensors(ids).map(lambda row: preprocessor.assemble(**row))
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        list(data)


def test_float_ids_are_refused(preprocessor: Preprocessor) -> None:
    ids = tf.ragged.constant([[4.0]])
    with pytest.raises(TypeError, match=r"`source_ids` must be integers\. Received: float32"):
        preprocessor.assemble(ids, ids)


def test_padded_ids_are_refused(preprocessor: Preprocessor) -> None:
    ids = tf.constant([[4, 5]])
    with pytest.raises(TypeError, match=r"`source_ids` must be ragged, .*Received: EagerTensor"):
        preprocessor.assemble(ids, ids)


def test_sides_of_different_sizes_are_refused(preprocessor: Preprocessor) -> None:
    message = r"`source_ids` and `target_ids` must have equally many rows\. Received"
    with pytest.raises(ValueError, match=rf"{message}: 1 and 2"):
        preprocessor(["a"], ["b", "c"])
    fixed = [tf.TensorSpec([size], tf.string) for size in (3, 2)]
    with pytest.raises(ValueError, match=rf"{message}: 3 and 2"):
        tf.function(preprocessor.__call__, input_signature=fixed).get_concrete_function()
    unknown = tf.data.Dataset.from_generator(
        lambda: [(["a"], ["b", "c"])], output_signature=tuple(tf.TensorSpec([None], tf.string) for _ in "ab")
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        list(unknown.map(preprocessor))


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("ab", ["c"], r"`source_texts` must be a list of strings\. Received: one string, 'ab'"),
        (["ab"], "c", r"`target_texts` must be a list of strings\. Received: one string, 'c'"),
        (["ab"], None, r"`target_texts` must be a list of strings\. Received: NoneType"),
        (["ab"], [b"c"], r"`target_texts` must be a list of strings\. Received: bytes at place 0"),
        (["ab", "b"], ["c"], r"`source_texts` and `target_texts` must be equally many.*Received: 2 and 1"),
    ],
)
def test_a_corpus_that_is_none(source: Any, target: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Preprocessor.train(source, target, "characters")


def test_parts_of_another_kind_are_refused(preprocessor: Preprocessor) -> None:
    tokenizer = preprocessor.source_tokenizer
    with pytest.raises(TypeError, match=r"`source_tokenizer` must be a Tokenizer\. Received: 'words'"):
        Preprocessor("words")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"`target_tokenizer` must be a Tokenizer\. Received: 'words'"):
        Preprocessor(tokenizer, "words")  # type: ignore[arg-type]
    for make in (lambda form: Preprocessor(tokenizer, None, form), lambda form: _trained(normalizer=form)):
        with pytest.raises(TypeError, match=r"`normalizer` must be a Normalizer\. Received: 'nfc'"):
            make("nfc")


def _trained(**options: Any) -> Preprocessor:
    return Preprocessor.train(LETTERS, LETTERS, "characters", **options)


@pytest.mark.parametrize("length", [3.7, "3", 0, True])
def test_lengths_to_pad_to_are_whole(preprocessor: Preprocessor, length: Any) -> None:
    ids = preprocessor.encode_source(["ab"]), preprocessor.encode_target(["cd"])
    with pytest.raises((TypeError, ValueError), match=r"`target_length` must be .*at least 1\. Received: "):
        preprocessor.assemble(*ids, 3, length)


def test_direct_and_in_tf_data(preprocessor: Preprocessor) -> None:
    source, target = ["ab", "", "c"], ["d", "ef", "gab"]
    data = tf.data.Dataset.from_tensor_slices((source, target)).batch(2).map(preprocessor)
    batches = [(batch[0]["source_ids"].numpy().tolist(), batch[1].numpy().tolist()) for batch in data]
    assert batches == [([[4, 5, 3], [3, 0, 0]], [[7, 3, 0], [8, 9, 3]]), ([[6, 3]], [[10, 4, 5, 3]])]


def test_targets_come_back(preprocessor: Preprocessor) -> None:
    _, labels = preprocessor(["a", "b"], ["gab", ""])
    assert preprocessor.decode_target(labels).numpy().tolist() == [b"gab", b""]


def test_separate_vocabularies_and_saving(tmp_path: Path) -> None:
    made = Preprocessor.train(
        ["ab"], ["cde"], "characters", shared=False, normalizer=Normalizer(lowercase=True)
    )
    assert (made.source_vocabulary_size, made.target_vocabulary_size) == (6, 7)
    made.save(tmp_path / "tokenizer")
    loaded = Preprocessor.load(tmp_path / "tokenizer")
    assert not loaded.shared and loaded.normalizer.options == {"normal_form": None, "lowercase": True}
    for both in (made, loaded):
        inputs, labels = both(["BA"], ["Ed"])
        assert inputs["source_ids"].numpy().tolist() == [[5, 4, 3]]
        assert labels.numpy().tolist() == [[6, 5, 3]]
    with pytest.raises(ValueError, match=r"`vocabulary_size` must be at least 5"):
        Preprocessor.train(["ab"], ["cde"], "characters", 3)


def test_a_shared_vocabulary_stays_one(preprocessor: Preprocessor, tmp_path: Path) -> None:
    preprocessor.save(tmp_path / "tokenizer")
    preprocessor.save(tmp_path / "tokenizer")  # again, over the first
    loaded = Preprocessor.load(tmp_path / "tokenizer")
    assert preprocessor.shared and loaded.shared
    assert loaded.source_tokenizer.tokens == preprocessor.source_tokenizer.tokens
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {
        "tokenizer/preprocessor.json",
        "tokenizer/shared/tokenizer.json",
        "tokenizer/shared/vocabulary.txt",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"tokenizers": ["target"]},
            r'`tokenizers` must be \["shared"\] or \["source", "target"\]\. Received: ',
        ),
        (
            {"normalizer": {"normal_form": "NFD"}},
            r"`normalizer` must hold a Normalizer's arguments\. Received: .*NFD",
        ),
        ({"normalizer": {"accents": 1}}, r"`normalizer` must hold .*Received: .*'accents'"),
        ({"normalizer": None}, r"`normalizer` must be of type dict\. Received: None"),
    ],
)
def test_a_damaged_manifest_is_named(
    preprocessor: Preprocessor, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    preprocessor.save(tmp_path / "here")
    path = tmp_path / "here" / "preprocessor.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(TextError, match=rf"preprocessor\.json: {message}"):
        Preprocessor.load(tmp_path / "here")


def test_no_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"none/preprocessor\.json: must be a file that can be read"):
        Preprocessor.load(tmp_path / "none")


def test_custom_operations_are_of_all_parts(preprocessor: Preprocessor) -> None:
    assert preprocessor.core_ops_only
    pieces = train_tokenizer("wordpiece", ["a b"], 15)
    mixed = Preprocessor(preprocessor.source_tokenizer, pieces, Normalizer("nfc"))
    assert mixed.custom_ops == ("FastWordpieceTokenizeWithOffsets", "NormalizeUTF8")


def test_saving_destroys_nothing_foreign(tmp_path: Path) -> None:
    preprocessor = Preprocessor.train(["ab"], ["ba"], tokenizer="bytes")
    (tmp_path / "file").write_text("kept")
    with pytest.raises(TextError, match=r"file: must be a folder, or not there yet. Received: a file"):
        preprocessor.save(tmp_path / "file")
    with pytest.raises(TextError, match=r"must be empty, or what was saved before. Received: file in it"):
        preprocessor.save(tmp_path)
    assert (tmp_path / "file").read_text() == "kept"


def test_a_form_of_sources_is_saved_and_a_damaged_one_named(tmp_path: Path) -> None:
    letters = Preprocessor.train(["ab"], ["ba"], tokenizer="bytes")
    made = Preprocessor(letters.source_tokenizer, source_form=SourceForm(2, ["de", "fr"]))
    made.save(tmp_path / "made")
    again = Preprocessor.load(tmp_path / "made")
    lines = ["fr\ta\tb", "", "de\t\tb"]
    # 260 bytes and other pieces, then the border, de and fr.
    assert again.encode_source(lines).to_list() == [[262, 101, 260, 102, 3], [3], [261, 260, 102, 3]]
    assert made.source_vocabulary_size == made.target_vocabulary_size == 263
    path = tmp_path / "made" / "preprocessor.json"
    path.write_text(path.read_text().replace('"columns": 2', '"columns": 0'))
    with pytest.raises(
        TextError, match=r"preprocessor\.json: `source_form` must hold .*: `columns` must be at"
    ):
        Preprocessor.load(tmp_path / "made")
