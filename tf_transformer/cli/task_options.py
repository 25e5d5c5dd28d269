"""Which options of ``predict`` and ``evaluate`` are for which task; nothing heavy is imported for that."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import typer

from tf_transformer.errors import ExportError, ProjectError


@dataclass(frozen=True)
class TaskOptions:
    """What a task takes on the command line.

    Args:
        noun: What a trained one is.
        predict: The options of ``predict`` that not every task has.
        evaluate: Those of ``evaluate``.
        examples: Of the latter, those that together name examples to evaluate on.
        runs_only: Options that an exported model, which answers as it was exported, cannot take.
        ctranslate2: Of all options of ``predict``, those that a model for CTranslate2 cannot take.
        scores_exports: Whether ``evaluate`` takes an exported model.
        score: The options of ``score``, none where there is no such verb for it.
        needs: Options that go with another one alone, and which.
    """

    noun: str
    predict: frozenset[str]
    evaluate: frozenset[str]
    examples: tuple[str, ...]
    runs_only: frozenset[str] = frozenset()
    ctranslate2: frozenset[str] = frozenset()
    scores_exports: bool = True
    score: frozenset[str] = frozenset()
    needs: Mapping[str, str] = field(default_factory=dict)


DRAWING = (
    "--temperature",
    "--top-k",
    "--top-p",
    "--repetition-penalty",
    "--no-repeat",
    "--ban",
    "--seed",
    "--max-length",
)
"""Options about the pieces of an answer."""
SAMPLING = (*DRAWING, "--stream")
SEARCH = (
    *DRAWING,
    "--beam",
    "--length-penalty",
    "--max-length-factor",
    "--min-length",
    "--min-length-factor",
    "--alternatives",
    "--details",
    "--coverage-penalty",
    "--diversity",
    "--replace-unknown",
    "--on-long",
    "--sample",
    "--ensemble",
)
"""Options of who searches for translations."""
RUNS_SEARCH = (
    *("--temperature", "--top-k", "--top-p", "--seed", "--sample", "--alternatives", "--details"),
    *("--diversity", "--replace-unknown", "--on-long", "--ensemble"),
)
"""Those of them that only a run itself follows."""

TASKS: dict[str, TaskOptions] = {
    "translate": TaskOptions(
        noun="a translator",
        predict=frozenset({"--n-best", "--tag", "--prefix", "--scores", *SEARCH}),
        evaluate=frozenset({"--source", "--target", "--tag", "--tokenize"}),
        examples=("--source", "--target"),
        runs_only=frozenset(SEARCH),
        ctranslate2=frozenset({"--prefix", *RUNS_SEARCH}),
        score=frozenset({"--tag", "--target"}),
        needs=dict.fromkeys(("--temperature", "--top-k", "--top-p", "--seed"), "--sample"),
    ),
    "classify_text": TaskOptions(
        noun="a classifier",
        predict=frozenset({"--scores"}),
        evaluate=frozenset({"--source", "--target"}),
        examples=("--source", "--target"),
    ),
    "generate": TaskOptions(
        noun="a language model",
        predict=frozenset({"--n-best", "--scores", *SAMPLING}),
        evaluate=frozenset({"--source"}),
        examples=("--source",),
        runs_only=frozenset({"--n-best", *SAMPLING}),
        scores_exports=False,
    ),
    "classify_images": TaskOptions(
        noun="a classifier of pictures",
        predict=frozenset({"--scores"}),
        evaluate=frozenset({"--folder"}),
        examples=("--folder",),
    ),
    "classify_vectors": TaskOptions(
        noun="a classifier of sequences",
        predict=frozenset({"--scores"}),
        evaluate=frozenset({"--folder"}),
        examples=("--folder",),
    ),
}


def check_options(
    model: Path, verb: Literal["predict", "evaluate", "score"], given: Mapping[str, object]
) -> None:
    """Refuses options that are for another task, or for runs alone, before anything is loaded.

    Args:
        model: The folder of a run, or of an export; where it is neither, loading it will say so.
        verb: What is to be done.
        given: Options by name; None and False where one was not given.

    Raises:
        BadParameter: When an option is refused, or one is missing.
        ExportError: When it is an export of a task that is not known.
    """
    from tf_transformer.manifest import is_export

    exported = is_export(model)
    task = task_of(model, exported)
    kind = kind_of(model) if exported else None
    named = [name for name, value in given.items() if value is not None and value is not False]
    if task is None:
        if verb == "evaluate":
            _check_examples(TASKS.values(), named)
        return
    if task not in TASKS:
        raise ExportError(f"{model}: is for the task {task}, which this version does not know")
    if exported and verb == "evaluate" and not TASKS[task].scores_exports:
        raise typer.BadParameter(f"{model}: an export of {TASKS[task].noun} has no figures: name its run")
    for name in named:
        tasks = [other for other, options in TASKS.items() if name in getattr(options, verb)]
        if tasks and task not in tasks:
            rule = f"is for {' and '.join(tasks)}, and {model} is {TASKS[task].noun}"
            raise typer.BadParameter(rule, param_hint=name)
        needed = TASKS[task].needs.get(name, name)
        if needed not in named:
            raise typer.BadParameter(f"goes with {needed}", param_hint=name)
        refused = TASKS[task].ctranslate2 if kind == "ctranslate2" else TASKS[task].runs_only
        if exported and (name in ("--checkpoint", "--devices") or name in refused):
            what = "a model for CTranslate2" if kind == "ctranslate2" else "an exported model"
            raise typer.BadParameter(f"is for runs, and {model} is {what}", param_hint=name)
    if verb != "evaluate":
        return
    _check_examples([TASKS[task]], named)
    if exported and not set(TASKS[task].examples) <= set(named):
        listed = " and ".join(TASKS[task].examples)
        raise typer.BadParameter(f"{model}: an exported model has no data: name {listed}")


def _check_examples(tasks: Iterable[TaskOptions], named: Collection[str]) -> None:
    """Options that name examples together are given together, for one of some tasks."""
    wanted = [options.examples for options in tasks if set(options.examples) & set(named)]
    if wanted and not any(set(names) <= set(named) for names in wanted):
        raise typer.BadParameter(f"{' and '.join(wanted[0])} must be given together")


def kind_of(model: Path) -> str | None:
    """What runs an export; None where it cannot be told."""
    from tf_transformer.manifest import newest_version, read_manifest

    with suppress(ProjectError, OSError):
        return read_manifest(newest_version(model)).kind
    return None


def task_of(model: Path, exported: bool) -> str | None:
    """The task of a run or an export; None where it cannot be told, which loading it will say why."""
    from tf_transformer.manifest import newest_version, read_manifest
    from tf_transformer.run_folder import RunFolder

    with suppress(ProjectError, OSError):
        if exported:
            return read_manifest(newest_version(model)).task
        return RunFolder.open(model).recipe().task
    return None
