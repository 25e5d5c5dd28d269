"""Classification of text: labelled texts, an encoder with a pooling, and the scores of labels."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import keras

from tf_transformer.build.classification import ClassificationProblem, left_out
from tf_transformer.build.labelled_text import (
    build_marking,
    check_labels,
    place,
    take_word_vectors,
    well_marked,
)
from tf_transformer.build.looking import text_attention
from tf_transformer.build.problem import Examples, Words
from tf_transformer.build.sampling import build_samplers
from tf_transformer.build.stack import embedding_keywords
from tf_transformer.build.text_data import (
    make_tokenizer,
    read_entry,
    read_examples,
    read_sets,
    sample_texts,
    texts_of,
)
from tf_transformer.build.text_signs import tokenizer_signs
from tf_transformer.build.vocabulary_update import SideTokenizer
from tf_transformer.build.weights import check_vocabularies
from tf_transformer.checkpoints import Checkpoint
from tf_transformer.data.batching import Batch
from tf_transformer.data.cleaning import split_by_hash
from tf_transformer.data.encoding import EncodedCorpus, encode, limit, merge
from tf_transformer.data.label_numbers import refuse_new_labels
from tf_transformer.data.pipeline import BatchPlan, Plan, SampledPlan
from tf_transformer.data.sources import Corpus
from tf_transformer.evaluation import EvaluationSet
from tf_transformer.evaluation.classification import ClassificationEvaluator
from tf_transformer.evaluation.signs import Sign
from tf_transformer.layers import TextEmbedding
from tf_transformer.models import Classifier
from tf_transformer.recipe import ClassifyTextRecipe
from tf_transformer.run_folder import RunFolder
from tf_transformer.tasks import TextClassifier
from tf_transformer.text import ClassificationPreprocessor, Labels, MarkingNormalizer, Normalizer, Tokenizer
from tf_transformer.text.classification_preprocessor import plain_parts
from tf_transformer.warm_start import initialize_encoder

LABELS = ("label",)
"""The columns that are no text."""
_carve = partial(split_by_hash, column="text")


class TextClassificationProblem(ClassificationProblem[ClassifyTextRecipe]):
    """A recipe with ``task: classify_text``."""

    WORDS: ClassVar[Words] = Words(
        row="example",
        data="text",
        unit="text token",
        verb="classify",
        lengths="data.max_text_length",
        picture="confusion",
        pipeline="text-classification",
    )
    BUDGET_COLUMN: ClassVar[str | None] = "text"

    def read(self) -> Examples:
        examples = read_examples(self.recipe.data, self._read_entry, _carve, LABELS)
        labels = sorted({label for corpus in examples.train for label in corpus.columns["label"]})
        sets, unseen = [*examples.dev, *examples.test], self.recipe.evaluation.unseen_labels
        return examples.reporting(check_labels(sets, labels, unseen))

    def read_split(self, split: str) -> Examples:
        return read_sets(self.recipe.data, split, self._read_entry, _carve, LABELS)

    def _read_entry(self, entry: Any, name: str | None) -> Corpus:
        normalizer = build_marking(self.recipe)
        corpus = read_entry(entry, normalizer, name, labels=LABELS)
        return well_marked(corpus, normalizer, entry.on_bad_row)

    def new_side(self, examples: Examples) -> ClassificationPreprocessor:
        normalizer = build_marking(self.recipe)
        tokenizer = make_tokenizer(self.recipe.text, _lines(examples, normalizer))
        return ClassificationPreprocessor(tokenizer, _labels(examples), normalizer)

    def carried_side(
        self, side: ClassificationPreprocessor, examples: Examples
    ) -> ClassificationPreprocessor:
        tokenizer = side.tokenizer
        if self.recipe.text.update is not None:
            tokenizer = make_tokenizer(self.recipe.text, _lines(examples, side.normalizer), tokenizer)
        return ClassificationPreprocessor(tokenizer, _labels(examples), side.normalizer)

    def tokenizers(self, side: ClassificationPreprocessor) -> dict[str, SideTokenizer]:
        return {"text": SideTokenizer(side.tokenizer, side.special_tokens)}

    def load_side(self, folder: Path) -> ClassificationPreprocessor:
        return ClassificationPreprocessor.load(folder)

    def check_side(self, side: ClassificationPreprocessor, checkpoint: Checkpoint, folder: Path) -> None:
        check_vocabularies(checkpoint, folder, lambda _: ("text", side.vocabulary_size))

    def side_sizes(self, side: ClassificationPreprocessor) -> str:
        return f"a vocabulary of {side.vocabulary_size} and {len(side.labels)} labels"

    def encode(self, examples: Examples, side: ClassificationPreprocessor) -> EncodedCorpus:
        for corpus in examples.train:
            refuse_new_labels(corpus.columns["label"], side.labels.names, partial(place, corpus))
        encoders = {"text": side.encode_text, "label": side.labels.number}
        encoded = merge([encode(corpus, encoders) for corpus in examples.train])
        return limit(encoded, self._limits, self.recipe.data.on_long, keep_last=("text",))

    def signs(self, examples: Examples, side: ClassificationPreprocessor) -> Iterator[Sign]:
        """See `Problem`: a tokenizer of other text."""

        def tokenizers() -> Iterator[tuple[Tokenizer, list[str]]]:
            yield side.tokenizer, plain_parts(side.normalizer, texts_of(examples.train, "text"))

        return tokenizer_signs(self.recipe.text, tokenizers())

    def batches(self, encoded: EncodedCorpus, weights: Sequence[float], size: int) -> BatchPlan:
        return BatchPlan(
            encoded.lengths,
            size,
            budget_column=self.BUDGET_COLUMN,
            seed=self.recipe.training.seed,
            corpora=encoded.corpora,
            weights=weights,
        )

    def plan(self, examples: Examples, encoded: EncodedCorpus, side: ClassificationPreprocessor) -> Plan:
        sampling = self.recipe.training.subword_sampling
        if sampling is None:
            return super().plan(examples, encoded, side)
        samplers, settings = build_samplers(sampling, {"text": side}, examples.train, encoded)
        return SampledPlan(
            encoded,
            samplers,
            self._limits,
            settings,
            self.update_size,
            budget_column=self.BUDGET_COLUMN,
            seed=self.recipe.training.seed,
            weights=examples.weights,
        )

    @property
    def _limits(self) -> dict[str, int]:
        return {"text": self.recipe.data.max_text_length}

    def cost(self, batch: Batch, side: ClassificationPreprocessor) -> float:
        """A rough count of the numbers that the backward pass needs, of layers and of attention's weights."""
        model, length = self.recipe.model, batch.lengths["text"]
        layer = 12 * model.hidden_dim + 2 * model.intermediate_dim
        features = len(model.convolutions) * (model.convolution_filters or model.hidden_dim)
        before = 2 * (model.hidden_dim + features)
        return len(batch.rows) * (
            length * (model.num_layers * layer + before) + 3 * model.num_layers * model.num_heads * length**2
        )

    def describe_batch(self, batch: Batch) -> str:
        return f"{len(batch.rows):,} texts, padded to {batch.lengths['text']} pieces"

    def smaller_updates(self) -> str:
        return f"training.batch_tokens (now {self.recipe.training.batch_tokens:,}) or {self._longest}"

    def smaller_validation(self) -> str:
        return self._longest

    @property
    def _longest(self) -> str:
        return f"data.max_text_length ({self.recipe.data.max_text_length})"

    def model(self, side: ClassificationPreprocessor, precision: str) -> Classifier:
        keras.utils.set_random_seed(self.recipe.training.seed)
        sizes = self.recipe.model
        embedding = TextEmbedding(
            side.vocabulary_size,
            **embedding_keywords(sizes),
            embedding_dim=sizes.embedding_dim,
            convolutions=sizes.convolutions,
            filters=sizes.convolution_filters,
            marked_ids=side.special_ids if sizes.uses_marks else (),
            mark_distance=sizes.mark_distance,
            deviation=sizes.embedding_deviation,
            token_dropout=sizes.token_dropout,
            dtype=precision,
            name="embedding",
        )
        embedding.tokens.trainable = not sizes.freeze_embeddings
        return self.classifier(embedding, side, precision)

    def foreign_weights(self, model: Classifier, side: ClassificationPreprocessor) -> Iterator[str]:
        asked, embedding = self.recipe.model, model.embedding
        if asked.initialize_encoder_from is not None:
            found = initialize_encoder(
                model.encoder,
                asked.initialize_encoder_from.parent,
                embedding=embedding.tokens,
                positions=embedding.place,
                pieces=side.tokenizer.tokens,
            )
            yield from found.to_lines()
        if asked.word_vectors is not None:
            yield take_word_vectors(asked.word_vectors, embedding.tokens, side)

    def task(self, model: Classifier, side: ClassificationPreprocessor) -> TextClassifier:
        return TextClassifier(model, side, max_length=self.recipe.data.max_text_length)

    def manifest_facts(self) -> dict[str, Any]:
        return {**super().manifest_facts(), "directed": self.recipe.evaluation.directed}

    def limits(self) -> Iterator[str]:
        most = self.recipe.data.max_text_length - 1
        yield f"It reads the first {most:,} pieces of a text, and nothing behind them."

    def samples(self, folder: RunFolder) -> list[Any]:
        normalizer = build_marking(self.recipe)
        texts = sample_texts(self.recipe.data, self._read_entry, folder, "text")
        return normalizer.spell(texts) if isinstance(normalizer, MarkingNormalizer) else texts

    def dev_sets(self, examples: Examples, side: ClassificationPreprocessor) -> list[EvaluationSet]:
        return self._sets(examples.dev, side)

    def test_sets(self, examples: Examples, side: ClassificationPreprocessor) -> list[EvaluationSet]:
        return self._sets(examples.test, side)

    def _sets(self, sets: Sequence[Any], side: ClassificationPreprocessor) -> list[EvaluationSet]:
        for _ in check_labels(sets, side.labels.names, self.recipe.evaluation.unseen_labels):
            pass  # told when all was read
        return [found.evaluation_set() for found in sets]

    def evaluator(self, task: TextClassifier) -> ClassificationEvaluator:
        evaluation, normalizer = self.recipe.evaluation, task.side.normalizer
        marking = normalizer if isinstance(normalizer, MarkingNormalizer) else None
        return ClassificationEvaluator(
            task,
            label_smoothing=self.recipe.training.label_smoothing,
            class_weights=task.model.class_weights,
            model=task.model,
            directed=evaluation.directed,
            leave_out=left_out(evaluation, task.side.labels, evaluation.directed),
            samples=evaluation.samples,
            show=(lambda text: marking.spell([text])[0]) if marking is not None else str,
            attention=text_attention(task.model, task.side) if evaluation.self_attention else None,
        )

    def embeddings(
        self, model: Classifier, side: ClassificationPreprocessor
    ) -> dict[str, tuple[Any, Sequence[str]]]:
        return {"tokens": (model.embedding.tokens.table, side.tokens)}

    @property
    def measured_by(self) -> tuple[str, ...]:
        """See `Problem`."""
        of_all = super().measured_by
        return ("evaluation.directed", *of_all) if of_all else ()


def _lines(examples: Examples, normalizer: Normalizer) -> list[str]:
    """The text that pieces are found in."""
    return plain_parts(normalizer, texts_of(examples.train, "text"))


def _labels(examples: Examples) -> Labels:
    return Labels.of(texts_of(examples.train, "label"))
