"""A folder of prepared data from its beginning to its index, taken up wherever it was left."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tf_transformer.build.preparing import (
    Agenda,
    Job,
    SampleWork,
    ShardWork,
    agenda,
    is_done,
    joined_parts,
    preparable,
)
from tf_transformer.build.problem import Examples
from tf_transformer.data.prepared import (
    BLOCKS,
    CARVED,
    FORMAT,
    INDEX,
    LINES,
    SHARDS,
    TOKENIZER,
    lengths_file,
)
from tf_transformer.data.sources import Corpus
from tf_transformer.errors import DataError, RunError, counted
from tf_transformer.files import fingerprint, parse_json, write_json
from tf_transformer.memory import give_back
from tf_transformer.recipe import Recipe
from tf_transformer.recipe.prepared import other_keys, prepared_keys, prepared_sources

PLAN, LOCK = "plan.json", "prepare.lock"
_UNFINISHED = ".writing"

Done = TypeVar("Done")
Deal = Callable[[Callable[[Job], Done], Sequence[Job]], Iterator[Done]]
"""Does some work on each of some jobs, somewhere; yields what comes of each, in their order."""


class Preparation:
    """Makes, or finishes, a folder of prepared data.

    Args:
        recipe: A resolved one.
        folder: Where it goes.
        num_shards: About how many files of ids there are to be; None for one in 262,144 lines.
        say: Prints a line for the person who waits.
    """

    def __init__(
        self, recipe: Recipe, folder: Path, num_shards: int | None, say: Callable[[str], None]
    ) -> None:
        self.recipe, self.folder, self.say = recipe, folder, say
        self.problem = preparable(recipe)
        self.agenda: Agenda = agenda(recipe, num_shards)
        self.plan: dict[str, Any] = {
            "format": FORMAT,
            "keys": prepared_keys(recipe),
            "files": {
                key: {"size": found.size, "sha256": found.sha256}
                for key, found in ((key, fingerprint(path)) for key, path in prepared_sources(recipe).items())
            },
            "shards": [[job.file, job.entry, job.lines] for job in self.agenda.shards],
        }

    def begin(self, fresh: bool) -> bool:
        """Makes the folder, or weighs what is there.

        Args:
            fresh: Remove what was prepared there before.

        Returns:
            Whether there is anything left to do.

        Raises:
            RunError: When the folder holds something else; says what.
        """
        if fresh:
            self._remove()
        plan = self.folder / PLAN
        if plan.exists():
            self._weigh(plan)
        elif self.folder.is_dir() and any(path.name != LOCK for path in self.folder.iterdir()):
            raise RunError(f"{self.folder}: holds files that prepare did not write; name another --output")
        else:
            (self.folder / SHARDS).mkdir(parents=True, exist_ok=True)
            write_json(plan, self.plan)
        return not (self.folder / INDEX).exists()

    def _weigh(self, path: Path) -> None:
        try:
            there = parse_json(path.read_bytes())
            faults = [*other_keys(there["keys"], self.plan["keys"])]
            faults += [
                f"was made of another {key}"
                for key, found in self.plan["files"].items()
                if there["files"].get(key) != found
            ]
            if there["shards"] != self.plan["shards"]:
                before, now = len(there["shards"]), len(self.plan["shards"])
                faults.append(f"was begun in {counted(before, 'shard')}, and now there are {now:,}")
        except (OSError, ValueError, KeyError, TypeError) as error:
            faults = [f"is broken ({error})"]
        if faults:
            raise RunError(f"{self.folder}: {faults[0]}; name another --output, or start over with --fresh")

    def _remove(self) -> None:
        if not (self.folder / PLAN).exists():
            return
        (self.folder / INDEX).unlink(missing_ok=True)  # first: without it nothing is finished
        for name in (SHARDS, TOKENIZER):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        arrays = self.folder.glob(lengths_file("*"))
        for path in (*arrays, *(self.folder / name for name in (CARVED, BLOCKS, LINES, PLAN))):
            path.unlink(missing_ok=True)

    def make_tokenizer(self, deal: Deal[Corpus | None]) -> None:
        """Trains, or reads, what turns text into ids; from a sample where there is much text."""
        found = self.folder / TOKENIZER
        if found.is_dir():
            return
        parts: dict[int, list[Corpus]] = {}
        for job, corpus in zip(
            self.agenda.sample, deal(SampleWork(self.recipe), self.agenda.sample), strict=True
        ):
            if corpus is not None:
                parts.setdefault(job.entry, []).append(corpus)
        train = [corpus for entry in sorted(parts) if (corpus := joined_parts(parts.pop(entry))) is not None]
        rows = sum(map(len, train))
        if not rows:
            raise DataError(f"{self.folder}: no rows are left to find a vocabulary from")
        self.say(f"vocabulary from {counted(rows, 'row')} of {counted(self.agenda.lines, 'line')}")
        side = self.problem.make_side(Examples(train, [], [], [], []))
        del train
        aside = self.folder / f".{TOKENIZER}{_UNFINISHED}"
        shutil.rmtree(aside, ignore_errors=True)
        side.save(aside)
        aside.rename(found)
        give_back()  # of the sample, and of the search for pieces: shards are made here, too

    def shards_left(self) -> list[Job]:
        """The shards that are not finished; what a killed process has left of others is removed."""
        for path in (self.folder / SHARDS).glob(f".*{_UNFINISHED}"):
            path.unlink(missing_ok=True)
        return [job for job in self.agenda.shards if not is_done(self.folder, job)]

    def work(self, threads: int = 1) -> ShardWork:
        """What makes a shard of a job."""
        return ShardWork(self.recipe, self.folder, threads)
