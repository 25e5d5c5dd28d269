"""One optimizer update: what ``fit`` runs for each batch of a recipe's training.

The loss of an update is the sum over what the model counts first (real target tokens, or examples) divided by
their number. An update whose loss or gradient is not finite, or that has none of them, changes nothing and is
counted.
"""

from typing import Any

import keras
import tensorflow as tf

from tf_transformer.moving_average import MovingAverage


class AdjustableRate(keras.optimizers.schedules.LearningRateSchedule):
    """A schedule that can be scaled and begun anew while training goes on: factor * schedule(step - start).

    Args:
        schedule: The schedule of the recipe.
        factor: Variable, float32 scalar.
        start: Variable, int64 scalar; the update that the schedule begins after.
    """

    def __init__(self, schedule: Any, factor: keras.Variable, start: keras.Variable) -> None:
        self.schedule = schedule
        self.factor = factor
        self.start = start

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        since = tf.cast(tf.convert_to_tensor(step), tf.int64) - tf.convert_to_tensor(self.start)
        return tf.convert_to_tensor(self.factor) * self.schedule(since)

    def get_config(self) -> dict[str, Any]:
        """Where it stands now, in plain values."""
        schedule = keras.optimizers.schedules.serialize(self.schedule)
        return {"schedule": schedule, "factor": float(self.factor), "start": int(self.start)}


