"""One version of an export, loaded: its signatures, and what is said of them."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from tf_transformer.manifest import Manifest
from tf_transformer.serving.fault import invalid
from tf_transformer.serving.signature import ServedSignature

DEFAULT_SIGNATURE = "serving_default"


class Loaded(Protocol):
    """What a loader gives; see ``export.loading``."""

    @property
    def manifest(self) -> Manifest:
        """Its manifest."""

    @property
    def signatures(self) -> Any:
        """Its loaded functions by name."""


Load = Callable[[Path], Loaded]
"""Loads the folder of a version, or raises an ``ExportError``."""


class ServedVersion:
    """A version that answers.

    Args:
        number: The name of its folder.
        folder: Its folder.
        loaded: What was loaded from there.

    Attributes:
        signatures: By name.
        definitions: TensorFlow's own descriptions of them, protocol buffers by name.
    """

    def __init__(self, number: int, folder: Path, loaded: Loaded) -> None:
        self.number = number
        self.folder = folder
        self.manifest = loaded.manifest
        self.signatures = {name: ServedSignature(name, loaded.signatures[name]) for name in loaded.signatures}
        self.definitions = _definitions(folder)
        self._requests = 0
        self._lock = threading.Lock()

    def signature(self, name: str) -> ServedSignature:
        """The signature of a name, of the default one where it is empty.

        Raises:
            Fault: When there is none.
        """
        found = self.signatures.get(name or DEFAULT_SIGNATURE)
        if found is None:
            raise invalid(
                f"signature_name must be one of {', '.join(sorted(self.signatures))}. Received: {name[:60]}"
            )
        return found

    @property
    def requests(self) -> int:
        """How many are being answered."""
        return self._requests

    def begin(self) -> None:
        """Counts a request."""
        with self._lock:
            self._requests += 1

    def end(self, *_: Any) -> None:
        """Counts one as answered."""
        with self._lock:
            self._requests -= 1


def _definitions(folder: Path) -> dict[str, Any]:
    from tensorflow.core.protobuf import saved_model_pb2

    saved = saved_model_pb2.SavedModel()
    saved.ParseFromString((folder / "saved_model.pb").read_bytes())
    return dict(saved.meta_graphs[0].signature_def)
