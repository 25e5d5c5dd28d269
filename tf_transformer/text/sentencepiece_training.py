"""SentencePiece models trained on a corpus, without TensorFlow.

The sign U+2581 stands for a space inside SentencePiece, so a U+2581 of the text would come back as a space.
Models that are trained here write it as a private character instead, by the normalisation table inside the
model file; U+10FFFC and U+10FFFD are the two private characters, and three rules that form a prefix code keep
every text apart from every other.
"""

import io
import logging
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from tf_transformer.arguments import finite_number
from tf_transformer.errors import TextError
from tf_transformer.presets import END_ID, PAD_ID, SPECIAL_TOKENS, START_ID, UNKNOWN_ID
from tf_transformer.text.sentencepiece_model import SPACE, parse_model

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")

_ESCAPES = {"2581": "10FFFD", "10FFFD": "10FFFC 10FFFD", "10FFFC": "10FFFC 10FFFC"}
_ESCAPE, _ESCAPED_SPACE = "\U0010fffc", "\U0010fffd"
# The trainer passes over longer texts and counts positions within a word in 16 bits.
_LONGEST_TEXT = 1000
_LONGEST_TEXT_BYTES = 4 * _LONGEST_TEXT
# The sums of unigram training depend on the number of threads: it is fixed, not the machine's.
_THREADS = 4
_BYTES = 256
# Leaves out the rarest characters, as is usual for scripts with thousands of them.
_USUAL_COVERAGE = 0.9995


class _AlphabetTooLarge(TextError):
    """The vocabulary cannot hold the characters of the corpus."""

    def __init__(self, least: int, received: int) -> None:
        self.least = least
        rule = f"`vocabulary_size` must be at least {least} to hold the corpus' characters"
        super().__init__(f"{rule}. Received: {received}")


def train_model(
    texts: Iterable[str],
    vocabulary_size: int,
    *,
    model_type: str,
    byte_fallback: bool,
    character_coverage: float | None,
) -> bytes:
    """Trains a model on normalised texts.

    Args:
        texts: The corpus.
        vocabulary_size: The most pieces, special ones included.
        model_type: `"unigram"` or `"bpe"`.
        byte_fallback: Whether characters outside the alphabet are spelled as bytes.
        character_coverage: The share of the corpus' characters that must be in the alphabet, see
            `train_tokenizer`.

    Returns:
        The content of a model file.

    Raises:
        ValueError: An argument is out of its range.
        TextError: There is no text, or `vocabulary_size` cannot hold the alphabet.
    """
    _check_arguments(vocabulary_size, model_type, byte_fallback, character_coverage)
    texts = list(texts)

    def train(coverage: float) -> bytes:
        return run_trainer(
            _chunks(texts),
            vocab_size=vocabulary_size,
            model_type=model_type,
            byte_fallback=byte_fallback,
            character_coverage=coverage,
        )

    if character_coverage is None and byte_fallback:
        characters = len(set().union(*texts))
        character_coverage = 1.0 if 4 * characters <= vocabulary_size else _USUAL_COVERAGE
    model = parse_model(_covering(train, character_coverage), "the model just trained")
    # Where the tables of rules lay is no part of the model, and differs each time.
    model.normalizer_spec.normalization_rule_tsv = ""
    model.denormalizer_spec.normalization_rule_tsv = ""
    note_size(len(model.pieces), vocabulary_size)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def train_word_pieces(
    texts: Iterable[str], vocabulary_size: int, character_coverage: float | None
) -> tuple[list[str], list[tuple[str, bool]]]:
    """Finds pieces of words by byte-pair merging, for a tokenizer that has two ids for each character.

    Args:
        texts: Words with spaces between them.
        vocabulary_size: The most ids that there will be, special ones included.
        character_coverage: The share of the corpus' characters that must be in the alphabet, see
            `train_tokenizer`.

    Returns:
        The alphabet, and the longer pieces in the order of merging, each with whether it begins a word.

    Raises:
        ValueError: An argument is out of its range.
        TextError: There is no text, or `vocabulary_size` cannot hold the alphabet twice.
    """
    _check_arguments(vocabulary_size, "bpe", False, character_coverage)
    texts = list(texts)

    def train(coverage: float) -> tuple[list[str], list[tuple[str, bool]]]:
        options = {"model_type": "bpe", "byte_fallback": False, "character_coverage": coverage}
        try:
            alphabet, merged = _word_pieces(
                run_trainer(_chunks(texts), vocab_size=vocabulary_size, **options)
            )
            characters = len(alphabet)
        except _AlphabetTooLarge as error:
            characters = error.least - len(SPECIAL_TOKENS) - 1  # the trainer counts the space as well
        least = len(SPECIAL_TOKENS) + 2 * characters
        if vocabulary_size < least:
            raise _AlphabetTooLarge(least, vocabulary_size)
        return alphabet, merged

    return _covering(train, character_coverage)


