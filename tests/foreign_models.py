"""Models of other systems, small and made by hand, and what those systems compute, in plain NumPy."""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

TEXTS = ["a cab bed", "bad cafe face", "dead bee fade", "add a feed", "cab fee", "beef ace"]
Array = np.ndarray
Dense = Callable[[Array, str], Array]


def sentencepiece_model(texts: list[str], size: int, kind: str = "unigram") -> bytes:
    """A model as `transformers` expects one: the end is 0, the unknown piece 1, and there are no others."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts * 3),
        model_writer=model,
        vocab_size=size,
        model_type=kind,
        hard_vocab_limit=False,
        eos_id=0,
        unk_id=1,
        bos_id=-1,
        pad_id=-1,
        minloglevel=2,
    )
    return model.getvalue()


def pieces_of(model: bytes) -> list[str]:
    """The pieces behind the end and the unknown one."""
    import sentencepiece

    found = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [found.id_to_piece(number) for number in range(2, found.get_piece_size())]


def normalized(x: Array, gain: Array, shift: Array, epsilon: float) -> Array:
    """Layer norm."""
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon) * gain + shift


def attended(query: Array, key: Array, value: Array, num_heads: int, mask: Array) -> Array:
    """Attention of projected `[T, D]` over `[S, D]`, heads side by side; `mask` `[T, S]`."""
    outputs = []
    for q, k, v in zip(*(np.split(part, num_heads, -1) for part in (query, key, value)), strict=True):
        scores = np.where(mask, q @ k.T / np.sqrt(q.shape[-1]), -np.inf)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        outputs.append(shares / shares.sum(-1, keepdims=True) @ v)
    return np.concatenate(outputs, -1)


def causal(length: int) -> Array:
    return np.tril(np.ones((length, length), bool))


# Marian

MARIAN: dict[str, Any] = {
    "model_type": "marian",
    "d_model": 12,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 3,
    "encoder_ffn_dim": 7,
    "decoder_ffn_dim": 11,
    "activation_function": "swish",
    "scale_embedding": True,
    "static_position_embeddings": True,
    "max_position_embeddings": 29,
    "num_beams": 2,
    "eos_token_id": 0,
}


def write_marian(folder: Path, **changes: Any) -> dict[str, Array]:
    """Writes a model of random weights, and returns them.

    The vocabulary has another order than the SentencePiece models; one piece of the source is not in it, and
    the models share some pieces.
    """
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    models = {
        "source": sentencepiece_model(TEXTS, 19),
        "target": sentencepiece_model(["dead bee", "a bead", "bade"], 13),
    }
    for side, model in models.items():
        (folder / f"{side}.spm").write_bytes(model)
    source, target = (pieces_of(model) for model in models.values())
    lacking = next(piece for piece in source[::-1] if piece not in target)
    pieces = sorted({*source, *target} - {lacking}, reverse=True)
    tokens = ["</s>", "<unk>", *pieces, "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({token: row for row, token in enumerate(tokens)}))
    pad = len(tokens) - 1
    config = {**MARIAN, "vocab_size": len(tokens), "pad_token_id": pad, "decoder_start_token_id": pad}
    (folder / "config.json").write_text(json.dumps({**config, **changes}))
    weights = dict(marian_weights(len(tokens)))
    save_file(weights, folder / "model.safetensors")
    return weights


def marian_weights(size: int) -> Iterator[tuple[str, Array]]:
    """By the names that `transformers` gives them; kernels are `[outputs, inputs]`."""
    draw = np.random.default_rng(5)
    width = MARIAN["d_model"]

    def normal(*shape: int) -> Array:
        return draw.normal(0, 0.5, shape).astype("float32")

    yield "model.shared.weight", normal(size, width)
    yield "final_logits_bias", normal(1, size)
    for stack in ("encoder", "decoder"):
        for layer in range(MARIAN[f"{stack}_layers"]):
            begin, inner = f"model.{stack}.layers.{layer}", MARIAN[f"{stack}_ffn_dim"]
            attentions = ["self_attn", *(["encoder_attn"] if stack == "decoder" else [])]
            for attention in attentions:
                for role in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    yield f"{begin}.{attention}.{role}.weight", normal(width, width)
                    yield f"{begin}.{attention}.{role}.bias", normal(width)
            for name, outputs, inputs in (("fc1", inner, width), ("fc2", width, inner)):
                yield f"{begin}.{name}.weight", normal(outputs, inputs)
                yield f"{begin}.{name}.bias", normal(outputs)
            for norm in (*(f"{one}_layer_norm" for one in attentions), "final_layer_norm"):
                yield f"{begin}.{norm}.weight", 1 + normal(width)
                yield f"{begin}.{norm}.bias", normal(width)


def marian_logits(weights: dict[str, Array], source: list[int], target: list[int]) -> Array:
    """Logits `[T, V]` of one pair of sentences without padding: post-norm, swish, sines before cosines."""

    def dense(x: Array, name: str) -> Array:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: Array, name: str) -> Array:
        return normalized(x, weights[f"{name}.weight"], weights[f"{name}.bias"], 1e-5)

    def embedded(ids: list[int]) -> Array:
        width = MARIAN["d_model"]
        angles = np.arange(len(ids))[:, None] / 10_000.0 ** (2 * np.arange(width // 2) / width)
        positions = np.concatenate([np.sin(angles), np.cos(angles)], -1)
        return weights["model.shared.weight"][ids] * np.sqrt(width) + positions

    def attention(x: Array, memory: Array, name: str, num_heads: int, mask: Array) -> Array:
        projected = (dense(x, f"{name}.q_proj"), *(dense(memory, f"{name}.{one}_proj") for one in "kv"))
        return dense(attended(*projected, num_heads, mask), f"{name}.out_proj")

    def stack(x: Array, name: str, mask: Array, memory: Array | None = None) -> Array:
        heads = MARIAN[f"{name}_attention_heads"]
        for layer in range(MARIAN[f"{name}_layers"]):
            begin = f"model.{name}.layers.{layer}"
            x = norm(x + attention(x, x, f"{begin}.self_attn", heads, mask), f"{begin}.self_attn_layer_norm")
            if memory is not None:
                seen = np.ones((len(x), len(memory)), bool)
                outputs = attention(x, memory, f"{begin}.encoder_attn", heads, seen)
                x = norm(x + outputs, f"{begin}.encoder_attn_layer_norm")
            inner = dense(x, f"{begin}.fc1")
            x = norm(x + dense(inner / (1 + np.exp(-inner)), f"{begin}.fc2"), f"{begin}.final_layer_norm")
        return x

    memory = stack(embedded(source), "encoder", np.ones((len(source), len(source)), bool))
    states = stack(embedded(target), "decoder", causal(len(target)), memory)
    return states @ weights["model.shared.weight"].T + weights["final_logits_bias"][0]


# OpenNMT-tf

OPENNMT_PIECES = 16
WIDTH, HEADS, INNER = 12, 3, 7


def write_opennmt(folder: Path, *, positions: str = "sinusoidal", pre_norm: bool = True) -> dict[str, Array]:
    """Writes a checkpoint as OpenNMT-tf lays one out, with vocabulary, SentencePiece model and YAML file.

    Args:
        folder: Where to.
        positions: "sinusoidal", "relative" or "both".
        pre_norm: As of its Transformer.

    Returns:
        The weights by their paths.
    """
    import tensorflow as tf

    folder.mkdir(parents=True, exist_ok=True)
    model = sentencepiece_model(TEXTS, OPENNMT_PIECES)
    (folder / "sp.model").write_bytes(model)
    pieces = sorted(pieces_of(model), reverse=True)
    (folder / "vocab.txt").write_text("".join(f"{one}\n" for one in ["<blank>", "<s>", "</s>", *pieces]))
    (folder / "data.yml").write_text(
        "data: {source_vocabulary: vocab.txt, target_vocabulary: vocab.txt}\nparams: {beam_width: 2}\n"
    )
    weights = dict(opennmt_weights(len(pieces) + 4, positions != "sinusoidal", pre_norm))
    root: dict[str, Any] = {}
    for path, value in weights.items():
        node = root
        *parents, name = path.split("/")
        for parent in parents:
            node = node.setdefault(parent, {})
        node[name] = tf.Variable(value)
    if positions != "relative":
        for stack in ("encoder", "decoder"):
            root[stack]["position_encoder"] = tf.Module()
    tf.train.Checkpoint(model=_tracked(root)).write(str(folder / "ckpt-7"))
    return weights


def _tracked(node: Any) -> Any:
    """Dictionaries as objects with attributes: the paths of a checkpoint are their names."""
    import tensorflow as tf

    if not isinstance(node, dict):
        return node
    made = tf.train.Checkpoint()
    for name, child in node.items():
        made._track_trackable(_tracked(child), name)
    return made


def opennmt_weights(size: int, relative: bool, pre_norm: bool) -> Iterator[tuple[str, Array]]:
    """By their paths in a checkpoint; one layer each."""
    draw = np.random.default_rng(5)

    def normal(*shape: int) -> Array:
        return draw.normal(0, 0.5, shape).astype("float32")

    def norm(path: str) -> Iterator[tuple[str, Array]]:
        yield f"{path}/gamma", 1 + normal(WIDTH)
        yield f"{path}/beta", normal(WIDTH)

    yield "examples_inputter/features_inputter/embedding", normal(size, WIDTH)
    yield "decoder/output_layer/bias", normal(size)
    which = "input_layer_norm" if pre_norm else "output_layer_norm"
    for stack in ("encoder", "decoder"):
        if pre_norm:
            yield from norm(f"{stack}/layer_norm")
        begin = f"{stack}/layers/0"
        attentions = ["self_attention", *(["attention/0"] if stack == "decoder" else [])]
        for attention in attentions:
            for role in ("queries", "keys", "values", "output"):
                yield f"{begin}/{attention}/layer/linear_{role}/kernel", normal(WIDTH, WIDTH)
                yield f"{begin}/{attention}/layer/linear_{role}/bias", normal(WIDTH)
            if relative and attention == "self_attention":
                for role in ("keys", "values"):
                    yield f"{begin}/{attention}/layer/relative_position_{role}", normal(5, WIDTH // HEADS)
            yield from norm(f"{begin}/{attention}/{which}")
        for name, shape in (("inner", (WIDTH, INNER)), ("outer", (INNER, WIDTH))):
            yield f"{begin}/ffn/layer/{name}/kernel", normal(*shape)
            yield f"{begin}/ffn/layer/{name}/bias", normal(shape[1])
        yield from norm(f"{begin}/ffn/{which}")


def opennmt_logits(weights: dict[str, Array], source: list[int], target: list[int]) -> Array:
    """Logits `[T, V]` of a sinusoidal model: positions from 1, norms with an epsilon of 0.001."""
    table = weights["examples_inputter/features_inputter/embedding"]
    pre_norm = "encoder/layer_norm/gamma" in weights

    def dense(x: Array, path: str) -> Array:
        return x @ weights[f"{path}/kernel"] + weights[f"{path}/bias"]

    def norm(x: Array, path: str) -> Array:
        return normalized(x, weights[f"{path}/gamma"], weights[f"{path}/beta"], 1e-3)

    def wrapped(x: Array, path: str, part: Callable[[Array], Array]) -> Array:
        if pre_norm:
            return x + part(norm(x, f"{path}/input_layer_norm"))
        return norm(x + part(x), f"{path}/output_layer_norm")

    def embedded(ids: list[int]) -> Array:
        scales = np.exp(np.arange(WIDTH // 2) * -np.log(10_000.0) / (WIDTH // 2 - 1))
        angles = np.arange(1, len(ids) + 1)[:, None] * scales
        return table[ids] * np.sqrt(WIDTH) + np.concatenate([np.sin(angles), np.cos(angles)], -1)

    def attention(x: Array, memory: Array, path: str, mask: Array) -> Array:
        query = dense(x, f"{path}/linear_queries")
        key, value = (dense(memory, f"{path}/linear_{role}") for role in ("keys", "values"))
        return dense(attended(query, key, value, HEADS, mask), f"{path}/linear_output")

    def stack(x: Array, name: str, mask: Array, memory: Array | None = None) -> Array:
        begin = f"{name}/layers/0"
        own = f"{begin}/self_attention"
        x = wrapped(x, own, lambda inner: attention(inner, inner, f"{own}/layer", mask))
        if memory is not None:
            cross, seen = f"{begin}/attention/0", np.ones((len(x), len(memory)), bool)
            x = wrapped(x, cross, lambda inner: attention(inner, memory, f"{cross}/layer", seen))
        network = f"{begin}/ffn"
        x = wrapped(
            x,
            network,
            lambda inner: dense(
                np.maximum(dense(inner, f"{network}/layer/inner"), 0), f"{network}/layer/outer"
            ),
        )
        return norm(x, f"{name}/layer_norm") if pre_norm else x

    memory = stack(embedded(source), "encoder", np.ones((len(source), len(source)), bool))
    states = stack(embedded(target), "decoder", causal(len(target)), memory)
    return states @ table.T + weights["decoder/output_layer/bias"]
