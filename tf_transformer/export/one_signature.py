"""Signatures of a SavedModel that are loaded one by one: who calls one need not wait for all of them.

TensorFlow makes Python objects of each operation of each function, used or not, and of ten signatures there
are many more than of one. What is loaded here is the same SavedModel without the others.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2, saved_object_graph_pb2

from tf_transformer.errors import ExportError

_GRAPH = "saved_model.pb"
_MOST_LETTERS = 300


@contextmanager
def loading(folder: Path) -> Iterator[None]:
    """Refuses what cannot be loaded: TensorFlow raises almost anything at files that were cut or altered.

    Raises:
        ExportError: In place of whatever the block raises.
    """
    try:
        yield
    except Exception as error:
        raise ExportError(f"{folder}: cannot be loaded ({reason(error)})") from None


def reason(error: Exception) -> str:
    """What TensorFlow says, on one line and not by the page."""
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= _MOST_LETTERS else f"{words[:_MOST_LETTERS]} …"


class OneByOne(Mapping[str, Any]):
    """The signatures of a SavedModel, each loaded when it is first asked for, with variables of its own.

    Args:
        folder: The SavedModel's.

    Raises:
        ExportError: When it is none; where a signature is asked for, when TensorFlow cannot load that.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with loading(folder):
            self._content = (folder / _GRAPH).read_bytes()
            (graph,) = _parsed(self._content).meta_graphs
            self._names = frozenset(_children(graph.object_graph_def))
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._loaded:
            with loading(self.folder):
                self._loaded[name] = _load(self.folder, _pruned(_parsed(self._content), name))
        return self._loaded[name].signatures[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names  # without a look at it, which would load it

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._names))

    def __len__(self) -> int:
        return len(self._names)


def _load(folder: Path, graph: bytes) -> Any:
    """Loads what the folder holds with another graph in place of its own."""
    with tempfile.TemporaryDirectory() as temporary:
        beside = Path(temporary)
        for path in folder.resolve().iterdir():
            if path.name != _GRAPH:
                (beside / path.name).symlink_to(path)
        (beside / _GRAPH).write_bytes(graph)
        return tf.saved_model.load(temporary)


def _parsed(content: bytes) -> Any:
    return saved_model_pb2.SavedModel.FromString(content)


def _children(objects: Any) -> dict[str, int]:
    """The numbers of the objects that are signatures, by name."""
    places = {child.local_name: child.node_id for child in objects.nodes[0].children}
    found = objects.nodes[places["signatures"]].children if "signatures" in places else ()
    return {child.local_name: child.node_id for child in found}


def _pruned(saved: Any, name: str) -> bytes:
    """A SavedModel without all signatures but one, and without the functions that only they call."""
    (graph,) = saved.meta_graphs
    objects, library = graph.object_graph_def, graph.graph_def.library
    others = _children(objects)
    del others[name]
    for place in others.values():
        node = objects.nodes[place]
        del objects.concrete_functions[node.bare_concrete_function.concrete_function_name]
        # Objects are known by their places: one that does nothing stands there.
        node.CopyFrom(saved_object_graph_pb2.SavedObject())
        node.user_object.identifier = "_generic_user_object"
        node.user_object.version.CopyFrom(objects.nodes[0].user_object.version)
    for node in objects.nodes:
        kept = [child for child in node.children if child.node_id not in others.values()]
        if len(kept) < len(node.children):
            del node.children[:]
            node.children.extend(kept)
    for other in others:
        del graph.signature_def[other]
    called = _called(library, objects.concrete_functions)
    functions = [function for function in library.function if function.signature.name in called]
    gradients = [entry for entry in library.registered_gradients if entry.gradient_func in called]
    library.Clear()
    library.function.extend(functions)
    library.registered_gradients.extend(gradients)
    content: bytes = saved.SerializeToString()
    return content


def _called(library: Any, names: Any) -> set[str]:
    """Functions of these names, and all that they call."""
    functions = {function.signature.name: function for function in library.function}
    called, ahead = set(), list(names)
    while ahead:
        name = ahead.pop()
        if name in called or name not in functions:
            continue
        called.add(name)
        for node in functions[name].node_def:
            ahead.append(node.op)
            for value in node.attr.values():
                ahead += [value.func.name, *(function.name for function in value.list.func)]
    return called
