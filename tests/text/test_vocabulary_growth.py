"""Tokenizers that grow: what becomes a piece, what does not change, and where each id comes from."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tf_transformer.errors import TextError
from tf_transformer.presets import SPECIAL_TOKENS
from tf_transformer.text import Tokenizer, load_tokenizer, train_tokenizer
from tf_transformer.text.piece_search import NewPiece, PieceSearch, positions_saved
from tf_transformer.text.sentencepiece_tokenizer import SentencePieceTokenizer
from tf_transformer.text.vocabulary import Vocabulary
from tf_transformer.text.vocabulary_change import vocabulary_change
from tf_transformer.text.word_tokenizer import WordTokenizer
from tf_transformer.text.wordpiece_tokenizer import WordPieceTokenizer

OLD = ["the cat sat on the mat", "the dog sat on the log", "a cat and a dog and a rat, a log"] * 3
NEW = ["the senate sat, the senator dissented", "die Größe, die Größe", "мир миру мир", "平和 平和 x"] * 2
SCRIPTS = ["мир, мирный", "平和な日", "the senator's 😀", "नमस्ते", "مرحبا بالعالم", "▁ a▁b", "e\u0301te\u0301"]
KINDS = ["bpe", "unigram"]


def trained(model_type: Any, byte_fallback: bool = True) -> SentencePieceTokenizer:
    size = 300 if byte_fallback else 44
    tokenizer = train_tokenizer(
        "sentencepiece", OLD, size, model_type=model_type, byte_fallback=byte_fallback
    )
    assert isinstance(tokenizer, SentencePieceTokenizer)
    return tokenizer


def rows(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    found: list[list[int]] = tokenizer.tokenize(texts).to_list()
    return found


def back(tokenizer: Tokenizer, texts: list[str]) -> list[str]:
    return [text.decode() for text in tokenizer.detokenize(tokenizer.tokenize(texts)).numpy()]


def search(words: list[str], counts: list[int], known: str, most_parts: int = 2) -> list[NewPiece]:
    def may_be(piece: str) -> bool:
        return len(piece) < 5

    return list(PieceSearch(words, counts, known, "".join, may_be, positions_saved, most_parts).find(10))


def test_neighbours_are_merged_by_how_often_they_stand_together() -> None:
    # ab 5 times, then abc and bca, 3 and 2; what is there once or longer than 4 is none.
    found = search(["abca", "abc", "ab", "cc"], [2, 1, 2, 1], "abc")
    assert found == [
        NewPiece("ab", ("a", "b"), 5),
        NewPiece("abc", ("ab", "c"), 3),
        NewPiece("abca", ("abc", "a"), 2),
    ]


def test_a_longer_run_saves_more_where_it_may_be_taken_at_once() -> None:
    found = search(["abca", "abc", "ab", "cc"], [2, 1, 2, 1], "abc", most_parts=4)
    assert found[0] == NewPiece("abc", ("a", "b", "c"), 3)  # saves 6, as abca does
    assert found[1:] == [NewPiece("ab", ("a", "b"), 2), NewPiece("abca", ("abc", "a"), 2)]


def test_a_missing_character_comes_before_what_it_stands_in() -> None:
    assert search(["aя", "я"], [2, 1], "a") == [NewPiece("я", (), 3), NewPiece("aя", ("a", "я"), 2)]


def test_the_same_piece_twice_over() -> None:
    assert search(["aaaa"], [3], "a")[0] == NewPiece("aa", ("a", "a"), 9)


@pytest.mark.parametrize("model_type", KINDS)
def test_old_ids_stay_and_old_text_is_split_as_before(model_type: str) -> None:
    old = trained(model_type)
    new = old.grown(NEW, 40)
    assert old.vocabulary_size + 15 < new.vocabulary_size <= old.vocabulary_size + 40
    assert new.tokens[: old.vocabulary_size] == old.tokens
    assert {"и", "平"} & set("".join(new.tokens[old.vocabulary_size :]))
    assert len(new.tokenize(NEW).flat_values) < 0.7 * len(old.tokenize(NEW).flat_values)
    # A new piece stands in place of what the old one had there, in any text.
    parts = vocabulary_change(old, new).origins
    texts = [*OLD[:3], *NEW[:4]]
    expanded = [[part for index in row for part in parts[index]] for row in rows(new, texts)]
    assert expanded == rows(old, texts)
    assert back(new, SCRIPTS + NEW) == SCRIPTS + NEW


@pytest.mark.parametrize("model_type", KINDS)
def test_without_bytes_characters_are_added_first(model_type: str) -> None:
    old = trained(model_type, byte_fallback=False)
    new = old.grown(NEW, 60)
    assert 1 in old.tokenize(NEW).flat_values.numpy()
    assert 1 not in new.tokenize(NEW).flat_values.numpy()
    assert back(new, NEW) == NEW
    change = vocabulary_change(old, new)
    assert change.origins[new.tokens.index("平")] == (1,)


@pytest.mark.parametrize("model_type", KINDS)
def test_a_grown_model_can_be_sampled_from(model_type: str) -> None:
    new = trained(model_type).grown(NEW, 40)
    texts = [text for text in [*NEW, *OLD] if text]
    values, sizes = new.sampler(texts, 0.0 if model_type == "bpe" else 1.0)([7])
    cut = np.split(values, np.cumsum(sizes)[:-1])
    drawn = [text.decode() for text in new.detokenize(_ragged(cut)).numpy()]
    assert drawn == texts
    if model_type == "bpe":  # nothing left out
        assert [row.tolist() for row in cut] == rows(new, texts)
    assert max(values) >= trained(model_type).vocabulary_size  # new pieces are drawn, too


@pytest.mark.parametrize("model_type", KINDS)
def test_a_saved_model_splits_with_the_grown_pieces(model_type: str, tmp_path: Path) -> None:
    import tensorflow as tf

    module = tf.Module()
    module.tokenizer = grown = trained(model_type).grown(NEW, 40)
    texts = tf.TensorSpec([None], tf.string)

    @tf.function(input_signature=[texts])
    def there_and_back(strings: Any) -> Any:
        ids = grown.tokenize(strings)
        return ids, grown.detokenize(ids)

    module.there_and_back = there_and_back
    tf.saved_model.save(module, str(tmp_path))
    ids, again = tf.saved_model.load(str(tmp_path)).there_and_back(tf.constant(NEW + SCRIPTS))
    assert ids.to_list() == rows(grown, NEW + SCRIPTS)
    assert [text.decode() for text in again.numpy()] == NEW + SCRIPTS


def _ragged(cut: list[Any]) -> Any:
    import tensorflow as tf

    return tf.ragged.constant([row.tolist() for row in cut], dtype=tf.int32)


@pytest.mark.parametrize("kind", ["sentencepiece", "wordpiece", "words", "characters"])
def test_nothing_new_is_no_change(kind: str, tmp_path: Path) -> None:
    old = train_tokenizer(kind, OLD, 300)
    new = old.grown([], 50)
    assert new.to_files().keys() == old.to_files().keys()
    assert new.tokens == old.tokens
    change = vocabulary_change(old, new)
    assert change.is_none
    assert change.to_line() == f"{old.vocabulary_size} pieces kept, 0 new, 0 lost"
    grown = old.grown(NEW, 5)
    grown.save(tmp_path / kind)
    assert load_tokenizer(tmp_path / kind).tokens == grown.tokens
    assert rows(load_tokenizer(tmp_path / kind), NEW) == rows(grown, NEW)


def test_word_pieces_by_hand() -> None:
    old = WordPieceTokenizer(Vocabulary.of(["a", "b", "##b", "##c", "\uffed", "##,", "##d"]))
    new = old.grown(["abc abc", "abd dab"], 3)
    assert new.tokens[old.vocabulary_size :] == ["abc"]  # "d" begins a word once alone
    assert rows(new, ["abc abd"]) == [[11, 4, 6, 10]]
    change = vocabulary_change(old, new)
    assert change.origins[-1] == (4, 6, 7)
    assert change.to_line() == "11 pieces kept, 1 new, 0 lost: abc (a ##b ##c)"


def test_words_that_are_unknown_most_often() -> None:
    old = WordTokenizer(Vocabulary.of(["a", "b"]))
    new = old.grown(["a c c", "d d d b e"], 2)
    assert new.tokens[6:] == ["d", "c"]
    assert old.grown(["e"], 2).tokens == old.tokens  # once is too little
    assert vocabulary_change(old, new).origins == ((0,), (1,), (2,), (3,), (4,), (5,), (1,), (1,))


def test_bytes_cannot_grow() -> None:
    old = train_tokenizer("bytes", [], 260)
    with pytest.raises(TextError, match=r"bytes has its 260 pieces, and no other\. Received: 3 more"):
        old.grown(NEW, 3)
    assert vocabulary_change(old, old).is_none


def test_a_replaced_vocabulary_keeps_what_both_have() -> None:
    old, new = WordTokenizer(Vocabulary.of(["a", "b"])), WordTokenizer(Vocabulary.of(["b", "c"]))
    change = vocabulary_change(old, new)
    assert change.origins == ((0,), (1,), (2,), (3,), (5,), (1,))
    assert (change.new, change.lost) == ((5,), ("a",))
    assert not change.is_none
    assert change.to_line() == "5 pieces kept, 1 new, 1 lost: c (<unk>)"


def test_special_tokens_move_behind_the_new_pieces() -> None:
    old, new = WordTokenizer(Vocabulary.of(["a", "<b>"])), WordTokenizer(Vocabulary.of(["a", "<b>", "c"]))
    change = vocabulary_change(old, new, ["<b>", "<c>"], ["<c>", "<d>", "<b>"])
    assert change.origins[4:] == ((4,), (5,), (1,), (7,), (1,), (6,))
    assert (change.new, change.lost) == ((6, 8), ())


def test_other_kinds_are_refused() -> None:
    with pytest.raises(TextError, match=r"can only take the place of another words\. Received: characters"):
        vocabulary_change(WordTokenizer(Vocabulary.of(["a"])), train_tokenizer("characters", ["ab"], 9))


def test_an_unknown_kind_of_model_is_refused() -> None:
    import sentencepiece.sentencepiece_model_pb2 as protos

    old = trained("bpe")
    model = protos.ModelProto.FromString(old.model)
    model.trainer_spec.model_type = 4  # characters
    with pytest.raises(
        TextError, match=r"only a BPE or a unigram model can get more pieces\. Received: type 4"
    ):
        SentencePieceTokenizer(model.SerializeToString()).grown(NEW, 2)
    assert old.tokens[:4] == list(SPECIAL_TOKENS)
