"""Which options of ``predict`` and ``evaluate`` are for which task; nothing heavy is imported for that."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import typer

from tf_transformer.errors import ExportError


@dataclass(frozen=True)
class TaskOptions:
    """What a task takes on the command line.

    Args:
        noun: What a trained one is.
        predict: The options of ``predict`` that not every task has.
        evaluate: Those of ``evaluate``.
        runs_only: Options that an exported model, which answers as it was exported, cannot take.
    """

    noun: str
    predict: frozenset[str]
    evaluate: frozenset[str]
    runs_only: frozenset[str] = frozenset()


TASKS: dict[str, TaskOptions] = {
    "translate": TaskOptions(
        noun="a translator",
        predict=frozenset({"--beam", "--n-best", "--length-penalty", "--max-length", "--scores"}),
        evaluate=frozenset({"--source", "--target", "--tokenize"}),
        runs_only=frozenset({"--beam", "--length-penalty", "--max-length"}),
    )
}


def check_options(model: Path, verb: str, given: Mapping[str, object]) -> bool:
    """Refuses options that are for another task, or for runs alone, before anything is loaded.

    Args:
        model: The folder of a run, or of an export.
        verb: ``"predict"`` or ``"evaluate"``.
        given: Options by name; None and False where one was not given.

    Returns:
        Whether ``model`` is an export.

    Raises:
        ProjectError: When it is neither a run nor an export.
    """
    from tf_transformer.manifest import is_export, newest_version, read_manifest
    from tf_transformer.run_folder import RunFolder

    exported = is_export(model)
    named = [name for name, value in given.items() if value is not None and value is not False]
    if exported:
        task = read_manifest(newest_version(model)).task
        if task not in TASKS:
            raise ExportError(f"{model}: is for the task {task}, which this version does not know")
    else:
        task = RunFolder.open(model).recipe().task
    for name in named:
        tasks = [other for other, options in TASKS.items() if name in getattr(options, verb)]
        if tasks and task not in tasks:
            rule = f"is for {' and '.join(tasks)}, and {model} is {TASKS[task].noun}"
            raise typer.BadParameter(rule, param_hint=name)
        if exported and (name == "--checkpoint" or name in TASKS[task].runs_only):
            raise typer.BadParameter(f"is for runs, and {model} is an exported model", param_hint=name)
    return exported
