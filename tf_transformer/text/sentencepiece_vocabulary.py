"""SentencePiece models whose pieces are numbered by another tool's vocabulary.

Such a tool splits text by a SentencePiece model and looks the pieces up in a list of its own: the list has
another order, may lack pieces of the model, and may hold pieces that only the model of the other side has.
A character that the model does not know comes out of it as it is, and is looked up, too. (Of several such
characters in a row each is looked up here; those tools look all of them up as one.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tf_transformer.errors import TextError
from tf_transformer.presets import SPECIAL_TOKENS
from tf_transformer.text.sentencepiece_import import with_our_ids
from tf_transformer.text.sentencepiece_model import UNKNOWN_PENALTY, parse_model


@dataclass(frozen=True)
class NumberedModel:
    """A SentencePiece model with the ids of a vocabulary.

    Args:
        content: Of the model file: our special tokens, the pieces of the vocabulary in their order, and
            behind them those pieces that the vocabulary lacks.
        foreign: How many pieces of the vocabulary the model had not.
    """

    content: bytes
    foreign: int


def lacking(contents: Sequence[tuple[bytes, str]], pieces: Sequence[str]) -> list[str]:
    """The pieces of models that a vocabulary has not, each once, in the order of the models.

    Args:
        contents: Content and name of each model file.
        pieces: The vocabulary without its special tokens.

    Raises:
        TextError: If one is no SentencePiece model.
    """
    known = {*pieces, *SPECIAL_TOKENS}
    models = [parse_model(with_our_ids(content, name), name) for content, name in contents]
    every = [piece.piece for model in models for piece in model.pieces]
    return [piece for piece in dict.fromkeys(every) if piece not in known]


def numbered(content: bytes, name: str, pieces: Sequence[str]) -> NumberedModel:
    """Brings a SentencePiece model to the numbers of a vocabulary; it splits text as it did.

    Args:
        content: Of the model file.
        name: What to call it in an error.
        pieces: All pieces but the special tokens, which get our ids: the first of them becomes id 4. Of those
            that the model lacks, text becomes single characters, and never others.

    Raises:
        TextError: If it is no SentencePiece model, a piece is there twice, or the model would split text
            otherwise: with byte-pair encoding, strange pieces could be merged on the way to others.
    """
    model = parse_model(with_our_ids(content, name), name)
    _check(model, name, pieces)
    own = {piece.piece: piece for piece in model.pieces}
    special, kinds = list(model.pieces[: len(SPECIAL_TOKENS)]), type(model).SentencePiece
    strange = [piece for piece in pieces if piece not in own]
    is_bpe = model.trainer_spec.model_type == model.trainer_spec.BPE
    if strange and is_bpe:
        raise TextError(
            f"{name}: a byte-pair model can take no pieces of another one in, and the vocabulary has "
            f"{len(strange):,} more, such as {strange[0]!r}"
        )
    lowest = min((piece.score for piece in model.pieces if piece.type == kinds.NORMAL), default=0.0)

    def foreign(piece: str) -> Any:
        if len(piece) > 1:
            return kinds(piece=piece, score=0.0, type=kinds.UNUSED)
        return kinds(piece=piece, score=lowest - UNKNOWN_PENALTY, type=kinds.NORMAL)

    found = [own.get(piece) or foreign(piece) for piece in pieces]
    del model.pieces[:]
    model.pieces.extend([*special, *found])
    model.trainer_spec.vocab_size = len(model.pieces)
    ours: bytes = model.SerializeToString(deterministic=True)
    parse_model(ours, name)
    return NumberedModel(ours, len(strange))


def _check(model: Any, name: str, pieces: Sequence[str]) -> None:
    """Refuses a list of pieces that no model can have, or that leaves one of this model out."""
    seen = set(SPECIAL_TOKENS)
    for piece in pieces:
        if piece in seen or not piece:
            raise TextError(f"{name}: pieces of a vocabulary must be different. Received: {piece!r} twice")
        seen.add(piece)
    left = [piece.piece for piece in model.pieces if piece.piece not in seen]
    if left:
        raise TextError(f"{name}: the vocabulary must have all pieces of the model, and lacks {left[0]!r}")
