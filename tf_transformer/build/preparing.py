"""Data that is prepared once: what there is to do, and pure functions that do each part of it, anywhere.

A training entry is cut into chunks of lines, and some chunks make a shard. `ShardWork` reads, cleans, encodes
and writes one shard; whoever calls it, processes of this machine or a Beam pipeline, only deals them out.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from tf_transformer.build.preparable import Preparable
from tf_transformer.build.problems import problem_of
from tf_transformer.build.text_data import TABLE, Spans, evenly
from tf_transformer.data.cleaning import carved_rows, part_of, shared_rows
from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.prepared import SHARDS, TOKENIZER
from tf_transformer.data.report import CorpusReport
from tf_transformer.data.shards import id_type, shard_names, write_shard
from tf_transformer.data.sources import Corpus
from tf_transformer.data.spans import Survey, cut, runs, survey
from tf_transformer.data.tables import table_kind
from tf_transformer.errors import DataError, RecipeError
from tf_transformer.files import parse_json, replacing, write_json, write_text
from tf_transformer.recipe import Recipe
from tf_transformer.recipe.entries import Table

CHUNK_LINES: Final = 1 << 15
"""Lines that are in memory at a time, in each process."""
SHARD_LINES: Final = 1 << 18
"""Lines of a shard, where nobody says how many shards there are."""
_RUNS = 64
"""Runs of sampled lines that are read by one call."""


@dataclass(frozen=True)
class Job:
    """Lines of one training entry.

    Attributes:
        file: The shard that they become.
        entry: Number of the entry.
        chunks: The lines, chunk by chunk.
    """

    file: str
    entry: int
    chunks: tuple[Spans, ...]

    @property
    def lines(self) -> int:
        """How many lines there are."""
        return sum(span.last - span.first + 1 for spans in self.chunks for span in [*spans.values()][:1])


@dataclass(frozen=True)
class Agenda:
    """What there is to do.

    Attributes:
        shards: The parts of all entries, in order.
        sample: Lines that a vocabulary is found from, in order.
        lines: Lines of all entries.
        sampled: Lines of the sample.
    """

    shards: tuple[Job, ...]
    sample: tuple[Job, ...]
    lines: int
    sampled: int


def preparable(recipe: Recipe) -> Preparable:
    """The problem of a recipe whose data can be prepared.

    Raises:
        RecipeError: When it cannot.
    """
    problem = problem_of(recipe)
    if not isinstance(problem, Preparable):
        raise RecipeError(f"task: prepare is for translate. Received: {recipe.task}")
    for place, entry in enumerate(recipe.data.train_entries):
        if entry.deduplicate:
            rule = "cannot be done part by part: remove equal rows from the files first"
            raise RecipeError(f"data.train.{place}.deduplicate: {rule}")
    return problem


def agenda(recipe: Recipe, num_shards: int | None = None) -> Agenda:
    """Looks through the training files and says what there is to do.

    Args:
        recipe: A resolved recipe.
        num_shards: About how many shards there are to be.

    Raises:
        DataError: When a file cannot be read, or parallel ones have different numbers of lines.
    """
    surveys = [_surveys(entry) for entry in recipe.data.train_entries]
    rows = [next(iter(found.values())).rows for found in surveys]
    total = sum(rows)
    size = SHARD_LINES if num_shards is None else -(-total // num_shards)
    parts = [
        (place, tuple(chunks))
        for place, found in enumerate(surveys)
        for chunks in _grouped(cut(found, min(CHUNK_LINES, size)), size)
    ]
    names = shard_names(len(parts))
    shards = tuple(Job(name, *part) for name, part in zip(names, parts, strict=True))
    most = getattr(recipe, "text").vocabulary_lines  # noqa: B009
    if total <= most:
        return Agenda(shards, shards, total, total)
    sample = tuple(_sample(surveys, most, total))
    return Agenda(shards, sample, total, sum(job.lines for job in sample))


def _surveys(entry: Any) -> dict[str, Survey]:
    columns = entry.columns_read
    if not isinstance(entry, Table):
        return {name: survey(path, entry.encoding) for name, path in columns.items()}
    kind = table_kind(entry.table)
    named = kind != "jsonl" and any(isinstance(column, str) for column in columns.values())
    return {TABLE: survey(entry.table, entry.encoding, has_header=named, is_csv=kind == "csv")}


def _grouped(chunks: Sequence[Spans], size: int) -> Iterator[list[Spans]]:
    """Runs of chunks with about so many lines."""
    group: list[Spans] = []
    lines = 0
    for spans in chunks:
        span = next(iter(spans.values()))
        group.append(spans)
        lines += span.last - span.first + 1
        if lines >= size:
            yield group
            group, lines = [], 0
    if group:
        yield group


def _sample(surveys: Sequence[Mapping[str, Survey]], most: int, total: int) -> Iterator[Job]:
    """Short runs of lines, evenly spread over all entries."""
    for place, found in enumerate(surveys):
        count = len(next(iter(found.values())).marks)
        chosen = np.flatnonzero(evenly(count, most, total)).tolist()
        for start in range(0, len(chosen), _RUNS):
            yield Job("", place, tuple(runs(found, chosen[start : start + _RUNS])))


@dataclass(frozen=True)
class SampleWork:
    """Reads and cleans the lines of a job, for a vocabulary.

    Args:
        recipe: A resolved one.
    """

    recipe: Recipe

    def __call__(self, job: Job) -> Corpus | None:
        problem = preparable(self.recipe)
        parts = [part for spans in job.chunks for part, _ in [_read(problem, self.recipe, job.entry, spans)]]
        return joined_parts(parts)


@dataclass(frozen=True)
class ShardWork:
    """Makes the shard of a job.

    Args:
        recipe: A resolved one.
        folder: Where prepared data goes; the tokenizer is there. All machines that take part see it.
        threads: Batches of texts that are encoded at a time.
    """

    recipe: Recipe
    folder: Path
    threads: int = 1

    def __call__(self, job: Job) -> int:
        """Writes the shard, and last a file that says so; how many lines went into it."""
        problem = preparable(self.recipe)
        side = problem.load_side(self.folder / TOKENIZER)
        found = _Found(problem, self.recipe)
        path = self.folder / SHARDS / job.file
        parts = self._parts(problem, side, job, found)
        types = {name: id_type(size) for name, size in problem.vocabularies(side).items()}
        shard = write_shard(path, parts, types)
        arrays: dict[str, Any] = {"blocks": shard.blocks, "lines": shard.lines, **shard.lengths}
        with replacing(path.with_suffix(".npz")) as file:
            np.savez(file, **arrays)
        write_text(path.with_suffix(".dev.jsonl"), "".join(found.carved))
        facts = {
            "entry": job.entry,
            "rows": len(shard.lines),
            "size": shard.content.size,
            "sha256": shard.content.sha256,
            "columns": {name: found.column(name, kind) for name, kind in types.items()},
            "report": CorpusReport.of_parts(found.reports).to_dict(),
            "shared": found.shared_rows(),
        }
        write_json(path.with_suffix(".json"), facts)
        return job.lines

    def _parts(self, problem: Preparable, side: Any, job: Job, found: "_Found") -> Iterator[EncodedCorpus]:
        for spans in job.chunks:
            rest, carved = _read(problem, self.recipe, job.entry, spans)
            found.see(job.entry, rest, carved)
            encoded = problem.encode_part(rest, side, self.threads)
            found.count(encoded)
            yield encoded


class _Found:
    """What is to be told of the parts of a shard."""

    def __init__(self, problem: Preparable, recipe: Recipe) -> None:
        self.sets = evaluated_sets(recipe)
        self.reports: list[CorpusReport] = []
        self.carved: list[str] = []
        self.shared: dict[str, dict[str, set[int]]] = {name: {} for name in self.sets}
        self._ids: dict[str, int] = {}
        self._positions: dict[str, int] = {}
        self._longest: dict[str, int] = {}

    def see(self, entry: int, rest: Corpus, carved: Corpus | None) -> None:
        for name, corpus in self.sets.items():
            for what, rows in shared_rows(rest, corpus).items():
                self.shared[name].setdefault(what, set()).update(rows)
        if carved is None:
            return
        for row, line in enumerate(carved.lines.tolist()):
            columns = {name: texts[row] for name, texts in carved.columns.items()}
            text = json.dumps({"corpus": entry, "line": line, "columns": columns}, ensure_ascii=False)
            self.carved.append(text + "\n")

    def count(self, encoded: EncodedCorpus) -> None:
        self.reports.append(encoded.reports[0])
        for name, lengths in encoded.lengths.items():
            ids = int(encoded.columns[name].flat_values.shape[0])
            self._ids[name] = self._ids.get(name, 0) + ids
            self._positions[name] = self._positions.get(name, 0) + int(lengths.sum())
            self._longest[name] = max(self._longest.get(name, 0), int(lengths.max(initial=0)))

    def shared_rows(self) -> dict[str, dict[str, list[int]]]:
        return {name: {what: sorted(rows) for what, rows in of.items()} for name, of in self.shared.items()}

    def column(self, name: str, kind: np.dtype[Any]) -> dict[str, Any]:
        counts = {"ids": self._ids[name], "positions": self._positions[name], "longest": self._longest[name]}
        return {"type": kind.str, **counts}


def _read(problem: Preparable, recipe: Recipe, entry: int, spans: Spans) -> tuple[Corpus, Corpus | None]:
    """Cleaned rows to train on, and those that are carved for dev."""
    corpus = problem.read_part(recipe.data.train_entries[entry], spans)
    fraction = recipe.data.dev_fraction
    if fraction is None:
        return corpus, None
    carved = carved_rows(corpus.columns["source"], fraction, problem.carve_key)
    return part_of(corpus, ~carved, "rest"), part_of(corpus, carved, "carved")


def evaluated_sets(recipe: Recipe) -> dict[str, Corpus]:
    """The dev and test sets that have files, by a name for people; those that cannot be read are left out."""
    problem = problem_of(recipe)
    found: dict[str, Corpus] = {}
    for split in ("dev", "test"):
        if split == "dev" and recipe.data.dev_fraction is not None:
            continue
        with suppress(DataError):  # whoever trains is told
            examples = problem.read_split(split)
            for one in examples.dev if split == "dev" else examples.test:
                found[one.name if one.name == split else f"{split} {one.name}"] = one.corpora[0]
    return found


def joined_parts(parts: Sequence[Corpus]) -> Corpus | None:
    """Parts of one corpus as one; none of none."""
    if not parts:
        return None
    columns = {name: [text for part in parts for text in part.columns[name]] for name in parts[0].columns}
    lines = np.concatenate([part.lines for part in parts])
    report = CorpusReport.of_parts([part.report for part in parts])
    return Corpus(columns, lines, parts[0].name, parts[0].files, report)


def is_done(folder: Path, job: Job) -> bool:
    """Whether the shard of a job is finished."""
    path = folder / SHARDS / job.file
    with suppress(OSError, ValueError, KeyError, TypeError):
        return bool(path.stat().st_size == parse_json(path.with_suffix(".json").read_bytes())["size"])
    return False
