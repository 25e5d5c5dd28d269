"""This project: a SavedModel for each beam size, by what is behind `tf-transformer predict EXPORT`.

Settings: those of `passes.py`; exports (folders by beam size), pieces (SentencePiece model). Takes text and
gives text; the pieces of its answers are those of their text, cut again.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sentencepiece
from passes import compete
from slices import settings

from tf_transformer.export.loading import ExportedModel
from tf_transformer.export.one_signature import OneByOne
from tf_transformer.manifest import Manifest
from tf_transformer.tasks.batches import share_cores


def load(folder: Path) -> ExportedModel:
    """A SavedModel without a manifest."""
    signatures = OneByOne(folder)
    manifest = Manifest(task="translate", signatures=tuple(signatures), verification={})
    return ExportedModel(folder, manifest, signatures)


def main() -> None:
    """Decodes until the race is over."""
    given = settings()
    os.environ.pop("TF_NUM_INTRAOP_THREADS")
    share_cores()
    if given["custom_ops"]:
        import tensorflow_text  # noqa: F401
    models: dict[int, ExportedModel] = {}
    pieces = sentencepiece.SentencePieceProcessor(model_file=given["pieces"])

    def decode(sentences: Sequence[dict[str, Any]], size: int) -> list[Any]:
        if size not in models:
            models[size] = load(Path(given["exports"][str(size)]))
        texts = [sentence["text"] for sentence in sentences]
        return [text for (text,) in models[size].rows("serving_default", texts, ("text",))]

    compete(given, decode, lambda text: pieces.encode(text, out_type=str))


if __name__ == "__main__":
    main()
