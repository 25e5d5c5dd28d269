"""A warm start: an encoder takes the weights of a keras_nlp preset that lies on disk, where they fit."""

import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tf_transformer.errors import DataError, counted
from tf_transformer.layers import Encoder, PositionalEncoding, TokenEmbedding
from tf_transformer.presets import SPECIAL_TOKENS

_CONFIG, _WEIGHTS, _SHARDS = "config.json", "model.weights.h5", "model.weights.json"
_PIECES = Path("assets") / "tokenizer" / "vocabulary.txt"
_SPECIAL_PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
"""What stands in a preset's vocabulary for padding, unknown, start and end."""
_ATTENTION, _NETWORK = "self_attention/attention", "feed_forward/network"
_WEIGHTS_OF_A_BLOCK = {
    "self_attention_layer/query": f"{_ATTENTION}/query_",
    "self_attention_layer/key": f"{_ATTENTION}/key_",
    "self_attention_layer/value": f"{_ATTENTION}/value_",
    "self_attention_layer/attention_output": f"{_ATTENTION}/output_",
    "self_attention_layer_norm": "self_attention/norm/",
    "feedforward_intermediate_dense": f"{_NETWORK}/inner_",
    "feedforward_output_dense": f"{_NETWORK}/output_",
    "feedforward_layer_norm": "feed_forward/norm/",
}
"""Where a weight of their block goes in ours: the path of its layer, and what ours begins with."""


@dataclass(frozen=True)
class WarmStart:
    """What became of the weights of a preset.

    Args:
        taken: Paths of our weights that were filled, in whole or in part.
        left: Their weights that found no place, by path, and why.
        fresh: Paths of our weights that are as they were.
        differences: What the same weights will compute otherwise here.
    """

    taken: list[str] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)
    fresh: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    def to_lines(self) -> list[str]:
        """The same for a person: one line for each reason, and none for what there is nothing of."""
        lines = [f"{counted(len(self.taken), 'weight')} taken from the preset, {len(self.fresh)} fresh"]
        for reason in dict.fromkeys(self.left.values()):
            paths = [path for path, why in self.left.items() if why == reason]
            shown = ", ".join(paths[:3]) + (", …" if len(paths) > 3 else "")
            lines.append(f"{counted(len(paths), 'weight')} of the preset left, {reason}: {shown}")
        return lines + [f"not as in the preset: {difference}" for difference in self.differences]


def initialize_encoder(
    encoder: Encoder,
    folder: Path | str,
    *,
    embedding: TokenEmbedding | None = None,
    positions: PositionalEncoding | None = None,
    pieces: Sequence[str] | None = None,
) -> WarmStart:
    """Fills an encoder, and the embeddings before it, with the weights of a keras_nlp preset.

    Presets of BERT and its kin are read: those whose backbone is made of keras_nlp's `TransformerEncoder`.
    What does not fit is left, and said. A weight whose shape fits and whose meaning does not, such as a
    kernel of another number of heads, does not fit.

    Args:
        encoder: A built encoder.
        folder: The preset's folder, as `save_to_preset` writes it: `config.json`, `model.weights.h5`.
        embedding: The built embedding of its tokens; by default none is filled.
        positions: The built positions behind it; by default none are filled. The first segment's embedding,
            which every token gets, goes into them.
        pieces: Our tokens by id. Rows are matched by piece where the preset has a `vocabulary.txt`; without
            them row by row, where there are as many.

    Returns:
        What was taken and what was not.

    Raises:
        DataError: If the folder holds no preset of a known backbone, or a damaged one.
    """
    folder = Path(folder)
    backbone, blocks = _read(folder)
    transfer = _Transfer(WarmStart())
    for ours, theirs in zip(encoder.blocks, blocks, strict=False):
        transfer.block(ours, theirs)
    for theirs in blocks[len(encoder.blocks) :]:
        transfer.leave(theirs.weights, f"the encoder has {counted(len(encoder.blocks), 'block')}")
    of_blocks = {id(weight) for block in blocks for weight in block.weights}
    rest = [weight for weight in backbone.weights if id(weight) not in of_blocks]
    transfer.embeddings(rest, embedding, positions, _matched(folder, pieces))
    transfer.finish([part for part in (embedding, positions, encoder) if part is not None])
    return transfer.report


