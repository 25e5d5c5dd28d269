"""A server whose model is made up: it answers at once or when a test says so, and needs no training."""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from tf_transformer.errors import ExportError
from tf_transformer.manifest import Manifest, file_sizes, read_manifest, write_manifest
from tf_transformer.serving.options import BatchOptions, ServerOptions
from tf_transformer.serving.server import ModelServer

TEXT = tf.TensorSpec([None], tf.string)
NUMBERS = tf.TensorSpec([None], tf.int32)
SCALAR = tf.TensorSpec([], tf.float32)


class Function:
    """Stands for a loaded signature.

    Args:
        inputs: Specs by name.
        outputs: Specs by name.
        act: From tensors to tensors by name.
    """

    def __init__(self, inputs: dict[str, Any], outputs: dict[str, Any], act: Any) -> None:
        self.structured_input_signature = ((), inputs)
        self.structured_outputs = outputs
        self.act = act
        self.sizes: list[int] = []

    def __call__(self, **tensors: Any) -> Any:
        self.sizes.append(max(int(tensor.shape[0]) for tensor in tensors.values() if tensor.shape.rank))
        return self.act(**tensors)


class Gate:
    """Where calls wait until a test lets them go on; open at first."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.event.set()
        self.reached = threading.Event()

    def shut(self) -> None:
        self.reached.clear()
        self.event.clear()

    def open(self) -> None:
        self.event.set()

    def passed(self) -> None:
        self.reached.set()
        assert self.event.wait(20)


@dataclass
class Toy:
    """What a made-up version is loaded as: it spells texts backwards and says which version it is.

    Args:
        number: Of the version.
        gate: Where calls wait.
    """

    number: int
    gate: Gate
    manifest: Manifest
    signatures: dict[str, Function] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.signatures |= {
            "serving_default": Function({"text": TEXT}, {"text": TEXT, "version": NUMBERS}, self.answer),
            "twice": Function({"text": TEXT, "times": NUMBERS}, {"long_bytes": TEXT}, self.repeat),
            "scaled": Function({"text": TEXT, "by": SCALAR}, {"length": tf.TensorSpec([None])}, self.scale),
            "whole": Function({"text": TEXT}, {"count": tf.TensorSpec([], tf.int32)}, self.count),
        }

    def answer(self, text: Any) -> Any:
        self.gate.passed()
        words = [word.decode() for word in text.numpy().tolist()]
        if "poison" in words:
            raise tf.errors.InvalidArgumentError(None, None, "poison is no word\n\t [[{{node Op}}]]")
        if "bug" in words:
            raise RuntimeError("nobody knows")
        back = tf.constant([word[::-1].encode() for word in words], tf.string)
        return {"text": back, "version": tf.fill([len(words)], self.number)}

    def repeat(self, text: Any, times: Any) -> Any:
        pairs = zip(text.numpy().tolist(), times.numpy().tolist(), strict=True)
        return {"long_bytes": tf.constant([word * count for word, count in pairs], tf.string)}

    def scale(self, text: Any, by: Any) -> Any:
        return {"length": tf.cast(tf.strings.length(text), tf.float32) * by}

    def count(self, text: Any) -> Any:
        return {"count": tf.size(text)}


class Toys:
    """Loads made-up versions.

    Args:
        gate: Where their calls wait.

    Attributes:
        broken: Numbers of those that cannot be loaded.
        loaded: Those that were, by number.
    """

    def __init__(self) -> None:
        self.gate = Gate()
        self.broken: set[int] = set()
        self.loaded: dict[int, Toy] = {}

    def load(self, folder: Path) -> Toy:
        number = int(folder.name)
        if number in self.broken:
            raise ExportError(f"{folder}: cannot be loaded (a broken toy)")
        self.loaded[number] = Toy(number, self.gate, read_manifest(folder))
        return self.loaded[number]


def write_version(folder: Path, number: int, weights: bytes = b"weights") -> Path:
    """Writes the files of a version, whole at once as an export does."""
    aside = folder / f".{number}.writing"
    (aside / "variables").mkdir(parents=True)
    saved = saved_model_pb2.SavedModel()
    graph = saved.meta_graphs.add()
    graph.signature_def["serving_default"].method_name = "tensorflow/serving/predict"
    (aside / "saved_model.pb").write_bytes(saved.SerializeToString())
    (aside / "variables" / "data").write_bytes(weights)
    facts = {"signatures": ("serving_default",), "verification": {}, "files": file_sizes(aside)}
    write_manifest(aside, Manifest(task="translate", checkpoint=f"step-{number}", **facts))
    return aside.rename(folder / str(number))


class Running:
    """A server in a thread, and a client of it.

    Args:
        server: The server.
        toys: Its model, where it is made up.
        said: What it has told.
    """

    def __init__(self, server: ModelServer, toys: Toys, said: list[str]) -> None:
        self.server = server
        self.toys = toys
        self.said = said
        self.thread = threading.Thread(target=server.run, daemon=True)

    @property
    def grpc_address(self) -> str:
        return f"127.0.0.1:{self.server.grpc_port}"

    def connect(self, timeout: float = 20) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=timeout)

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """A request; its status, and its body as JSON where it is."""
        connection = self.connect()
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        is_json = response.headers["content-type"] == "application/json"
        return response.status, json.loads(content) if is_json else content

    def predict(self, body: Any, path: str = "/v1/models/toy:predict") -> tuple[int, Any]:
        return self.send("POST", path, body if isinstance(body, bytes) else json.dumps(body).encode())


@contextmanager
def running(folder: Path, toys: Toys | None = None, name: str = "toy", **options: Any) -> Iterator[Running]:
    """Serves a folder while the block runs."""
    found, said = toys or Toys(), []
    batch = BatchOptions(**{"threads": 1, **options.pop("batch", {})})
    load, fault = options.pop("load", found.load), options.pop("fault", None)
    settings = ServerOptions(**{"port": 0, "grpc_port": 0, "poll": 0.05, "grace": 5, **options}, batch=batch)

    def tell(line: str) -> None:
        said.append(line)
        if fault is not None:
            raise fault

    server = ModelServer(name, folder, load, settings, tell)
    running = Running(server, found, said)
    running.thread.start()
    until(lambda: any(line.startswith("http://") for line in said))
    try:
        yield running
    finally:
        found.gate.open()
        server.stop()
        running.thread.join(20)
        assert not running.thread.is_alive()


def until(found: Any, seconds: float = 20) -> None:
    """Waits for something to become true."""
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end, "it has not become true"
        time.sleep(0.005)
