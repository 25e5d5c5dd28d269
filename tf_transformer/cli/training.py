"""The verbs that make weights: ``train`` and ``average``."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tf_transformer.cli.one_batch import learn_one_batch
from tf_transformer.cli.options import Debug, Overrides, Quiet, RecipeFile, RunFolder, bounded
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.cli.seeds import seeds_of, seeds_table, train_seeds
from tf_transformer.cluster import WAIT_SECONDS, is_chief
from tf_transformer.errors import RecipeError, RunError, counted, printable

if TYPE_CHECKING:
    from tf_transformer.run_folder import RunFolder as Folder
    from tf_transformer.run_folder.seeds import SeedsFolder

MOST_SECONDS = 10**6
MOST_KEPT = 1000
"""What ``training.keep`` allows."""


class ResetName(StrEnum):
    """What ``--reset`` takes: an option that is given several times cannot be of a ``Literal`` type."""

    optimizer = "optimizer"
    schedule = "schedule"
    data = "data"


def train(
    recipe: RecipeFile,
    overrides: Overrides = None,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Run folder. Default: runs/<recipe folder>-<file stem>, with the overrides' short form.",
            show_default=False,
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over; the old folder is moved aside.")
    ] = False,
    reset: Annotated[
        list[ResetName] | None,
        typer.Option(
            metavar="optimizer|schedule|data",
            help="Begin this anew while the weights go on; repeat for several. data also takes changed files "
            "as new data.",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="N|A,B,...",
            help="Train with seeds 1 to N, or with these, one after another, and tell mean and deviation; "
            "their runs are seed-1 and so on in the run folder, by default with -seeds in its name.",
            show_default=False,
        ),
    ] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Copy the final figures to results/ beside the recipe.")
    ] = False,
    overfit_one_batch: Annotated[
        bool,
        typer.Option(
            "--overfit-one-batch",
            help="Learn a part of one batch by heart, and say what is wrong where that fails; writes no run.",
        ),
    ] = False,
    wait: Annotated[
        int,
        typer.Option(
            callback=bounded(1, MOST_SECONDS),
            metavar="SECONDS",
            help="How long hosts wait for each other, where the environment names several.",
        ),
    ] = int(WAIT_SECONDS),
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Train a recipe; the same command continues.

    It continues exactly where it stopped, at whatever moment that was. When training ends, the best
    checkpoint is scored on data.test. Ctrl-C saves and stops. On several hosts the same command runs on
    each; TF_CONFIG, TF_TRANSFORMER_HOSTS or SLURM says who they are, and the first one has the run folder.

    With --seeds each seed continues so, too; those that are complete are left as they are, and one that fails
    keeps no other from its turn.

    \b
    Example: tf-transformer train training/quickstart/recipe.yaml training.seed=2 model.dropout=0.2
             tf-transformer train training/quickstart/recipe.yaml --seeds 5
    """
    if fresh and reset:
        raise typer.BadParameter("give --fresh or --reset, not both")
    if overfit_one_batch:
        given = {"--run": run, "--fresh": fresh, "--reset": reset, "--record": record, "--seeds": seeds}
        if named := next((name for name, value in given.items() if value), None):
            raise typer.BadParameter("is for a run, and --overfit-one-batch writes none", param_hint=named)
        return learn_one_batch(recipe, overrides or (), quiet)
    numbers = seeds_of(seeds)
    from tf_transformer.files import folder_fault
    from tf_transformer.recipe import load_recipe, with_files
    from tf_transformer.run_folder import RunFolder as Folder
    from tf_transformer.run_folder import default_run_path, record_results
    from tf_transformer.run_folder.seeds import SeedsFolder

    words = overrides or ()
    if numbers is not None and any(_key(text) == "training.seed" for text in words):
        raise typer.BadParameter("says the seeds: leave out training.seed", param_hint="--seeds")
    found = load_recipe(recipe, words)
    folder = run if run is not None else default_run_path(recipe, words, type(found))
    if numbers is not None and run is None:
        folder = folder.with_name(f"{folder.name}-seeds")
    if fault := (Folder(folder) if numbers is None else SeedsFolder(folder)).fault():
        raise typer.BadParameter(fault, param_hint="--run")
    if record and (fault := folder_fault(recipe.parent / "results")):
        raise typer.BadParameter(fault, param_hint="--record")
    if numbers is not None:
        options = _again(fresh, [name.value for name in reset or ()], wait, quiet, debug)
        return _several(recipe, words, SeedsFolder(folder), numbers, options, record, quiet)
    own_seed = _seed_of_the_file(recipe, words) if record else None
    for warning in () if quiet else found.warnings():
        print(printable(f"{recipe}: note: {warning}"), file=sys.stderr)
    found = with_files(found, recipe.parent)
    with quiet_import():
        from tf_transformer import trainer
    code = trainer.train(
        found, folder, fresh=fresh, reset=[name.value for name in reset or ()], quiet=quiet, wait=wait
    )
    if record and code == 0 and is_chief(os.environ):
        print(record_results(folder, recipe, own_seed))
    return code


