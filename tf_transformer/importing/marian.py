"""Marian models as `transformers` saves them, OPUS-MT's among them: `MarianMTModel.save_pretrained`.

Their positions have all sines before all cosines, ours have them in turn. Every width of the model is put
into the order that makes theirs ours: of a model whose numbers change places everywhere alike, nothing else
changes.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tf_transformer.errors import DataError
from tf_transformer.files import parse_json, read_file
from tf_transformer.importing.imported import Array, Imported
from tf_transformer.importing.marian_files import read_weights
from tf_transformer.importing.rows import Rows
from tf_transformer.text import Preprocessor
from tf_transformer.text.sentencepiece_tokenizer import SentencePieceTokenizer
from tf_transformer.text.sentencepiece_vocabulary import lacking, numbered

CONFIG = "config.json"
VOCABULARY = "vocab.json"
SENTENCEPIECE = ("source.spm", "target.spm")

_ACTIVATIONS = {"swish": "swish", "silu": "swish", "relu": "relu", "gelu": "gelu", "gelu_new": "gelu_tanh"}
_ONLY: dict[str, Any] = {
    "model_type": "marian",
    "scale_embedding": True,
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
    "static_position_embeddings": True,
}
"""Keys of the configuration that may be left out, with the only value that can be read."""
_SHARED = ("model.shared.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
_TIED = (*_SHARED, "lm_head.weight")
_POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
_ATTENTIONS = {"self_attn": "self_attention", "encoder_attn": "cross_attention"}
_ROLES = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "output"}
_NETWORK = {"fc1": "inner", "fc2": "output"}
_NORMS = {
    "self_attn_layer_norm": "self_attention",
    "encoder_attn_layer_norm": "cross_attention",
    "final_layer_norm": "feed_forward",
}


def read_marian(folder: Path) -> Imported:
    """Reads a model.

    Args:
        folder: With config.json, vocab.json, source.spm, target.spm, and the weights.

    Raises:
        DataError: If a file is missing or damaged, or the model has something that there is not here; names
            the key and its value.
        TextError: If vocabulary and SentencePiece models do not belong together.
    """
    config = _read_config(folder / CONFIG)
    rows, pieces, missing = _vocabulary(folder, config)
    tokenizers = []
    for name in SENTENCEPIECE:
        model = numbered(read_file(folder / name), str(folder / name), [*pieces, *missing])
        tokenizers.append(SentencePieceTokenizer(model.content))
    weights = _weights(folder, config, rows)
    longest = int(config.get("max_position_embeddings", 512))
    remarks = [f"{len(missing):,} pieces are not in vocab.json: each is read as unknown"] if missing else []
    return Imported(
        origin=f"Marian {folder}",
        model=_model(folder / CONFIG, config),
        weights=weights,
        side=Preprocessor(*tokenizers),
        text={"shared": True},
        decoding=_decoding(folder, config),
        longest=(longest, longest),
        remarks=remarks,
    )


def _read_config(file: Path) -> dict[str, Any]:
    config = _json_object(file)
    for key, only in _ONLY.items():
        if config.get(key, only) != only:
            raise DataError(f"{file}: {key} must be {json.dumps(only)}. Received: {json.dumps(config[key])}")
    if config.get("activation_function", "gelu") not in _ACTIVATIONS:
        rule = f"activation_function must be one of {', '.join(_ACTIVATIONS)}"
        raise DataError(f"{file}: {rule}. Received: {config['activation_function']}")
    if config.get("decoder_vocab_size") not in (None, config.get("vocab_size")):
        rule = f"decoder_vocab_size must be vocab_size, {config.get('vocab_size')}"
        raise DataError(f"{file}: {rule}. Received: {config['decoder_vocab_size']}")
    return config


def _json_object(file: Path) -> dict[str, Any]:
    try:
        found = parse_json(read_file(file))
    except ValueError as error:
        raise DataError(f"{file}: must be JSON. Received: {error}") from None
    if not isinstance(found, dict):
        raise DataError(f"{file}: must hold a JSON object. Received: {type(found).__name__}")
    return found


def _number(file: Path, config: Mapping[str, Any], key: str) -> int:
    value = config.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise DataError(f"{file}: {key} must be a whole number. Received: {value}")
    return value


def _model(file: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe's section."""
    sizes = {
        "num_layers": "encoder_layers",
        "hidden_dim": "d_model",
        "intermediate_dim": "encoder_ffn_dim",
        "num_heads": "encoder_attention_heads",
        "decoder_num_layers": "decoder_layers",
        "decoder_intermediate_dim": "decoder_ffn_dim",
        "decoder_num_heads": "decoder_attention_heads",
    }
    return {
        **{ours: _number(file, config, theirs) for ours, theirs in sizes.items()},
        "activation": _ACTIVATIONS[config.get("activation_function", "gelu")],
        "norm": "post",
        "positions": "sinusoidal",
        "tie_embeddings": "all",
        "output_bias": True,
        "dropout": float(config.get("dropout", 0.1)),
        "attention_dropout": float(config.get("attention_dropout", 0.0)),
        "activation_dropout": float(config.get("activation_dropout", 0.0)),
    }


