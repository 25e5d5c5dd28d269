"""SentencePiece models with the ids of another tool's vocabulary."""

import foreign_models
import pytest
import sentencepiece

from tf_transformer.errors import TextError
from tf_transformer.text.sentencepiece_tokenizer import SentencePieceTokenizer
from tf_transformer.text.sentencepiece_vocabulary import lacking, numbered

TEXTS = foreign_models.TEXTS


def test_text_is_split_as_before_and_numbered_anew() -> None:
    model = foreign_models.sentencepiece_model(TEXTS, 19)
    own = foreign_models.pieces_of(model)
    pieces = ["▁strange", *own[::-1], "z", "other"]
    found = numbered(model, "sp.model", pieces)
    assert found.foreign == 3
    tokenizer = SentencePieceTokenizer(found.content)
    assert tokenizer.tokens == ["<pad>", "<unk>", "<s>", "</s>", *pieces]
    before = sentencepiece.SentencePieceProcessor(model_proto=model)
    for text in (*TEXTS, "a z bed"):
        split = before.encode(text, out_type=str)
        ids = tokenizer.tokenize([text]).to_list()[0]
        assert [
            tokenizer.tokens[one] if one != 1 else piece for one, piece in zip(ids, split, strict=True)
        ] == split
    # What the model does not know is looked up as it is.
    assert tokenizer.tokenize(["az"]).to_list()[0][-1] == tokenizer.tokens.index("z")
    # Text never becomes a strange piece, and a strange piece becomes text.
    assert tokenizer.detokenize([[4, len(pieces) + 3]]).numpy().tolist() == [b"strangeother"]


def test_what_the_vocabulary_lacks_is_named() -> None:
    model = foreign_models.sentencepiece_model(TEXTS, 19)
    own = foreign_models.pieces_of(model)
    assert lacking([(model, "a"), (model, "b")], own[2:]) == own[:2]
    with pytest.raises(TextError, match=r"sp.model: the vocabulary must have all pieces of the model"):
        numbered(model, "sp.model", own[1:])
    with pytest.raises(TextError, match=r"pieces of a vocabulary must be different. Received: '</s>' twice"):
        numbered(model, "sp.model", ["</s>", *own])


def test_byte_pairs_take_no_strange_pieces() -> None:
    model = foreign_models.sentencepiece_model(TEXTS, 19, "bpe")
    own = foreign_models.pieces_of(model)
    assert numbered(model, "sp.model", own).foreign == 0
    with pytest.raises(TextError, match=r"a byte-pair model can take no pieces .*1 more, such as 'strange'"):
        numbered(model, "sp.model", [*own, "strange"])
