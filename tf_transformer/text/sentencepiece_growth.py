"""SentencePiece models with more pieces than they were trained with, which split all else as before.

A text must not be split anew because a model has learnt pieces for another one. So a new piece stands in
place of two that stood side by side anyway, and nowhere else: in a BPE model it is merged after all the
others; in a unigram model its score is the sum of theirs and a trifle, so that it wins against them, and
against nothing else.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from tf_transformer.errors import TextError
from tf_transformer.text.piece_search import NewPiece, PieceSearch, positions_saved
from tf_transformer.text.sentencepiece_model import SPACE, UNKNOWN_PENALTY, WORD, parse_model

_Words = list[list[str]]
_Scores = Mapping[str, float]
_Scored = tuple[str, float]
_MayBe = Callable[[str], bool]

_LONGEST: Final = 16
"""Characters of a piece; the trainer's own limit."""
_TRIFLE: Final = 0.005
"""Less than what tells other ways to split apart, more than float32 loses in a sum of scores."""


def parts_of(content: bytes, pieces: Sequence[str]) -> list[list[int]]:
    """The ids that a model makes of spellings of pieces, taken as they stand.

    Args:
        content: A model file.
        pieces: Spellings, U+2581 for a space.
    """
    model = _of_spellings(content)
    names = {piece.piece: index for index, piece in enumerate(model.pieces)}
    found: list[list[int]] = _processor(model).encode(list(pieces))
    # Special tokens and bytes are no text, but what they are called.
    return [[names[piece]] if piece in names else ids for piece, ids in zip(pieces, found, strict=True)]


def grown_model(content: bytes, texts: Iterable[str], most: int) -> bytes:
    """A model with the pieces that some texts lack, behind its own.

    Args:
        content: A model file.
        texts: Normalised texts.
        most: How many pieces at most.

    Raises:
        TextError: The model is no BPE or unigram model.
    """
    model = parse_model(content, "the model")
    kind, kinds = model.trainer_spec.model_type, type(model).SentencePiece
    if kind not in _WAYS:
        raise TextError(f"only a BPE or a unigram model can get more pieces. Received: type {kind}")
    scores = {piece.piece: piece.score for piece in model.pieces if piece.type == kinds.NORMAL}
    names = {piece.piece for piece in model.pieces}
    counts = _words(model, texts)
    words = _split(content, list(counts), names)

    def may_be(piece: str) -> bool:
        return piece not in names and _has_form(piece)

    for piece, score in _WAYS[kind](words, list(counts.values()), scores, may_be, most):
        model.pieces.add(piece=piece, score=score, type=kinds.NORMAL)
    model.trainer_spec.vocab_size = len(model.pieces)
    grown: bytes = model.SerializeToString(deterministic=True)
    return grown


def _merged(
    words: _Words, counts: list[int], scores: _Scores, may_be: _MayBe, most: int
) -> Iterator[_Scored]:
    """Pieces that save most positions, with scores that are lower from one to the next."""
    search = PieceSearch(words, counts, scores, "".join, may_be, positions_saved)
    lowest = min(scores.values(), default=0.0)
    for number, new in enumerate(search.find(most), start=1):
        yield new.spelling, lowest - number


def _likelier(
    words: _Words, counts: list[int], scores: _Scores, may_be: _MayBe, most: int
) -> Iterator[_Scored]:
    """Pieces that make the texts likeliest: those that the model does not expect to be so frequent.

    Frequent neighbours alone would be wherever text is, in that of the model too.
    """
    scores, likelihoods = dict(scores), dict(scores)
    lowest = min(scores.values(), default=0.0)
    total = sum(count * len(word) for word, count in zip(words, counts, strict=True))

    def gained(new: NewPiece) -> float:
        parts = [likelihoods[part] for part in new.parts] or [lowest - UNKNOWN_PENALTY]
        return new.times * (math.log(new.times / total) - sum(parts))

    search = PieceSearch(words, counts, scores, "".join, may_be, gained, most_parts=_LONGEST)
    for new in search.find(most):
        likelihoods[new.spelling] = math.log(new.times / total)
        parts = [scores[part] for part in new.parts]
        scores[new.spelling] = sum(parts) + _TRIFLE * (len(parts) - 1) if parts else lowest
        yield new.spelling, scores[new.spelling]


_WAYS: Final[Mapping[int, Callable[..., Iterator[_Scored]]]] = {1: _likelier, 2: _merged}
"""By the type of a model, as its file says it."""


def _words(model: Any, texts: Iterable[str]) -> Counter[str]:
    """How often each word of texts is there, spelled as pieces are."""
    normalize = _processor(model).normalize
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(WORD.findall(normalize(text)))
    return counts


def _split(content: bytes, words: list[str], names: set[str]) -> _Words:
    """Words in the pieces of a model; a character that is none is by itself."""
    model = _of_spellings(content)
    for piece in model.pieces:
        if piece.type == type(piece).BYTE:
            piece.type = type(piece).CONTROL
    model.trainer_spec.byte_fallback = False
    split = _processor(model).encode(words, out_type=str)
    return [[symbol for piece in word for symbol in ([piece] if piece in names else piece)] for word in split]


def _of_spellings(content: bytes) -> Any:
    """The model without a normalisation, for texts that are spelled as its pieces are."""
    model = parse_model(content, "the model")
    model.normalizer_spec.Clear()
    model.normalizer_spec.add_dummy_prefix = False
    model.normalizer_spec.remove_extra_whitespaces = False
    return model


def _processor(model: Any) -> Any:
    import sentencepiece

    return sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())


def _has_form(piece: str) -> bool:
    """Whether a piece is of the form that the trainer gives pieces: short, and of one script."""
    text = piece.removeprefix(SPACE)
    kinds = {kind for kind in map(_kind, text) if kind}
    return 0 < len(text) <= _LONGEST and SPACE not in text and len(kinds) <= 1 and "control" not in kinds


@cache
def _kind(character: str) -> str:
    """The script of a letter, or what else it is; nothing for marks, which go with any letter."""
    category = unicodedata.category(character)
    if category[0] == "M" or category == "Cf":
        return ""
    if category[0] in "LN":
        script = unicodedata.name(character, category).split()[0] if category[0] == "L" else "number"
        return "CJK" if script in ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA") else script
    return "control" if category in ("Cc", "Cs", "Co", "Zl", "Zp") else "sign"
