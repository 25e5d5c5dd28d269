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

from tf_transformer.cli import answers, exports, recipes, training
from tf_transformer.errors import ProjectError

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
    answers.predict,
    training.average,
    exports.export,
    recipes.check,
    recipes.schema,
    recipes.recipe,
    exports.inspect,
):
    app.command()(_verb)


@app.callback()
def _program() -> None:
    """Holds the verbs together; options are theirs."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: The words after the program's name; by default those of this process.

    Returns:
        The exit code.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(args=words, prog_name="tf-transformer", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        _close_stdout()
        return 1
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except Exception as error:
        if "--debug" in words:
            raise
        return _report(error)


def _report(error: Exception) -> int:
    """Prints an error as one line, or one line for each fault, and says what the exit code is."""
    message: Any = getattr(error, "format_message", None)
    if message is not None:  # a wrong command line, found by typer
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context is not None else ""
        text, code = f"{message()}{hint}" if message() else "", error.exit_code  # type: ignore[attr-defined]
        if not text and context is not None:  # no verb at all: the help is the message
            text = context.get_help()
    elif isinstance(error, ProjectError):
        text, code = str(error), error.exit_code
    elif isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        text, code = f"{where}{error.strerror or error}", 1
    else:
        words = " ".join(str(error).split())
        shown = words if len(words) <= _MOST_LETTERS else f"{words[:_MOST_LETTERS]} …"
        text, code = f"{type(error).__name__}: {shown} (--debug shows where)", 1
    with suppress(BrokenPipeError):
        print(text, file=sys.stderr)
    return int(code)


def _close_stdout() -> None:
    """Whoever read the output has gone; Python must not complain again when it flushes at exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