def _vocabulary(folder: Path, config: Mapping[str, Any]) -> tuple[Rows, list[str], list[str]]:
    """The rows of the embedding, the pieces in their order, and what the SentencePiece models have more."""
    file, size = folder / VOCABULARY, _number(folder / CONFIG, config, "vocab_size")
    numbers = _json_object(file)
    if sorted(map(str, numbers.values())) != sorted(map(str, range(size))):
        rule = f"must number {size:,} pieces from 0, as vocab_size says"
        raise DataError(f"{file}: {rule}. Received: {len(numbers):,}")
    tokens = sorted(numbers, key=lambda token: int(numbers[token]))
    if strange := next((token for token in tokens if re.fullmatch(r">>\S+<<", token)), None):
        raise DataError(
            f"{file}: must have no tokens of target languages: no model of several. Received: {strange}"
        )
    special = {name: _special(file, numbers, name) for name in ("<pad>", "<unk>", "</s>")}
    start = _number(folder / CONFIG, config, "decoder_start_token_id")
    ordinary = [row for row in range(size) if row not in special.values()]
    pieces = [tokens[row] for row in ordinary]
    contents = [(read_file(folder / name), str(folder / name)) for name in SENTENCEPIECE]
    missing = lacking(contents, pieces)
    return (
        Rows(special["<pad>"], special["<unk>"], start, special["</s>"], ordinary, len(missing)),
        pieces,
        missing,
    )


def _special(file: Path, numbers: Mapping[str, Any], token: str) -> int:
    if token not in numbers:
        raise DataError(f"{file}: must have the token {token}. Received: none")
    return int(numbers[token])


def _weights(folder: Path, config: Mapping[str, Any], rows: Rows) -> dict[str, Array]:
    """The weights by our paths, every width of the model in our order."""
    theirs = read_weights(folder)
    table = next((theirs[name] for name in _SHARED if name in theirs), None)
    width, size = (_number(folder / CONFIG, config, key) for key in ("d_model", "vocab_size"))
    if table is None or table.shape != (size, width):
        received = "none" if table is None else str(table.shape)
        rule = f"{_SHARED[0]} must have the shape ({size}, {width}), vocab_size by d_model"
        raise DataError(f"{folder}: {rule}. Received: {received}")
    order = interleaved(width)
    bias = theirs.pop("final_logits_bias", np.zeros(size, np.float32)).reshape(-1)
    found = {"embedding/table": rows.table(table)[:, order], "embedding/output_bias": rows.bias(bias)}
    for name, array in theirs.items():
        if name in _TIED:
            _demand_tied(folder, name, array, table)
        elif name not in _POSITIONS:
            path, axes = _place(folder, name)
            ours = array.T if path.endswith("_kernel") else array
            for axis in axes:
                ours = np.take(ours, order, axis=axis)
            found[path] = ours
    return found


def interleaved(width: int) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Where each of our dimensions stands in theirs: first sine, first cosine, second sine, and so on.

    Of an odd width the sines are one more.
    """
    sines = (width + 1) // 2
    places = np.arange(width)
    return np.where(places % 2 == 0, places // 2, sines + places // 2)


def _demand_tied(folder: Path, name: str, array: Array, table: Array) -> None:
    if not np.array_equal(array, table):
        raise DataError(f"{folder}: {name} must be the same as {_SHARED[0]}. Received: other numbers")


def _place(folder: Path, name: str) -> tuple[str, Sequence[int]]:
    """Our path of one of their weights, and the axes of ours that the model's width is on."""
    parts = re.fullmatch(r"model\.(encoder|decoder)\.layers\.(\d+)\.([\w.]+)\.(weight|bias)", name)
    block = f"{parts[1]}/block_{parts[2]}" if parts else ""
    layer, kind = (parts[3], parts[4]) if parts else ("", "")
    role = "kernel" if kind == "weight" else "bias"
    if layer in _NORMS:
        return f"{block}/{_NORMS[layer]}/norm/{'gamma' if kind == 'weight' else 'beta'}", (0,)
    outer, _, inner = layer.partition(".")
    if outer in _ATTENTIONS and inner in _ROLES:
        return f"{block}/{_ATTENTIONS[outer]}/attention/{_ROLES[inner]}_{role}", _axes(_ROLES[inner], role)
    if layer in _NETWORK:
        return f"{block}/feed_forward/network/{_NETWORK[layer]}_{role}", _axes(_NETWORK[layer], role)
    raise DataError(f"{folder}: must hold a Marian model. Received: the weight {name}")


def _axes(projection: str, role: str) -> tuple[int, ...]:
    """The axes of the model's width: what comes out of an output, what goes into any other."""
    if role == "kernel":
        return (1,) if projection == "output" else (0,)
    return (0,) if projection == "output" else ()


def _decoding(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe's section: the search that is saved with the model."""
    file = folder / "generation_config.json"
    given = {**config, **(_json_object(file) if file.is_file() else {})}
    longest = given.get("max_length") or config.get("max_position_embeddings", 512)
    return {
        "beam": int(given.get("num_beams") or 1),
        "length_formula": "mean",
        "length_penalty": float(given.get("length_penalty", 1.0)),
        "max_length_factor": 0.0,
        "max_length_margin": max(int(longest) - 1, 1),
    }
