"""SentencePiece model files: trained, checked and brought to our special ids, without TensorFlow.

The sign U+2581 stands for a space inside SentencePiece, so a U+2581 of the text would come back as a space.
Models that are trained here (and imported ones without a normalisation of their own) write it as a private
character instead, by the normalisation table inside the model file; U+10FFFC and U+10FFFD are the two private
characters, and three rules that form a prefix code keep every text apart from every other.
"""

import io
import logging
import re
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tf_transformer.errors import TextError
from tf_transformer.presets import END_ID, PAD_ID, SPECIAL_TOKENS, START_ID, UNKNOWN_ID

_log = logging.getLogger(__name__)

_ESCAPES = {"2581": "10FFFD", "10FFFD": "10FFFC 10FFFD", "10FFFC": "10FFFC 10FFFC"}
# The trainer passes over longer texts and counts positions within a word in 16 bits.
_LONGEST_TEXT = 1000
_LONGEST_TEXT_BYTES = 4 * _LONGEST_TEXT
# The sums of unigram training depend on the number of threads: it is fixed, not the machine's.
_THREADS = 4
_BYTES = 256


def train_model(
    texts: Iterable[str], vocabulary_size: int, *, model_type: str, byte_fallback: bool, character_coverage: float
) -> bytes:
    """Trains a model on normalised texts.

    Args:
        texts: The corpus.
        vocabulary_size: The most pieces, special ones included.
        model_type: `"unigram"` or `"bpe"`.
        byte_fallback: Whether characters outside the alphabet are spelled as bytes.
        character_coverage: The share of the corpus' characters that must be in the alphabet.

    Returns:
        The content of a model file.

    Raises:
        ValueError: An argument is out of its range.
        TextError: There is no text, or `vocabulary_size` cannot hold the alphabet.
    """
    _check_arguments(vocabulary_size, model_type, byte_fallback, character_coverage)
    model = parse_model(
        _run_trainer(
            _chunks(texts),
            vocab_size=vocabulary_size,
            model_type=model_type,
            byte_fallback=byte_fallback,
            character_coverage=character_coverage,
        ),
        "the model just trained",
    )
    # Where the tables of rules lay is no part of the model, and differs each time.
    model.normalizer_spec.normalization_rule_tsv = ""
    model.denormalizer_spec.normalization_rule_tsv = ""
    if len(model.pieces) < vocabulary_size:
        _log.warning(
            "vocabulary_size=%d asked for, %d pieces made: the corpus has no more", vocabulary_size, len(model.pieces)
        )
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def _check_arguments(size: int, model_type: str, byte_fallback: bool, coverage: float) -> None:
    least = len(SPECIAL_TOKENS) + (_BYTES if byte_fallback else 0) + 1
    if size < least:
        raise ValueError(f"`vocabulary_size` must be at least {least} with byte_fallback={byte_fallback}. "
                         f"Received: {size}")
    if model_type not in ("unigram", "bpe"):
        raise ValueError(f'`model_type` must be "unigram" or "bpe". Received: {model_type!r}')
    if not 0.9 <= coverage <= 1.0:
        raise ValueError(f"`character_coverage` must be between 0.9 and 1. Received: {coverage!r}")


def _run_trainer(texts: Iterator[str], **options: Any) -> bytes:
    import sentencepiece

    with tempfile.TemporaryDirectory() as folder:
        forth, back = Path(folder) / "forth.tsv", Path(folder) / "back.tsv"
        forth.write_text("".join(f"{plain}\t{coded}\n" for plain, coded in _ESCAPES.items()))
        back.write_text("".join(f"{coded}\t{plain}\n" for plain, coded in _ESCAPES.items()))
        model = io.BytesIO()
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
            raise TextError(_reason(str(error), options["vocab_size"])) from error
    return model.getvalue()