class TrainingModel(keras.Model):
    """A model and its training step, for ``compile(optimizer=…)`` and ``fit``.

    Args:
        model: A model with ``training_loss``, ``counts`` and ``COUNTS`` like those of `Transformer`.
        label_smoothing: Probability mass moved from the label to all other classes.
        r_drop: Weight of the disagreement of two passes with other dropouts, part of the loss then; None for
            one pass.
        ema: Decay of a moving average of the weights; None for none.
        loss_chunk: Target positions whose logits are in memory at a time; None for all.

    Attributes:
        average: The moving average, or None.
    """

    def __init__(
        self,
        model: keras.Model,
        label_smoothing: float = 0.0,
        *,
        r_drop: float | None = None,
        ema: float | None = None,
        loss_chunk: int | None = None,
    ) -> None:
        super().__init__(name="training")
        self.model = model
        self.label_smoothing = label_smoothing
        self.r_drop = r_drop
        self.loss_chunk = loss_chunk
        self.average = None if ema is None else MovingAverage(model, ema)
        # Sums since the last validation, as variables: they are part of a checkpoint.
        kinds = {"loss_sum": "float64", "gradient_norm_sum": "float64"}
        self.sums = {
            name: self.add_weight(
                name=name, shape=(), dtype=kinds.get(name, "int64"), initializer="zeros", trainable=False
            )
            for name in ("loss_sum", *model.COUNTS, "gradient_norm_sum", "updates", "skipped")
        }
        self.rate_factor = self.add_weight(
            name="rate_factor", shape=(), dtype="float32", initializer="ones", trainable=False
        )
        self.rate_start = self.add_weight(
            name="rate_start", shape=(), dtype="int64", initializer="zeros", trainable=False
        )
        self.built = True

    def adjustable(self, schedule: keras.optimizers.schedules.LearningRateSchedule) -> AdjustableRate:
        """The schedule as ``rate_factor`` and ``rate_start`` of this model, kept in checkpoints, make it."""
        return AdjustableRate(schedule, self.rate_factor, self.rate_start)

    @property
    def loss_options(self) -> dict[str, Any]:
        """What ``training_loss`` of the model is asked for beside."""
        options = {"r_drop": self.r_drop, "chunk": self.loss_chunk}
        return {name: value for name, value in options.items() if value is not None}

    @property
    def counted(self) -> tuple[str, ...]:
        """What the model counts in a batch; the first is what the losses of an update are divided by."""
        return tuple(self.model.COUNTS)

    @property
    def parts(self) -> dict[str, list[int]]:
        """The parts of the model, each with the places of its weights among the trainable ones.

        A weight belongs to the layer of the model that it is in: the encoder, say, or an embedding.
        """
        found: dict[str, list[int]] = {}
        for place, weight in enumerate(self.model.trainable_variables):
            names = weight.path.split("/")
            found.setdefault(names[1] if len(names) > 2 else names[-1], []).append(place)
        return found

    @property
    def answering(self) -> Any:
        """What is validated and answers, by its `weights`: the moving average, or the model itself."""
        return self.average or self.model

    def call(self, inputs: dict[str, tf.Tensor], training: bool | None = None) -> tf.Tensor:
        return self.model(inputs, training=training)

    def train_step(self, data: tuple[dict[str, tf.Tensor], tf.Tensor]) -> dict[str, tf.Tensor]:
        """Runs one update.

        Returns:
            ``loss``: the mean loss of this update; ``taken``: 1, or 0 where it was skipped; and the lengths
            of its gradient before clipping, ``gradient_norm`` and ``gradient_norm/PART`` by ``parts``.
        """
        inputs, labels = data
        counts = {name: tf.cast(n, tf.int64) for name, n in self.model.counts(inputs, labels).items()}
        number = counts[self.counted[0]]
        divisor = tf.cast(tf.maximum(number, 1), tf.float32)
        with tf.GradientTape() as tape:
            losses = self.model.training_loss(
                inputs, labels, self.label_smoothing, training=True, **self.loss_options
            )
            loss = tf.reduce_sum(losses) / divisor
            scaled_loss = self.optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled_loss, self.model.trainable_variables)
        norm = tf.linalg.global_norm(gradients)
        # Read before the update, which may change it.
        scale = tf.convert_to_tensor(self.optimizer.scale_loss(1.0), tf.float32)
        before = tf.identity(self.optimizer.iterations)
        self._apply(gradients, loss, norm, number)
        taken = tf.cast(tf.identity(self.optimizer.iterations) - before, tf.int64)
        if self.average is not None:
            self.average.update(self.optimizer.iterations, taken)
        self._count(counts, loss, norm / scale, taken)
        norms = {
            f"gradient_norm/{part}": tf.linalg.global_norm([gradients[place] for place in places]) / scale
            for part, places in self.parts.items()
        }
        return {"loss": loss, "taken": taken, "gradient_norm": norm / scale, **norms}

    def _apply(self, gradients: list[Any], loss: tf.Tensor, norm: tf.Tensor, number: tf.Tensor) -> None:
        finite_loss, finite_norm = tf.math.is_finite(loss), tf.math.is_finite(norm)
        if isinstance(self.optimizer, keras.optimizers.LossScaleOptimizer):
            # It looks at the gradients itself, and lowers its scale when they overflow. A loss that is not
            # finite is so at any scale.
            sound = (number > 0) & finite_loss
        else:
            sound = (number > 0) & finite_loss & finite_norm
        variables = self.model.trainable_variables
        if not self.optimizer.built:
            self.optimizer.build(variables)

        def update() -> tf.Tensor:
            self.optimizer.apply(gradients, variables)
            return tf.constant(True)

        tf.cond(sound, update, lambda: tf.constant(False))

    def _count(
        self, counts: dict[str, tf.Tensor], loss: tf.Tensor, norm: tf.Tensor, taken: tf.Tensor
    ) -> None:
        for name, count in counts.items():
            self.sums[name].assign_add(count * taken)
        self.sums["updates"].assign_add(taken)
        self.sums["skipped"].assign_add(1 - taken)
        # A skipped update may hold NaN: choosing zero, not multiplying by it, keeps the sums clean.
        total = tf.cast(loss, tf.float64) * tf.cast(counts[self.counted[0]], tf.float64)
        for name, value in (("loss_sum", total), ("gradient_norm_sum", tf.cast(norm, tf.float64))):
            self.sums[name].assign_add(tf.where(taken > 0, value, tf.zeros_like(value)))

    def interval(self) -> dict[str, float]:
        """The sums since the last ``clear_interval`` as plain numbers."""
        return {name: float(variable.numpy()) for name, variable in self.sums.items()}

    def clear_interval(self) -> None:
        """Sets the sums to zero, after they have been reported."""
        for variable in self.sums.values():
            variable.assign(0)
