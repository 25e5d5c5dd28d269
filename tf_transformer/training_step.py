"""One optimizer update: what ``fit`` runs for each batch of a recipe's training.

The loss of an update is the sum over what the model counts first (real target tokens, or examples) divided by
their number: over all of the update, on however many devices and in however many pieces it is computed. An
update whose loss or gradient is not finite, or that has none of them, changes nothing and is counted.
"""

from typing import Any

import keras
import tensorflow as tf

from tf_transformer.adapters import Adapters
from tf_transformer.moving_average import MovingAverage
from tf_transformer.replicas import num_replicas, replica_number, together, total


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
        return {"schedule": schedule, "factor": float(self.factor.numpy()), "start": int(self.start.numpy())}


class TrainingModel(keras.Model):
    """A model and its training step, for ``compile(optimizer=…)`` and ``fit``.

    Args:
        model: A model with ``training_loss``, ``counts`` and ``COUNTS`` like those of `Transformer`.
        label_smoothing: Probability mass moved from the label to all other classes.
        r_drop: Weight of the disagreement of two passes with other dropouts, part of the loss then; None for
            one pass.
        ema: Decay of a moving average of the weights; None for none.
        loss_chunk: Target positions whose logits are in memory at a time; None for all.
        micro_batch: Padded positions of the longer side, or examples where nothing is padded, that a device
            takes at once, one example at least; None for all that it has of an update.
        adapters: Through which some weights of the model are trained; None for none.

    Attributes:
        average: The moving average, or None.
        wish: What this process wants all to know after the next update, an integer; see `train_step`.
    """

    train_function: Any

    def __init__(
        self,
        model: keras.Model,
        label_smoothing: float = 0.0,
        *,
        r_drop: float | None = None,
        ema: float | None = None,
        loss_chunk: int | None = None,
        micro_batch: "int | tf.Variable | None" = None,
        adapters: Adapters | None = None,
    ) -> None:
        super().__init__(name="training")
        self.model = model
        self.label_smoothing = label_smoothing
        self.r_drop = r_drop
        self.loss_chunk = loss_chunk
        self.micro_batch = micro_batch
        self.adapters = adapters
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
        self.wish = tf.Variable(0, dtype=tf.int64, trainable=False, name="wish")  # of no checkpoint
        self.built = True

    def compile(self, optimizer: keras.optimizers.Optimizer, **options: Any) -> None:
        """See Keras; the gradients that the optimizer gets are those of all devices together."""
        super().compile(optimizer=optimizer, **options)
        getattr(optimizer, "inner_optimizer", optimizer).gradients_are_sums = True

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
    def trained(self) -> list[Any]:
        """What the optimizer updates: the trainable weights of the model, or adapters of them."""
        variables = list(self.model.trainable_variables)
        return variables if self.adapters is None else self.adapters.trained(variables)

    @property
    def parts(self) -> dict[str, list[int]]:
        """The parts of the model, each with the places of its weights among the trainable ones.

        A weight belongs to the layer of the model that it is in: the encoder, say, or an embedding.
        """
        found: dict[str, list[int]] = {}
        for place, weight in enumerate(self.model.trainable_variables):
            found.setdefault(_part(weight.path), []).append(place)
        return found

    @property
    def answering(self) -> Any:
        """What is validated and answers, by its `weights`: the moving average, or the model itself."""
        return self.average or self.model

    def call(self, inputs: dict[str, tf.Tensor], training: bool | None = None) -> tf.Tensor:
        return self.model(inputs, training=training)

    def make_train_function(self, force: bool = False) -> None:
        """See Keras, whose own takes the mean over devices of what each of them says of all."""
        if self.train_function is not None and not force:
            return
        strategy = self.distribute_strategy

        @tf.function(reduce_retracing=True, jit_compile=self.jit_compile, autograph=False)
        def update(data: Any) -> dict[str, tf.Tensor]:
            logs = strategy.run(self.train_step, args=(data,))
            return {name: strategy.experimental_local_results(value)[0] for name, value in logs.items()}

        self.train_function = tf.function(lambda batches: update(batches.get_next()), autograph=False)

    def _maybe_symbolic_build(self, *_: Any, **__: Any) -> None:
        """Keras would spend a batch on building what is built."""

    def train_step(self, data: tuple[dict[str, tf.Tensor], tf.Tensor]) -> dict[str, tf.Tensor]:
        """Runs one update; on several devices each is given its share of it, which may be empty.

        Returns:
            The same on all devices: ``loss``, the mean loss of this update; ``taken``: 1, or 0 where it was
            skipped; ``wish``, the sum of all processes' wishes; and the lengths of its gradient before
            clipping, ``gradient_norm`` and ``gradient_norm/PART`` by ``parts``.
        """
        inputs, labels = data
        counts = self._counts(inputs, labels)
        wish, rows = counts.pop("wish"), counts.pop("rows")
        number = counts[self.counted[0]]
        loss, gradients, variables = self._share(inputs, labels, counts, rows)
        loss, *gradients = total([loss, *gradients])
        norm = tf.linalg.global_norm(gradients)
        # Read before the update, which may change it.
        scale = tf.convert_to_tensor(self.optimizer.scale_loss(1.0), tf.float32)
        before = tf.identity(self.optimizer.iterations)
        self._apply(gradients, variables, loss, norm, number)
        if self.adapters is not None:
            self.adapters.merge()
        taken = tf.cast(tf.identity(self.optimizer.iterations) - before, tf.int64)
        if self.average is not None:
            self.average.update(self.optimizer.iterations, taken)
        self._count(counts, loss, norm / scale, taken)
        norms = self._norms(gradients, variables, scale)
        return {"loss": loss, "taken": taken, "wish": wish, "gradient_norm": norm / scale, **norms}

    def _norms(self, gradients: list[Any], variables: list[Any], scale: tf.Tensor) -> dict[str, tf.Tensor]:
        """The length of the gradient of each part, by its name in the logs."""
        found: dict[str, list[Any]] = {part: [] for part in self.parts}
        for gradient, variable in zip(gradients, variables, strict=True):
            path = variable.path if self.adapters is None else self.adapters.path(variable)
            found[_part(path)].append(gradient)
        return {f"gradient_norm/{part}": tf.linalg.global_norm(each) / scale for part, each in found.items()}

    def _counts(self, inputs: dict[str, tf.Tensor], labels: tf.Tensor) -> dict[str, tf.Tensor]:
        """What the whole update holds: what the model counts, ``rows``, and the wishes of all."""
        own = {**self.model.counts(inputs, labels), "rows": tf.shape(labels)[0], "wish": self._own_wish()}
        values = [tf.cast(value, tf.int64) for value in own.values()]
        if num_replicas() > 1:
            values = tf.unstack(total(tf.stack(values)), len(values))
        return dict(zip(own, values, strict=True))

    def _own_wish(self) -> tf.Tensor:
        """The wish of this process, which its first device brings in."""
        if num_replicas() == 1:
            return tf.identity(self.wish)
        here = len(self.distribute_strategy.extended.worker_devices)
        return tf.identity(self.wish) * int(replica_number() % here == 0)

    def _share(
        self, inputs: dict[str, tf.Tensor], labels: tf.Tensor, counts: dict[str, tf.Tensor], rows: tf.Tensor
    ) -> tuple[tf.Tensor, list[tf.Tensor], list[Any]]:
        """What this device has of the loss of an update and of its gradient, and the variables that it has.

        Args:
            inputs: Of the share.
            labels: Of the share.
            counts: What the whole update holds.
            rows: How many examples it has.
        """
        divisor = tf.cast(tf.maximum(counts[self.counted[0]], 1), tf.float32)
        if self.micro_batch is None:
            loss, gradients = self._piece(inputs, labels, divisor)
        else:
            pieces = self._pieces(self.micro_batch, counts, rows)
            loss, gradients = self._accumulated(inputs, labels, divisor, pieces)
        pairs = zip(gradients, self.model.trainable_variables, strict=True)
        found = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
        if self.adapters is not None:
            found = self.adapters.projected(found)
        # Dense: the parts of a sparse one may be of the same rows, and their norm is not that of the sum.
        return loss, [tf.convert_to_tensor(gradient) for gradient, _ in found], [one for _, one in found]

    def _piece(
        self, inputs: dict[str, tf.Tensor], labels: tf.Tensor, divisor: tf.Tensor
    ) -> tuple[tf.Tensor, list[Any]]:
        variables = self.model.trainable_variables
        # Where some weights stay as they are, nothing is computed that only their gradients need.
        is_whole = len(variables) == len(self.model.weights)
        with tf.GradientTape(watch_accessed_variables=is_whole) as tape:
            for variable in () if is_whole else variables:
                tape.watch(variable.value)
            losses = self.model.training_loss(
                inputs, labels, self.label_smoothing, training=True, **self.loss_options
            )
            loss = tf.reduce_sum(losses) / divisor
            scaled_loss = self.optimizer.scale_loss(loss)
        return loss, tape.gradient(scaled_loss, variables)

    def _pieces(self, size: Any, counts: dict[str, tf.Tensor], rows: tf.Tensor) -> tf.Tensor:
        """How many pieces of at most a size each share is cut into, one example at least in each.

        It is the same number on all devices, whatever they have: so they draw equally many dropouts.
        """
        padded = [count for name, count in counts.items() if name.endswith("_positions")]
        row = tf.reduce_max(tf.stack(padded)) // tf.maximum(rows, 1) if padded else tf.constant(1, tf.int64)
        at_once = tf.maximum(size // tf.maximum(row, 1), 1)
        largest = -(-rows // num_replicas())
        return tf.maximum(-(-largest // at_once), 1)

    def _accumulated(
        self, inputs: dict[str, tf.Tensor], labels: tf.Tensor, divisor: tf.Tensor, pieces: tf.Tensor
    ) -> tuple[tf.Tensor, list[Any]]:
        """As ``_piece``, one piece after the other: the memory is that of one."""
        variables, rows = self.model.trainable_variables, tf.shape(labels, tf.int64)[0]
        unused: set[int] = set()

        def add(piece: tf.Tensor, loss: tf.Tensor, sums: list[tf.Tensor]) -> tuple[Any, ...]:
            first, last = piece * rows // pieces, (piece + 1) * rows // pieces
            part_inputs, part_labels = tf.nest.map_structure(lambda one: one[first:last], (inputs, labels))
            more, gradients = self._piece(part_inputs, part_labels, divisor)
            unused.update(place for place, gradient in enumerate(gradients) if gradient is None)
            added = [
                one if gradient is None else one + tf.convert_to_tensor(gradient)
                for one, gradient in zip(sums, gradients, strict=True)
            ]
            return piece + 1, loss + more, added

        start = tf.constant(0, tf.int64), tf.constant(0.0), [tf.zeros(one.shape) for one in variables]
        _, loss, sums = tf.while_loop(lambda piece, *_: piece < pieces, add, start, parallel_iterations=1)
        return loss, [None if place in unused else one for place, one in enumerate(sums)]

    def _apply(
        self, gradients: list[Any], variables: list[Any], loss: tf.Tensor, norm: tf.Tensor, number: tf.Tensor
    ) -> None:
        sound = (number > 0) & tf.math.is_finite(loss)
        if not isinstance(self.optimizer, keras.optimizers.LossScaleOptimizer):
            # That one looks at the gradients itself, and lowers its scale when they overflow. A loss that is
            # not finite is so at any scale.
            sound &= tf.math.is_finite(norm)
        if not self.optimizer.built:
            self.optimizer.build(self.trained)
        together(lambda *sums: self.optimizer.apply(list(sums), variables), sound, *gradients)

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


def _part(path: str) -> str:
    """The part of a model that a weight is in, by its path."""
    names = path.split("/")
    return names[1] if len(names) > 2 else names[-1]
