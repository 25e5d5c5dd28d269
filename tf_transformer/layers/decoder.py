"""The decoder: causal self-attention, cross-attention over a memory, and feed-forward, block upon block.

Whole sequences and single steps go through the same `forward`: a step differs only by the cache it is given.
"""

from typing import Any

import keras
from keras import ops

from tf_transformer.layers.block import Block, Stack
from tf_transformer.layers.multi_head_attention import side_by_side
from tf_transformer.ops import Tensor
from tf_transformer.ops.attention import project
from tf_transformer.ops.masks import causal_mask, combine_masks, expand_mask


@keras.saving.register_keras_serializable("tf_transformer")
class DecoderBlock(Block):
    """One layer of the decoder: causal self-attention, cross-attention, feed-forward, each in a `Residual`.

    "Attention Is All You Need" (Vaswani et al., 2017), section 3.1. No position ever attends to a later one.

    Args:
        num_heads: The number H of heads; it must divide the width of the inputs.
        intermediate_dim: The width in the middle of the feed-forward network.
        **keywords: `dropout`, `attention_dropout`, `activation_dropout`, `activation`, `norm`, `norm_kind`,
            `epsilon`, `num_key_value_heads`, `positions`, `max_distance`, `residual_scale`, `initial_gain`,
            `seed`: see `BlockSettings`; and those of every Keras layer.

    Call arguments:
        inputs: Float tensor `[B, T, D]`.
        memory: Float tensor `[B, S, D']`, what the encoder made; of any width, since keys and values are
            projections of it.
        attention_mask: Boolean tensor `[B, T]`, `[B, T, T]` or `[B, H, T, T]` (any axis may be 1), True = may
            attend, on top of causality; by default everything before is seen. Padding at the end needs none.
        cross_attention_mask: Boolean tensor `[B, S]`, `[B, T, S]` or `[B, H, T, S]` (any axis may be 1).

    Returns:
        Tensor `[B, T, D]` in the compute dtype.

    Raises:
        ValueError: If `num_heads` does not divide D, or a setting is out of range.

    Example:
        >>> import numpy as np
        >>> block = DecoderBlock(num_heads=2, intermediate_dim=16)
        >>> tuple(block(np.ones((2, 3, 8), "float32"), np.ones((2, 5, 8), "float32")).shape)
        (2, 3, 8)
    """

    def build(self, inputs_shape: Any, memory_shape: Any) -> None:
        self._self_attention = self._attention("self_attention", self.settings.positions)
        self._cross_attention = self._attention("cross_attention")
        self._network = self._feed_forward("feed_forward")
        self._self_attention.build(inputs_shape)
        self._cross_attention.build(inputs_shape, memory_shape)
        self._network.build(inputs_shape)

    @property
    def cross_attention(self) -> Any:
        """The `MultiHeadAttention` over the memory."""
        return self._cross_attention.layer

    def call(
        self,
        inputs: Tensor,
        memory: Tensor,
        attention_mask: Tensor | None = None,
        cross_attention_mask: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        masks = _decoder_masks(inputs, attention_mask, cross_attention_mask)
        return self.forward(inputs, self.cross_attention.project_memory(memory), *masks, training=training)[0]

    def forward(
        self,
        inputs: Tensor,
        memory_heads: list[Tensor],
        mask: Tensor | None,
        memory_mask: Tensor | None,
        cache: dict[str, Tensor] | None = None,
        training: bool | None = None,
    ) -> tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]:
        """One block over a whole sequence, or over the next position of K hypotheses that continue a cache.

        Args:
            inputs: Tensor `[B, T, D]`; with a cache `[B, K, D]`, one position of each hypothesis.
            memory_heads: Keys `[B, G, S, d]` and values `[B, G, S, d]` of the memory.
            mask: Boolean tensor `[B, H, T, T]` (any axis may be 1) or None; with a cache None.
            memory_mask: Boolean tensor `[B, H, T, S]` (any axis may be 1) or None.
            cache: `key` and `value`, each `[B, K, G, t, d]`, of the positions before; or None.
            training: Whether to drop out.

        Returns:
            Outputs shaped like `inputs`, weights `self` and `cross`, and the keys and values of
            self-attention.
        """
        outer = self._self_attention
        entered = outer.enter(inputs)
        if cache is not None:
            entered = entered[:, :, None, :]  # [B, K, 1, D]: to itself, each hypothesis is a sequence
        attended, self_weights, cache = outer.layer.attend_self(entered, mask, cache, training=training)
        # For the memory, the K hypotheses of one sentence are K queries: nothing is repeated K times.
        attended = ops.reshape(attended, ops.shape(inputs))
        states = outer.leave(inputs, attended, training=training)

        outer = self._cross_attention
        attended, cross_weights = outer.layer.attend_memory(
            outer.enter(states), *memory_heads, memory_mask, training=training
        )
        states = outer.leave(states, attended, training=training)
        weights = {"self": self_weights, "cross": cross_weights}
        return self._network(states, training=training), weights, cache


