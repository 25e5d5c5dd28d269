"""A Transformer in the words of CTranslate2's own specification of one.

What CTranslate2 has under another form is brought into its form here, without changing what is computed:

- Positions that are added to embeddings, whatever their formula, become a table, as learned ones are.
- Shared heads of keys and values are written once for each head of the queries.
- The constant alpha of DeepNorm multiplies a shortcut; the other side is divided by it instead, since a norm
  undoes a common factor.
- One block that stands at every depth is written at every depth; in the file it is there once.

Kernels are ``[inputs, outputs]`` here and ``[outputs, inputs]`` there.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from ctranslate2.specs import TransformerSpec, common_spec, transformer_spec
from keras import ops

from tf_transformer.errors import ExportError
from tf_transformer.ops.positions import index_positions, sinusoidal_positions, timescale_positions
from tf_transformer.presets import END_ID, SPECIAL_TOKENS, START_ID, UNKNOWN_ID

Array = np.ndarray[Any, Any]

_ACTIVATIONS = {
    "relu": common_spec.Activation.RELU,
    "gelu": common_spec.Activation.GELU,
    "gelu_tanh": common_spec.Activation.GELUTanh,
    "swish": common_spec.Activation.SWISH,
    "swiglu": common_spec.Activation.SWISH,
}
_TABLES = {
    "sinusoidal": sinusoidal_positions,
    "timescale": timescale_positions,
    "index": index_positions,
}


def check_model(settings: Any) -> None:
    """Refuses a model that CTranslate2 has no form for.

    Args:
        settings: A `TransformerSettings`.

    Raises:
        ExportError: Then; names the recipe's key.
    """
    if settings.positions == "alibi":
        raise ExportError(
            "model.positions: CTranslate2 has no alibi in encoders; export with --format savedmodel"
        )


def specification(model: Any, source: list[str], target: list[str], num_positions: tuple[int, int]) -> Any:
    """The specification of a model, with its weights and vocabularies.

    Args:
        model: A `Transformer` in float32.
        source: The spelling of each source id; all different.
        target: Likewise of each target id.
        num_positions: How many positions encoder and decoder know, where they are added to embeddings.

    Raises:
        ExportError: See `check_model`.
    """
    settings = model.settings
    check_model(settings)
    weights = {variable.path.split("/", 1)[1]: variable.numpy() for variable in model.weights}
    common = _keywords(model.encoder.settings, settings)
    encoder = transformer_spec.TransformerEncoderSpec(
        model.encoder.num_layers, model.encoder.settings.num_heads, **common
    )
    decoder = transformer_spec.TransformerDecoderSpec(
        model.decoder.num_layers,
        model.decoder.settings.num_heads,
        # The mean of all heads of the last block but one, as `models.aligning` has it.
        alignment_layer=max(model.decoder.num_layers - 2, 0),
        alignment_heads=0,
        **common,
    )
    _set_stack(encoder, model.encoder, weights, "encoder")
    _set_stack(decoder, model.decoder, weights, "decoder")
    tables = [
        weights.get(f"{name}_embedding/table", weights.get("embedding/table"))
        for name in ("source", "target")
    ]
    encoder.embeddings[0].weight, decoder.embeddings.weight = tables
    decoder.projection.weight = weights.get("output_embedding/table", tables[1])
    if model.output_embedding.bias is not None:
        decoder.projection.bias = model.output_embedding.bias.numpy()
    for spec, side, number in zip((encoder, decoder), ("source", "target"), num_positions, strict=True):
        _set_positions(spec, settings, weights, side, number)
    return _with_vocabularies(TransformerSpec(encoder, decoder), source, target, settings.epsilon)


def _keywords(stack: Any, settings: Any) -> dict[str, Any]:
    rotary = {"rotary_dim": 0, "rotary_interleave": False} if stack.positions == "rotary" else {}
    return {
        "pre_norm": stack.norm == "pre",
        "activation": _ACTIVATIONS[stack.activation],
        "ffn_glu": stack.activation == "swiglu",
        "rms_norm": stack.norm_kind == "rms",
        "layernorm_embedding": settings.embedding_norm,
        "relative_position": stack.positions == "relative",
        **rotary,
    }


def _with_vocabularies(spec: Any, source: list[str], target: list[str], epsilon: float) -> Any:
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    config = spec.config
    config.unk_token, config.bos_token = SPECIAL_TOKENS[UNKNOWN_ID], SPECIAL_TOKENS[START_ID]
    config.eos_token = SPECIAL_TOKENS[END_ID]
    config.decoder_start_token = config.bos_token
    config.add_source_eos = True
    config.layer_norm_epsilon = epsilon
    return spec


def _set_positions(spec: Any, settings: Any, weights: Mapping[str, Array], side: str, number: int) -> None:
    if settings.embedding_norm:
        _set_norm(spec.layernorm_embedding, weights, f"{side}_positions/norm")
    kind = settings.positions
    if kind in ("relative", "rotary"):
        return
    table = spec.embeddings[0].weight if side == "source" else spec.embeddings.weight
    if kind == "learned":
        spec.position_encodings.encodings = weights[f"{side}_positions/table"]
    elif kind == "none":  # it adds a formula of its own where there is no table
        spec.position_encodings.encodings = np.zeros((number, table.shape[1]), np.float32)
    else:
        encoded = _TABLES[kind](ops.arange(number), table.shape[1])
        spec.position_encodings.encodings = ops.convert_to_numpy(encoded)


def _set_stack(spec: Any, stack: Any, weights: Mapping[str, Array], name: str) -> None:
    settings = stack.settings
    if stack.final_norm is not None:
        _set_norm(spec.layer_norm, weights, f"{name}/final_norm")
    for depth, layer in enumerate(spec.layer):
        block = f"{name}/block_{0 if stack.share_layers else depth}"
        _set_attention(layer.self_attention, settings, weights, f"{block}/self_attention")
        if name == "decoder":
            _set_attention(layer.attention, settings, weights, f"{block}/cross_attention")
        _set_feed_forward(layer.ffn, settings, weights, f"{block}/feed_forward")


def _set_attention(spec: Any, settings: Any, weights: Mapping[str, Array], name: str) -> None:
    parts = [
        _projection(weights, f"{name}/attention/{role}", repeats)
        for role, repeats in (("query", None), ("key", settings), ("value", settings))
    ]
    output = _projection(weights, f"{name}/attention/output")
    # Self-attention multiplies by all three at once, cross-attention by keys and values.
    groups = [parts] if len(spec.linear) == 2 else [parts[:1], parts[1:]]
    for linear, several in zip(spec.linear, groups, strict=False):
        kernel, bias = (np.concatenate(arrays, axis=-1) for arrays in zip(*several, strict=True))
        _set_linear(linear, kernel, bias)
    _set_linear(spec.linear[-1], *output, settings.residual_scale)
    if hasattr(spec, "relative_position_keys"):
        spec.relative_position_keys = weights[f"{name}/attention/positions/key_table"]
        spec.relative_position_values = weights[f"{name}/attention/positions/value_table"]
    _set_norm(spec.layer_norm, weights, f"{name}/norm")


def _set_feed_forward(spec: Any, settings: Any, weights: Mapping[str, Array], name: str) -> None:
    inner = _projection(weights, f"{name}/network/inner")
    if settings.activation == "swiglu":
        _set_linear(spec.linear_0, *_projection(weights, f"{name}/network/gate"))
        _set_linear(spec.linear_0_noact, *inner)
    else:
        _set_linear(spec.linear_0, *inner)
    _set_linear(spec.linear_1, *_projection(weights, f"{name}/network/output"), settings.residual_scale)
    _set_norm(spec.layer_norm, weights, f"{name}/norm")


def _projection(weights: Mapping[str, Array], name: str, shared: Any = None) -> tuple[Array, Array]:
    """Kernel and bias; with ``shared``, the settings of a block, those of each head of the queries."""
    kernel, bias = weights[f"{name}_kernel"], weights[f"{name}_bias"]
    groups = None if shared is None else shared.num_key_value_heads
    if groups is None:
        return kernel, bias
    repeats = shared.num_heads // groups

    def of_each_head(array: Array) -> Array:
        heads = array.reshape(*array.shape[:-1], groups, -1)
        return np.repeat(heads, repeats, axis=-2).reshape(*array.shape[:-1], -1)

    return of_each_head(kernel), of_each_head(bias)


def _set_linear(spec: Any, kernel: Array, bias: Array, scale: float = 1.0) -> None:
    spec.weight = np.ascontiguousarray(kernel.T / scale, np.float32)
    spec.bias = np.ascontiguousarray(bias / scale, np.float32)


def _set_norm(spec: Any, weights: Mapping[str, Array], name: str) -> None:
    spec.gamma = weights[f"{name}/gamma"]
    if hasattr(spec, "beta"):
        spec.beta = weights[f"{name}/beta"]
