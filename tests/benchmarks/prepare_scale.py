"""Preparing and reading a large corpus: lines a second and peak memory, as the number of lines grows.

    python tests/benchmarks/prepare_scale.py SOURCE TARGET FOLDER [--lines 1000000 10000000] [--workers 2]

SOURCE and TARGET are parallel text, which is repeated with other words in it until there are as many lines as
asked for; FOLDER takes them and what is made of them, about 250 bytes a line, and nothing in it is removed.
For each number of lines it prints what `prepare` took, and what the input of training took when nothing else
ran in its process: a whole epoch of batches, made and thrown away.

Memory is the sum over all processes of one command, at its highest, in two ways: `resident`, where a page
that several processes share counts in each, and `proportional`, where it counts once (Linux tells both).
Pages of files that are only looked at are in both, and are given back when memory is short. Times are by the
clock and, where other work runs on the machine too, more telling: of all cores for this work alone (CPU).
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

RECIPE = """\
task: translate
data:
  train: {source: train.source, target: train.target}
  dev: {source: dev.source, target: dev.target}
text: {vocabulary_size: 8000}
training: {steps: 1}
"""
_PAUSE = 0.1


def write_corpus(source: Path, target: Path, folder: Path, lines: int) -> None:
    """Parallel text of so many lines: the given one again and again, some words exchanged each time."""
    texts = [path.read_text(encoding="utf-8").rstrip("\n").split("\n") for path in (source, target)]
    pairs = list(zip(*texts, strict=True))
    draw = random.Random(lines)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("dev.source", "dev.target"):
        (folder / name).write_text("\n".join(pair[name.endswith("target")] for pair in pairs[:500]) + "\n")
    words = [[pair[side].split() for pair in pairs] for side in (0, 1)]
    files = [(folder / name).open("w", encoding="utf-8") for name in ("train.source", "train.target")]
    for number in range(lines):
        row = number % len(pairs)
        for side, file in enumerate(files):
            line = list(words[side][row])
            if number >= len(pairs) and line:
                other = words[side][draw.randrange(len(pairs))]
                line[draw.randrange(len(line))] = other[draw.randrange(len(other))] if other else "0"
            file.write(" ".join(line) + "\n")
    for file in files:
        file.close()
    (folder / "recipe.yaml").write_text(RECIPE)


def family(process: int) -> Iterator[int]:
    """A process and all that it has started."""
    yield process
    try:
        tasks = os.listdir(f"/proc/{process}/task")
        children = [Path(f"/proc/{process}/task/{task}/children").read_text().split() for task in tasks]
    except OSError:
        return
    for child in (int(child) for group in children for child in group):
        yield from family(child)


def memory_of(process: int) -> tuple[int, int]:
    """Resident and proportional bytes of a process and of all that it has started."""
    totals = {"Rss": 0, "Pss": 0}
    for member in family(process):
        try:
            found = Path(f"/proc/{member}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        for line in found:
            name, _, value = line.partition(":")
            if name in totals:
                totals[name] += int(value.split()[0]) * 1024
    return totals["Rss"], totals["Pss"]


def measured(command: list[str]) -> dict[str, float]:
    """Seconds, seconds of all cores, and peak memory of a command; and the numbers that it prints as JSON."""
    started, peaks = time.monotonic(), [0, 0]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryFile("w+") as output:
        running = subprocess.Popen(command, stdout=output)
        while running.poll() is None:
            peaks = [max(pair) for pair in zip(peaks, memory_of(running.pid), strict=True)]
            time.sleep(_PAUSE)
        if running.returncode:
            raise SystemExit(f"{' '.join(command)}: exit code {running.returncode}")
        output.seek(0)
        told = [json.loads(line) for line in output if line.startswith("{")]
    seconds, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "seconds": seconds,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "resident": peaks[0] / 2**20,
        "proportional": peaks[1] / 2**20,
        **(told[0] if told else {}),
    }


def read_epoch(folder: Path) -> None:
    """All batches of one epoch, made as for training, in a process that does nothing else."""
    from tf_transformer.data.pipeline import StreamedPlan, training_dataset
    from tf_transformer.data.prepared import PreparedCorpus
    from tf_transformer.text import Preprocessor

    corpus = PreparedCorpus.open(folder / "ready" / "index.json")
    side = Preprocessor.load(folder / "ready" / "tokenizer")
    started = time.monotonic()
    plan = StreamedPlan(corpus, 4096, memory=128 << 20, seed=1)
    count = plan.num_batches(0)
    planned = time.monotonic()
    rows = 0
    for inputs, _ in training_dataset(corpus, plan, side.assemble).take(count):
        rows += int(inputs["target_ids"].shape[0])
    assert rows == len(corpus), (rows, len(corpus))
    done = time.monotonic()
    facts = {"rows": rows, "batches": count, "planning": planned - started, "reading": done - planned}
    print(json.dumps(facts), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lines", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--read", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        read_epoch(given.folder)
        return
    found = []
    for lines in given.lines:
        folder = given.folder / str(lines)
        if not (folder / "recipe.yaml").exists():
            write_corpus(given.source, given.target, folder, lines)
        ready = ["--output", str(folder / "ready"), "--fresh", "--quiet", "--workers", str(given.workers)]
        preparing = measured(
            [sys.executable, "-m", "tf_transformer", "prepare", str(folder / "recipe.yaml"), *ready]
        )
        reading = measured([sys.executable, __file__, *sys.argv[1:3], str(folder), "--read"])
        found.append({"lines": lines, "preparing": preparing, "reading": reading})
        print("\n".join(described(lines, preparing, reading)), flush=True)
        (given.folder / "prepare_scale.json").write_text(json.dumps(found, indent=2) + "\n")
    for few, many in pairwise(found):
        for name in ("seconds", "cpu"):
            ratio = many["preparing"][name] / few["preparing"][name] / (many["lines"] / few["lines"])
            print(f"{name}: {many['lines']:,} lines took {ratio:.2f} times what {few['lines']:,} foretell")


def described(lines: int, preparing: dict[str, float], reading: dict[str, float]) -> Iterator[str]:
    """The figures of one number of lines."""
    yield (
        f"{lines:,} lines prepared in {preparing['seconds']:,.0f} s ({preparing['cpu']:,.0f} s of CPU), "
        f"{lines / preparing['seconds']:,.0f} lines/s, {lines / preparing['cpu']:,.0f} a second of CPU; "
        f"{preparing['resident']:,.0f} MiB resident, {preparing['proportional']:,.0f} proportional"
    )
    yield (
        f"  an epoch: {reading['batches']:,} batches planned in {reading['planning']:,.1f} s, read in "
        f"{reading['reading']:,.0f} s, {reading['rows'] / reading['reading']:,.0f} rows/s; "
        f"{reading['resident']:,.0f} MiB resident, {reading['proportional']:,.0f} proportional"
    )


if __name__ == "__main__":
    main()
