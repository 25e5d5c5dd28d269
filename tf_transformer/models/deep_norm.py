"""What makes post-norm trainable with many layers: a heavier shortcut, and smaller initial kernels."""

from typing import Any


def deep_norm(num_encoder_layers: int, num_decoder_layers: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The constants of DeepNorm for an encoder and the decoder that reads it.

    "DeepNet: Scaling Transformers to 1,000 Layers" (Wang et al., 2022), figure 2: with N layers in the
    encoder and M in the decoder, a residual is `norm(alpha * x + layer(x))`, and the initial kernels of
    values, outputs and feed-forward networks are Xavier's times beta,

        encoder: alpha = 0.81 (N^4 M)^(1/16), beta = 0.87 (N^4 M)^(-1/16);
        decoder: alpha = (3 M)^(1/4), beta = (12 M)^(-1/4),

    so that an update changes what the model computes by no more the deeper it is.

    Args:
        num_encoder_layers: N.
        num_decoder_layers: M.

    Returns:
        `residual_scale` and `initial_gain` for `Encoder`, and for `Decoder`.
    """
    size, depth = num_encoder_layers**4 * num_decoder_layers, num_decoder_layers
    encoder = {"residual_scale": 0.81 * size**0.0625, "initial_gain": 0.87 * size**-0.0625}
    return encoder, {"residual_scale": (3 * depth) ** 0.25, "initial_gain": (12 * depth) ** -0.25}


def deep_norm_alone(num_layers: int) -> dict[str, Any]:
    """The constants of DeepNorm for N layers without cross-attention, an encoder or a decoder by itself.

    Figure 2 of the same paper: alpha = (2 N)^(1/4), beta = (8 N)^(-1/4).

    Args:
        num_layers: N.

    Returns:
        `residual_scale` and `initial_gain` for `Encoder`.
    """
    return {"residual_scale": (2 * num_layers) ** 0.25, "initial_gain": (8 * num_layers) ** -0.25}
