"""The program: its verbs, and what becomes of errors.

Exit codes: 0 when the work was done, 2 for a wrong command line or recipe, 1 for a failure,
130 and 143 after Ctrl-C and SIGTERM. An error is one line on stderr; ``--debug`` shows where it arose.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import typer

from tf_transformer.cli import (
    adapting,
    answers,
    comparison,
    doctor,
    exports,
    importing,
    listing,
    plots,
    prediction,
    preparing,
    recipes,
    scores,
    serving,
    training,
)
from tf_transformer.cli.interruption import (
    EXIT_INTERRUPTED,
    EXIT_TERMINATED,
    Terminated,
    ignore_at_exit,
    terminating,
)
from tf_transformer.errors import ProjectError, RecipeError, printable

_MOST_LETTERS = 400

app = typer.Typer(
    name="tf-transformer",
    help="Train, evaluate, export and serve Transformers. Start with: tf-transformer recipe > recipe.yaml",
    epilog="Messages go to stderr, results to stdout. Each command has its own --help with an example.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain help: drawing it with rich takes longer than all the rest.
    rich_markup_mode=None,
)
for _verb in (
    training.train,
    answers.evaluate,
    prediction.predict,
    scores.score,
    comparison.compare,
    training.average,
    adapting.adapter,
    exports.export,
    serving.serve,
    recipes.check,
    recipes.schema,
    recipes.recipe,
    exports.inspect,
    preparing.prepare,
    doctor.doctor,
):
    app.command()(_verb)
app.add_typer(listing.runs, name="runs")
app.add_typer(plots.plot, name="plot")
app.add_typer(importing.import_models, name="import")


@app.callback()
def _program() -> None:
    """Holds the verbs together; options are theirs."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; see :func:`tf_transformer.cli.main`."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with terminating():
            code = app(args=words, prog_name="tf-transformer", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        _close_stdout()
        return 1
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Terminated:
        return EXIT_TERMINATED
    except Exception as error:
        # The parser takes the end of any file for a person who gives up.
        found = error.__cause__ if isinstance(error, typer.Abort) else error
        if "--debug" in words:
            raise
        return _report(found if isinstance(found, Exception) else error)
    finally:
        ignore_at_exit()


def _report(error: Exception) -> int:
    """Prints an error as one line, or one line for each fault, and says what the exit code is."""
    text, code = _told(error)
    with suppress(OSError):
        print(text, file=sys.stderr)
    return code


def _told(error: Exception) -> tuple[str, int]:
    message: Any = getattr(error, "format_message", None)
    if message is not None:  # a wrong command line, found by typer
        context = getattr(error, "ctx", None)
        code = int(error.exit_code)  # type: ignore[attr-defined]
        if not message() and context is not None:  # no verb at all: the help is the message
            return context.get_help(), code
        hint = f" (see {context.command_path} --help)" if context is not None else ""
        return f"{printable(message())}{hint}", code
    if isinstance(error, RecipeError):
        return "\n".join(map(printable, error.faults)), error.exit_code
    if isinstance(error, ProjectError):
        return printable(str(error)), error.exit_code
    if isinstance(error, OSError):
        where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
        return printable(f"{where}{error.strerror or error}"), 1
    words = printable(" ".join(str(error).split()))
    shown = words if len(words) <= _MOST_LETTERS else f"{words[:_MOST_LETTERS]} …"
    return f"{type(error).__name__}: {shown} (--debug shows where)", 1


def _close_stdout() -> None:
    """Whoever read the output has gone; Python must not complain again when it flushes at exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
