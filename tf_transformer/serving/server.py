"""The server: its ports, its start, and its end, which loses nothing that was begun."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc
import uvicorn

from tf_transformer.errors import ServingError
from tf_transformer.serving.answering import Answering
from tf_transformer.serving.batching import Batcher
from tf_transformer.serving.bodies import Bodies
from tf_transformer.serving.connections import Connection
from tf_transformer.serving.grpc_services import Services
from tf_transformer.serving.held_bytes import HeldBytes
from tf_transformer.serving.metrics import Metrics
from tf_transformer.serving.model_host import ModelHost
from tf_transformer.serving.options import ServerOptions
from tf_transformer.serving.rest import Rest
from tf_transformer.serving.version import Load

_IDLE = 75  # longer than clients keep a connection that they do not use: they should be the ones to close it
_TOGETHER = 16
_LEAST_TOGETHER = 256 << 20


class ModelServer:
    """Serves the newest version of an export.

    Args:
        name: What clients call the model.
        folder: The export's folder, or that of one version.
        load: Loads a version.
        options: How it runs.
        say: Told what happens, a line each.

    Attributes:
        port: Of REST, once it is bound.
        grpc_port: Of gRPC, once it is bound.

    Raises:
        ServingError: When a port cannot be had; nothing is loaded then.
    """

    def __init__(
        self, name: str, folder: Path, load: Load, options: ServerOptions, say: Callable[[str], None]
    ) -> None:
        self.options = options
        self.say = _unbroken(say)
        self.host = ModelHost(name, folder, load, self.say)
        self.metrics = Metrics()
        self._socket = _bound(options.host, options.port)
        self.port: int = self._socket.getsockname()[1]
        self.grpc_port = options.grpc_port
        if options.grpc_port:
            try:
                _bound(options.host, options.grpc_port).close()
            except ServingError:
                self._socket.close()
                raise
        self._stopping: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self) -> None:
        """Loads the model and serves it until :meth:`stop`, Ctrl-C or SIGTERM.

        Raises:
            ExportError: When no version can be loaded.
        """
        try:
            self.host.open()
            asyncio.run(self._serve())
        finally:
            self._socket.close()

    def stop(self) -> None:
        """Ends what was begun, and then the server; from any thread."""
        if self._loop is not None and self._stopping is not None:
            with suppress(RuntimeError):  # the loop has ended already
                self._loop.call_soon_threadsafe(self._stopping.set)

    @property
    def stopping(self) -> bool:
        """Whether no more requests are taken."""
        return self._stopping is not None and self._stopping.is_set()

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        batcher = Batcher(self.options.batch, self.metrics.ran)
        self.metrics.follow(self.host, batcher)
        answering = Answering(self.host, batcher, self.options.timeout)
        held = HeldBytes(max(self.options.body * _TOGETHER, _LEAST_TOGETHER))
        http = self._http(answering, held)
        rpc = None if self.grpc_port is None else self._rpc(answering, held)
        with self._signals(self._loop):
            serving = asyncio.create_task(http.serve(sockets=[self._socket]))
            if rpc is not None:
                await rpc.start()
            while not (http.started or serving.done()):
                await asyncio.sleep(0.01)
            self.host.watch(self.options.poll)
            self._announce()
            stopping = asyncio.create_task(self._stopping.wait())
            await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
            self._stopping.set()
            self.say("stopping: what was begun is ended")
            http.should_exit = True
            await asyncio.gather(serving, *([] if rpc is None else [rpc.stop(self.options.grace)]))
        await asyncio.to_thread(self.host.close)
        await asyncio.to_thread(batcher.close, self.options.grace)
        self.say("stopped")

    def _http(self, answering: Answering, held: HeldBytes) -> uvicorn.Server:
        bodies = Bodies(self.options.body, held, self.options.timeout)
        config = uvicorn.Config(
            Rest(answering, bodies, self.metrics, lambda: self.stopping).application(),
            http=Connection,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            timeout_keep_alive=_IDLE,
            timeout_graceful_shutdown=max(1, round(self.options.grace)),
        )
        return _Server(config)

    def _rpc(self, answering: Answering, held: HeldBytes) -> grpc.aio.Server:
        server = grpc.aio.server(
            options=(
                ("grpc.so_reuseport", 0),  # two servers on one port would share its requests
                ("grpc.max_receive_message_length", self.options.body),
                ("grpc.max_send_message_length", -1),
            )
        )
        Services(answering, held, self.metrics).register(server)
        try:
            self.grpc_port = server.add_insecure_port(_address(self.options.host, self.grpc_port or 0))
        except RuntimeError:
            raise ServingError(
                f"{_address(self.options.host, self.grpc_port or 0)} cannot be listened on for gRPC"
            ) from None
        return server

    def _announce(self) -> None:
        self.say(f"http://{_address(self.options.host, self.port)}/v1/models/{self.host.name}")
        if self.grpc_port is not None:
            self.say(f"gRPC at {_address(self.options.host, self.grpc_port)}")

    @contextmanager
    def _signals(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Lets the first signal stop the server in order, and the second one at once."""

        def stop(number: int) -> None:
            if self.stopping:
                os._exit(128 + number)
            self.stop()

        numbers = (signal.SIGINT, signal.SIGTERM)
        previous = {number: signal.getsignal(number) for number in numbers}
        try:
            for number in numbers:
                loop.add_signal_handler(number, stop, number)
        except (ValueError, RuntimeError):  # not the main thread, which alone gets signals
            previous = {}
        try:
            yield
        finally:
            for number, handler in previous.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)


class _Server(uvicorn.Server):
    """uvicorn without handlers of its own for signals, which would know nothing of gRPC."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _unbroken(say: Callable[[str], None]) -> Callable[[str], None]:
    """Tells what can be told: a log that nobody reads any more is no reason to lose a request."""

    def told(line: str) -> None:
        with suppress(OSError, ValueError):
            say(line)

    return told


def _bound(host: str, port: int) -> socket.socket:
    """A socket that has a port and does not listen yet: nobody is to wait while the model loads."""
    found = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except OSError as error:
        if found is not None:
            found.close()
        raise ServingError(
            f"{_address(host, port)} cannot be listened on: {error.strerror or error}"
        ) from None
    return found


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
