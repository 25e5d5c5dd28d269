"""The verb ``serve``."""

import logging
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from tf_transformer.cli.options import Debug, Quiet, bounded
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.cli.streams import teller
from tf_transformer.errors import ServingError, printable
from tf_transformer.serving.options import BatchOptions, ServerOptions

_NEEDED = ("grpc", "prometheus_client", "starlette", "tensorflow_serving", "uvicorn")
_MEGABYTE = 1 << 20
_USUAL = ServerOptions()
_MOST_PORT = 65535


def _name(name: str | None) -> str | None:
    """Refuses what no address can hold."""
    if name is not None and (not name or set("/:") & set(name)):
        raise typer.BadParameter(f"must be a name without / and :. Received: {name}")
    return name


def serve(
    folder: Annotated[
        Path,
        typer.Argument(metavar="EXPORT", help="Folder of an export, or of one version.", show_default=False),
    ],
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            callback=_name,
            help="What clients call the model. Default: the folder's name.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; 0.0.0.0 for all networks.")
    ] = _USUAL.host,
    port: Annotated[
        int,
        typer.Option(callback=bounded(0, _MOST_PORT), metavar="N", help="Port of REST, 0 for a free one."),
    ] = _USUAL.port,
    grpc_port: Annotated[
        int,
        typer.Option(callback=bounded(0, _MOST_PORT), metavar="N", help="Port of gRPC, 0 for a free one."),
    ] = _USUAL.grpc_port or 0,
    grpc: Annotated[bool, typer.Option("--grpc/--no-grpc", help="Whether gRPC is offered.")] = True,
    batch: Annotated[
        int, typer.Option(callback=bounded(1, 10**4), metavar="N", help="Most rows that run together.")
    ] = _USUAL.batch.rows,
    batch_wait: Annotated[
        float,
        typer.Option(
            callback=bounded(0, 10**4),
            metavar="MS",
            help="Milliseconds that a request waits for others to run with.",
        ),
    ] = _USUAL.batch.wait * 1000,
    batch_threads: Annotated[
        int, typer.Option(callback=bounded(1, 64), metavar="N", help="Batches that run at the same time.")
    ] = _USUAL.batch.threads,
    queue: Annotated[
        int,
        typer.Option(
            callback=bounded(1, 10**6), metavar="N", help="Most rows that wait; more are refused with 503."
        ),
    ] = _USUAL.batch.queue,
    timeout: Annotated[
        float,
        typer.Option(callback=bounded(0.001, 86400), metavar="S", help="Seconds that a request may take."),
    ] = _USUAL.timeout,
    body: Annotated[
        int, typer.Option(callback=bounded(1, 1024), metavar="MB", help="Megabytes that a request may have.")
    ] = _USUAL.body // _MEGABYTE,
    poll: Annotated[
        float,
        typer.Option(
            callback=bounded(0.1, 86400), metavar="S", help="Seconds between two looks for new versions."
        ),
    ] = _USUAL.poll,
    grace: Annotated[
        float,
        typer.Option(
            callback=bounded(1, 3600), metavar="S", help="Seconds that requests have to end after Ctrl-C."
        ),
    ] = _USUAL.grace,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Serve an exported model.

    REST and gRPC as TensorFlow Serving has them: its clients work unchanged. Requests that come together run
    together. A new version in EXPORT takes the place of the old one when it is whole, loaded and warm; what
    the old one has begun it ends. Ctrl-C and SIGTERM end what was begun, and then the server.

    /metrics is for Prometheus, /healthz and /readyz say that the process lives and that it answers.

    \b
    Example: tf-transformer serve exports/quickstart
             curl -d '{"instances": ["I love you."]}' localhost:8501/v1/models/quickstart:predict
    """
    missing = [module for module in _NEEDED if find_spec(module) is None]
    if missing:
        raise ServingError(f"serve needs {', '.join(missing)}: pip install 'tf-transformer[serve]'")
    _log(debug)
    with quiet_import():
        from tf_transformer.export.loading import load_export
        from tf_transformer.serving.server import ModelServer
    options = ServerOptions(
        host=host,
        port=port,
        grpc_port=grpc_port if grpc else None,
        timeout=timeout,
        body=body * _MEGABYTE,
        poll=poll,
        grace=grace,
        batch=BatchOptions(rows=batch, wait=batch_wait / 1000, queue=queue, threads=batch_threads),
    )
    ModelServer(name or name_of(folder), folder, load_export, options, teller(quiet)).run()


def name_of(folder: Path) -> str:
    """The name of an export by its folder; a version is called by the folder that it is in."""
    folder = folder.absolute()
    return (folder.parent if folder.name.isdecimal() else folder).name.replace(":", "_") or "model"


def _log(debug: bool) -> None:
    """What goes wrong while nobody looks, a line each; with ``--debug`` also where."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines(debug))
    for name in ("tf_transformer", "uvicorn.error", "grpc"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.WARNING)


class _Lines(logging.Formatter):
    """One line a record.

    Args:
        debug: Whether a traceback follows.
    """

    def __init__(self, debug: bool) -> None:
        super().__init__()
        self.debug = debug

    def format(self, record: logging.LogRecord) -> str:
        if self.debug:
            return super().format(record)
        error = record.exc_info[1] if record.exc_info else None
        why = f" ({type(error).__name__}: {error})" if error is not None else ""
        return printable(" ".join(f"{record.getMessage()}{why}".split())[:500])
