"""Which options of ``predict`` and ``evaluate`` are for which task; nothing heavy is imported for that."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import typer

from tf_transformer.errors import ExportError, ProjectError


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
        ExportError: When it is an export of a task that is not known.
    """
    from tf_transformer.manifest import is_export

    exported = is_export(model)
    task = _task_of(model, exported)
    if exported and task is not None and task not in TASKS:
        raise ExportError(f"{model}: is for the task {task}, which this version does not know")
    known = TASKS.values() if task is None else [TASKS[task]]
    for name in (name for name, value in given.items() if value is not None and value is not False):
        tasks = [other for other, options in TASKS.items() if name in getattr(options, verb)]
        if tasks and task is not None and task not in tasks:
            rule = f"is for {' and '.join(tasks)}, and {model} is {TASKS[task].noun}"
            raise typer.BadParameter(rule, param_hint=name)
        if exported and (name == "--checkpoint" or any(name in options.runs_only for options in known)):
            raise typer.BadParameter(f"is for runs, and {model} is an exported model", param_hint=name)
    return exported


def _task_of(model: Path, exported: bool) -> str | None:
    """The task of a run or an export; None where it cannot be told, which loading it will say why."""
    from tf_transformer.manifest import newest_version, read_manifest
    from tf_transformer.run_folder import RunFolder

    with suppress(ProjectError, OSError):
        if exported:
            return read_manifest(newest_version(model)).task
        return RunFolder.open(model).recipe().task
    return None
