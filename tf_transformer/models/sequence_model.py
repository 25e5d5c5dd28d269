"""What the models of ids have in common: how they make their parts from their settings, and their loss."""

from abc import abstractmethod
from dataclasses import asdict
from typing import Any

import keras
from keras import ops

from tf_transformer.layers.arguments import child_seed
from tf_transformer.layers.embedding import TokenEmbedding
from tf_transformer.layers.positional_encoding import PositionalEncoding
from tf_transformer.models.settings import ModelSettings
from tf_transformer.ops import Tensor
from tf_transformer.ops.consistency import consistent_cross_entropy
from tf_transformer.ops.projected_cross_entropy import projected_cross_entropy
from tf_transformer.presets import PAD_ID


class SequenceModel(keras.Model):
    """Base of the models of ids.

    All weights exist once a model is constructed. Padding (id 0) stands at the end of a sequence.

    Args:
        settings: What the model is made of.
        **keywords: Those of every Keras model.
    """

    def __init__(self, settings: ModelSettings, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.settings = settings
        self.max_length = settings.max_length

    def _own(self, name: str) -> dict[str, Any]:
        """What each part has for itself."""
        return {"seed": child_seed(self.settings.seed, name), "dtype": self.dtype_policy, "name": name}

    def _embedding(
        self, name: str, vocabulary_size: int, width: int, output_bias: bool = False
    ) -> TokenEmbedding:
        return TokenEmbedding(vocabulary_size, width, output_bias=output_bias, **self._own(name))

    def _positions(self, name: str) -> PositionalEncoding:
        return PositionalEncoding(**self.settings.position_keywords(), **self._own(name))

    def get_build_config(self) -> None:
        """Nothing: the constructor builds."""

    @abstractmethod
    def _scored_states(self, inputs: dict[str, Tensor], training: bool | None) -> tuple[Tensor, Tensor]:
        """The states `[B, T, D]` before the output table, and that table `[V, D]`."""

    def training_loss(
        self,
        inputs: dict[str, Tensor],
        labels: Tensor,
        label_smoothing: float = 0.0,
        training: bool | None = None,
        r_drop: float | None = None,
        chunk: int | None = None,
    ) -> Tensor:
        """The sum of `smoothed_cross_entropy(labels, self(inputs))` at less cost, for a training step.

        Args:
            inputs: As for `call`.
            labels: Integer tensor `[B, T]`, 0 where a position does not count.
            label_smoothing: Share of the target that is spread over all tokens but padding.
            training: Whether to drop out.
            r_drop: Weight of R-Drop's disagreement between two passes, the second one beside the first in a
                batch of twice the size (see `consistent_cross_entropy`); None for one pass without it.
            chunk: Positions whose logits are in memory at a time (see `projected_loss`); None for all.

        Returns:
            The cross-entropy of all labels in nats, a float32 scalar; with `r_drop` the mean of both passes',
            and their disagreement.
        """
        if r_drop is not None:
            inputs = {name: ops.concatenate([ids, ids]) for name, ids in inputs.items()}
        states, table = self._scored_states(inputs, training)
        how: dict[str, Any] = {"label_smoothing": label_smoothing, "ignore_id": PAD_ID, "chunk": chunk}
        if r_drop is not None:
            return consistent_cross_entropy(labels, states, table, r_drop, **how)
        return projected_cross_entropy(labels, states, table, **how)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **asdict(self.settings)}