def _read(folder: Path) -> tuple[keras.Model, list[Any]]:
    """The backbone, its weights loaded, and its blocks.

    It is made from the plain values of its configuration: nothing in the folder can name other code to run.
    """
    import keras_nlp

    name, settings = _configuration(folder / _CONFIG)
    made = getattr(keras_nlp.models, name, None)
    if not (isinstance(made, type) and issubclass(made, keras_nlp.models.Backbone)):
        raise DataError(f"{folder / _CONFIG}: must name a backbone of keras_nlp. Received: {name!r}")
    weights = next((folder / file for file in (_WEIGHTS, _SHARDS) if (folder / file).is_file()), None)
    if weights is None:
        raise DataError(f"{folder}: must hold the weights of the preset, {_WEIGHTS}. Received: none")
    try:
        backbone = made(**settings, dtype="float32")
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of weights that the file lacks, and that would stay as they are
            backbone.load_weights(weights)
    except (OSError, TypeError, ValueError, KeyError, Warning) as error:
        raise DataError(f"{weights}: does not fit {name} as {_CONFIG} says: {str(error)[:200]}") from None
    blocks = [layer for layer in backbone.layers if isinstance(layer, keras_nlp.layers.TransformerEncoder)]
    if not blocks:
        raise DataError(
            f"{folder}: must be a preset whose blocks are keras_nlp's TransformerEncoder. Received: {name}"
        )
    return backbone, blocks


def _configuration(file: Path) -> tuple[str, dict[str, Any]]:
    """The class of a preset's backbone, and those of its arguments that are plain values."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        settings = {
            name: value
            for name, value in found["config"].items()
            if isinstance(value, int | float | str | None) and name not in ("name", "trainable", "dtype")
        }
        return str(found["class_name"]), settings
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{file}: must be the configuration of a keras_nlp preset: {error!r}") from None


def _matched(folder: Path, pieces: Sequence[str] | None) -> list[int] | None:
    """For each of our tokens the row of the preset's table, -1 where there is none; None without pieces."""
    file = folder / _PIECES
    if pieces is None or not file.is_file():
        return None
    rows = {piece: row for row, piece in enumerate(file.read_text(encoding="utf-8").split("\n"))}
    names = dict(zip(SPECIAL_TOKENS, _SPECIAL_PIECES, strict=True))
    return [rows.get(names.get(piece, piece), -1) for piece in pieces]


