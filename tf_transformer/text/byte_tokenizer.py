"""Bytes as ids: no training, nothing unknown, the longest sequences."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import tensorflow as tf

from tf_transformer.errors import TextError
from tf_transformer.presets import SPECIAL_TOKENS
from tf_transformer.text.tokenizers import Tokenizer, Unknown

_BYTES = 256
_SIZE = len(SPECIAL_TOKENS) + _BYTES


class ByteTokenizer(Tokenizer):
    """Gives byte b of the UTF-8 text the id b + 4; core operations alone.

    Every text comes back as it was. Bytes that a model has put together wrongly become U+FFFD.

    Args:
        unknown: See `Tokenizer`; no text is unknown here, but a model may choose the unknown id.
        unknown_mark: See `Tokenizer`.
    """

    kind = "bytes"

    def __init__(self, unknown: Unknown = "mark", unknown_mark: str = "<unk>") -> None:
        super().__init__(unknown, unknown_mark)
        # Padding, start and end never come here (`Tokenizer.detokenize`).
        special = [b"", unknown_mark.encode(), b"", b""]
        self._table = tf.constant(special + [bytes([byte]) for byte in range(_BYTES)])

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocabulary_size: int,
        *,
        unknown: Unknown = "mark",
        unknown_mark: str = "<unk>",
    ) -> "ByteTokenizer":
        """Returns the tokenizer, whatever the corpus.

        Raises:
            TextError: `vocabulary_size` is less than the 260 ids there are.
        """
        for _ in texts:  # they teach nothing, but are checked one by one
            pass
        if vocabulary_size < _SIZE:
            raise TextError(
                f"`vocabulary_size` must be at least {_SIZE} for bytes. Received: {vocabulary_size}"
            )
        return cls(unknown, unknown_mark)

    @classmethod
    def read(
        cls, files: Mapping[str, Path], vocabulary_size: int, options: Mapping[str, Any]
    ) -> "ByteTokenizer":
        """Makes the tokenizer, it has no files."""
        return cls(**options)

    @property
    def tokens(self) -> list[str]:
        """The piece of each id: `<0x41>` is the byte of an A."""
        return [*SPECIAL_TOKENS, *(f"<0x{byte:02X}>" for byte in range(_BYTES))]

    def parts_of(self, pieces: Sequence[str]) -> list[list[int]]:
        """The ids of pieces."""
        ids = {piece: index for index, piece in enumerate(self.tokens)}
        return [[ids[piece]] for piece in pieces]

    def grown(self, texts: Iterable[str], most: int) -> Self:
        """Refuses: there are no more bytes."""
        raise TextError(f"a vocabulary of bytes has its {_SIZE} pieces, and no other. Received: {most} more")

    def model_files(self) -> dict[str, bytes]:
        """There are none."""
        return {}

    def _tokenize(self, strings: tf.Tensor) -> tf.RaggedTensor:
        # One decode of the whole batch: decode_raw alone wants strings of one length.
        flat = tf.io.decode_raw(tf.strings.reduce_join(strings), tf.uint8)
        ids = tf.cast(flat, tf.int32) + len(SPECIAL_TOKENS)
        return tf.RaggedTensor.from_row_lengths(ids, tf.cast(tf.strings.length(strings), tf.int64))

    def _detokenize(self, ids: tf.RaggedTensor) -> tf.Tensor:
        text = tf.strings.reduce_join(tf.gather(self._table, ids), axis=-1)
        return tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", errors="replace")