def _again(fresh: bool, reset: Sequence[str], wait: int, quiet: bool, debug: bool) -> list[str]:
    """The options of the same command for one seed."""
    words = [f"--reset={name}" for name in reset] + [f"--wait={wait}"]
    flags = {"--fresh": fresh, "--quiet": quiet, "--debug": debug}
    return words + [name for name, is_given in flags.items() if is_given]


def _several(
    recipe: Path,
    overrides: Sequence[str],
    folder: "SeedsFolder",
    seeds: Sequence[int],
    options: Sequence[str],
    record: bool,
    quiet: bool,
) -> int:
    """Trains with several seeds, and tells what they have reached together."""
    code = train_seeds(folder, seeds, [str(recipe), *overrides, *options], quiet)
    done = folder.complete(seeds)
    if not is_chief(os.environ) or not done:
        return code
    results = folder.write_results(done)
    for line in seeds_table(results):
        print(printable(line))
    if missing := [str(seed) for seed in seeds if seed not in done]:
        print(printable(f"{folder.path}: not complete yet: seed {', '.join(missing)}"), file=sys.stderr)
    elif record and code == 0:
        print(folder.record(recipe))
    return code


def _key(override: str) -> str:
    return override.partition("=")[0].strip()


def _seed_of_the_file(recipe: Path, overrides: Sequence[str]) -> int | None:
    """The seed without an override of it, which records are named by; None where the file has none."""
    from tf_transformer.recipe import load_recipe

    # The file may be complete only with the other overrides.
    others = [text for text in overrides if _key(text) != "training.seed"]
    with suppress(RecipeError):
        return load_recipe(recipe, others).training.seed
    return None


def average(
    run: RunFolder,
    last: Annotated[
        int | None,
        typer.Option(
            callback=bounded(1, MOST_KEPT),
            metavar="N",
            help="Average the last N kept checkpoints.",
            show_default=False,
        ),
    ] = None,
    best: Annotated[
        int | None,
        typer.Option(
            callback=bounded(1, MOST_KEPT),
            metavar="N",
            help="Average the best N kept checkpoints.",
            show_default=False,
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Average kept checkpoints of a run.

    The mean of their weights becomes the checkpoint named average. Without an option
    all checkpoints that training.keep has kept are averaged.

    \b
    Example: tf-transformer average runs/quickstart --last 5
    """
    if last is not None and best is not None:
        raise typer.BadParameter("give --last or --best, not both")
    with quiet_import():
        from tf_transformer.build.run import mended_index
        from tf_transformer.checkpoints import AVERAGE, CheckpointStore
    from tf_transformer.run_folder import RunFolder as Folder

    folder = Folder.open(run)
    with folder.lock():
        store = CheckpointStore.of(folder)
        index, note = mended_index(folder, store, folder.recipe(), whole=True)
        if note:
            print(printable(note), file=sys.stderr)
        steps = _chosen(folder, index.kept, last, best)
        mean = store.average(steps)  # which reads all of them whole
        state = {"step": max(steps), "averaged": steps, "side": store.state(max(steps)).get("side")}
        store.write(AVERAGE, mean, state=state)
    print(f"{store.folder / AVERAGE}: the mean of the checkpoints at {', '.join(map(str, steps))}")


def _chosen(folder: "Folder", kept: list[int], last: int | None, best: int | None) -> list[int]:
    """The steps to average, oldest first."""
    if not kept:
        raise RunError(
            f"{folder.path}: has kept no checkpoint of a validation yet; training.keep says how many"
        )
    wanted = last or best or len(kept)
    if wanted > len(kept):
        there = counted(len(kept), "kept checkpoint")
        raise RunError(f"{folder.path}: has {there}. Received: {wanted} to average")
    if best is None:
        return kept[-wanted:]
    with quiet_import():
        from tf_transformer.build import problem_of
    measure = problem_of(folder.recipe()).measure
    return sorted(measure.ranked(kept, folder.metrics())[-wanted:])
