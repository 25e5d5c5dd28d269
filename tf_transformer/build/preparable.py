"""What a problem has whose training data can be prepared part by part."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tf_transformer.build.problem import Examples
from tf_transformer.build.text_data import Spans
from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.sources import Corpus


@runtime_checkable
class Preparable(Protocol):
    """A problem over text whose rows are read, cleaned and encoded each by itself."""

    def read_part(self, entry: Any, spans: Spans) -> Corpus:
        """Some lines of a training entry, cleaned; maybe none are left."""

    def encode_part(self, corpus: Corpus, side: Any, threads: int) -> EncodedCorpus:
        """Such rows as ids, within the recipe's limits; maybe none are left."""

    def carve_key(self, text: str) -> str:
        """What of a source decides whether its row is carved for dev."""

    def vocabularies(self, side: Any) -> Mapping[str, int]:
        """How many ids each column can have."""

    def pieces(self, side: Any) -> list[str]:
        """What every id of a side stands for, to tell one from another."""

    def make_side(self, examples: Examples) -> Any:
        """See `Problem`."""

    def load_side(self, folder: Path) -> Any:
        """See `Problem`."""
