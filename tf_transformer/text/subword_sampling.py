"""Other segmentations of texts than the usual ones, drawn at random, so that a model sees many of them.

The draw is a pure function of a seed, on every machine and with every version of the libraries: SentencePiece
samples too, but its generator differs from process to process whatever the seed.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tf_transformer.errors import TextError
from tf_transformer.presets import UNKNOWN_ID
from tf_transformer.text.bpe_dropout import BpeDropout
from tf_transformer.text.noise import Noise
from tf_transformer.text.sentencepiece_model import SPACE, WORD, parse_model
from tf_transformer.text.unigram_sampling import UnigramSampling

IntArray = np.ndarray[Any, np.dtype[np.int64]]

_ALGORITHM: Final = 1
"""Counted up whenever the same arguments draw something else than before: runs that continue must notice."""
_KINDS: Final = {1: UnigramSampling, 2: BpeDropout}


class SubwordSampler:
    """Draws a segmentation of each of some texts, anew for each seed.

    With a BPE model each possible merge of each step is left out with the probability `alpha`
    ("BPE-Dropout: Simple and Effective Subword Regularization", Provilkov et al., 2020, algorithm 1). With a
    unigram model a segmentation x is drawn with a probability proportional to P(x)^alpha ("Subword
    Regularization", Kudo, 2018, section 3.3, of all segmentations): a smaller `alpha` gives stranger ones.

    Args:
        model: The content of a model file.
        texts: Normalised texts.
        alpha: From 0 to 1.

    Attributes:
        digest: Equal digests, equal segmentations for every seed.

    Raises:
        TextError: `model` is no BPE or unigram model, or it has pieces that cannot be sampled.
        ValueError: `alpha` is out of its range.
    """

    def __init__(self, model: bytes, texts: Sequence[str], alpha: float) -> None:
        import sentencepiece

        if not 0 <= alpha <= 1:
            raise ValueError(f"`alpha` must be from 0 to 1. Received: {alpha!r}")
        parsed = parse_model(model, "`model`")
        kind = parsed.trainer_spec.model_type
        if kind not in _KINDS:
            raise TextError(f"`model` must be a BPE or a unigram model to sample from. Received: type {kind}")
        pieces = _mergeable(parsed)
        normalized = sentencepiece.SentencePieceProcessor(model_proto=model).normalize(list(texts))
        self._num_words, words, self._occurrences = _words(normalized, pieces)
        characters = sorted({letter for word in words for letter in word} - set(pieces))
        symbols = {**pieces, **{letter: len(parsed.pieces) + n for n, letter in enumerate(characters)}}
        scores = {piece: parsed.pieces[index].score for piece, index in pieces.items()}
        draws: Any = _KINDS[kind]
        self._drawer: BpeDropout | UnigramSampling = draws(words, symbols, scores, alpha)
        self._spelling = _Spelling(parsed, characters)
        settled = [repr((_ALGORITHM, alpha)).encode(), model, "\n".join(normalized).encode()]
        self.digest = hashlib.sha256(b"\0".join(settled)).hexdigest()

    def __call__(self, seed: Sequence[int]) -> tuple[np.ndarray[Any, np.dtype[np.int32]], IntArray]:
        """Draws one segmentation of each text.

        Args:
            seed: Whole numbers of at least 0.

        Returns:
            The ids of all texts one after the other, int32, and how many each text has, int64 `[texts]`;
            without start and end.
        """
        symbols, sizes = self._drawer.draw(self._occurrences, Noise(seed))
        ends = np.cumsum(np.concatenate([[0], sizes]))
        ends = ends[np.cumsum(np.concatenate([[0], self._num_words]))]
        return self._spelling.ids(symbols, np.diff(ends))


def _mergeable(model: Any) -> dict[str, int]:
    """The ids of the pieces that texts are made of."""
    kinds = type(model).SentencePiece
    for piece in model.pieces:
        if piece.type in (kinds.USER_DEFINED, kinds.UNUSED):
            rule = "`model` must have no user-defined and no unused pieces to sample from"
            raise TextError(f"{rule}. Received: {piece.piece!r}")
    return {piece.piece: index for index, piece in enumerate(model.pieces) if piece.type == kinds.NORMAL}


def _words(texts: Sequence[str], pieces: dict[str, int]) -> tuple[IntArray, list[str], IntArray]:
    """How many words each text has, the different words, and the place of every word of the texts in them.

    No piece goes over the border of two words, so each word is drawn for itself; or the text is one word.
    """
    split = all(SPACE not in piece[1:] for piece in pieces)
    place: dict[str, int] = {}
    counts, occurrences = [], []
    for text in texts:
        words = WORD.findall(text) if split else [text] if text else []
        counts.append(len(words))
        occurrences += [place.setdefault(word, len(place)) for word in words]
    return np.array(counts, np.int64), list(place), np.array(occurrences, np.int64)


class _Spelling:
    """Symbols to ids: a character that is no piece is spelled in bytes, or unknown as a whole run of them."""

    def __init__(self, model: Any, characters: Sequence[str]) -> None:
        kinds = type(model).SentencePiece
        of_byte = {piece.piece: index for index, piece in enumerate(model.pieces) if piece.type == kinds.BYTE}
        self._merges_unknown = not of_byte
        spelled = [[index] for index in range(len(model.pieces))]
        for letter in characters:
            in_bytes = [of_byte[f"<0x{byte:02X}>"] for byte in letter.encode()] if of_byte else [UNKNOWN_ID]
            spelled.append(in_bytes)
        self._sizes = np.array([len(ids) for ids in spelled], np.int64)
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._ids = np.array([index for ids in spelled for index in ids], np.int32)

    def ids(self, symbols: IntArray, sizes: IntArray) -> tuple[np.ndarray[Any, np.dtype[np.int32]], IntArray]:
        """The ids of symbols, and how many each text has, of how many symbols each text has."""
        lengths = self._sizes[symbols]
        ends = np.cumsum(lengths)
        within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
        ids = self._ids[np.repeat(self._starts[symbols], lengths) + within]
        text = np.repeat(np.repeat(np.arange(len(sizes)), sizes), lengths)
        if self._merges_unknown and len(ids):
            again = (ids[1:] == UNKNOWN_ID) & (ids[:-1] == UNKNOWN_ID) & (text[1:] == text[:-1])
            keep = np.concatenate([[True], ~again])
            ids, text = ids[keep], text[keep]
        return ids, np.bincount(text, minlength=len(sizes)).astype(np.int64)