def _reason(message: str, vocabulary_size: int) -> str:
    needed = re.search(r"required_chars\. \d+ vs (\d+)", message)
    if needed:
        return (f"`vocabulary_size` must be at least {needed.group(1)} to hold the corpus' characters. "
                f"Received: {vocabulary_size}")
    if "sentences_.empty()" in message or "all_chars_count" in message:
        return "a tokenizer needs at least one text that is not empty. Received: none"
    return f"the sentencepiece trainer failed. Received: {message}"


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
    from google.protobuf.message import DecodeError
    from sentencepiece import sentencepiece_model_pb2

    try:
        model = sentencepiece_model_pb2.ModelProto.FromString(content)
        if not model.pieces:
            raise TextError(f"{name}: must be a SentencePiece model. Received: no pieces")
        sentencepiece.SentencePieceProcessor(model_proto=content)
    except (DecodeError, RuntimeError, UnicodeDecodeError) as error:
        raise TextError(f"{name}: must be a SentencePiece model. Received: {error}") from error
    return model


def with_our_ids(content: bytes, name: str) -> bytes:
    """Brings a model of another tool to our special ids; the other pieces follow in their order.

    A model without a normalisation table gets ours, see the head of this file.

    Raises:
        TextError: The content is not a SentencePiece model.
    """
    model = parse_model(content, name)
    kinds = type(model).SentencePiece
    spec = model.trainer_spec
    found: dict[int, Any] = {}
    for index, piece in enumerate(model.pieces):
        if piece.type == kinds.UNKNOWN:
            found[UNKNOWN_ID] = index
        elif piece.type == kinds.CONTROL:
            for ours, theirs in ((PAD_ID, spec.pad_piece), (START_ID, spec.bos_piece), (END_ID, spec.eos_piece)):
                if piece.piece == theirs:
                    found[ours] = index
    pieces = [_special(kinds, ours) for ours in range(len(SPECIAL_TOKENS))]
    pieces += [piece for index, piece in enumerate(model.pieces) if index not in found.values()]
    del model.pieces[:]
    model.pieces.extend(pieces)
    spec.pad_id, spec.unk_id, spec.bos_id, spec.eos_id = PAD_ID, UNKNOWN_ID, START_ID, END_ID
    spec.pad_piece, spec.unk_piece, spec.bos_piece, spec.eos_piece = SPECIAL_TOKENS
    if not model.normalizer_spec.precompiled_charsmap:
        forth, back = _escape_tables()
        model.normalizer_spec.precompiled_charsmap = forth
        model.denormalizer_spec.precompiled_charsmap = back
    ours: bytes = model.SerializeToString(deterministic=True)
    parse_model(ours, name)
    return ours


def _special(kinds: Any, index: int) -> Any:
    kind = kinds.UNKNOWN if index == UNKNOWN_ID else kinds.CONTROL
    return kinds(piece=SPECIAL_TOKENS[index], score=0.0, type=kind)


@cache
def _escape_tables() -> tuple[bytes, bytes]:
    options = {"vocab_size": 6, "model_type": "bpe", "byte_fallback": False}
    model = parse_model(_run_trainer(iter(["a"]), **options), "the model of the escape tables")
    return model.normalizer_spec.precompiled_charsmap, model.denormalizer_spec.precompiled_charsmap


def has_our_ids(model: Any) -> bool:
    """Whether the first four pieces of a parsed model are our special tokens."""
    kinds = type(model).SentencePiece
    expected = [(token, kinds.UNKNOWN if i == UNKNOWN_ID else kinds.CONTROL) for i, token in enumerate(SPECIAL_TOKENS)]
    return [(piece.piece, piece.type) for piece in model.pieces[: len(expected)]] == expected


def with_unknown_surface(content: bytes, mark: str) -> bytes:
    """Returns the model with `mark` as the text of an unknown piece."""
    model = parse_model(content, "the model")
    model.trainer_spec.unk_surface = mark
    marked: bytes = model.SerializeToString(deterministic=True)
    return marked
