"""Transformers of OpenNMT-tf: their checkpoints, read by TensorFlow alone.

What the checkpoint does not say, the heads and the vocabularies, is told by options and by the YAML file that
the model was trained with.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.errors import DataError
from tf_transformer.importing.imported import Array, Imported
from tf_transformer.importing.opennmt_tf_settings import Settings, read_pieces
from tf_transformer.importing.rows import Rows
from tf_transformer.text import Preprocessor
from tf_transformer.text.sentencepiece_tokenizer import SentencePieceTokenizer
from tf_transformer.text.sentencepiece_vocabulary import lacking, numbered

_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
_SOURCE = "examples_inputter/features_inputter/embedding"
_TARGET = "examples_inputter/labels_inputter/embedding"
_OUTPUT = "decoder/output_layer"
_PARTS = {
    "self_attention": ("self_attention", "attention"),
    "attention/0": ("cross_attention", "attention"),
    "ffn": ("feed_forward", "network"),
}
_PROJECTIONS = {
    "linear_queries": "query",
    "linear_keys": "key",
    "linear_values": "value",
    "linear_output": "output",
    "inner": "inner",
    "outer": "output",
}
_HEADS = {512: 8, 1024: 16}
"""Those of OpenNMT-tf's own Transformer models, by their width."""
_EPSILON = 1e-3
"""That of its layer norms, Keras' default."""
_LONGEST = 512


def read_opennmt_tf(checkpoint: Path, settings: Settings) -> Imported:
    """Reads a checkpoint.

    Args:
        checkpoint: Its path without ending, or the folder that it is the newest one of.
        settings: What else is known of the model.

    Raises:
        DataError: If it is no checkpoint of a Transformer, or of one with something that there is not here.
        TextError: If vocabularies and SentencePiece models do not belong together.
    """
    name, values, nodes = _read(checkpoint)
    sharing = _sharing(name, values)
    sides = _sides(settings, values, name, sharing)
    model = _model(name, values, nodes, settings) | {"tie_embeddings": sharing}
    weights = _stacks(values) | _embeddings(values, sides, sharing)
    _demand_all_used(name, values)
    has_end = settings.source_end
    source, target = (one.tokenizer for one in sides)
    side = Preprocessor(source, None if target is source else target, source_end=has_end)
    text = {"shared": source.tokens == target.tokens, "source_end": has_end}
    number = max(one.rows.lacking for one in sides)
    remarks = [f"{number:,} pieces are not in the vocabulary: each is read as unknown"] if number else []
    longest = (_LONGEST, _LONGEST)
    return Imported(f"OpenNMT-tf {name}", model, weights, side, text, settings.decoding, longest, remarks)


def _read(checkpoint: Path) -> tuple[str, dict[str, Array], set[str]]:
    """The name of a checkpoint, the variables of its model, and the paths of its parts."""
    name = tf.train.latest_checkpoint(str(checkpoint)) if checkpoint.is_dir() else str(checkpoint)
    if name is None or not Path(f"{name}.index").is_file():
        rule = "must be a checkpoint of OpenNMT-tf, such as run/ckpt-5000, or the folder of some"
        raise DataError(f"{checkpoint}: {rule}. Received: no such files")
    try:
        reader = tf.train.load_checkpoint(name)
        paths = [path for path in reader.get_variable_to_shape_map() if path.startswith("model/")]
        values = {
            path.removeprefix("model/").removesuffix(_VALUE): reader.get_tensor(path)
            for path in paths
            if path.endswith(_VALUE) and "/.OPTIMIZER_SLOT/" not in path
        }
        nodes = _nodes(reader.get_tensor(_GRAPH))
    except (tf.errors.OpError, RuntimeError, ValueError) as error:
        raise DataError(f"{name}: must be a checkpoint of OpenNMT-tf. Received: {error}") from None
    if "encoder/layers/0/self_attention/layer/linear_queries/kernel" not in values:
        shown = min(values, default="no variable under model/")
        raise DataError(f"{name}: must hold a Transformer of OpenNMT-tf. Received: {shown}")
    return name, values, nodes


