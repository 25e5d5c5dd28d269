"""A convolutional stem: what stands beside a position goes into its vector before any attention."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from tf_transformer.layers.arguments import check_positive, check_rate, child_seed
from tf_transformer.layers.dropout import Dropout
from tf_transformer.ops import Tensor
from tf_transformer.ops.attention import project


@keras.saving.register_keras_serializable("tf_transformer")
class ConvolutionalStem(keras.layers.Layer):
    """Adds to each position what convolutions of several widths see around it.

    `x + dropout(W [relu(conv_1(x)), relu(conv_2(x)), …])`: features of n-grams, as those of "Convolutional
    Neural Networks for Sentence Classification" (Kim, 2014), but one vector a position, for an encoder to go
    on with. Padding counts as zeros. Kernels start Xavier-uniform, so does W.

    Args:
        widths: Positions that each convolution sees; of an even number, one more to the right.
        filters: Features of each convolution; by default the width D of the inputs.
        dropout: Rate of the dropout on what is added.
        seed: Seed of the dropout and of the initial weights, or None to draw them.

    Call arguments:
        inputs: Float tensor `[B, S, D]`.
        padding_mask: Boolean tensor `[B, S]`, True at real positions; by default all are real.
        return_features: Whether what the convolutions see is returned too.

    Returns:
        Tensor `[B, S, D]` in the compute dtype, or the pair of it and the features before W, `[B, S, F]`.

    Example:
        >>> import numpy as np
        >>> tuple(ConvolutionalStem([2, 3])(np.ones((1, 5, 4), "float32")).shape)
        (1, 5, 4)
    """

    def __init__(
        self,
        widths: Sequence[int],
        filters: int | None = None,
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.widths = list(widths)
        if not self.widths:
            raise ValueError("Argument `widths` must name at least one width. Received: none")
        for width in self.widths:
            check_positive(widths=width)
        check_positive(filters=filters)
        check_rate(dropout=dropout)
        self.filters = filters
        self.dropout = dropout
        self.seed = seed
        self.supports_masking = True
        self._dropout = Dropout(
            dropout, seed=child_seed(seed, "dropout"), dtype=self.dtype_policy, name="dropout"
        )

    def build(self, inputs_shape: Any) -> None:
        self._dropout.build()
        hidden_dim = int(inputs_shape[-1])
        filters = self.filters or hidden_dim
        self.kernels, self.biases = [], []
        for place, width in enumerate(self.widths):
            self.kernels.append(self._kernel(f"kernel_{place}", (width, hidden_dim, filters)))
            self.biases.append(self._bias(f"bias_{place}", filters))
        self.output_kernel = self._kernel("output_kernel", (filters * len(self.widths), hidden_dim))
        self.output_bias = self._bias("output_bias", hidden_dim)

    def _kernel(self, name: str, shape: tuple[int, ...]) -> keras.Variable:
        xavier = keras.initializers.GlorotUniform(seed=child_seed(self.seed, name))
        return self.add_weight(name=name, shape=shape, initializer=xavier, autocast=False)

    def _bias(self, name: str, width: int) -> keras.Variable:
        return self.add_weight(name=name, shape=(width,), initializer="zeros", autocast=False)

    def call(
        self,
        inputs: Tensor,
        padding_mask: Tensor | None = None,
        training: bool | None = None,
        return_features: bool = False,
    ) -> Any:
        outputs, features = self.forward(inputs, padding_mask, training)
        return (outputs, features) if return_features else outputs

    def forward(
        self, inputs: Tensor, padding_mask: Tensor | None, training: bool | None
    ) -> tuple[Tensor, Tensor]:
        """The outputs `[B, S, D]`, and the features of all convolutions side by side: `[B, S, F]`."""
        dtype = self.compute_dtype
        real = inputs
        if padding_mask is not None:
            real = ops.where(padding_mask[:, :, None], inputs, ops.zeros_like(inputs))
        seen = [
            ops.relu(ops.conv(real, ops.cast(kernel, dtype), padding="same") + ops.cast(bias, dtype))
            for kernel, bias in zip(self.kernels, self.biases, strict=True)
        ]
        kernel, bias = ops.cast(self.output_kernel, dtype), ops.cast(self.output_bias, dtype)
        features = ops.concatenate(seen, axis=-1)
        added = project(features, kernel, bias)  # [B, S, D]
        return inputs + self._dropout(added, training=training), features

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "widths": self.widths,
            "filters": self.filters,
            "dropout": self.dropout,
            "seed": self.seed,
        }
