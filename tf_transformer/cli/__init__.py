"""The command line ``tf-transformer``; nothing heavy is imported before a command needs it."""

from tf_transformer.cli.app import main

__all__ = ["main"]
