"""The encoder: self-attention and feed-forward, block upon block.

Under a causal mask, and with a cache, it is a decoder that has nothing to cross-attend to.
"""

from typing import Any

import keras

from tf_transformer.layers.block import Block, Stack
from tf_transformer.ops import Tensor
from tf_transformer.ops.masks import expand_mask


@keras.saving.register_keras_serializable("tf_transformer")
class EncoderBlock(Block):
    """One layer of the encoder: self-attention, then the feed-forward network, each in a `Residual`.

    "Attention Is All You Need" (Vaswani et al., 2017), section 3.1.

    Args:
        num_heads: The number H of heads; it must divide the width of the inputs.
        intermediate_dim: The width in the middle of the feed-forward network.
        **keywords: `dropout`, `attention_dropout`, `activation_dropout`, `activation`, `norm`, `norm_kind`,
            `epsilon`, `num_key_value_heads`, `positions`, `max_distance`, `residual_scale`, `initial_gain`,
            `seed`: see `BlockSettings`; and those of every Keras layer.

    Call arguments:
        inputs: Float tensor `[B, S, D]`.
        attention_mask: Boolean tensor `[B, S]`, `[B, S, S]` or `[B, H, S, S]` (any axis may be 1), True = may
            attend; by default everywhere.

    Returns:
        Tensor `[B, S, D]` in the compute dtype.

    Raises:
        ValueError: If `num_heads` does not divide D, or a setting is out of range.

    Example:
        >>> import numpy as np
        >>> block = EncoderBlock(num_heads=2, intermediate_dim=16, dropout=0.1)
        >>> tuple(block(np.ones((2, 3, 8), "float32"), attention_mask=np.ones((2, 3), bool)).shape)
        (2, 3, 8)
    """

    def build(self, inputs_shape: Any) -> None:
        self._self_attention = self._attention("self_attention", self.settings.positions)
        self._network = self._feed_forward("feed_forward")
        self._self_attention.build(inputs_shape)
        self._network.build(inputs_shape)

    def call(
        self, inputs: Tensor, attention_mask: Tensor | None = None, training: bool | None = None
    ) -> Tensor:
        mask = None if attention_mask is None else expand_mask(attention_mask)
        return self.forward(inputs, mask, training)[0]

    def forward(
        self,
        inputs: Tensor,
        mask: Tensor | None,
        training: bool | None,
        cache: dict[str, Tensor] | None = None,
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """One block over whole sequences, or over the next positions of sequences that a cache begins.

        Args:
            inputs: Tensor `[..., T, D]`.
            mask: Boolean tensor broadcastable to `[..., H, T, t + T]`, or None.
            training: Whether to drop out.
            cache: `key` and `value`, each `[..., G, t, d]`, of the positions before; None for t = 0.

        Returns:
            Outputs shaped like `inputs`, the attention weights `[..., H, T, t + T]`, and all keys and values.
        """
        outer = self._self_attention
        attended, weights, cache = outer.layer.attend_self(
            outer.enter(inputs), mask, cache, training=training
        )
        states = outer.leave(inputs, attended, training=training)
        return self._network(states, training=training), weights, cache


@keras.saving.register_keras_serializable("tf_transformer")
class Encoder(Stack):
    """A stack of encoder blocks; pre-norm blocks are followed by a final norm.

    Args:
        num_layers: The number of blocks.
        num_heads: This and all others as in `EncoderBlock`.
        share_layers: Whether one block stands at every depth, its weights used again (Lan et al., 2020).

    Call arguments:
        inputs: Float tensor `[B, S, D]`: embedded tokens with their positions, or any other vectors.
        attention_mask: As in `EncoderBlock`.

    Returns:
        Tensor `[B, S, D]` in the compute dtype.

    Example:
        >>> import numpy as np
        >>> encoder = Encoder(num_layers=2, num_heads=2, intermediate_dim=16, norm="pre")
        >>> tuple(encoder(np.ones((2, 3, 8), "float32")).shape)
        (2, 3, 8)
    """

    def build(self, inputs_shape: Any) -> None:
        self._blocks = self._make_blocks(EncoderBlock, inputs_shape)
        for block in self._blocks:
            block.build(inputs_shape)
        if self.final_norm is not None:
            self.final_norm.build(inputs_shape)

    def call(
        self, inputs: Tensor, attention_mask: Tensor | None = None, training: bool | None = None
    ) -> Tensor:
        mask = None if attention_mask is None else expand_mask(attention_mask)
        return self.forward(inputs, mask, training)[0]

    def forward(
        self,
        inputs: Tensor,
        mask: Tensor | None,
        training: bool | None,
        cache: list[dict[str, Tensor]] | None = None,
    ) -> tuple[Tensor, list[Tensor], list[dict[str, Tensor]]]:
        """All blocks over whole sequences, or over the next positions of some; see `EncoderBlock`."""
        states, all_weights, new_cache = inputs, [], []
        for index, block in enumerate(self._at_each_depth(self._blocks)):
            before = None if cache is None else cache[index]
            states, weights, block_cache = block.forward(states, mask, training, before)
            all_weights.append(weights)
            new_cache.append(block_cache)
        return self._finish(states), all_weights, new_cache
