"""From a recipe to text, and from text to ids: what a training reads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tf_transformer.data.batching import BatchPlan
from tf_transformer.data.cleaning import clean, overlap, split_by_hash
from tf_transformer.data.pipeline import EncodedCorpus, encode, evaluation_batches, limit, merge
from tf_transformer.data.sources import Corpus, read_parallel, read_table
from tf_transformer.recipe import Text, TranslateRecipe
from tf_transformer.recipe.entries import Table
from tf_transformer.recipe.parallel_entries import EvaluationEntry, TrainEntry
from tf_transformer.recipe.translate import TranslateData, TranslateText, TranslateTraining
from tf_transformer.text import Normalizer, Preprocessor, Tokenizer, import_tokenizer, train_tokenizer

EVALUATION_POSITIONS = 4096
"""Padded positions in a batch of an evaluation."""


@dataclass(frozen=True)
class EvaluationText:
    """A dev or test set as text.

    Args:
        name: The set's name in figures.
        corpora: Where its rows come from, in order; columns ``source``, ``target``, ``target_2`` …
    """

    name: str
    corpora: Sequence[Corpus]

    @property
    def sources(self) -> list[str]:
        """Source sentences."""
        return self._column("source")

    @property
    def references(self) -> list[list[str]]:
        """One list a reference set, each as long as ``sources``."""
        return [self._column(name) for name in self.corpora[0].columns if name != "source"]

    def _column(self, name: str) -> list[str]:
        return [text for corpus in self.corpora for text in corpus.columns[name]]


@dataclass(frozen=True)
class EvaluationSet:
    """A dev or test set, as text and as batches of ids.

    Args:
        name: What its figures are called by.
        sources: Source sentences.
        references: One list a reference set.
        batches: The same pairs as ``(inputs, labels)``, every pair exactly once.
    """

    name: str
    sources: Sequence[str]
    references: Sequence[Sequence[str]]
    batches: Sequence[Any]


@dataclass(frozen=True)
class TextData:
    """All text of a recipe, cleaned.

    Args:
        train: The training corpora, in the recipe's order.
        weights: Times that an epoch takes each of them.
        dev: Dev sets; the first one decides what is best.
        test: Test sets.
        report: Lines for a person: what was read, dropped and noticed in dev and test.
    """

    train: Sequence[Corpus]
    weights: Sequence[float]
    dev: Sequence[EvaluationText]
    test: Sequence[EvaluationText]
    report: Sequence[str]


def build_normalizer(text: Text) -> Normalizer:
    """The normalizer of a recipe, for training and serving alike."""
    form = text.normal_form
    return Normalizer(normal_form=None if form == "none" else form, lowercase=text.lowercase)


def read_text(recipe: TranslateRecipe) -> TextData:
    """Reads and cleans all corpora of a recipe.

    Raises:
        DataError: When a file cannot be read rightly, or nothing usable is left of a set.
    """
    normalizer = build_normalizer(recipe.text)
    entries = recipe.data.train_entries
    train = [read_entry(entry, normalizer) for entry in entries]
    dev = {name: [read_entry(entry, normalizer, name)] for name, entry in recipe.data.dev_sets.items()}
    test = {name: [read_entry(entry, normalizer, name)] for name, entry in recipe.data.test_sets.items()}
    if recipe.data.dev_fraction is not None:
        halves = [split_by_hash(corpus, recipe.data.dev_fraction) for corpus in train]
        train = [rest for rest, _ in halves]
        dev = {"dev": [carved for _, carved in halves]}
    return TextData(
        train=train,
        weights=[entry.weight for entry in entries],
        dev=[EvaluationText(name, corpora) for name, corpora in dev.items()],
        test=[EvaluationText(name, corpora) for name, corpora in test.items()],
        report=list(_report(train, [*dev.values(), *test.values()])),
    )


def read_entry(
    entry: TrainEntry | EvaluationEntry, normalizer: Normalizer, name: str | None = None
) -> Corpus:
    """Reads one entry and cleans it; its columns are ``source``, ``target``, ``target_2`` and so on.

    Args:
        entry: Of the recipe's ``data`` section.
        normalizer: The recipe's.
        name: What reports call the corpus; by default the entry's label.
    """
    how: dict[str, Any] = {"encoding": entry.encoding, "on_bad_row": entry.on_bad_row}
    how["name"] = name or entry.label
    corpus = (
        read_table(entry.table, entry.columns_read, **how)
        if isinstance(entry, Table)
        else read_parallel(entry.columns_read, **how)
    )
    return clean(corpus, normalizer.normalize_texts, deduplicate=entry.deduplicate)


def build_preprocessor(text: TranslateText, corpora: Sequence[Corpus]) -> Preprocessor:
    """Trains, or reads, the tokenizers that a recipe asks for.

    Raises:
        TextError: When the corpora cannot give such a vocabulary, or ``text.model`` is no tokenizer file.
    """
    normalizer = build_normalizer(text)
    if text.model is not None:
        tokenizer = import_tokenizer(text.tokenizer, text.model, unknown=text.unknown)
        return Preprocessor(tokenizer, None, normalizer)
    sides = (("source", "target"),) if text.shared else (("source",), ("target",))
    tokenizers = [
        _train(text, [t for name in side for c in corpora for t in c.columns[name]]) for side in sides
    ]
    return Preprocessor(tokenizers[0], None if text.shared else tokenizers[1], normalizer)


def encode_training(
    corpora: Sequence[Corpus], preprocessor: Preprocessor, data: TranslateData
) -> EncodedCorpus:
    """Training text as ids, within the recipe's limits of length.

    Raises:
        DataError: When no pair is short enough.
    """
    return limit(_encode(corpora, preprocessor), length_limits(data), data.on_long)


def plan_batches(encoded: EncodedCorpus, training: TranslateTraining, weights: Sequence[float]) -> BatchPlan:
    """Which pairs go together in which update.

    Args:
        encoded: Training text as ids.
        training: Its ``batch_tokens`` (the default where that is not found yet) and ``seed`` are read.
        weights: Times that an epoch takes each corpus.
    """
    tokens = training.batch_tokens
    if tokens == "auto":
        tokens = TranslateTraining.model_fields["batch_tokens"].default
    return BatchPlan(encoded.lengths, tokens, seed=training.seed, corpora=encoded.corpora, weights=weights)


def encode_evaluation(text: EvaluationText, preprocessor: Preprocessor, data: TranslateData) -> EvaluationSet:
    """A dev or test set as ids; a sentence over the limits is cut, never dropped."""
    encoded = limit(_encode(text.corpora, preprocessor), length_limits(data), "truncate")
    batches = evaluation_batches(encoded, EVALUATION_POSITIONS, preprocessor.assemble)
    return EvaluationSet(text.name, text.sources, text.references, list(batches.dataset))


def _encode(corpora: Sequence[Corpus], preprocessor: Preprocessor) -> EncodedCorpus:
    encoders = {"source": preprocessor.encode_source, "target": preprocessor.encode_target}
    return merge([encode(corpus, encoders) for corpus in corpora])


def length_limits(data: TranslateData) -> dict[str, int]:
    """The positions that a row may take, by column."""
    return {"source": data.max_source_length, "target": data.max_target_length}


def _train(text: Text, lines: list[str]) -> Tokenizer:
    options: dict[str, Any] = {"unknown": text.unknown}
    if text.vocabulary_size is not None:
        options["vocabulary_size"] = text.vocabulary_size
    if text.tokenizer == "sentencepiece":
        options |= {"model_type": text.sentencepiece_type, "byte_fallback": text.byte_fallback}
    return train_tokenizer(text.tokenizer, lines, **options)


def _report(train: Sequence[Corpus], evaluated: Sequence[Sequence[Corpus]]) -> Iterator[str]:
    """What is to be said of dev and test; the training corpora report when they are encoded."""
    for other in (corpus for corpora in evaluated for corpus in corpora):
        yield from other.report.to_lines()
        for corpus in train:
            yield from overlap(corpus, other).to_lines()