@keras.saving.register_keras_serializable("tf_transformer")
class Decoder(Stack):
    """A stack of decoder blocks over one memory; pre-norm blocks are followed by a final norm.

    Args:
        num_layers: The number of blocks.
        num_heads: This and all others as in `DecoderBlock`.
        share_layers: Whether one block stands at every depth, its weights used again (Lan et al., 2020).

    Call arguments:
        inputs: Float tensor `[B, T, D]`.
        memory: Float tensor `[B, S, D']`.
        attention_mask: As in `DecoderBlock`.
        cross_attention_mask: As in `DecoderBlock`.

    Returns:
        Tensor `[B, T, D]` in the compute dtype.

    Example:
        >>> import numpy as np
        >>> decoder = Decoder(num_layers=2, num_heads=2, intermediate_dim=16)
        >>> tuple(decoder(np.ones((2, 3, 8), "float32"), np.ones((2, 5, 8), "float32")).shape)
        (2, 3, 8)
    """

    def build(self, inputs_shape: Any, memory_shape: Any) -> None:
        self._blocks = self._make_blocks(DecoderBlock, inputs_shape)
        for block in self._blocks:
            block.build(inputs_shape, memory_shape)
        if self.final_norm is not None:
            self.final_norm.build(inputs_shape)

    def call(
        self,
        inputs: Tensor,
        memory: Tensor,
        attention_mask: Tensor | None = None,
        cross_attention_mask: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        masks = _decoder_masks(inputs, attention_mask, cross_attention_mask)
        return self.forward(inputs, self.project_memory(memory), *masks, training=training)[0]

    def project_memory(self, memory: Tensor) -> list[list[Tensor]]:
        """The cross-attention's keys and values `[B, G, S, d]` of every block, by a single product."""
        pairs = [block.cross_attention.kernel_and_bias(("key", "value")) for block in self._blocks]
        kernel = side_by_side([kernel for kernel, _ in pairs], self.compute_dtype)
        bias = side_by_side([bias for _, bias in pairs], self.compute_dtype)
        projected = project(memory, kernel, bias)  # [B, S, L*2*G*d]
        shape = (*ops.shape(memory)[:2], 2 * len(pairs), *self._key_value_shape)
        heads = ops.transpose(ops.reshape(projected, shape), (2, 0, 3, 1, 4))  # [L*2, B, G, S, d]
        # Not by indexing, whose gradients are L*2 tensors of the whole size, zero but for one part.
        parts = ops.unstack(heads, 2 * len(pairs))
        return self._at_each_depth([parts[index : index + 2] for index in range(0, len(parts), 2)])

    def forward(
        self,
        inputs: Tensor,
        memory_heads: list[list[Tensor]],
        mask: Tensor | None,
        memory_mask: Tensor | None,
        cache: list[dict[str, Tensor]] | None = None,
        training: bool | None = None,
    ) -> tuple[Tensor, list[dict[str, Tensor]], list[dict[str, Tensor]]]:
        """All blocks over a whole sequence, or over the next position of K hypotheses; see `DecoderBlock`."""
        states, all_weights, new_cache = inputs, [], []
        for index, block in enumerate(self._at_each_depth(self._blocks)):
            states, weights, block_cache = block.forward(
                states,
                memory_heads[index],
                mask,
                memory_mask,
                cache=None if cache is None else cache[index],
                training=training,
            )
            all_weights.append(weights)
            new_cache.append(block_cache)
        return self._finish(states), all_weights, new_cache


def _decoder_masks(
    inputs: Tensor, attention_mask: Tensor | None, cross_attention_mask: Tensor | None
) -> tuple[Tensor | None, Tensor | None]:
    mask = combine_masks(causal_mask(ops.shape(inputs)[1]), attention_mask)
    return mask, None if cross_attention_mask is None else expand_mask(cross_attention_mask)
