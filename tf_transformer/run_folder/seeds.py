"""Runs of one recipe that differ in their seed alone: where they lie, and what they have reached together."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from tf_transformer.files import folder_fault, write_json
from tf_transformer.run_folder.folder import RunFolder, read_results
from tf_transformer.run_folder.overview import overview_of

_SHARED = ("signatures", "date", "commit", "versions", "machine", "recipe")
"""What the results of each seed say alike."""


class SeedsFolder:
    """The folder of such runs, each in a folder of its own, and ``seeds.json`` with their figures.

    Args:
        path: The folder; it need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results_file = path / "seeds.json"

    def run(self, seed: int) -> Path:
        """Where the run of a seed is."""
        return self.path / f"seed-{seed}"

    def fault(self) -> str | None:
        """Why no such runs can be in this folder, for a refusal before any work; None where they can."""
        if RunFolder(self.path).exists():
            return f"{self.path}: is a run; name another folder for runs of several seeds"
        return folder_fault(self.path)

    def complete(self, seeds: Sequence[int]) -> list[int]:
        """Which of some seeds have a run that is complete."""
        return [
            seed
            for seed in seeds
            if RunFolder(self.run(seed)).exists() and overview_of(self.run(seed)).state == "finished"
        ]

    def record(self, recipe: Path) -> Path:
        """Copies ``seeds.json`` to ``results/`` beside a recipe, and returns the copy."""
        copy = recipe.parent / "results" / f"{recipe.stem}-seeds.json"
        copy.parent.mkdir(exist_ok=True)
        write_json(copy, self.results() or {})
        return copy

    def write_results(self, seeds: Sequence[int]) -> dict[str, Any]:
        """Writes what the runs have reached together.

        Args:
            seeds: Those whose runs are complete, one at least.

        Returns:
            What was written; see ``together``.
        """
        found = {seed: RunFolder(self.run(seed)).results() for seed in seeds}
        results = together({seed: each for seed, each in found.items() if each is not None})
        write_json(self.results_file, results)
        return results

    def results(self) -> dict[str, Any] | None:
        """The content of ``seeds.json``, or None where there is none.

        Raises:
            RunError: When it cannot be read.
        """
        return read_results(self.results_file)


def together(results: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of several seeds as one.

    Args:
        results: The content of each ``results.json``, by seed.

    Returns:
        ``metrics``: for each figure that all of them have ``mean``, ``deviation`` (of the seeds, divided by
        their number less one; None for one seed) and ``values``, in the order of ``seeds``; ``runs``: what
        differs beside; and what they have in common, the recipe among it.
    """
    first = next(iter(results.values()))
    metrics = {}
    for name in first.get("metrics", {}):
        values = [each.get("metrics", {}).get(name) for each in results.values()]
        if all(isinstance(value, int | float) for value in values):
            average, deviation = spread(values)
            metrics[name] = {"mean": average, "deviation": deviation, "values": values}
    differing = ("checkpoint", "step", "seconds", "ended_by", "recipe_sha256")
    runs = [
        {"seed": seed, **{name: each[name] for name in differing if name in each}}
        for seed, each in results.items()
    ]
    shared = {name: first[name] for name in _SHARED if name in first}
    return {"seeds": list(results), "metrics": metrics, "runs": runs, **shared}


def spread(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean of several values, and their deviation (by their number less one; None for one value)."""
    return mean(values), stdev(values) if len(values) > 1 else None
