"""SentencePiece model files as data: parsed, checked, changed, without TensorFlow."""

import re
from typing import Any, Final

from tf_transformer.errors import TextError
from tf_transformer.presets import SPECIAL_TOKENS, UNKNOWN_ID

SPACE: Final = "\u2581"
"""What stands for a space in pieces."""
UNKNOWN_PENALTY: Final = 10.0
"""How far below the least likely piece SentencePiece puts a character that it does not know."""
WORD: Final = re.compile("\u2581?[^\u2581]+|\u2581")
"""A word of a text that is spelled as pieces are: U+2581, which stands for a space, and what follows it."""


def parse_model(content: bytes, name: str) -> Any:
    """Returns the parsed content of a model file.

    Args:
        content: The bytes of the file.
        name: What to call it in an error.

    Returns:
        A `ModelProto`.

    Raises:
        TextError: The content is not a SentencePiece model.
    """
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    try:
        sentencepiece.SentencePieceProcessor(model_proto=content)
    except RuntimeError as error:
        raise TextError(f"{name}: must be a SentencePiece model. Received: {error}") from error
    model = sentencepiece_model_pb2.ModelProto.FromString(content)
    if not model.pieces:
        raise TextError(
            f"{name}: must be a SentencePiece model. Received: {len(content)} bytes without pieces"
        )
    return model


def special_piece(kinds: Any, index: int) -> Any:
    """Returns one of our special tokens as a piece of a model; `kinds` is the class of its pieces."""
    kind = kinds.UNKNOWN if index == UNKNOWN_ID else kinds.CONTROL
    return kinds(piece=SPECIAL_TOKENS[index], score=0.0, type=kind)


def has_our_ids(model: Any) -> bool:
    """Whether the first four pieces of a parsed model are our special tokens."""
    kinds = type(model).SentencePiece
    expected = [special_piece(kinds, index) for index in range(len(SPECIAL_TOKENS))]
    received = model.pieces[: len(expected)]
    return [(piece.piece, piece.type) for piece in received] == [
        (piece.piece, piece.type) for piece in expected
    ]


def with_unknown_surface(content: bytes, mark: str) -> bytes:
    """Returns the model with `mark` as the text of an unknown piece."""
    model = parse_model(content, "the model")
    model.trainer_spec.unk_surface = mark
    marked: bytes = model.SerializeToString(deterministic=True)
    return marked
