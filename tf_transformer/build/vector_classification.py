"""Classification of sequences of vectors: labelled series, an encoder with a pooling, scores of labels."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import keras

from tf_transformer.build.example_classification import ExampleProblem, Read
from tf_transformer.build.problem import Examples, Words
from tf_transformer.build.stack import embedding_keywords
from tf_transformer.data.batching import Batch
from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.example_preprocessor import VectorPreprocessor, labels_of
from tf_transformer.data.labelled import LabelledCorpus
from tf_transformer.data.pipeline import BatchPlan
from tf_transformer.data.vectors import read_vector_arrays, read_vector_folder, read_vector_list
from tf_transformer.errors import DataError
from tf_transformer.layers import VectorEmbedding
from tf_transformer.models import Classifier
from tf_transformer.recipe.classify_vectors import ClassifyVectorsRecipe
from tf_transformer.recipe.example_entries import Folder
from tf_transformer.recipe.vector_entries import VectorArrays
from tf_transformer.run_folder import RunFolder
from tf_transformer.tasks.classify_vectors import VectorClassifier

_MOST_SAMPLES = 32


class VectorClassificationProblem(ExampleProblem[ClassifyVectorsRecipe]):
    """A recipe with ``task: classify_vectors``."""

    WORDS: ClassVar[Words] = Words(
        row="sequence",
        data="sequences",
        unit="sequence",
        verb="classify",
        lengths="data.max_length",
        picture="confusion",
        reads_files=True,
        call="vectors=tf.constant(vectors), lengths=tf.constant([len(vectors[0])])",
    )

    def reader(self) -> Read:
        features: int | None = None

        def read(entry: Any, name: str | None) -> LabelledCorpus:
            nonlocal features
            corpus = read_entry(entry, features, name)
            features = corpus.inputs[0].shape[1]
            return corpus

        return read

    def check_form(self, corpus: LabelledCorpus, side: VectorPreprocessor) -> None:
        found = corpus.inputs[0].shape[1]
        if found != side.features:
            raise DataError(
                f"{corpus.files[0]}: vectors have {found} features, and all must have {side.features}"
            )

    def new_side(self, examples: Examples) -> VectorPreprocessor:
        return VectorPreprocessor.of(examples.train, self.recipe.data.max_length)

    @property
    def longest(self) -> int:
        """See `ExampleProblem`."""
        return self.recipe.data.max_length

    def carried_side(self, side: VectorPreprocessor, examples: Examples) -> VectorPreprocessor:
        labels, longest = labels_of(examples.train), self.recipe.data.max_length
        return VectorPreprocessor(labels, side.mean, side.deviation, longest)

    def load_side(self, folder: Path) -> VectorPreprocessor:
        return VectorPreprocessor.load(folder)

    def side_sizes(self, side: VectorPreprocessor) -> str:
        return f"vectors of {side.features} features, {len(side.labels)} labels"

    def batches(self, encoded: EncodedCorpus, weights: Sequence[float], size: int) -> BatchPlan:
        return BatchPlan(
            encoded.lengths,
            size,
            budget_column=None,
            seed=self.recipe.training.seed,
            corpora=encoded.corpora,
            weights=weights,
        )

    def cost(self, batch: Batch, side: VectorPreprocessor) -> float:
        """A rough count of the numbers that the backward pass needs: of layers, and of attention."""
        model, length = self.recipe.model, batch.lengths["vectors"]
        layer = 12 * model.hidden_dim + 2 * model.intermediate_dim
        return len(batch.rows) * model.num_layers * (length * layer + 3 * model.num_heads * length**2)

    def describe_batch(self, batch: Batch) -> str:
        return f"{len(batch.rows):,} sequences, padded to {batch.lengths['vectors']} vectors"

    def smaller_updates(self) -> str:
        longest = f"data.max_length ({self.recipe.data.max_length})"
        return f"training.batch_size (now {self.recipe.training.batch_size:,}) or {longest}"

    def smaller_validation(self) -> str:
        return f"data.max_length ({self.recipe.data.max_length})"

    def model(self, side: VectorPreprocessor, precision: str) -> Classifier:
        keras.utils.set_random_seed(self.recipe.training.seed)
        sizes = self.recipe.model
        embedding = VectorEmbedding(
            **embedding_keywords(sizes),
            mean=side.mean,
            deviation=side.deviation,
            dtype=precision,
            name="embedding",
        )
        return self.classifier(embedding, side, precision, inputs_shape=(None, side.features))

    def task(self, model: Classifier, side: VectorPreprocessor) -> VectorClassifier:
        return VectorClassifier(model, side)

    def limits(self) -> Iterator[str]:
        most = self.recipe.data.max_length
        yield f"It reads the first {most:,} vectors of a sequence, and nothing behind them."

    def samples(self, folder: RunFolder) -> list[Any]:
        data, read = self.recipe.data, self.reader()
        entries = [*data.dev_sets.values(), *data.test_sets.values(), *data.train_entries]
        with suppress(DataError, OSError):
            sequences = read(entries[0], None).inputs
            return list(sequences[:: max(1, len(sequences) // _MOST_SAMPLES)][:_MOST_SAMPLES])
        return []


def read_entry(entry: Any, features: int | None, name: str | None) -> LabelledCorpus:
    """The sequences of an entry of a recipe.

    Args:
        entry: A folder, arrays, or a list of files.
        features: How many every vector has; None for as many as in the first sequence.
        name: What reports call the corpus; by default the entry's title.
    """
    how: dict[str, Any] = {
        "features": features, "on_bad_row": entry.on_bad_row, "name": name or entry.title,
    }  # fmt: skip
    if isinstance(entry, Folder):
        return read_vector_folder(entry.folder, **how)
    if isinstance(entry, VectorArrays):
        return read_vector_arrays(
            entry.arrays, vectors=entry.vectors, labels=entry.labels, lengths=entry.lengths, **how
        )
    return read_vector_list(entry.table, file=entry.file, label=entry.label, encoding=entry.encoding, **how)
