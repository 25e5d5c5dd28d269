"""Several devices that hold the same model: what they tell each other, and how work is spread over them.

One device alone, without any strategy, has nothing to tell: no operation is added to its graph.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import keras
import tensorflow as tf

_APART = 1_000_003
"""How far the seeds of two replicas lie apart: more than anybody draws dropouts of one model."""


@dataclass(frozen=True)
class Shares:
    """Which parts of each batch are made in this process.

    Args:
        count: Parts that a batch is cut into, one a replica.
        first: Number of the first part that is made here, from 0.
        here: How many are.
    """

    count: int = 1
    first: int = 0
    here: int = 1

    @property
    def numbers(self) -> range:
        """The numbers of the parts that are made here."""
        return range(self.first, self.first + self.here)


def num_replicas() -> int:
    """How many replicas an update is spread over."""
    count: int = tf.distribute.get_strategy().num_replicas_in_sync
    return count


def replica_number() -> int:
    """Which of all replicas this is; known when a graph is made."""
    number = tf.distribute.get_replica_context().replica_id_in_sync_group
    return int(tf.get_static_value(number))


def total(values: Any) -> Any:
    """Sums over all replicas, on each of them; called by all of them in step.

    Args:
        values: A tensor, or a structure of tensors.
    """
    if num_replicas() == 1:
        return values
    # A value from outside of the replica is on no device, and TensorFlow asks for one.
    here = tf.nest.map_structure(tf.identity, values)
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, here)


def together(function: Callable[..., None], condition: tf.Tensor, *arguments: Any) -> None:
    """Runs a function on all replicas where a condition holds; it may update variables.

    Args:
        function: What is run.
        condition: Boolean scalar, which all replicas agree on.
        *arguments: What each replica calls it with.
    """

    def decide(strategy: tf.distribute.Strategy, agreed: Any, *each: Any) -> None:
        def run() -> tf.Tensor:
            strategy.extended.call_for_each_replica(function, args=each)
            return tf.constant(True)

        # Outside of any replica: inside of one, no branch may hold what replicas do together.
        tf.cond(strategy.experimental_local_results(agreed)[0], run, lambda: tf.constant(False))

    tf.distribute.get_replica_context().merge_call(decide, args=(condition, *arguments))


def draw_apart(model: keras.Model) -> None:
    """Lets each replica draw dropouts of its own, where all have those of the first one.

    The seeds of the first replica, which are those that `numpy` reads and a checkpoint holds, stay.

    Args:
        model: A model whose seeds are all equal: a new one, or one that was just put back.
    """
    strategy = model.distribute_strategy
    if strategy.num_replicas_in_sync == 1:
        return
    states = [variable for variable in model.variables if variable.path.endswith("seed_generator_state")]

    @tf.function(autograph=False)
    def move() -> None:
        shift = [_APART * replica_number(), 0]
        for state in states:
            value = tf.convert_to_tensor(state)
            state.assign(value + tf.constant(shift, value.dtype))

    strategy.run(move)


def num_devices(model: Any) -> int:
    """How many devices of this process hold a model: those of the strategy that it was made under."""
    strategy = _strategy_of(model)
    return 1 if strategy.num_replicas_in_sync == 1 else len(strategy.extended.worker_devices)


def _strategy_of(model: Any) -> Any:
    return getattr(model, "distribute_strategy", None) or tf.distribute.get_strategy()


class OnDevices:
    """A function of a batch that is run on many batches, by all devices of this process at once.

    Args:
        function: Tensors, or structures of them, to a structure of tensors.
        model: The model whose devices are used: see `num_devices`.
        signature: What the function takes, where all batches are alike in it; None to find out.
        compiled: Whether one device makes a graph, which takes its time and then is faster.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        model: Any,
        signature: Sequence[tf.TensorSpec] | None = None,
        *,
        compiled: bool = True,
    ) -> None:
        self.function = function
        self._strategy, self._devices = _strategy_of(model), num_devices(model)
        # Loops are written as such; converting all that is called takes seconds.
        options = {"autograph": False, "reduce_retracing": signature is None}
        self._alone = tf.function(function, input_signature=signature, **options) if compiled else function
        wide = None if signature is None else [tuple(signature)] * self._devices
        self._all = tf.function(self._on_all, input_signature=wide, **options)

    def __call__(self, *batch: Any) -> Any:
        """The result of one batch."""
        return self._alone(*batch)

    def map(self, batches: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """The results of batches, in their order.

        Args:
            batches: The arguments of each call.
        """
        if self._devices == 1:
            yield from (self._alone(*batch) for batch in batches)
            return
        source = iter(batches)
        while group := list(islice(source, self._devices)):
            idle = self._devices - len(group)
            nothing = tf.nest.map_structure(_without_rows, group[-1])
            yield from self._all(*group, *[nothing] * idle)[: len(group)]

    def _on_all(self, *batches: tuple[Any, ...]) -> list[Any]:
        def here() -> Any:
            return self.function(*batches[replica_number() % self._devices])

        results = self._strategy.run(here)
        return [
            tf.nest.map_structure(
                lambda each, at=at: self._strategy.experimental_local_results(each)[at], results
            )
            for at in range(self._devices)
        ]


def _without_rows(tensor: tf.Tensor) -> tf.Tensor:
    """An argument of a batch of nothing; a number is the same for all batches."""
    return tensor[:0] if len(tensor.shape) else tensor
