"""What tasks that read text have in common: from a recipe's entries to corpora, sets and tokenizers."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from tf_transformer.build.problem import Examples
from tf_transformer.data.cleaning import clean, overlap, split_by_hash
from tf_transformer.data.sources import Corpus, read_parallel, read_table
from tf_transformer.data.spans import Span
from tf_transformer.errors import DataError, RecipeError
from tf_transformer.evaluation import EvaluationSet
from tf_transformer.recipe import Data, Text
from tf_transformer.recipe.entries import Table
from tf_transformer.run_folder import RunFolder
from tf_transformer.text import Normalizer, Tokenizer, import_tokenizer, train_tokenizer
from tf_transformer.text.normalizer import WhiteSpace

_MOST_SAMPLES = 32


@dataclass(frozen=True)
class TextSet:
    """A dev or test set as text.

    Args:
        name: The set's name in figures.
        corpora: Where its rows come from, in order; all with the same columns.
    """

    name: str
    corpora: Sequence[Corpus]

    @property
    def columns(self) -> dict[str, list[str]]:
        """The texts of all corpora, by column."""
        names = self.corpora[0].columns
        return {name: [text for corpus in self.corpora for text in corpus.columns[name]] for name in names}

    def evaluation_set(self, batches: Sequence[Any] = ()) -> EvaluationSet:
        """The set as evaluators take it."""
        return EvaluationSet(self.name, self.columns, batches)


Read = Callable[[Any, str | None], Corpus]
"""An entry of a recipe, and what reports call it (None for its title), to its rows, cleaned."""


Spans = Mapping[str, Span]
"""For each column of parallel files which lines are read; of a table under the name `TABLE`."""
TABLE = "table"

Carve = Callable[[Corpus, float], tuple[Corpus, Corpus]]
"""A corpus and a fraction to what remains of it, and what is carved for dev."""


def read_examples(
    data: Data, read: Read, carve: Carve = split_by_hash, labels: Collection[str] = ()
) -> Examples:
    """Reads all corpora of a recipe, and carves dev where the recipe says so.

    Args:
        data: The recipe's section.
        read: Reads one entry.
        carve: Carves dev from a training corpus.
        labels: Columns that are no text.

    Raises:
        DataError: When a file cannot be read rightly, or nothing usable is left of a set.
    """
    entries = data.train_entries
    train = [read(entry, None) for entry in entries]
    dev = {name: [read(entry, name)] for name, entry in data.dev_sets.items()}
    test = {name: [read(entry, name)] for name, entry in data.test_sets.items()}
    if data.dev_fraction is not None:
        halves = [carve(corpus, data.dev_fraction) for corpus in train]
        train = [rest for rest, _ in halves]
        dev = {"dev": [carved for _, carved in halves]}
    return Examples(
        train=train,
        weights=[entry.weight for entry in entries],
        dev=[TextSet(name, corpora) for name, corpora in dev.items()],
        test=[TextSet(name, corpora) for name, corpora in test.items()],
        report=list(_report(train, [*dev.values(), *test.values()], labels)),
    )


def read_sets(
    data: Data, split: str, read: Read, carve: Carve = split_by_hash, labels: Collection[str] = ()
) -> Examples:
    """Reads the dev or the test sets of a recipe alone, where they are no part of train.

    Args:
        data: The recipe's section.
        split: ``"dev"`` or ``"test"``.
        read: Reads one entry.
        carve: Carves dev from a training corpus.
        labels: Columns that are no text.

    Raises:
        DataError: As of `read_examples`.
    """
    if split == "dev" and data.dev_fraction is not None:
        sets = list(read_examples(data, read, carve, labels).dev)
    else:
        entries = data.dev_sets if split == "dev" else data.test_sets
        sets = [TextSet(name, [read(entry, name)]) for name, entry in entries.items()]
    report = list(_report([], [found.corpora for found in sets], labels))
    splits = {"dev": sets, "test": []} if split == "dev" else {"dev": [], "test": sets}
    return Examples(train=[], weights=[], report=report, **splits)


def build_normalizer(text: Text, keep: WhiteSpace = "words") -> Normalizer:
    """The normalizer of a recipe, for training and serving alike.

    Args:
        text: The recipe's section.
        keep: What is kept of white space.
    """
    form = text.normal_form
    return Normalizer(normal_form=None if form == "none" else form, lowercase=text.lowercase, keep=keep)


def read_entry(
    entry: Any,
    normalizer: Normalizer,
    name: str | None = None,
    labels: Collection[str] = (),
    spans: Spans | None = None,
) -> Corpus:
    """Reads one entry and cleans it; its columns are those of its ``columns_read``.

    Args:
        entry: Of the recipe's ``data`` section.
        normalizer: The recipe's.
        name: What reports call the corpus; by default the entry's title.
        labels: Columns that are no text.
        spans: What of it is read; it may then hold nothing that is left.
    """
    how, columns = how_read(entry, name), entry.columns_read
    if isinstance(entry, Table):
        corpus = read_table(entry.table, columns, span=spans[TABLE] if spans else None, **how)
    else:
        corpus = read_parallel(columns, spans=spans, **how)
    return clean(
        corpus,
        normalizer.normalize_texts,
        deduplicate=entry.deduplicate,
        labels=labels,
        may_be_empty=spans is not None,
    )


def how_read(entry: Any, name: str | None) -> dict[str, Any]:
    """The arguments of all functions that read an entry, but for the entry itself."""
    return {
        "encoding": entry.encoding,
        "on_bad_row": entry.on_bad_row,
        "name": name or entry.title,
    }


def make_tokenizer(text: Text, lines: Sequence[str], old: Tokenizer | None = None) -> Tokenizer:
    """Trains, reads, or makes of another one, a tokenizer that a recipe asks for.

    Args:
        text: The recipe's section.
        lines: Normalised text to find pieces in.
        old: The tokenizer whose place the new one takes.

    Raises:
        TextError: When the lines cannot give such a vocabulary, or ``text.model`` is no tokenizer file.
        RecipeError: When the recipe's tokenizer cannot take the old one's place.
    """
    if old is not None:
        _check_update(text, old)
        if text.update == "merge":
            return old.grown(lines, (text.vocabulary_size or 0) - old.vocabulary_size)
    options: dict[str, Any] = {"unknown": text.unknown}
    if text.model is not None:
        return import_tokenizer(text.tokenizer, text.model, **options)
    if text.vocabulary_size is not None:
        options["vocabulary_size"] = text.vocabulary_size
    if text.tokenizer == "sentencepiece":
        options |= {"model_type": text.sentencepiece_type, "byte_fallback": text.byte_fallback}
    return train_tokenizer(text.tokenizer, lines, **options)


def _check_update(text: Text, old: Tokenizer) -> None:
    """Refuses what ``text.update`` cannot do with a tokenizer."""
    if text.tokenizer != old.kind:
        raise RecipeError(
            f"text.tokenizer: must be {old.kind}, as of training.initialize_from, where text.update is "
            f"{text.update}. Received: {text.tokenizer}"
        )
    size = text.vocabulary_size
    if text.update == "merge" and size is not None and size <= old.vocabulary_size:
        raise RecipeError(
            f"text.vocabulary_size: must be more than {old.vocabulary_size}, the pieces of "
            f"training.initialize_from that text.update: merge adds to. Received: {size}"
        )


def spread(corpora: Sequence[Corpus], most: int) -> list[Corpus]:
    """Corpora with so many rows in all at most, evenly spread over them."""
    total = sum(map(len, corpora))
    if total <= most:
        return list(corpora)
    return [corpus.select(np.flatnonzero(evenly(len(corpus), most, total))) for corpus in corpora]


def evenly(size: int, most: int, total: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which of `size` things are taken where `most` of `total` are, bool `[size]`."""
    steps = np.arange(size + 1, dtype=np.int64) * min(most, total) // max(total, 1)
    return steps[1:] > steps[:-1]


