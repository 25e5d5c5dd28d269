"""Runs an exported SavedModel the way a stranger does: without this package.

This file is started as a script, in a process of its own that refuses to import ``tf_transformer``:
what it answers, any server with TensorFlow answers. It reads one JSON object on stdin,
``{"folder": …, "modules": [module to import, …], "calls": [{"signature": …, "batches": […]}, …]}``, where a
batch is ``{argument: [value, …], …}`` and bytes are ``{"b64": …}``.
It writes one to the file named by its first argument: the answers to each batch of each call, in order, and
the ops of the graph that core TensorFlow does not know.
"""

import base64
import importlib
import json
import sys
from typing import Any


class _Refuse:
    """An import hook that keeps the package itself out."""

    def find_spec(self, name: str, *_: Any) -> None:
        if name.split(".")[0] == "tf_transformer":
            raise ImportError(f"{name} must not be needed by an exported model")


def main() -> None:
    """Loads the model, answers the calls and reports the ops."""
    sys.meta_path.insert(0, _Refuse())
    request = json.loads(sys.stdin.read())
    import tensorflow as tf

    custom_ops = _custom_ops(request["folder"])
    for module in request["modules"]:
        importlib.import_module(module)
    model = tf.saved_model.load(request["folder"])
    answers = []
    for call in request["calls"]:
        signature = model.signatures[call["signature"]]
        specs = signature.structured_input_signature[1]
        answers.append(
            [
                _plain(signature(**{k: tf.constant(_given(v), specs[k].dtype) for k, v in batch.items()}))
                for batch in call["batches"]
            ]
        )
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"answers": answers, "custom_ops": custom_ops}, file)


def _custom_ops(folder: str) -> list[str]:
    """Ops of the saved graph that core TensorFlow has no definition of."""
    from tensorflow.core.protobuf import saved_model_pb2
    from tensorflow.python.framework import op_def_registry

    saved = saved_model_pb2.SavedModel()
    with open(f"{folder}/saved_model.pb", "rb") as file:
        saved.ParseFromString(file.read())
    graph = saved.meta_graphs[0].graph_def
    functions = {function.signature.name for function in graph.library.function}
    nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    names = {node.op for node in nodes} - functions
    return sorted(name for name in names if op_def_registry.get(name) is None)


def _given(value: Any) -> Any:
    if isinstance(value, list):
        return [_given(item) for item in value]
    return base64.b64decode(value["b64"]) if isinstance(value, dict) else value


def _plain(outputs: dict[str, Any]) -> dict[str, Any]:
    def decode(value: Any) -> Any:
        if isinstance(value, list):
            return [decode(item) for item in value]
        return value.decode("utf-8") if isinstance(value, bytes) else value

    return {name: decode(tensor.numpy().tolist()) for name, tensor in outputs.items()}


if __name__ == "__main__":
    main()
