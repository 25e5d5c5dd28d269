"""Words, WordPiece, characters and bytes: vocabularies and ids by hand, WordPiece by a second route."""

import logging
from pathlib import Path

import pytest
import tensorflow as tf

from tf_transformer.errors import TextError
from tf_transformer.text import import_tokenizer, load_tokenizer, train_tokenizer
from tf_transformer.text.character_tokenizer import CharacterTokenizer
from tf_transformer.text.vocabulary import Vocabulary
from tf_transformer.text.word_splitting import split_words


def pieces(tokenizer: object, text: str) -> list[str]:
    ids = tokenizer.tokenize([text]).to_list()[0]  # type: ignore[attr-defined]
    return [tokenizer.tokens[index] for index in ids]  # type: ignore[attr-defined]


def imported(kind: str, folder: Path, *tokens: str) -> object:
    path = folder / "their.txt"
    path.write_text("\n".join(tokens) + "\n", encoding="utf-8")
    return import_tokenizer(kind, path)


def test_words_are_ranked_by_count_then_spelling() -> None:
    tokenizer = train_tokenizer("words", ["b a, b", "b c a"], 7)
    assert tokenizer.tokens[4:] == ["b", "a", "c"]  # 3, 2, and "c" before the joined comma
    assert tokenizer.tokenize(["a c, d"]).to_list() == [[5, 6, 1, 1]]
    assert tokenizer.vocabulary_size == 7


def test_words_of_another_tool(tmp_path: Path) -> None:
    tokenizer = imported("words", tmp_path, "[PAD]", "[UNK]", "the", "cat", ",", "!")
    assert pieces(tokenizer, "the cat, dog!") == ["the", "cat", ",", "<unk>", "!"]
    ids = tokenizer.tokenize(["the cat, the!"])  # type: ignore[attr-defined]
    assert tokenizer.detokenize(ids).numpy().tolist() == [b"the cat, the!"]  # type: ignore[attr-defined]
    tokenizer.save(tmp_path / "saved")  # type: ignore[attr-defined]
    assert load_tokenizer(tmp_path / "saved").options["joiners"] is False


def test_characters_by_hand() -> None:
    tokenizer = train_tokenizer("characters", ["aab", "a ü"], 300)
    assert tokenizer.tokens[4:] == ["a", " ", "b", "ü"]
    assert tokenizer.tokenize(["ü ab", "x😀"]).to_list() == [[7, 5, 4, 6], [1, 1]]
    assert train_tokenizer("characters", ["aab", "a ü"], 5).tokens[4:] == ["a"]


def test_characters_are_single(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"`vocabulary` must hold single characters alone\. Received: 'ab'"):
        CharacterTokenizer(Vocabulary.of(["a", "ab"]))
    with pytest.raises(TextError, match=r"their\.txt: `vocabulary` must hold single characters alone"):
        imported("characters", tmp_path, "a", "ab")
    assert imported("characters", tmp_path, "\\u0020", "a").tokens[4:] == [" ", "a"]  # type: ignore[attr-defined]


def test_bytes_by_hand() -> None:
    tokenizer = train_tokenizer("bytes", [], 260)
    assert tokenizer.tokenize(["Aä", ""]).to_list() == [[0x41 + 4, 0xC3 + 4, 0xA4 + 4], []]
    assert tokenizer.tokens[0x41 + 4] == "<0x41>"
    broken = tf.constant([[0x41 + 4, 0xC3 + 4, 0x42 + 4]])
    assert tokenizer.detokenize(broken).numpy()[0].decode() == "A\ufffdB"
    with pytest.raises(TextError, match=r"`vocabulary_size` must be at least 260 for bytes\. Received: 259"):
        train_tokenizer("bytes", [], 259)


def test_wordpiece_takes_the_longest_piece(tmp_path: Path) -> None:
    tokenizer = imported("wordpiece", tmp_path, "[UNK]", "un", "##aff", "##able", "##a", "the", ",", "##f")
    assert pieces(tokenizer, "unaffable, the") == ["un", "##aff", "##able", ",", "the"]
    assert pieces(tokenizer, "una unb [UNK]") == ["un", "##a", "<unk>", "<unk>", "<unk>", "<unk>"]
    ids = tokenizer.tokenize(["unaffable, the"])  # type: ignore[attr-defined]
    assert tokenizer.detokenize(ids).numpy().tolist() == [b"unaffable, the"]  # type: ignore[attr-defined]


def greedy(word: str, vocabulary: set[str]) -> list[str]:
    """WordPiece as its definition says, in Python."""
    found: list[str] = []
    while word:
        prefix = "##" if found else ""
        longest = next((n for n in range(len(word), 0, -1) if prefix + word[:n] in vocabulary), 0)
        if not longest:
            return ["<unk>"]
        found.append(prefix + word[:longest])
        word = word[longest:]
    return found


CORPUS = ["low lower lowest", "new newer newest", "wide, wider, widest!", '(slow) "slower" slowest'] * 5


def test_wordpiece_by_two_routes() -> None:
    tokenizer = train_tokenizer("wordpiece", CORPUS, 70)
    vocabulary = set(tokenizer.tokens[4:])
    for text in [*CORPUS[:4], "slowest news: (widest)", "lowlow xy", "﹏"]:
        words = [word.decode() for word in split_words(tf.constant([text]), True).flat_values.numpy()]
        assert pieces(tokenizer, text) == [piece for word in words for piece in greedy(word, vocabulary)]


def test_wordpiece_learns_words_and_both_forms_of_characters(caplog: pytest.LogCaptureFixture) -> None:
    tokenizer = train_tokenizer("wordpiece", CORPUS, 70)
    assert tokenizer.vocabulary_size == 70
    assert {"low", "l", "##l", "(", "￭)"} <= set(tokenizer.tokens)
    assert "##)" not in tokenizer.tokens  # is never inside a word
    assert len(pieces(tokenizer, "low")) == 1
    with caplog.at_level(logging.WARNING):
        size = train_tokenizer("wordpiece", CORPUS, 7000).vocabulary_size
    assert caplog.messages == [f"vocabulary_size=7000 asked for, {size} pieces made: the corpus has no more"]


@pytest.mark.parametrize("asked", [5, 9, 12])
def test_wordpiece_needs_every_character_twice(asked: int) -> None:
    with pytest.raises(TextError, match=rf"must be at least 14 to hold .*characters\. Received: {asked}"):
        train_tokenizer("wordpiece", ["ab cde"], asked, character_coverage=1.0)
    assert train_tokenizer("wordpiece", ["ab cde"], 14, character_coverage=1.0).vocabulary_size == 14


def test_a_word_of_many_bytes_is_unknown() -> None:
    tokenizer = train_tokenizer("wordpiece", CORPUS, 70)
    assert pieces(tokenizer, "l" * 100)[0] == "l"
    assert pieces(tokenizer, "l" * 101) == ["<unk>"]
