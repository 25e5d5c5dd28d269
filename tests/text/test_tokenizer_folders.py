"""What all kinds of tokenizers leave in a folder is read again, or refused where it is damaged."""

import json
from pathlib import Path

import pytest
from tokenizer_kinds import CORPUS

from tf_transformer.errors import TextError
from tf_transformer.text import Tokenizer, load_tokenizer, train_tokenizer


def test_saved_and_loaded_is_the_same(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "here")
    loaded = load_tokenizer(tmp_path / "here")
    assert type(loaded) is type(tokenizer)
    assert (loaded.tokens, loaded.options) == (tokenizer.tokens, tokenizer.options)
    assert loaded.tokenize(CORPUS).to_list() == tokenizer.tokenize(CORPUS).to_list()


@pytest.mark.parametrize("kind", ["wordpiece", "words", "characters"])
def test_line_breaks_in_the_corpus_add_no_lines_to_the_vocabulary(kind: str, tmp_path: Path) -> None:
    made = train_tokenizer(kind, ["a\rb", "c\u2028d\x85e f"], 50)
    made.save(tmp_path)
    content = (tmp_path / "vocabulary.txt").read_bytes()
    assert len(content.decode("utf-8").splitlines()) == content.count(b"\n") == made.vocabulary_size
    assert load_tokenizer(tmp_path).tokens == made.tokens


def test_the_same_corpus_gives_the_same_files(tokenizer: Tokenizer) -> None:
    assert train_tokenizer(tokenizer.kind, iter(CORPUS), 420).to_files() == tokenizer.to_files()


def damaged(tokenizer: Tokenizer, folder: Path, change: dict[str, object]) -> Path:
    tokenizer.save(folder)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    return folder


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "morphemes"}, r"`kind` must be one of sentencepiece, .*Received: 'morphemes'"),
        ({"vocabulary_size": "many"}, r"`vocabulary_size` must be of type int\. Received: 'many'"),
        ({"options": {"joined": 1}}, r"must describe a tokenizer of kind words\. Received: .*'joined'"),
        ({"files": {}}, r"must describe a tokenizer of kind words\. Received: 'vocabulary\.txt'"),
        ({"format": 2}, r"format must be 1\. Received: 2"),
    ],
)
def test_a_damaged_manifest_is_named(
    tokenizers: dict[str, Tokenizer], tmp_path: Path, change: dict[str, object], message: str
) -> None:
    folder = damaged(tokenizers["words"], tmp_path / "words", change)
    with pytest.raises(TextError, match=rf"tokenizer\.json: {message}"):
        load_tokenizer(folder)


def test_another_size_or_content_is_refused(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    words = tokenizers["words"]
    size = words.vocabulary_size
    words.save(tmp_path / "longer")
    with (tmp_path / "longer" / "vocabulary.txt").open("a") as file:
        file.write("more\n")
    with pytest.raises(
        TextError, match=rf"vocabulary\.txt: must have {size} lines, .*Received: {size + 1} lines"
    ):
        load_tokenizer(tmp_path / "longer")
    words.save(tmp_path / "changed")
    path = tmp_path / "changed" / "vocabulary.txt"
    path.write_bytes(path.read_bytes().replace(b"apple", b"apples"))
    with pytest.raises(
        TextError, match=r"vocabulary\.txt: must be the file that was saved, SHA-256 .*Received: SHA"
    ):
        load_tokenizer(tmp_path / "changed")
    folder = damaged(tokenizers["sentencepiece"], tmp_path / "pieces", {"vocabulary_size": 7})
    with pytest.raises(TextError, match=r"sentencepiece\.model: must have 7 pieces, .*Received: 3\d\d"):
        load_tokenizer(folder)
    folder = damaged(tokenizers["bytes"], tmp_path / "bytes", {"vocabulary_size": 261})
    with pytest.raises(TextError, match=r"tokenizer\.json: `vocabulary_size` must be 260, .*Received: 261"):
        load_tokenizer(folder)


def test_a_half_written_folder_is_refused(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    tokenizers["sentencepiece"].save(tmp_path)
    path = tmp_path / "sentencepiece.model"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(TextError, match=r"sentencepiece\.model: must be a SentencePiece model\. Received: "):
        load_tokenizer(tmp_path)
    path.unlink()
    with pytest.raises(
        TextError, match=r"sentencepiece\.model: must be a file that can be read\. Received: No such"
    ):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(
        TextError, match=r"tokenizer\.json: must be a file that can be read\. Received: No such"
    ):
        load_tokenizer(tmp_path)