def _word_pieces(content: bytes) -> tuple[list[str], list[tuple[str, bool]]]:
    pieces = [
        piece.piece for piece in parse_model(content, "the model just trained").pieces[len(SPECIAL_TOKENS) :]
    ]
    split = [(piece.removeprefix(SPACE), piece.startswith(SPACE)) for piece in pieces]
    plain = [(piece.replace(_ESCAPED_SPACE, SPACE), first) for piece, first in split if _ESCAPE not in piece]
    alphabet = [piece for piece, first in plain if len(piece) == 1 and not first]
    return alphabet, [(piece, first) for piece, first in plain if len(piece) > 1]


def _covering(train: Callable[[float], _Result], coverage: float | None) -> _Result:
    """Trains with a coverage, or with every character if they fit and the usual coverage if they do not."""
    if coverage is not None:
        return train(coverage)
    try:
        return train(1.0)
    except _AlphabetTooLarge as error:
        _log.warning("%s; the rarest characters are left out and will be unknown", error)
        return train(_USUAL_COVERAGE)


def note_size(received: int, asked: int) -> None:
    """Says so when a vocabulary is smaller than asked for."""
    if received < asked:
        _log.warning("vocabulary_size=%d asked for, %d pieces made: the corpus has no more", asked, received)


def _check_arguments(size: int, model_type: str, byte_fallback: bool, coverage: float | None) -> None:
    least = len(SPECIAL_TOKENS) + (_BYTES if byte_fallback else 0) + 1
    if size < least:
        rule = f"`vocabulary_size` must be at least {least} with byte_fallback={byte_fallback}"
        raise ValueError(f"{rule}. Received: {size}")
    if model_type not in ("unigram", "bpe"):
        raise ValueError(f'`model_type` must be "unigram" or "bpe". Received: {model_type!r}')
    if not isinstance(byte_fallback, bool):
        raise TypeError(f"`byte_fallback` must be True or False. Received: {byte_fallback!r}")
    if coverage is not None and not 0.9 <= finite_number("character_coverage", coverage, 0.0) <= 1.0:
        raise ValueError(f"`character_coverage` must be between 0.9 and 1, or None. Received: {coverage!r}")


def run_trainer(texts: Iterator[str], **options: Any) -> bytes:
    """Runs the trainer with our special ids and escapes.

    Args:
        texts: The corpus, see `_chunks`.
        **options: The trainer's own options.

    Returns:
        The content of a model file.

    Raises:
        TextError: There is no text, or the vocabulary cannot hold the alphabet.
    """
    import sentencepiece

    model = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        forth, back = Path(folder) / "forth.tsv", Path(folder) / "back.tsv"
        forth.write_text("".join(f"{plain}\t{coded}\n" for plain, coded in _ESCAPES.items()))
        back.write_text("".join(f"{coded}\t{plain}\n" for plain, coded in _ESCAPES.items()))
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=texts,
                model_writer=model,
                normalization_rule_tsv=str(forth),
                denormalization_rule_tsv=str(back),
                pad_id=PAD_ID,
                unk_id=UNKNOWN_ID,
                bos_id=START_ID,
                eos_id=END_ID,
                hard_vocab_limit=False,
                max_sentence_length=_LONGEST_TEXT_BYTES,
                num_threads=_THREADS,
                minloglevel=2,  # errors alone; they come as exceptions too
                **options,
            )
        except RuntimeError as error:
            raise _reason(str(error), options["vocab_size"]) from error
    return model.getvalue()


def _reason(message: str, vocabulary_size: int) -> TextError:
    needed = re.search(r"required_chars\. \d+ vs (\d+)", message)
    if needed:
        return _AlphabetTooLarge(int(needed.group(1)), vocabulary_size)
    if "sentences_.empty()" in message or "all_chars_count" in message:
        return TextError("a tokenizer needs at least one text that is not empty. Received: none")
    return TextError(f"the sentencepiece trainer failed. Received: {message}")


def _chunks(texts: Iterable[str]) -> Iterator[str]:
    """Yields texts short enough for the trainer, cut at a space where there is one."""
    for text in texts:
        while len(text) > _LONGEST_TEXT:
            cut = text.rfind(" ", 1, _LONGEST_TEXT)
            cut = cut if cut > 0 else _LONGEST_TEXT
            yield text[:cut]
            text = text[cut:]
        # A line feed inside a text would be two texts, a lone surrogate no text at all.
        yield text.replace("\n", " ").encode("utf-8", "replace").decode("utf-8")
