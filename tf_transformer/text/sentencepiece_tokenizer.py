"""SentencePiece in the graph: pieces of words learnt from the corpus, spaces included."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import tensorflow as tf

from tf_transformer.errors import TextError
from tf_transformer.presets import SPECIAL_TOKENS
from tf_transformer.text import sentencepiece_model as models
from tf_transformer.text.sentencepiece_growth import grown_model, parts_of
from tf_transformer.text.sentencepiece_import import with_our_ids
from tf_transformer.text.sentencepiece_training import train_model
from tf_transformer.text.storage import read_bytes
from tf_transformer.text.subword_sampling import SubwordSampler
from tf_transformer.text.tokenizers import Tokenizer, Unknown

MODEL_FILE = "sentencepiece.model"


class SentencePieceTokenizer(Tokenizer):
    """Runs a SentencePiece model; ids equal those of the `sentencepiece` library for the same file.

    With byte fallback every normalised text comes back as it was: runs of spaces become one, outer spaces
    go, nothing else changes (U+2581 included, see `sentencepiece_training`). Without it, characters outside
    the alphabet are unknown. A model that was imported with a normalisation of its own applies that too.

    Args:
        model: The content of a model file with our special ids.
        unknown: See `Tokenizer`.
        unknown_mark: See `Tokenizer`.

    Raises:
        TextError: `model` is not a SentencePiece model, or its special ids are others.
    """

    kind = "sentencepiece"
    custom_ops: ClassVar[tuple[str, ...]] = (
        "SentencepieceOp",
        "SentencepieceTokenizeOp",
        "SentencepieceDetokenizeOp",
    )

    def __init__(self, model: bytes, unknown: Unknown = "mark", unknown_mark: str = "<unk>") -> None:
        super().__init__(unknown, unknown_mark)
        # Registers its operations when imported, so only where they are needed.
        import tensorflow_text

        parsed = models.parse_model(model, "`model`")
        if not models.has_our_ids(parsed):
            first = [piece.piece for piece in parsed.pieces[:4]]
            raise TextError(
                f"`model` must begin with {list(SPECIAL_TOKENS)}, import it instead. Received: {first}"
            )
        self._model = model
        self._pieces = _Pieces(parsed)
        # FastSentencepieceTokenizer gives other ids for BPE and for byte fallback.
        surface = models.with_unknown_surface(model, unknown_mark)
        self._processor = tensorflow_text.SentencepieceTokenizer(model=surface, out_type=tf.int32)
        self._processor._model_resource = _SharedModel(surface)

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocabulary_size: int,
        *,
        model_type: Literal["unigram", "bpe"] = "unigram",
        byte_fallback: bool = True,
        character_coverage: float | None = None,
        unknown: Unknown = "mark",
        unknown_mark: str = "<unk>",
    ) -> "SentencePieceTokenizer":
        """Trains on a corpus; arguments and errors as in `train_tokenizer`."""
        model = train_model(
            texts,
            vocabulary_size,
            model_type=model_type,
            byte_fallback=byte_fallback,
            character_coverage=character_coverage,
        )
        return cls(model, unknown, unknown_mark)

    @classmethod
    def from_file(
        cls, path: Path, unknown: Unknown = "mark", unknown_mark: str = "<unk>"
    ) -> "SentencePieceTokenizer":
        """Imports a `.model` file; its special pieces move to our ids."""
        return cls(with_our_ids(read_bytes(path), str(path)), unknown, unknown_mark)

    @classmethod
    def read(
        cls, files: Mapping[str, Path], vocabulary_size: int, options: Mapping[str, Any]
    ) -> "SentencePieceTokenizer":
        """Makes the tokenizer from its saved files."""
        path = files[MODEL_FILE]
        content = read_bytes(path)
        received = len(models.parse_model(content, str(path)).pieces)
        if received != vocabulary_size:
            raise TextError(
                f"{path}: must have {vocabulary_size} pieces, the size of the vocabulary that was saved. "
                f"Received: {received}"
            )
        return cls(content, **options)

    @property
    def tokens(self) -> list[str]:
        """The piece of each id; U+2581 stands for a space, `<0x41>` for a byte."""
        return list(self._pieces.names)

    @property
    def vocabulary_size(self) -> int:
        """The number of ids."""
        return len(self._pieces.names)

    @property
    def model(self) -> bytes:
        """The content of the model file, for the `sentencepiece` library."""
        return self._model

    def sampler(self, texts: Sequence[str], alpha: float) -> SubwordSampler:
        """What draws other segmentations of texts; arguments and errors as of `SubwordSampler`."""
        return SubwordSampler(self._model, texts, alpha)

    def parts_of(self, pieces: Sequence[str]) -> list[list[int]]:
        """The ids that spellings of pieces become."""
        return parts_of(self._model, pieces)

    def grown(self, texts: Iterable[str], most: int) -> Self:
        """The tokenizer with more pieces; whatever does not hold them is split as before."""
        return type(self)(grown_model(self._model, texts, most), self.unknown, self.unknown_mark)

    def model_files(self) -> dict[str, bytes]:
        """Content by name of the files that hold the pieces."""
        return {MODEL_FILE: self._model}

    def _tokenize(self, strings: tf.Tensor) -> tf.RaggedTensor:
        return self._processor.tokenize(strings)

    def _detokenize(self, ids: tf.RaggedTensor) -> tf.Tensor:
        return self._processor.detokenize(ids)


class _SharedModel(tf.saved_model.experimental.TrackableResource):
    """The model in the runtime, under a name of its own.

    Without a name it belongs to the kernel that made it, and TensorFlow drops that kernel whenever its caches
    are cleared, as `keras.utils.set_random_seed` does: the tokenizer would be gone.
    """

    def __init__(self, model: bytes) -> None:
        super().__init__()
        self._model = model
        self._name = f"sentencepiece_{hashlib.sha256(model).hexdigest()}"
        _ = self.resource_handle  # makes it

    def _create_resource(self) -> tf.Tensor:
        from tensorflow_text.python.ops.sentencepiece_tokenizer import gen_sentencepiece_tokenizer

        return gen_sentencepiece_tokenizer.sentencepiece_op(model=self._model, shared_name=self._name)


class _Pieces:
    """Keeps the names out of TensorFlow's tracking, which wraps plain lists."""

    def __init__(self, model: Any) -> None:
        self.names = tuple(piece.piece for piece in model.pieces)