def texts_of(corpora: Sequence[Corpus], *columns: str) -> list[str]:
    """The texts of some columns, column by column."""
    return [text for name in columns for corpus in corpora for text in corpus.columns[name]]


def sample_texts(data: Data, read: Read, folder: RunFolder, column: str = "source") -> list[str]:
    """Some texts of a run's own data; fewer, from its samples, where the data is not at hand.

    Args:
        data: The recipe's section.
        read: Reads one entry.
        folder: The run.
        column: Which texts.
    """
    entries = [*data.dev_sets.values(), *data.test_sets.values(), *data.train_entries]
    for entry in entries[:1]:
        with suppress(DataError, OSError):
            sources = read(entry, None).columns[column]
            return list(sources[:: max(1, len(sources) // _MOST_SAMPLES)][:_MOST_SAMPLES])
    found: list[str] = []
    for path in sorted(folder.samples.glob("*.txt"))[-1:]:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        found += [line.removeprefix("source").strip() for line in lines if line.startswith("source ")]
    return found[:_MOST_SAMPLES]


def _report(
    train: Sequence[Corpus], evaluated: Sequence[Sequence[Corpus]], labels: Collection[str]
) -> Iterator[str]:
    """What is to be said of dev and test; the training corpora report when they are encoded."""
    for other in (corpus for corpora in evaluated for corpus in corpora):
        yield from other.report.to_lines()
        for corpus in train:
            yield from overlap(corpus, other, labels).to_lines()
