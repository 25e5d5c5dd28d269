"""What all kinds of tokenizers promise: ids, round trips, control ids."""

import json
from pathlib import Path

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizer_kinds import CORPUS, KINDS, round_trip

from tf_transformer.presets import SPECIAL_TOKENS
from tf_transformer.text import Normalizer, Tokenizer, load_tokenizer, train_tokenizer

DIRTY = Path(__file__).parents[3] / "shared" / "data" / "dirty"


def test_special_ids_are_fixed(tokenizer: Tokenizer) -> None:
    assert tuple(tokenizer.tokens[:4]) == SPECIAL_TOKENS
    assert len(tokenizer.tokens) == len(set(tokenizer.tokens)) == tokenizer.vocabulary_size <= 420


def test_known_text_comes_back(tokenizer: Tokenizer) -> None:
    assert round_trip(tokenizer, CORPUS) == CORPUS


def test_no_text_becomes_a_control_id(tokenizer: Tokenizer) -> None:
    texts = [*CORPUS, *SPECIAL_TOKENS, "".join(SPECIAL_TOKENS), "<S>", "</s", "[PAD]", "[UNK]"]
    ids = tokenizer.tokenize(texts)
    assert ids.dtype == tf.int32
    assert not set(ids.flat_values.numpy().tolist()) & {0, 2, 3}
    assert all(len(row) for row in ids.to_list())


def test_empty_strings_and_batches(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokenize(["", "a", ""]).row_lengths().numpy().tolist()[::2] == [0, 0]
    assert round_trip(tokenizer, [""]) == [""]
    assert tokenizer.tokenize([]).nrows().numpy() == 0
    assert tokenizer.detokenize(tf.zeros([0, 3], tf.int32)).shape == [0]
    assert tokenizer.detokenize(tf.zeros([2, 0], tf.int32)).numpy().tolist() == [b"", b""]


def test_invalid_bytes_do_not_stop_it(tokenizer: Tokenizer) -> None:
    ids = tokenizer.tokenize([b"a\xff\xc3 b", b"\xed\xa0\x80"])
    for text in tokenizer.detokenize(ids).numpy():
        text.decode("utf-8")


def test_padding_start_and_end_are_left_out(tokenizer: Tokenizer) -> None:
    ids = tokenizer.tokenize(["an apple", "me"]).to_list()
    rows = [[2, *row, 3] for row in ids]
    padded = tf.ragged.constant(rows, tf.int32).to_tensor()
    for form in (padded, tf.cast(padded, tf.int64), tf.ragged.constant(rows, tf.int32)):
        assert tokenizer.detokenize(form).numpy().tolist() == round_trip_bytes(tokenizer, ids)


def round_trip_bytes(tokenizer: Tokenizer, ids: list[list[int]]) -> list[bytes]:
    result: list[bytes] = tokenizer.detokenize(tf.ragged.constant(ids, tf.int32)).numpy().tolist()
    return result


def test_the_unknown_is_marked_or_dropped(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    for kind, tokenizer in tokenizers.items():
        ids = tf.constant([[1]])
        assert tokenizer.detokenize(ids).numpy().tolist() == [b"<unk>"], kind
        tokenizer.save(tmp_path / kind)
        for options, expected in (({"unknown_mark": "??"}, b"??"), ({"unknown": "drop"}, b"")):
            path = tmp_path / kind / "tokenizer.json"
            manifest = json.loads(path.read_text())
            manifest["options"] |= options
            path.write_text(json.dumps(manifest))
            assert load_tokenizer(tmp_path / kind).detokenize(ids).numpy().tolist() == [expected], kind
    with pytest.raises(ValueError, match=r'`unknown` must be "mark" or "drop"\. Received: \'copy\''):
        train_tokenizer("bytes", [], unknown="copy")  # type: ignore[arg-type]


def test_direct_and_in_tf_data(tokenizer: Tokenizer) -> None:
    data = tf.data.Dataset.from_tensor_slices(CORPUS).batch(7).map(tokenizer.tokenize)
    rows = [row for batch in data for row in batch.to_list()]
    assert (
        rows == tokenizer.tokenize(CORPUS).to_list() == [tokenizer.tokenize([t]).to_list()[0] for t in CORPUS]
    )


def test_cleared_caches_do_no_harm(tokenizer: Tokenizer) -> None:
    before = tokenizer.tokenize(CORPUS).to_list()
    tf.random.set_seed(7)  # drops kernels, and with them every resource that has no name of its own
    assert tokenizer.tokenize(CORPUS).to_list() == before
    assert round_trip(tokenizer, CORPUS) == CORPUS


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(max_size=19), min_size=1, max_size=7))
@pytest.mark.parametrize("kind", ["sentencepiece", "bytes"])
def test_every_normalised_text_comes_back(
    kind: str, tokenizers: dict[str, Tokenizer], texts: list[str]
) -> None:
    texts = Normalizer().normalize_texts(texts)
    assert round_trip(tokenizers[kind], texts) == texts


@settings(deadline=None, max_examples=40)
@given(st.lists(st.text("".join(CORPUS), max_size=19), min_size=1, max_size=7))
@pytest.mark.parametrize("kind", ["wordpiece", "characters"])
def test_text_of_known_characters_comes_back(
    kind: str, tokenizers: dict[str, Tokenizer], texts: list[str]
) -> None:
    texts = Normalizer().normalize_texts(texts)
    assert round_trip(tokenizers[kind], texts) == texts


@pytest.mark.skipif(not DIRTY.exists(), reason="the dirty corpus is not there")
@pytest.mark.parametrize(
    "case", ["22_emoji.zh", "23_zero_width.de", "33_special_token_text.en", "34_case.tr"]
)
def test_dirty_text_comes_back(case: str) -> None:
    lines = Normalizer().normalize_texts((DIRTY / case).read_bytes().decode("utf-8").split("\n")[:-1])
    for kind in KINDS:
        tokenizer = train_tokenizer(kind, lines, 420)
        assert round_trip(tokenizer, lines) == lines, kind
        stranger = train_tokenizer(kind, ["nothing of this"], 420)
        ids = stranger.tokenize(lines)
        assert not set(ids.flat_values.numpy().tolist()) & {0, 2, 3}, kind
