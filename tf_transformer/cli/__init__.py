"""The command line ``tf-transformer``; nothing heavy is imported before a command needs it."""

from collections.abc import Sequence

from tf_transformer.cli.interruption import leaving_quietly

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: The words after the program's name; by default those of this process.

    Returns:
        The exit code.
    """
    with leaving_quietly():  # the parser alone takes longer to import than some people wait
        from tf_transformer.cli.streams import hold_standard_streams

        hold_standard_streams()
        from tf_transformer.cli.app import run
    return run(arguments)
