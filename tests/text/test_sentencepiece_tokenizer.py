"""SentencePiece: ids as the library gives them, files of other tools, and what training says."""

import io
import logging
from pathlib import Path

import pytest
import sentencepiece

from tf_transformer.errors import TextError
from tf_transformer.presets import SPECIAL_TOKENS
from tf_transformer.text import import_tokenizer, train_tokenizer
from tf_transformer.text.sentencepiece_tokenizer import SentencePieceTokenizer

CORPUS = [
    "the cat sat on the mat",
    "the dog sat on the log",
    "a cat and a dog and a rat",
    "ein Zwölf ▁ Öl",
] * 3
TEXTS = [
    "the rat",
    "",
    "▁ a▁b▁",
    "x\U0010fffd\U0010fffc▁y",
    "日本 😀",
    "<s>the</s>",
    "<0x41>",
    " two  spaces ",
]


def train(**options: object) -> SentencePieceTokenizer:
    tokenizer = train_tokenizer("sentencepiece", CORPUS, **options)  # type: ignore[arg-type]
    assert isinstance(tokenizer, SentencePieceTokenizer)
    return tokenizer


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
@pytest.mark.parametrize("byte_fallback", [True, False])
def test_ids_equal_the_librarys(
    model_type: str, byte_fallback: bool, caplog: pytest.LogCaptureFixture
) -> None:
    tokenizer = train(vocabulary_size=330, model_type=model_type, byte_fallback=byte_fallback)
    library = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    assert tokenizer.tokenize(TEXTS).to_list() == library.encode(TEXTS)
    assert tokenizer.tokens == [library.id_to_piece(index) for index in range(library.vocab_size())]
    back = [text.decode() for text in tokenizer.detokenize(tokenizer.tokenize(TEXTS)).numpy()]
    if byte_fallback:
        assert back == [*TEXTS[:-1], "two spaces"]
    else:
        assert back[4] == "<unk> <unk>"
        assert "<0x41>" not in tokenizer.tokens


def test_a_vocabulary_too_large_is_made_smaller_and_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        size = train(vocabulary_size=5000).vocabulary_size
    assert size < 400
    assert caplog.messages == [f"vocabulary_size=5000 asked for, {size} pieces made: the corpus has no more"]


def test_training_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    train(vocabulary_size=290).tokenize(["the"])
    output = capfd.readouterr()
    assert not [line for line in (output.out + output.err).splitlines() if ".cc(" in line or "LOG(" in line]


def test_training_leaves_no_paths_in_the_model() -> None:
    model = train(vocabulary_size=290).model
    assert b".tsv" not in model and b"/tmp" not in model


def test_long_texts_are_not_passed_over() -> None:
    tokenizer = train_tokenizer("sentencepiece", ["needle " * 3000, "x" * 70_001], 290, model_type="bpe")
    assert "▁needle" in tokenizer.tokens


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"vocabulary_size": 260},
            r"`vocabulary_size` must be at least 261 with byte_fallback=True\. Received: 260",
        ),
        ({"model_type": "word"}, r'`model_type` must be "unigram" or "bpe"\. Received: \'word\''),
        (
            {"character_coverage": 99.95},
            r"`character_coverage` must be between 0\.9 and 1, or None\. Received: 99\.95",
        ),
    ],
)
def test_wrong_arguments(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        train(**options)


def test_an_alphabet_that_does_not_fit(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(TextError, match=r"`vocabulary_size` must be at least 2\d\d to hold .*Received: 262"):
        train(vocabulary_size=262)
    rare = ["abc " * 1000, "xyz"]
    tokenizer = train_tokenizer("sentencepiece", rare, 9, byte_fallback=False, character_coverage=0.999)
    assert {"a", "b", "c"} <= set("".join(tokenizer.tokens[4:])) and "x" not in tokenizer.tokens
    with caplog.at_level(logging.WARNING):
        train_tokenizer("sentencepiece", rare, 9, byte_fallback=False)
    assert "must be at least 11 to hold the corpus' characters. Received: 9; the rarest" in caplog.messages[0]


def foreign(folder: Path, **options: object) -> Path:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS),
        model_writer=model,
        vocab_size=40,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    path = folder / "their.model"
    path.write_bytes(model.getvalue())
    return path


@pytest.mark.parametrize(
    "options",
    [
        {"model_type": "unigram"},  # <unk> <s> </s>, no padding: the library's default
        {"model_type": "bpe", "pad_id": 3, "unk_id": 2, "bos_id": -1, "eos_id": 0, "pad_piece": "[P]"},
        {"model_type": "bpe", "normalization_rule_name": "identity"},
    ],
)
def test_a_foreign_model_gets_our_ids(tmp_path: Path, options: dict[str, object]) -> None:
    path = foreign(tmp_path, **options)
    tokenizer = import_tokenizer("sentencepiece", path)
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    assert tuple(tokenizer.tokens[:4]) == SPECIAL_TOKENS
    assert "[P]" not in tokenizer.tokens
    text = "the cat and the dog, <s> ﬁ"
    pieces = [tokenizer.tokens[index] for index in tokenizer.tokenize([text]).to_list()[0]]
    # Unknown pieces are spelled as in the text by the library.
    expected = [theirs.id_to_piece(index) for index in theirs.encode(text)]
    assert pieces == [
        "<unk>" if theirs.piece_to_id(piece) == theirs.unk_id() else piece for piece in expected
    ]
    back = tokenizer.detokenize(tokenizer.tokenize(["the cat", ""])).numpy().tolist()
    assert back == [b"the cat", b""]


@pytest.mark.parametrize("content", [b"", b"the\ncat\n", b"\x00" * 50], ids=["nothing", "text", "zeros"])
def test_what_is_no_model_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.model"
    path.write_bytes(content)
    with pytest.raises(TextError, match=r"bad\.model: must be a SentencePiece model\. Received: "):
        import_tokenizer("sentencepiece", path)


def test_a_model_with_other_special_ids_must_be_imported(tmp_path: Path) -> None:
    content = foreign(tmp_path, model_type="bpe").read_bytes()
    with pytest.raises(
        TextError, match=r"`model` must begin with \['<pad>', .*import it instead\. Received: \['<unk>'"
    ):
        SentencePieceTokenizer(content)
