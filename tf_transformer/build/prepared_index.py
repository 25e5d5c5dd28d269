"""The last step of preparing: what is known of all shards becomes one index, and a report for a person."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from tf_transformer.build.preparation import Preparation
from tf_transformer.build.preparing import Job, evaluated_sets
from tf_transformer.data.cleaning import Overlap
from tf_transformer.data.prepared import (
    BLOCKS,
    CARVED,
    INDEX,
    LINES,
    SHARDS,
    TOKENIZER,
    lengths_file,
    pieces_digest,
)
from tf_transformer.data.report import CorpusReport, Finding
from tf_transformer.data.shards import BLOCK
from tf_transformer.errors import DataError, counted
from tf_transformer.files import fingerprint, parse_json, replacing, write_json

Facts = Mapping[str, Any]


def finish(done: Preparation) -> None:
    """Joins what is known of all shards, and writes the index last.

    Args:
        done: A preparation whose shards are all there.

    Raises:
        DataError: When no row is left.
    """
    folder, agenda = done.folder, done.agenda
    facts = [_facts(folder, job) for job in agenda.shards]
    rows = sum(fact["rows"] for fact in facts)
    if not rows:
        raise DataError(f"{folder}: no rows are left of {counted(agenda.lines, 'line')}")
    names = list(facts[0]["columns"])
    longest = {name: max(fact["columns"][name]["longest"] for fact in facts) for name in names}
    _join_arrays(folder, agenda.shards, rows, longest)
    _join_carved(folder, agenda.shards)
    side = done.problem.load_side(folder / TOKENIZER)
    arrays = [BLOCKS, LINES, *map(lengths_file, names)]
    vocabulary = {"lines": agenda.sampled, "of": agenda.lines}
    index = {
        **done.plan,
        "rows": rows,
        "columns": {name: _column(facts, name) for name in names},
        "corpora": [_corpus(facts, place) for place in range(len(done.recipe.data.train_entries))],
        "shards": [
            {"file": job.file, "corpus": job.entry, **{key: fact[key] for key in ("rows", "size", "sha256")}}
            for job, fact in zip(agenda.shards, facts, strict=True)
        ],
        "arrays": {name: fingerprint(folder / name).sha256 for name in arrays},
        "vocabulary": {**vocabulary, "sha256": pieces_digest(done.problem.pieces(side))},
    }
    write_json(folder / INDEX, index)


def report_lines(done: Preparation) -> Iterator[str]:
    """What became of the text, for a person."""
    facts = [_facts(done.folder, job) for job in done.agenda.shards]
    sets = evaluated_sets(done.recipe)
    for place, entry in enumerate(done.recipe.data.train_entries):
        yield from CorpusReport.from_dict(_corpus(facts, place)["report"]).to_lines()
        mine = [fact["shared"] for fact in facts if fact["entry"] == place]
        for name, corpus in sets.items():
            kinds = dict.fromkeys(what for of in mine for what in of.get(name, {}))
            found = {what: {row for of in mine for row in of.get(name, {}).get(what, ())} for what in kinds}
            shared = {what: Finding.at(corpus.lines[sorted(rows)].tolist()) for what, rows in found.items()}
            yield from Overlap(entry.title, name, len(corpus), shared).to_lines()


def _facts(folder: Path, job: Job) -> Facts:
    return dict(parse_json((folder / SHARDS / job.file).with_suffix(".json").read_bytes()))


def _column(facts: Sequence[Facts], name: str) -> dict[str, Any]:
    mine = [fact["columns"][name] for fact in facts]
    return {"type": mine[0]["type"], "ids": sum(column["ids"] for column in mine)}


def _corpus(facts: Sequence[Facts], place: int) -> dict[str, Any]:
    mine = [fact for fact in facts if fact["entry"] == place]
    names = mine[0]["columns"]
    report = CorpusReport.of_parts([CorpusReport.from_dict(fact["report"]) for fact in mine])
    return {
        "rows": sum(fact["rows"] for fact in mine),
        "positions": {name: sum(fact["columns"][name]["positions"] for fact in mine) for name in names},
        "report": report.to_dict(),
    }


def _join_arrays(folder: Path, jobs: Sequence[Job], rows: int, longest: Mapping[str, int]) -> None:
    """One array of each kind for all shards, written a shard at a time."""
    types = {name: np.dtype("<u2" if most < 1 << 16 else "<u4") for name, most in longest.items()}
    types["lines"] = np.dtype("<u8")
    blocks = []
    with ExitStack() as stack:
        files = {}
        for name, kind in types.items():
            path = folder / (LINES if name == "lines" else lengths_file(name))
            files[name] = stack.enter_context(replacing(path))
            header = {"descr": kind.str, "fortran_order": False, "shape": (rows,)}
            np.lib.format.write_array_header_1_0(files[name], header)
        for number, job in enumerate(jobs):
            with np.load((folder / SHARDS / job.file).with_suffix(".npz"), allow_pickle=False) as found:
                blocks.append(found["blocks"].astype(BLOCK))
                blocks[-1]["shard"] = number
                for name, kind in types.items():
                    files[name].write(found[name].astype(kind).tobytes())
    with replacing(folder / BLOCKS) as file:
        np.save(file, np.concatenate(blocks))


def _join_carved(folder: Path, jobs: Sequence[Job]) -> None:
    with replacing(folder / CARVED) as file:
        for job in jobs:
            with (folder / SHARDS / job.file).with_suffix(".dev.jsonl").open("rb") as part:
                shutil.copyfileobj(part, file)
