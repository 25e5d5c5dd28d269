"""An encoder that gives a class to a whole text, picture or sequence of vectors."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from tf_transformer.arguments import finite_number, whole_number
from tf_transformer.layers.arguments import check_choice, check_rate, child_seed
from tf_transformer.layers.dropout import Dropout
from tf_transformer.layers.pooling import POOLING_KINDS, Pooling
from tf_transformer.ops import Tensor
from tf_transformer.ops.checks import check_same_sizes
from tf_transformer.ops.consistency import consistent_cross_entropy
from tf_transformer.ops.cross_entropy import smoothed_cross_entropy
from tf_transformer.ops.pooling import marked_states, max_pool
from tf_transformer.presets import UNSEEN_LABEL

MARKS = "marks"
"""The pooling that takes the states at marked places, where an embedding knows of such."""

STEM = "stem"
"""The pooling that takes the greatest value of each feature of an embedding's convolutional stem."""


@keras.saving.register_keras_serializable("tf_transformer")
class Classifier(keras.Model):
    """Embedding, encoder, pooling and a linear layer over the classes.

    What the classes are given to, the embedding alone knows: `TextEmbedding`, or any layer that has `inputs`,
    the names of the entries of a batch which it takes as arguments, and methods with these same arguments:
    `padding_mask` (boolean `[B, S]`, or None where all is real), `counts` (integer scalars by the names in
    its `COUNTS`) and, where there are marked places, `marks` (integers `[B, S]` from 1 to `num_marks`, 0
    elsewhere). One with a stem has `num_features` of it, and gives them beside its vectors when it is called
    with `return_features=True`. All weights exist once the model is constructed.

    Args:
        num_classes: The number C of classes.
        embedding: What makes vectors `[B, S, D]` of a batch.
        encoder: An `Encoder`, or another layer from `[B, S, D]` and `attention_mask` to `[B, S, D]`.
        pooling: `"mean"`, `"first"`, `"max"`, `"attention"` (see `Pooling`), `"marks"` (the states at the
            marked places side by side) or `"stem"` (the greatest value over the text of each feature of the
            embedding's stem, past the encoder); or several of them, side by side.
        dropout: Rate of the dropout before the linear layer.
        class_weights: What the loss of an example of each class is multiplied by; 1 for each by default.
        inputs_shape: The shape of one example of the embedding's first input, for embeddings that need it.
        seed: Seed of the dropout and of the initial weights made here, or None to draw them.

    Call arguments:
        inputs: A dict with the entries that `embedding.inputs` names.

    Returns:
        Logits `[B, C]` in float32.

    Raises:
        ValueError: If sizes contradict each other, a pooling is none, or weights are not one a class.
        TypeError: If a size is no whole number.

    Example:
        >>> import numpy as np
        >>> from tf_transformer.layers import Encoder, TextEmbedding
        >>> encoder = Encoder(num_layers=1, num_heads=2, intermediate_dim=16, norm="pre")
        >>> model = Classifier(3, TextEmbedding(vocabulary_size=11, hidden_dim=8), encoder, pooling="max")
        >>> tuple(model({"source_ids": np.array([[2, 5, 7, 3], [2, 3, 0, 0]])}).shape)
        (2, 3)
    """

    def __init__(
        self,
        num_classes: int,
        embedding: keras.layers.Layer,
        encoder: keras.layers.Layer,
        pooling: str | Sequence[str] = "mean",
        dropout: float = 0.0,
        class_weights: Sequence[float] | None = None,
        inputs_shape: Sequence[int | None] = (None,),
        seed: int | None = None,
        # A fixed name: with Keras' counted ones, the weights of a process' second model get other paths.
        name: str = "classifier",
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.num_classes = whole_number("num_classes", num_classes, 2)
        self.embedding = embedding
        self.encoder = encoder
        self.pooling = [pooling] if isinstance(pooling, str) else list(pooling)
        check_rate(dropout=dropout)
        self.dropout = dropout
        self.class_weights = _checked_weights(class_weights, self.num_classes)
        self.inputs_shape = list(inputs_shape)
        self.seed = seed
        self._check_poolings()
        self._make_parts()
        self.build()

    @property
    def COUNTS(self) -> tuple[str, ...]:
        """The names of what `counts` counts; the first is what losses are divided by."""
        return ("examples", *self.embedding.COUNTS)

    def _check_poolings(self) -> None:
        if not self.pooling:
            raise ValueError("Argument `pooling` must name at least one pooling. Received: none")
        for kind in self.pooling:
            check_choice((*POOLING_KINDS, MARKS, STEM), pooling=kind)
        for kind, has, what in ((MARKS, "num_marks", "marked places"), (STEM, "num_features", "a stem")):
            if kind in self.pooling and not getattr(self.embedding, has, 0):
                raise ValueError(
                    f"Argument `pooling` may be {kind!r} where the embedding has {what}. Received: pooling="
                    f"{self.pooling}, and an embedding without"
                )

    def _make_parts(self) -> None:
        self._poolings = {
            kind: Pooling(
                kind, seed=child_seed(self.seed, kind), dtype=self.dtype_policy, name=f"{kind}_pooling"
            )
            for kind in self.pooling
            if kind not in (MARKS, STEM)
        }
        self._dropout = Dropout(
            self.dropout, seed=child_seed(self.seed, "dropout"), dtype=self.dtype_policy, name="dropout"
        )
        xavier = keras.initializers.GlorotUniform(seed=child_seed(self.seed, "head"))
        self.head = keras.layers.Dense(
            self.num_classes, kernel_initializer=xavier, dtype=self.dtype_policy, name="head"
        )

    def build(self, input_shape: Any = None) -> None:
        if self.built:
            return
        hidden_dim = self.embedding.hidden_dim
        states_shape = (None, None, hidden_dim)
        if not self.embedding.built:
            self.embedding.build((None, *self.inputs_shape))
        if not self.encoder.built:
            self.encoder.build(states_shape)
        for pooling in self._poolings.values():
            pooling.build(states_shape)
        self._dropout.build()
        widths = {MARKS: getattr(self.embedding, "num_marks", 0) * hidden_dim}
        widths[STEM] = getattr(self.embedding, "num_features", 0)
        self.head.build((None, sum(widths.get(kind, hidden_dim) for kind in self.pooling)))

    def get_build_config(self) -> None:
        """Nothing: the constructor builds."""

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        arguments = self._arguments(inputs)
        mask = self.embedding.padding_mask(*arguments)
        states, features = self._embedded(arguments, training)
        states = self.encoder(states, attention_mask=mask, training=training)
        vectors = self._dropout(self._pooled(states, features, mask, arguments)[0], training=training)
        return ops.cast(self.head(vectors), "float32")

    def _embedded(self, arguments: list[Tensor], training: bool | None) -> tuple[Tensor, Tensor | None]:
        """What the encoder is given, and the features of the stem where they are pooled."""
        if STEM not in self.pooling:
            return self.embedding(*arguments, training=training), None
        states, features = self.embedding(*arguments, training=training, return_features=True)
        return states, features

    def _pooled(
        self, states: Tensor, features: Tensor | None, mask: Tensor | None, arguments: list[Tensor]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The vectors of all poolings side by side, `[B, …]`, and the weights of those that have some."""
        vectors, weights = [], {}
        for kind in self.pooling:
            if kind == STEM:
                vectors.append(max_pool(features, mask))
                continue
            if kind == MARKS:
                marks = self.embedding.marks(*arguments)
                vectors.append(marked_states(states, marks, self.embedding.num_marks))
                continue
            vector, of_positions = self._poolings[kind].forward(states, mask)
            vectors.append(vector)
            if of_positions is not None:
                weights[kind] = of_positions
        return vectors[0] if len(vectors) == 1 else ops.concatenate(vectors, axis=-1), weights

    def _arguments(self, inputs: Any) -> list[Tensor]:
        names = self.embedding.inputs
        if not isinstance(inputs, dict) or not set(names) <= set(inputs):
            received = sorted(inputs) if isinstance(inputs, dict) else type(inputs).__name__
            wanted = ", ".join(f"`{name}`" for name in names)
            raise ValueError(f"Inputs must be a dict with {wanted}. Received: {received}")
        return [ops.convert_to_tensor(inputs[name]) for name in names]

    def training_loss(
        self,
        inputs: dict[str, Tensor],
        labels: Tensor,
        label_smoothing: float = 0.0,
        training: bool | None = None,
        r_drop: float | None = None,
    ) -> Tensor:
        """The weighed cross-entropy of each example.

        Args:
            inputs: As for `call`.
            labels: Integer tensor `[B]` of classes; -1 for one that is none, which does not count.
            label_smoothing: Share of the target that is spread over all classes.
            training: Whether to drop out.
            r_drop: Weight of R-Drop's disagreement between two passes, the second one beside the first in a
                batch of twice the size (see `consistent_cross_entropy`); None for one pass without it.

        Returns:
            The cross-entropy of each label in nats times the weight of its class, float32 `[B]`; with
            `r_drop` the sum of all, float32 `[]`: the means of both passes', and their disagreements.
        """
        labels, weights = ops.cast(labels, "int32"), None
        if self.class_weights is not None:
            of_classes = ops.convert_to_tensor(np.array(self.class_weights, "float32"))
            weights = ops.take(of_classes, ops.maximum(labels, 0))  # [B]
        if r_drop is None:
            logits = self(inputs, training=training)
            check_same_sizes("Inputs and labels", logits.shape[:1], labels.shape)
            values = smoothed_cross_entropy(labels, logits, label_smoothing, UNSEEN_LABEL)
            return values if weights is None else values * weights
        logits = self(
            {name: ops.concatenate([part, part]) for name, part in inputs.items()}, training=training
        )
        # Logits are the states before a projection that changes nothing.
        same = ops.eye(self.num_classes, dtype="float32")
        return consistent_cross_entropy(
            labels, logits, same, r_drop, label_smoothing, UNSEEN_LABEL, weights=weights
        )

    def counts(self, inputs: dict[str, Tensor], labels: Tensor) -> dict[str, Tensor]:
        """What a batch holds; `COUNTS` names it.

        Args:
            inputs: As for `call`.
            labels: As for `training_loss`.

        Returns:
            Integer scalars: first the examples whose label counts, then what the embedding counts.
        """
        examples = ops.sum(ops.cast(ops.not_equal(labels, UNSEEN_LABEL), "int32"))
        return {"examples": examples, **self.embedding.counts(*self._arguments(inputs))}

    def attention(self, inputs: dict[str, Tensor]) -> dict[str, Any]:
        """The attention weights behind `call(inputs, training=False)`.

        Args:
            inputs: As for `call`.

        Returns:
            `encoder`: float32 `[B, H, S, S]`, one a block; and with a pooling by attention `pooling`: float32
            `[B, S]`. Each row sums to 1.
        """
        arguments = self._arguments(inputs)
        mask = self.embedding.padding_mask(*arguments)
        states, features = self._embedded(arguments, False)
        states, weights, *_ = self.encoder.forward(
            states, None if mask is None else mask[:, None, None], False
        )
        pooled = self._pooled(states, features, mask, arguments)[1]
        return {"encoder": weights, **({"pooling": pooled["attention"]} if pooled else {})}

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "embedding": _unbuilt(self.embedding),
            "encoder": _unbuilt(self.encoder),
            "pooling": self.pooling,
            "dropout": self.dropout,
            "class_weights": self.class_weights,
            "inputs_shape": self.inputs_shape,
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Classifier":
        parts = {
            name: keras.saving.deserialize_keras_object(config[name]) for name in ("embedding", "encoder")
        }
        return cls(**{**config, **parts})


def _unbuilt(layer: keras.layers.Layer) -> dict[str, Any]:
    """A layer in plain values, to be built by the model that gets it: its weights are named after that."""
    config: dict[str, Any] = keras.saving.serialize_keras_object(layer)
    return {name: value for name, value in config.items() if name != "build_config"}


def _checked_weights(weights: Sequence[float] | None, num_classes: int) -> list[float] | None:
    if weights is None:
        return None
    values = [finite_number("class_weights", weight, 0.0) for weight in weights]
    if len(values) != num_classes:
        raise ValueError(
            f"Argument `class_weights` must have one weight for each of {num_classes} classes. "
            f"Received: {len(values)}"
        )
    return values
