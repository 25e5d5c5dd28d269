"""Translation whose training text was prepared: its ids are read as they are needed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tf_transformer.build.problem import Examples
from tf_transformer.build.text_data import TextSet, read_sets
from tf_transformer.build.translation import TranslationProblem
from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.pipeline import Plan, StreamedPlan
from tf_transformer.data.prepared import TOKENIZER, PreparedCorpus, pieces_digest
from tf_transformer.errors import DataError, RunError
from tf_transformer.text import Preprocessor


class PreparedTranslationProblem(TranslationProblem):
    """A recipe with ``task: translate`` and ``data.prepared``."""

    @property
    def _index(self) -> Path:
        path = self.recipe.data.prepared
        assert path is not None
        return path

    def read(self) -> Examples:
        self.check_measures()
        dev, test = self._dev(), read_sets(self.recipe.data, "test", self._read_entry, self._carve)
        weights = [entry.weight for entry in self.recipe.data.train_entries]
        return Examples([], weights, dev.dev, test.test, [*dev.report, *test.report])

    def read_split(self, split: str) -> Examples:
        if split == "dev":
            return self._dev()
        return super().read_split(split)

    def _dev(self) -> Examples:
        if self.recipe.data.dev_fraction is None:
            return super().read_split("dev")
        carved = PreparedCorpus.open(self._index).carved()
        if not carved:
            fraction = self.recipe.data.dev_fraction
            raise DataError(f"{self._index.parent}: a fraction of {fraction} leaves dev without a row")
        return Examples([], [], [TextSet("dev", carved)], [], [])

    def new_side(self, examples: Examples) -> Preprocessor:
        return self.load_side(self._index.parent / TOKENIZER)

    def encode(self, examples: Examples, side: Preprocessor) -> PreparedCorpus:
        self.check_form(side)
        corpus = PreparedCorpus.open(self._index)
        vocabulary = corpus.index["vocabulary"]
        if pieces_digest(self.pieces(side)) != vocabulary["sha256"]:
            raise RunError(
                f"{self._index.parent}: holds ids of another vocabulary than this run has. Prepare it in "
                "a folder of its own with text.model, or start over with --fresh"
            )
        return corpus

    def batches(self, encoded: EncodedCorpus, weights: Sequence[float], size: int) -> Plan:
        assert isinstance(encoded, PreparedCorpus)
        memory = self.recipe.data.shuffle_memory << 20
        weights = self._weights(encoded, weights)
        return StreamedPlan(encoded, size, memory=memory, seed=self.recipe.training.seed, weights=weights)

    def plan(self, examples: Examples, encoded: EncodedCorpus, side: Preprocessor) -> Plan:
        return self.batches(encoded, examples.weights, self.update_size)

    def epoch_size(self, encoded: EncodedCorpus, weights: Sequence[float]) -> int:
        assert isinstance(encoded, PreparedCorpus)
        pairs = zip(weights, encoded.positions("target"), strict=True)
        return int(sum(weight * positions for weight, positions in pairs))

    def report(self, examples: Examples, encoded: EncodedCorpus) -> Any:
        assert isinstance(encoded, PreparedCorpus)
        yield from super().report(examples, encoded)
        found = encoded.index["vocabulary"]
        yield f"vocabulary from {found['lines']:,} of {found['of']:,} lines"