def _nodes(graph: bytes) -> set[str]:
    """The paths of the encoder's and decoder's own parts, with or without variables."""
    from tensorflow.core.protobuf.trackable_object_graph_pb2 import TrackableObjectGraph

    nodes = TrackableObjectGraph.FromString(graph).nodes

    def children(number: int) -> dict[str, int]:
        return {child.local_name: child.node_id for child in nodes[number].children}

    model = children(children(0).get("model", 0))
    return {
        f"{stack}/{part}"
        for stack in ("encoder", "decoder")
        if stack in model
        for part in children(model[stack])
    }


def _sharing(name: str, values: Mapping[str, Array]) -> str:
    """Which embeddings are one: our `tie_embeddings`."""
    if _SOURCE not in values:
        raise DataError(f"{name}: must have one source of words. Received: no variable {_SOURCE}")
    has_target, has_output = _TARGET in values, f"{_OUTPUT}/kernel" in values
    if has_output:
        return "none"
    return "output" if has_target else "all"


class _Side:
    """One side's vocabulary: the rows of its embedding, and its tokenizer."""

    def __init__(self, pieces: Sequence[str], missing: Sequence[str], model: Path) -> None:
        content = numbered(model.read_bytes(), str(model), [*pieces, *missing])
        self.tokenizer = SentencePieceTokenizer(content.content)
        # <blank>, <s>, </s>, the pieces, and behind all that a file lists, the unknown one.
        rows = range(3, 3 + len(pieces))
        self.rows = Rows(0, rows.stop, 1, 2, rows, len(missing))


def _sides(settings: Settings, values: Mapping[str, Array], name: str, sharing: str) -> tuple[_Side, _Side]:
    """Source and target; one for both where they have the same vocabulary and the same pieces."""
    pieces = [read_pieces(file) for file in settings.vocabularies]
    for file, found, path in zip(settings.vocabularies, pieces, (_SOURCE, _TARGET), strict=True):
        rows = values.get(path, values[_SOURCE]).shape[0]
        if rows != len(found) + 4:
            rule = f"must have {rows - 1:,} lines, one less than the rows of {path} in {name}"
            raise DataError(f"{file}: {rule}. Received: {len(found) + 3:,}")
    contents = [(file.read_bytes(), str(file)) for file in settings.sentencepiece]
    one = pieces[0] == pieces[1]
    if sharing == "all" and not one:
        raise DataError(f"{settings.vocabularies[1]}: must be the source's, as both share one embedding")
    if one:
        missing = lacking(contents, pieces[0])
        source = _Side(pieces[0], missing, settings.sentencepiece[0])
        if contents[0][0] == contents[1][0]:
            return source, source
        return source, _Side(pieces[1], missing, settings.sentencepiece[1])
    source, target = (
        _Side(own, lacking([content], own), file)
        for own, content, file in zip(pieces, contents, settings.sentencepiece, strict=True)
    )
    return source, target


def _model(name: str, values: Mapping[str, Array], nodes: set[str], settings: Settings) -> dict[str, Any]:
    """The recipe's section."""
    width = values[_SOURCE].shape[1]
    layers = [_depth(values, stack) for stack in ("encoder", "decoder")]
    first = "encoder/layers/0"
    distances = values.get(f"{first}/self_attention/layer/relative_position_keys")
    heads = settings.num_heads or _HEADS.get(width)
    if distances is not None:
        heads = width // distances.shape[1]
    if heads is None:
        raise DataError(
            f"{name}: does not say its number of heads, say it by --heads. Received: width {width}"
        )
    if width % heads:
        raise DataError(f"{name}: --heads must divide the width, {width}. Received: {heads}")
    return {
        "num_layers": layers[0],
        "decoder_num_layers": layers[1],
        "hidden_dim": width,
        "intermediate_dim": values[f"{first}/ffn/layer/inner/kernel"].shape[1],
        "num_heads": heads,
        "activation": settings.activation,
        "norm": "pre" if f"{first}/ffn/input_layer_norm/gamma" in values else "post",
        "norm_epsilon": _EPSILON,
        "output_bias": True,
        **_positions(name, values, nodes, distances),
    }


