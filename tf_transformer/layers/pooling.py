"""Poolings: the states of a sequence to one vector, padding left out."""

from typing import Any

import keras
from keras import ops

from tf_transformer.layers.arguments import check_choice, check_positive, child_seed
from tf_transformer.ops import Tensor
from tf_transformer.ops.attention import project
from tf_transformer.ops.pooling import masked_softmax, max_pool, mean_pool

POOLING_KINDS = ("mean", "first", "max", "attention")


@keras.saving.register_keras_serializable("tf_transformer")
class Pooling(keras.layers.Layer):
    """Makes one vector of the states of a sequence.

    `mean` and `max` go over the real positions of each feature, `first` takes the state of the first position
    (that of a start or class token), `attention` is `AttentionPooling`.

    Args:
        kind: `"mean"`, `"first"`, `"max"` or `"attention"`.
        seed: Seed of the initial weights of `"attention"`, or None to draw them.

    Call arguments:
        inputs: Float tensor `[B, S, D]`.
        padding_mask: Boolean tensor `[B, S]`, True at real positions; by default all are real.

    Returns:
        Tensor `[B, D]` in the compute dtype; zeros for a row without a real position.

    Example:
        >>> import numpy as np
        >>> states = np.array([[[1.0, 5.0], [3.0, 1.0], [9.0, 9.0]]], "float32")
        >>> Pooling("mean")(states, padding_mask=np.array([[True, True, False]])).numpy().tolist()
        [[2.0, 3.0]]
    """

    def __init__(self, kind: str = "mean", seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_choice(POOLING_KINDS, kind=kind)
        self.kind = kind
        self.seed = seed
        self.supports_masking = True
        self._attention = None
        if kind == "attention":
            seed = child_seed(seed, "attention")
            self._attention = AttentionPooling(seed=seed, dtype=self.dtype_policy, name="attention")

    def build(self, inputs_shape: Any) -> None:
        if self._attention is not None:
            self._attention.build(inputs_shape)

    def call(self, inputs: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        return self.forward(inputs, padding_mask)[0]

    def forward(self, inputs: Tensor, padding_mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The vectors `[B, D]`, and the weights `[B, S]` of the positions where the kind has such."""
        if self._attention is not None:
            return self._attention.forward(inputs, padding_mask)
        if self.kind == "mean":
            return mean_pool(inputs, padding_mask), None
        if self.kind == "max":
            return max_pool(inputs, padding_mask), None
        first = inputs[:, 0]  # [B, D]
        if padding_mask is None:
            return first, None
        return ops.where(padding_mask[:, :1], first, ops.zeros_like(first)), None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "kind": self.kind, "seed": self.seed}


@keras.saving.register_keras_serializable("tf_transformer")
class AttentionPooling(keras.layers.Layer):
    """Additive self-attention pooling: a small network scores positions, and the states are weighed by it.

    `a = softmax(v . tanh(W h_s + b))` over the real positions s, and `sum of a_s h_s` ("Hierarchical
    Attention Networks for Document Classification", Yang et al., 2016, equations 5 to 7).

    Args:
        scoring_dim: Width of the scoring network; by default that of the states.
        seed: Seed of the initial weights, or None to draw them.

    Call arguments:
        inputs: Float tensor `[B, S, D]`.
        padding_mask: Boolean tensor `[B, S]`, True at real positions; by default all are real.
        return_attention_scores: Whether the weights are returned too.

    Returns:
        Vectors `[B, D]` in the compute dtype, or the pair of them and the weights `[B, S]` in float32.
        Weights are 0 at padding; a row without a real position has no other ones, and its vector is zeros.

    Example:
        >>> import numpy as np
        >>> pooling = AttentionPooling()
        >>> real = np.array([[True, False, True]])
        >>> _, weights = pooling(np.ones((1, 3, 2), "float32"), real, return_attention_scores=True)
        >>> weights.numpy().tolist()
        [[0.5, 0.0, 0.5]]
    """

    def __init__(self, scoring_dim: int | None = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_positive(scoring_dim=scoring_dim)
        self.scoring_dim = scoring_dim
        self.seed = seed
        self.supports_masking = True

    def build(self, inputs_shape: Any) -> None:
        width = int(inputs_shape[-1])
        inner = self.scoring_dim or width
        self.kernel = self._weight("kernel", (width, inner))
        self.bias = self.add_weight(name="bias", shape=(inner,), initializer="zeros", autocast=False)
        self.scorer = self._weight("scorer", (inner, 1))

    def _weight(self, name: str, shape: tuple[int, int]) -> keras.Variable:
        xavier = keras.initializers.GlorotUniform(seed=child_seed(self.seed, name))
        return self.add_weight(name=name, shape=shape, initializer=xavier, autocast=False)

    def call(
        self, inputs: Tensor, padding_mask: Tensor | None = None, return_attention_scores: bool = False
    ) -> Any:
        outputs, weights = self.forward(inputs, padding_mask)
        return (outputs, weights) if return_attention_scores else outputs

    def forward(self, inputs: Tensor, padding_mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The vectors `[B, D]` and the weights `[B, S]`."""
        kernel, bias, scorer = (
            ops.cast(weight, self.compute_dtype) for weight in (self.kernel, self.bias, self.scorer)
        )
        scores = project(ops.tanh(project(inputs, kernel, bias)), scorer)[:, :, 0]  # [B, S]
        weights = masked_softmax(scores, padding_mask)
        used = ops.cast(weights, self.compute_dtype)[:, None, :]  # [B, 1, S]
        # What stands at padding has no part in it, whatever it is: 0 times infinity would be NaN.
        states = inputs
        if padding_mask is not None:
            states = ops.where(padding_mask[:, :, None], inputs, ops.zeros_like(inputs))
        return ops.matmul(used, states)[:, 0], weights

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "scoring_dim": self.scoring_dim, "seed": self.seed}
