"""How fast this project trains, side by side with its peers, in one run on one machine.

    python tests/benchmarks/train_speed.py --source train.en --target train.de \\
        --opennmt VENV --joeynmt VENV --batch-tokens 4096 8192 16384 --json FILE

trains the same small Transformer (4 + 4 layers, width 128, 256 inside, 4 heads, one vocabulary of 8 000 joint
BPE pieces, dropout 0.3) on the same text with each contestant. Every one has a process of its own that is
started once, does a few updates that do not count, and then works in turns with the others; while one works,
the rest are stopped. Nothing else should run meanwhile. What each one is set to stands at the top of its
script in `contestants/`. The peers' environments need OpenNMT-tf 2.32 with tensorflow-cpu 2.13, and JoeyNMT
2.3.

How to read it:

- tokens/s: real target tokens, end tokens counted, padding not; the median over the rounds, and their range.
  Absolute figures move with the machine. The ratios are what counts: each is the median of the ratios within
  a round; between contestants of different batch sizes, whose rounds come one race after the other, it is the
  ratio of their medians.
- per update, padding, source: real target tokens of a mean update, and the share of padding on the target and
  on the source side. All contestants are told the same padded size. For ours it is the target positions of a
  mean update; the peers bound rows times the longer side, so that their updates are smaller.
- peak MB: the most memory that the process had resident, its start included.
- start s: from the start of the process to the end of its first update. OpenNMT-tf and keras_nlp get a
  corpus that is in pieces already; ours and JoeyNMT cut plain text themselves.
- GFLOP/s: tokens/s times 14 MFLOP, what a target token of this model costs with its share of the source,
  forward and backward (products of matrices alone; `--megaflop`). matmul: the product of two matrices of 2048
  columns and rows, in the precision of the contestant, measured in the same rounds.

Larger batches are run for ours and OpenNMT-tf. `ours` takes the precision that `auto` takes on this machine.
`--also NAME:key=value,key=value` adds a contestant that is ours with other keys of the recipe.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import corpus
import race
from figures import figures, ratio_table, ratios, table
from race import Contestant, Runner

MATMUL_SIZE, MATMUL_SECONDS = 2048, 2.0
PLAIN = ["training.precision=float32"]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--source", type=Path, required=True, help="training text, one sentence a line")
    parser.add_argument("--target", type=Path, required=True, help="its translations")
    parser.add_argument("--pieces", type=int, default=8000, help="size of the joint vocabulary")
    parser.add_argument("--opennmt", type=Path, help="virtual environment of OpenNMT-tf")
    parser.add_argument("--joeynmt", type=Path, help="virtual environment of JoeyNMT")
    parser.add_argument("--batch-tokens", type=int, nargs="+", default=[4096], help="padded tokens an update")
    parser.add_argument("--also", action="append", default=[], metavar="NAME:KEYS", help="more of ours")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="contestants by name")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=6, help="length of a slice, at least")
    parser.add_argument("--megaflop", type=float, default=14.0, help="cost of a target token")
    parser.add_argument("--json", type=Path, help="write all figures there")
    parser.add_argument("--work", type=Path, help="folder for files and logs; by default a temporary one")
    return parser.parse_args()


def ceilings() -> Iterator[Contestant]:
    """What the machine reaches at all."""
    for precision in ("float32", "bfloat16"):
        settings = {"size": MATMUL_SIZE, "precision": precision}
        yield Contestant(
            f"matmul {precision}", "matmul.py", Path(sys.executable), settings, 0, MATMUL_SECONDS
        )


def contestants(given: argparse.Namespace, folder: Path) -> Iterator[Contestant]:
    """Everyone who takes part, by batch size."""
    first, *larger = given.batch_tokens
    yield _ours(folder, "ours", first, [], given.seconds)
    yield _ours(folder, "ours float32", first, PLAIN, given.seconds)
    for text in given.also:
        name, _, keys = text.partition(":")
        yield _ours(folder, f"ours {name}", first, keys.split(","), given.seconds)
    for precision in ("float32", "mixed_bfloat16"):
        settings = {
            "model": str(folder / "pieces.model"),
            "source": str(folder / "train.src"),
            "target": str(folder / "train.trg"),
            "padded_tokens": first,
            "precision": precision,
        }
        name, here = f"keras_nlp {precision.removeprefix('mixed_')}", Path(sys.executable)
        yield Contestant(name, "keras_nlp_assembly.py", here, settings, first, given.seconds)
    if given.joeynmt:
        settings = {"folder": str(folder), "padded_tokens": first, "threads": given.threads}
        yield Contestant("JoeyNMT", "joey_nmt.py", _python(given.joeynmt), settings, first, given.seconds)
    if given.opennmt:
        yield _opennmt(folder, "OpenNMT-tf", first, given)
    for batch in larger:
        yield _ours(folder, f"ours, {batch}", batch, [], given.seconds)
        if given.opennmt:
            yield _opennmt(folder, f"OpenNMT-tf, {batch}", batch, given)


def chosen(everyone: list[Contestant], only: list[str]) -> list[Contestant]:
    """Those that were asked for."""
    names = [one.name for one in everyone]
    if unknown := [name for name in only if name not in names]:
        raise SystemExit(f"--only takes names of {names}. Received: {unknown}")
    return [one for one in everyone if not only or one.name in only]


def _ours(folder: Path, name: str, batch: int, overrides: list[str], seconds: float) -> Contestant:
    budget = f"training.batch_tokens={corpus.real_tokens(folder, batch)}"
    settings = {
        "recipe": str(folder / "recipe.yaml"),
        "run": str(folder / "runs" / name.replace(" ", "_")),
        "overrides": [budget, *overrides],
    }
    return Contestant(name, "ours.py", Path(sys.executable), settings, batch, seconds)


def _opennmt(folder: Path, name: str, batch: int, given: argparse.Namespace) -> Contestant:
    settings = {"folder": str(folder), "padded_tokens": batch}
    return Contestant(name, "opennmt_tf.py", _python(given.opennmt), settings, batch, given.seconds)


def _python(environment: Path) -> Path:
    return environment.absolute() / "bin" / "python"


def say(line: str) -> None:
    """Progress, for the person who waits."""
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def machine() -> str:
    """The processor and the cores in use."""
    info = Path("/proc/cpuinfo")
    names = info.read_text().split("\n") if info.exists() else []
    model = next((line.split(": ")[1] for line in names if line.startswith("model name")), platform.machine())
    return f"{model}, {os.cpu_count()} cores, load before the run {os.getloadavg()[0]:.1f}"


def heats(given: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """One race for each batch size, since all processes together might not fit in memory; all figures."""
    everyone = chosen(list(contestants(given, folder)), given.only)
    for batch in sorted({one.batch for one in everyone}):
        field = [*ceilings(), *(one for one in everyone if one.batch == batch)]
        runners = [Runner(one, folder, given.threads) for one in field]
        race.run(runners, given.rounds, say)
        yield from figures(runners, given.megaflop)


def main() -> None:
    """Prepares, races, prints."""
    given, where = arguments(), machine()
    race.keep_to_cores(given.threads)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.work or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        corpus.prepare(given.source, given.target, given.pieces, folder)
        rows = list(heats(given, folder))
    peers = [row["name"] for row in rows if not row["name"].startswith("ours")]
    print(
        f"{where}; {given.threads} threads, {given.batch_tokens[0]} padded tokens an update unless named, "
        f"{given.rounds} rounds of {given.seconds:g} s\n\n{table(rows)}\n\n{ratio_table(rows, peers)}"
    )
    if given.json:
        settings = {key: value for key, value in vars(given).items() if not isinstance(value, Path)}
        record = {"machine": where, "settings": settings, "contestants": rows, "ratios": ratios(rows)}
        given.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
