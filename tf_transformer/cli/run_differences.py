"""What two runs differ in: keys of their recipes, figures, and answers; nothing heavy is imported."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tf_transformer.cli.figures import figure_number
from tf_transformer.cli.tables import aligned
from tf_transformer.recipe import compare_recipes
from tf_transformer.recipe.fault import number
from tf_transformer.run_folder import RunFolder
from tf_transformer.run_folder.samples import Answered, read_samples
from tf_transformer.word_changes import word_changes

_LONGEST = 60
"""Letters of a recipe's value that are shown."""


@dataclass(frozen=True)
class Answers:
    """What two runs have answered to the same examples.

    Args:
        where: Which examples.
        old: The answers of the first.
        new: Those of the second.
        test: Which of them is better, for a person; None where that was not found out.
        figures: The same for programs.
    """

    where: str
    old: Sequence[Answered]
    new: Sequence[Answered]
    test: str | None = None
    figures: Mapping[str, Any] | None = None

    @property
    def differing(self) -> list[tuple[Answered, Answered]]:
        """The pairs that are not the same."""
        return [pair for pair in zip(self.old, self.new, strict=True) if pair[0].output != pair[1].output]


@dataclass(frozen=True)
class Differences:
    """What two runs differ in.

    Args:
        names: Their folders.
        keys: Keys of their recipes, with both values.
        figures: Both values of each figure; None where a run has it not.
        steps: Updates behind these figures.
        answers: What they have answered; None where no example is common to both.
    """

    names: tuple[str, str]
    keys: Sequence[tuple[str, Any, Any]]
    figures: Mapping[str, tuple[float | None, float | None]]
    steps: tuple[int, int]
    answers: Answers | None


def differences_of(old: Path, new: Path) -> Differences:
    """Compares two runs by what they have recorded.

    Raises:
        RunError: When one of them cannot be read.
    """
    runs = [RunFolder.open(path) for path in (old, new)]
    changes = compare_recipes(runs[0].recipe(), runs[1].recipe())
    keys = [
        (change.key, change.old, change.new) for change in (*changes.refused, *changes.logged, *changes.free)
    ]
    recorded = [_figures(run) for run in runs]
    names = list(dict.fromkeys(name for _, figures in recorded for name in figures))
    figures = {name: (recorded[0][1].get(name), recorded[1][1].get(name)) for name in names}
    steps = recorded[0][0], recorded[1][0]
    return Differences((str(old), str(new)), keys, figures, steps, _recorded_answers(*runs))


def _figures(run: RunFolder) -> tuple[int, dict[str, float]]:
    """The final figures of a run; those of its newest validation where it is not complete."""
    results, rows = run.results(), run.metrics()
    if results is not None and isinstance(results.get("metrics"), dict):
        step, found = results.get("step", 0), results["metrics"]
    else:
        row = rows[-1] if rows else {"step": 0}
        step, found = row["step"], {name: row[name] for name in row if name.startswith("val_")}
    return int(step), {name: value for name, value in found.items() if isinstance(value, int | float)}


def _recorded_answers(old: RunFolder, new: RunFolder) -> Answers | None:
    """The answers of the newest validation that both runs had."""
    recorded = [read_samples(run.samples) for run in (old, new)]
    common = recorded[0].keys() & recorded[1].keys()
    steps = [max(common)] * 2 if common else [max(found, default=0) for found in recorded]
    first, second = (
        {one.source: one for one in found.get(step, [])} for found, step in zip(recorded, steps, strict=True)
    )
    sources = [source for source in first if source in second]
    if not sources:
        return None
    where = "samples of dev after " + " and ".join(f"{step:,}" for step in dict.fromkeys(steps)) + " updates"
    return Answers(where, [first[source] for source in sources], [second[source] for source in sources])


def shown(found: Differences, most: int) -> Iterator[str]:
    """What a person is to see of it.

    Args:
        found: What was compared.
        most: How many differing answers.
    """
    yield f"a  {found.names[0]}: {found.steps[0]:,} updates"
    yield f"b  {found.names[1]}: {found.steps[1]:,} updates"
    yield ""
    if found.keys:
        yield from aligned([("key", "a", "b"), *((key, _value(a), _value(b)) for key, a, b in found.keys)])
    else:
        yield "the recipes are the same"
    if found.figures:
        rows = [(name, *_figure_cells(name, *pair)) for name, pair in found.figures.items()]
        yield ""
        yield from aligned([("figure", "a", "b", "b - a"), *rows], right=(1, 2, 3))
    if found.answers is not None:
        yield ""
        yield from _shown_answers(found.answers, most)


def _value(value: Any) -> str:
    text = "null" if value is None else str(number(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _figure_cells(name: str, old: float | None, new: float | None) -> tuple[str, str, str]:
    cells = ["-" if value is None else figure_number(name, value) for value in (old, new)]
    if old is None or new is None:
        return cells[0], cells[1], ""
    change = figure_number(name, new - old)
    return cells[0], cells[1], change if change.startswith("-") else f"+{change}"


def _shown_answers(found: Answers, most: int) -> Iterator[str]:
    differing = found.differing
    yield f"{len(differing):,} of {len(found.old):,} answers differ ({found.where})"
    if found.test is not None:
        yield found.test
    for old, new in differing[:most]:
        yield ""
        yield f"  source     {old.source}"
        yield f"  reference  {old.reference}"
        yield f"  a to b     {marked(old.output, new.output)}"
    if len(differing) > most:
        yield ""
        yield f"and {len(differing) - most:,} more; --lines N shows more of them, --json all"


def marked(before: str, now: str) -> str:
    """How one text became another, word by word: ``[-gone-]`` and ``{+new+}``."""
    parts = []
    for gone, come, is_same in word_changes(before, now):
        if is_same:
            parts.append(come)
            continue
        parts += [f"[-{gone}-]"] if gone else []
        parts += [f"{{+{come}+}}"] if come else []
    return " ".join(parts)


def plain(found: Differences) -> dict[str, Any]:
    """All of it for programs."""
    answers = found.answers
    return {
        "a": {"run": found.names[0], "step": found.steps[0]},
        "b": {"run": found.names[1], "step": found.steps[1]},
        "recipe": {key: {"a": _json(a), "b": _json(b)} for key, a, b in found.keys},
        "metrics": {name: {"a": a, "b": b} for name, (a, b) in found.figures.items()},
        "answers": None
        if answers is None
        else {
            "where": answers.where,
            "count": len(answers.old),
            "different": [
                {"source": old.source, "reference": old.reference, "a": old.output, "b": new.output}
                for old, new in answers.differing
            ],
            **(answers.figures or {}),
        },
    }


def _json(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
