"""Where a run goes when nobody says, and where its figures are recorded."""

from collections.abc import Sequence
from pathlib import Path

from tf_transformer.errors import RunError
from tf_transformer.files import write_json
from tf_transformer.recipe import Recipe, TranslateRecipe, short_overrides
from tf_transformer.run_folder.folder import RunFolder


def default_run_path(
    recipe: Path, overrides: Sequence[str] = (), schema: type[Recipe] = TranslateRecipe
) -> Path:
    """Where a run goes when nobody says: ``runs/<recipe folder>-<file stem>``, ``-recipe`` left out.

    Overrides are added in short form, so that two seeds or two sweeps never share a folder.

    Args:
        recipe: Path of the recipe.
        overrides: The overrides given with it, ``section.key=value``.
        schema: What kind of recipe it is, whose keys the short form is made for.
    """
    recipe = recipe.absolute()
    name = "-".join(part for part in (recipe.parent.name, recipe.stem) if part).removesuffix("-recipe")
    short = short_overrides(overrides, schema)
    return Path("runs") / (f"{name}-{short}" if short else name)


def record_results(run: Path, recipe: Path, seed: int | None) -> Path:
    """Copies a run's final figures to ``results/`` beside its recipe.

    Args:
        run: The run folder.
        recipe: The recipe's file; the copy is named after it.
        seed: The seed that the file says; a run of another one is recorded under its seed too.

    Returns:
        The copy.

    Raises:
        RunError: When the run has no figures yet.
    """
    results = RunFolder(run).results()
    if results is None:
        raise RunError(f"{run}: has no results.json yet; training writes it when it ends")
    other = "" if results.get("seed") == seed else f"-{results.get('seed')}"
    copy = recipe.parent / "results" / f"{recipe.stem}{other}.json"
    copy.parent.mkdir(exist_ok=True)
    write_json(copy, results)
    return copy