class _Transfer:
    """Moves weights and keeps the report."""

    def __init__(self, report: WarmStart) -> None:
        self.report = report

    def leave(self, weights: Sequence[Any], reason: str) -> None:
        """Notes weights of theirs that have no place."""
        self.report.left.update({weight.path: reason for weight in weights})

    def block(self, ours: Any, theirs: Any) -> None:
        """One block of the encoder from one of theirs."""
        settings, own = ours.settings, {_inner_path(weight, ours): weight for weight in ours.weights}
        for weight in theirs.weights:
            layer, _, name = _inner_path(weight, theirs).rpartition("/")
            path = _WEIGHTS_OF_A_BLOCK.get(layer, "?") + name
            other_heads = path.startswith(_ATTENTION) and theirs.num_heads != settings.num_heads
            if path not in own or (path.startswith(_NETWORK) and settings.activation == "swiglu"):
                self.leave([weight], "there is no such weight here")
            elif other_heads or np.prod(weight.shape) != np.prod(own[path].shape):
                self.leave([weight], "another shape or number of heads")
            else:
                own[path].assign(np.reshape(_array(weight), own[path].shape))
                self.report.taken.append(own[path].path)
        self.report.differences.extend(
            line for line in _differences(settings, theirs) if line not in self.report.differences
        )

    def embeddings(
        self,
        weights: Sequence[Any],
        embedding: TokenEmbedding | None,
        positions: PositionalEncoding | None,
        rows: list[int] | None,
    ) -> None:
        """Tokens, positions and their norm; segments are left, but for the first, which all tokens have."""
        found = {_role(weight): weight for weight in weights}
        segments = found.pop("segment_embedding", None)
        for role, weight in found.items():
            if role == "token_embedding" and embedding is not None:
                self._tokens(weight, embedding, rows)
            elif role == "position_embedding" and positions is not None and positions.kind == "learned":
                self._positions(weight, segments, positions)
            elif role.startswith("embeddings_layer_norm") and positions is not None:
                self._norm(weight, positions)
            else:
                self.leave([weight], "there is no such weight here")
        if segments is not None:
            self.leave([segments], "of segments, only the first has a place, in learned positions")

    def _tokens(self, weight: Any, embedding: TokenEmbedding, rows: list[int] | None) -> None:
        theirs, table = _array(weight), _array(embedding.table)
        if theirs.shape[1] != table.shape[1] or (rows is None and theirs.shape != table.shape):
            self.leave([weight], "another shape, and no pieces to match rows by")
            return
        rows = list(range(len(table))) if rows is None else rows
        known = np.array([row >= 0 for row in rows])
        scale = embedding.hidden_dim**-0.5 if embedding.scale else 1.0
        table[known] = theirs[[row for row in rows if row >= 0]] * scale
        embedding.table.assign(table)
        self.report.taken.append(embedding.table.path)
        if not known.all():
            missing = counted(len(rows) - int(known.sum()), "piece")
            self.report.differences.append(f"{missing} of {len(rows):,} not in its vocabulary, and so fresh")

    def _positions(self, weight: Any, segments: Any, positions: PositionalEncoding) -> None:
        theirs, table = _array(weight), _array(positions.table)
        if theirs.shape[1] != table.shape[1]:
            self.leave([weight], "another shape or number of heads")
            return
        count = min(len(theirs), len(table))
        table[:count] = theirs[:count] + (0.0 if segments is None else _array(segments)[0])
        positions.table.assign(table)
        self.report.taken.append(positions.table.path)
        if count < len(table):
            self.report.differences.append(f"positions from {count} on are fresh")

    def _norm(self, weight: Any, positions: PositionalEncoding) -> None:
        own = {ours.path.rpartition("/")[2]: ours for ours in positions.weights if "/norm/" in ours.path}
        name = weight.path.rpartition("/")[2]
        if name in own and own[name].shape == weight.shape:
            own[name].assign(_array(weight))
            self.report.taken.append(own[name].path)
        else:
            self.leave([weight], "there is no such weight here")

    def finish(self, parts: Sequence[keras.layers.Layer]) -> None:
        """Notes which weights of ours were not reached."""
        paths = [weight.path for part in parts for weight in part.trainable_weights]
        self.report.fresh.extend(path for path in paths if path not in self.report.taken)


def _differences(settings: Any, theirs: Any) -> Iterator[str]:
    """What a block of ours makes otherwise of the weights of one of theirs."""
    norm = "pre" if theirs.normalize_first else "post"
    activation = getattr(theirs.activation, "__name__", str(theirs.activation))
    activation = "gelu_tanh" if activation == "gelu_approximate" else activation
    if settings.norm != norm:
        yield f"norm {settings.norm} here, {norm} there"
    if settings.norm_kind != "layer":
        yield f"norm_kind {settings.norm_kind} here, layer there"
    if settings.activation != activation:
        yield f"activation {settings.activation} here, {activation} there"
    if settings.residual_scale != 1.0:
        yield f"residuals scaled by {settings.residual_scale:g} here"
    if settings.positions in ("relative", "rotary", "alibi"):
        yield f"positions {settings.positions} here"


def _inner_path(weight: Any, layer: keras.layers.Layer) -> str:
    """The path of a weight inside a layer."""
    return str(weight.path).rpartition(f"{layer.name}/")[2]


def _role(weight: Any) -> str:
    """What a weight outside the blocks is: the name of its layer, with that of a norm's weight."""
    *_, layer, name = str(weight.path).split("/")
    return layer if name == "embeddings" else f"{layer}/{name}"


def _array(weight: Any) -> "np.ndarray[Any, Any]":
    return np.array(keras.ops.convert_to_numpy(weight), "float32")
