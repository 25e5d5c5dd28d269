"""Pictures to vectors: patches of pixels, by one projection or through a few convolutions."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from tf_transformer.arguments import whole_number
from tf_transformer.layers.arguments import check_choice, check_positive, check_rate, child_seed
from tf_transformer.layers.layer_normalization import LayerNormalization
from tf_transformer.layers.positional_encoding import PositionalEncoding
from tf_transformer.layers.scaling import channel_numbers, check_widths, standardized
from tf_transformer.ops import Tensor
from tf_transformer.ops.positions import sinusoidal_grid_positions

GRID_POSITIONS = ("learned", "sinusoidal", "none")
WHITE = 255.0
"""The brightest value of a pixel."""


@keras.saving.register_keras_serializable("tf_transformer")
class PatchEmbedding(keras.layers.Layer):
    """Cuts pictures into patches and makes a vector of each, with its place in the picture.

    Without a stem, a patch is projected as it is ("An Image is Worth 16x16 Words", Dosovitskiy et al., 2021).
    A stem is a few 3x3 convolutions, each followed by a layer norm over its channels and GELU, before that
    projection; the last of them halve height and width, as often as the patch size is even, so that the
    number of patches is the same ("Early Convolutions Help Transformers See Better", Xiao et al., 2021).
    Pixels are scaled to 0..1 and standardised in here: whoever feeds the layer, in training or in serving,
    feeds pixels. A layer that a `Classifier` or a `Transformer` can have before its encoder.

    Args:
        hidden_dim: The width D of a vector.
        patch_size: Pixels from one patch to the next, in both directions; it divides height and width.
        overlap: How far a patch reads beyond its border, in pixels of what the stem gives.
        stem: Channels of each convolution of the stem; none for no stem.
        positions: `"learned"` (a trained vector for each place), `"sinusoidal"` (in two dimensions, see
            `ops.positions`) or `"none"`.
        class_token: Whether a trained vector that stands for the whole picture comes before the patches.
        mean: What is taken from a pixel between 0 and 1: one number, or one a channel.
        deviation: What the difference is divided by, likewise; above 0.
        dropout: Rate of the dropout on the vectors.
        seed: Seed of the dropout and of the initial weights, or None to draw one.

    Call arguments:
        inputs: Tensor `[B, height, width, channels]` of pixels from 0 to 255, integers or floats.

    Returns:
        Tensor `[B, N, D]` in the compute dtype, N patches row by row, and the class token before them.

    Raises:
        ValueError: If the height or the width of the pictures is not known, or no multiple of `patch_size`.

    Example:
        >>> import numpy as np
        >>> embedding = PatchEmbedding(hidden_dim=8, patch_size=2, class_token=True)
        >>> tuple(embedding(np.zeros((1, 4, 6, 3), "uint8")).shape)
        (1, 7, 8)
    """

    inputs = ("images",)
    COUNTS: tuple[str, ...] = ()

    def __init__(
        self,
        hidden_dim: int,
        patch_size: int = 4,
        overlap: int = 0,
        stem: Sequence[int] = (),
        positions: str = "learned",
        class_token: bool = False,
        mean: float | Sequence[float] = 0.5,
        deviation: float | Sequence[float] = 0.5,
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive(hidden_dim=hidden_dim, patch_size=patch_size)
        check_choice(GRID_POSITIONS, positions=positions)
        check_rate(dropout=dropout)
        self.hidden_dim = hidden_dim
        self.patch_size = patch_size
        self.overlap = whole_number("overlap", overlap, 0)
        self.stem = [whole_number("stem", channels, 1) for channels in stem]
        self.positions = positions
        self.class_token = class_token
        self.mean = channel_numbers("mean", mean)
        self.deviation = channel_numbers("deviation", deviation, above=0.0)
        self.dropout = dropout
        self.seed = seed

    def build(self, inputs_shape: Any) -> None:
        channels = int(inputs_shape[3])
        check_widths(channels, mean=self.mean, deviation=self.deviation)
        self.grid = patch_grid(inputs_shape[1], inputs_shape[2], self.patch_size)
        self._convolutions, self._norms, reduction = [], [], 1
        for number, stride in enumerate(self._strides()):
            name = f"stem_{number}"
            self._convolutions.append(self._convolution(name, self.stem[number], 3, stride))
            self._norms.append(LayerNormalization(dtype=self.dtype_policy, name=f"{name}_norm"))
            self._convolutions[-1].build((None, None, None, channels))
            channels, reduction = self.stem[number], reduction * stride
            self._norms[-1].build((None, None, None, channels))
        step = self.patch_size // reduction
        self._projection = self._convolution("projection", self.hidden_dim, step + 2 * self.overlap, step)
        self._projection.build((None, None, None, channels))
        if self.class_token:
            self.class_vector = self._class_vector()
        self._place = self._placing()
        self._place.build((None, self.grid[0] * self.grid[1], self.hidden_dim))

    def _strides(self) -> list[int]:
        """The stride of each convolution: 2 of the last ones, as often as the patch size can be halved."""
        halvings, size = 0, self.patch_size
        while size % 2 == 0 and halvings < len(self.stem):
            halvings, size = halvings + 1, size // 2
        return [1] * (len(self.stem) - halvings) + [2] * halvings

    def _convolution(self, name: str, filters: int, kernel_size: int, stride: int) -> keras.layers.Conv2D:
        # With "same", a kernel as wide as its stride pads nothing, and a wider one pads the borders alike.
        seed = child_seed(self.seed, name)
        initializer = keras.initializers.VarianceScaling(1.0, "fan_in", "truncated_normal", seed=seed)
        return keras.layers.Conv2D(
            filters,
            kernel_size,
            strides=stride,
            padding="same",
            data_format="channels_last",
            kernel_initializer=initializer,
            dtype=self.dtype_policy,
            name=name,
        )

    def _class_vector(self) -> Any:
        seed = child_seed(self.seed, "class_vector")
        initializer = keras.initializers.RandomNormal(stddev=self.hidden_dim**-0.5, seed=seed)
        return self.add_weight(
            name="class_vector", shape=(1, 1, self.hidden_dim), initializer=initializer, autocast=False
        )

    def _placing(self) -> PositionalEncoding:
        return PositionalEncoding(
            "learned" if self.positions == "learned" else "none",
            max_length=self.grid[0] * self.grid[1],
            dropout=self.dropout,
            seed=child_seed(self.seed, "positions"),
            dtype=self.dtype_policy,
            name="positions",
        )

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        pixels = ops.cast(inputs, "float32") / WHITE
        states = ops.cast(standardized(pixels, self.mean, self.deviation), self.compute_dtype)
        for convolution, norm in zip(self._convolutions, self._norms, strict=True):
            states = ops.gelu(norm(convolution(states)), approximate=False)
        states = self._projection(states)  # [B, rows, columns, D]
        states = ops.reshape(states, (-1, self.grid[0] * self.grid[1], self.hidden_dim))  # [B, N, D]
        if self.positions == "sinusoidal":
            places = sinusoidal_grid_positions(*self.grid, self.hidden_dim)
            states = ops.cast(ops.cast(states, "float32") + places, self.compute_dtype)
        states = self._place(states, training=training)
        if not self.class_token:
            return states
        first = ops.cast(self.class_vector, self.compute_dtype)
        first = ops.broadcast_to(first, (ops.shape(states)[0], 1, self.hidden_dim))
        return ops.concatenate([first, states], axis=1)  # [B, 1 + N, D]

    def padding_mask(self, inputs: Tensor) -> None:
        """None: all of a picture is real."""

    def counts(self, inputs: Tensor) -> dict[str, Tensor]:
        """Nothing: pictures are counted as examples."""
        return {}

    def compute_output_shape(self, inputs_shape: Any) -> tuple[Any, ...]:
        rows, columns = patch_grid(inputs_shape[1], inputs_shape[2], self.patch_size)
        return (inputs_shape[0], rows * columns + int(self.class_token), self.hidden_dim)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "hidden_dim": self.hidden_dim,
            "patch_size": self.patch_size,
            "overlap": self.overlap,
            "stem": self.stem,
            "positions": self.positions,
            "class_token": self.class_token,
            "mean": self.mean,
            "deviation": self.deviation,
            "dropout": self.dropout,
            "seed": self.seed,
        }


def patch_grid(height: int | None, width: int | None, patch_size: int) -> tuple[int, int]:
    """The rows and columns of patches that a picture has.

    Raises:
        ValueError: If height or width is unknown, or no multiple of the patch size.
    """
    if height is None or width is None:
        raise ValueError(
            f"The height and the width of pictures must be known. Received: height={height}, width={width}"
        )
    if height % patch_size or width % patch_size:
        raise ValueError(
            f"The height and the width of pictures must be multiples of `patch_size`, {patch_size}. "
            f"Received: height={height}, width={width}"
        )
    return height // patch_size, width // patch_size
