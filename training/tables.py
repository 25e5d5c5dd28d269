"""Writes the table of README.md beside this file from the results that are recorded.

    python training/tables.py           writes it
    python training/tables.py --check   says whether it is up to date, and changes nothing

`tf-transformer train … --record` records results. Those of a recipe that has changed since are refused by
name: train again and record, or remove the file. TensorFlow is not needed.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tf_transformer.errors import ProjectError
from tf_transformer.recipe import Recipe, changed_keys, load_recipe

FOLDER = Path(__file__).parent
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
SCORE, SHARE, PERCENT, NATS = (1, "{:.2f}"), (1, "{:.2f} %"), (100, "{:.2f} %"), (1, "{:.3f}")
"""What figures are multiplied by, and how they are written."""
FIGURES = {
    "translate": (("bleu", "BLEU", SCORE), ("chrf", "chrF", SCORE), ("exact_match", "exact matches", SHARE)),
    "generate": (("nats_per_character", "nats a character", NATS), ("bits_per_character", "bits", NATS)),
    "classify": (("accuracy", "accuracy", PERCENT), ("macro_f1", "macro-F1", PERCENT)),
}
"""Figures that are shown, by the beginning of the task's name: their names and titles, the main one first."""
HEAD = ("recipe", "command", "machine", "time", "figures", "date", "commit")


def recorded(folder: Path, stem: str) -> list[dict[str, Any]]:
    """The results of a recipe that still are its own, by seed.

    Raises:
        ProjectError: When some are of another recipe; names all of them.
    """
    found, faults, path = [], [], folder / f"{stem}.yaml"
    for file in sorted((folder / "results").glob(f"{stem}*.json")):
        rest = file.stem.removeprefix(stem)
        if rest and not rest.removeprefix("-").isdecimal():
            continue  # of a recipe whose name begins with this one's
        results = json.loads(file.read_text(encoding="utf-8"))
        recipe = load_recipe(path, [f"training.seed={results['seed']}"], check_files=False)
        name = f"{folder.name}/results/{file.name}"
        faults += [
            f"{name}: is of another recipe: {each}" for each in changed_keys(results, recipe, name, folder)
        ]
        found.append(results)
    if faults:
        raise ProjectError("\n".join(faults))
    return sorted(found, key=lambda results: int(results["seed"]))


def row(path: Path) -> str:
    """The row of a recipe."""
    folder, stem = path.parent, path.stem
    recipe, found = load_recipe(path, check_files=False), recorded(folder, stem)
    place = f"{folder.name}/{path.name}"
    name = folder.name if stem == "recipe" else f"{folder.name}, {stem}"
    seeds = [str(results["seed"]) for results in found if results["seed"] != recipe.training.seed]
    command = f"`tf-transformer train training/{place}`"
    command += f", and `training.seed=N` for {', '.join(seeds)}" if seeds else ""
    cells = [f"[{name}]({place})", command]
    if not found:
        return line([*cells, "open", "open", "open", "", ""])
    machines = dict.fromkeys(machine(results["machine"]) for results in found)
    commits = dict.fromkeys((results.get("commit") or "")[:7] for results in found)
    dates = dict.fromkeys(results.get("date", "") for results in found)
    cells += ["; ".join(machines), duration(found), "; ".join(figures(recipe, found))]
    return line([*cells, ", ".join(filter(None, dates)), ", ".join(filter(None, commits))])


def line(cells: Sequence[str]) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def machine(found: dict[str, Any]) -> str:
    """What a run was computed on."""
    gpus = found["gpus"]
    return f"{len(gpus)} x {gpus[0]}" if gpus else f"{found['cores']} cores of {found['processor']}"


def duration(found: Sequence[dict[str, Any]]) -> str:
    """How long runs took, and how many updates."""
    seconds, steps = [results["seconds"] for results in found], [results["step"] for results in found]
    times = dict.fromkeys(clock(each) for each in (min(seconds), max(seconds)))
    updates = dict.fromkeys(f"{each:,}".replace(",", " ") for each in (min(steps), max(steps)))
    return f"{' to '.join(times)}, {' to '.join(updates)} updates"


def clock(seconds: float) -> str:
    """A time as a person says it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def figures(recipe: Recipe, found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What was reached on each set, test sets where there are some."""
    split, sets = ("test", recipe.data.test_sets) if recipe.data.test_sets else ("val", recipe.data.dev_sets)
    shown = next(shown for task, shown in FIGURES.items() if recipe.task.startswith(task))
    if recipe.training.best_by != "loss":  # what the checkpoint is chosen by comes first
        shown = tuple(sorted(shown, key=lambda each: each[0] != recipe.training.best_by))
    for place, name in enumerate(sets or ["dev"]):
        prefix = f"{split}_{name}_" if place else f"{split}_"
        there = [each for each in shown if prefix + each[0] in found[0]["metrics"]]
        parts = [
            f"{title} {of_seeds(found, prefix + figure, *form, with_each=not number)}"
            for number, (figure, title, form) in enumerate(there)
        ]
        signature = found[0]["signatures"].get(f"{prefix}bleu")
        yield f"{name}: {', '.join(parts)}{f' (`{signature}`)' if signature else ''}"


def of_seeds(
    found: Sequence[dict[str, Any]], name: str, factor: int, form: str, with_each: bool = False
) -> str:
    """A figure, with its interval; of several seeds the mean, and where asked for its deviation and each."""
    values = [results["metrics"][name] * factor for results in found]
    bare = form.removesuffix(" %").format
    text = form.format(statistics.fmean(values))
    if len(values) > 1 and with_each:
        each = ", ".join(map(bare, values))
        return f"{text} (mean of {len(values)} seeds, deviation {bare(statistics.stdev(values))}: {each})"
    low, high = (found[0]["metrics"].get(f"{name}_{end}") for end in ("low", "high"))
    return f"{text} [{bare(low)}, {bare(high)}]" if len(values) == 1 and low is not None else text


def table(folder: Path = FOLDER) -> str:
    """The whole table.

    Raises:
        ProjectError: When recorded results are of another recipe than the one that stands there now.
    """
    rows, faults = [line(HEAD), line(["---"] * len(HEAD))], []
    for path in sorted(folder.glob("*/*.yaml")):
        try:
            rows.append(row(path))
        except ProjectError as error:
            faults.append(str(error))
    if faults:
        raise ProjectError("\n".join(faults))
    return "\n".join(rows)


def written(text: str, table: str) -> str:
    """A page with the table between its marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ProjectError(f"README.md: must have the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


def main() -> int:
    """Writes, or checks."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 where it is old")
    check, page = parser.parse_args().check, FOLDER / "README.md"
    try:
        old = page.read_text(encoding="utf-8")
        new = written(old, table())
    except ProjectError as error:
        print(error, file=sys.stderr)
        return 1
    if check and new != old:
        print(f"{page}: is not what training/tables.py writes", file=sys.stderr)
    elif not check:
        page.write_text(new, encoding="utf-8")
    return int(check and new != old)


if __name__ == "__main__":
    sys.exit(main())