def _positions(
    name: str, values: Mapping[str, Array], nodes: set[str], distances: Array | None
) -> dict[str, Any]:
    """What the model knows of positions."""
    added = {f"{stack}/position_encoder" in nodes for stack in ("encoder", "decoder")}
    trained = [path for path in values if "/position_encoder/" in f"/{path}"]
    if trained or len(added) > 1 or (distances is not None and True in added):
        found = trained[0] if trained else "positions of two kinds"
        raise DataError(
            f"{name}: position_encoder_class must be SinusoidalPositionEncoder in both stacks, or none, "
            f"with or without maximum_relative_position. Received: {found}"
        )
    if distances is not None:
        return {"positions": "relative", "max_distance": distances.shape[0] // 2}
    return {"positions": "timescale" if True in added else "none"}


def _depth(values: Mapping[str, Array], stack: str) -> int:
    numbers = [int(found[1]) for path in values if (found := re.match(rf"{stack}/layers/(\d+)/", path))]
    return max(numbers) + 1


def _stacks(values: dict[str, Array]) -> dict[str, Array]:
    """The weights of encoder and decoder, taken out of ``values``, by our paths."""
    found: dict[str, Array] = {}
    for path in [path for path in values if path.startswith(("encoder/", "decoder/"))]:
        ours = _our_path(path)
        if ours is not None:
            found[ours] = values.pop(path)
    # Without mha_bias it has no biases, which is to have zeros.
    for path in [path for path in found if "/attention/" in path and path.endswith("_kernel")]:
        bias = f"{path.removesuffix('_kernel')}_bias"
        found.setdefault(bias, np.zeros(found[path].shape[1], np.float32))
    return found


def _our_path(path: str) -> str | None:
    """Where a weight of a stack goes, or None."""
    stack, _, rest = path.partition("/")
    if (norm := re.fullmatch(r"layer_norm/(gamma|beta)", rest)) is not None:
        return f"{stack}/final_norm/{norm[1]}"
    parts = re.fullmatch(r"layers/(\d+)/(self_attention|attention/0|ffn)/(.+)", rest)
    if parts is None:
        return None
    outer, inner = _PARTS[parts[2]]
    block = f"{stack}/block_{parts[1]}/{outer}"
    if (norm := re.fullmatch(r"(?:in|out)put_layer_norm/(gamma|beta)", parts[3])) is not None:
        return f"{block}/norm/{norm[1]}"
    if (table := re.fullmatch(r"layer/relative_position_(key|value)s", parts[3])) is not None:
        return f"{block}/{inner}/positions/{table[1]}_table"
    linear = re.fullmatch(r"layer/(\w+)/(kernel|bias)", parts[3])
    role = _PROJECTIONS.get(linear[1]) if linear else None
    return None if linear is None or role is None else f"{block}/{inner}/{role}_{linear[2]}"


def _embeddings(values: dict[str, Array], sides: tuple[_Side, _Side], sharing: str) -> dict[str, Array]:
    """The tables and the bias of logits, taken out of ``values``, by our paths."""
    source = values.pop(_SOURCE)
    target = values.pop(_TARGET, source)
    kernel = values.pop(f"{_OUTPUT}/kernel", None)
    bias = values.pop(f"{_OUTPUT}/bias", np.zeros(len(target), np.float32))
    rows = sides[1].rows
    if sharing == "all":
        return {"embedding/table": rows.table(source), "embedding/output_bias": rows.bias(bias)}
    layer = "target_embedding" if kernel is None else "output_embedding"
    found = {
        "source_embedding/table": sides[0].rows.table(source),
        "target_embedding/table": rows.table(target),
        f"{layer}/output_bias": rows.bias(bias),
    }
    if kernel is not None:
        found["output_embedding/table"] = rows.table(kernel.T if kernel.shape[1] == len(target) else kernel)
    return found


def _demand_all_used(name: str, values: Mapping[str, Array]) -> None:
    if values:
        raise DataError(f"{name}: must hold a plain Transformer. Received: the variable {min(values)}")
