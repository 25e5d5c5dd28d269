"""What a training runs on: one device, several of this machine, or those of several hosts.

Several hosts do the same at the same time. What only one of them knows or may decide, the chief tells the
others; only the chief has the run folder.
"""

import json
import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.compiler.xla.tsl.protobuf.coordination_config_pb2 import CoordinatedJob
from tensorflow.python.eager import context

from tf_transformer.cluster import Cluster
from tf_transformer.errors import RunError, counted
from tf_transformer.replicas import Shares, replica_number, total

HEARTBEAT_SECONDS = 120
"""How long a host may be silent; TensorFlow's own 10 are too few where a machine is busy."""
LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.InternalError,
)
"""What TensorFlow raises on a host that has lost another one."""


class Devices:
    """The devices of a training, under one strategy.

    Args:
        strategy: Of `tf.distribute`; the default one stands for one device.
        cluster: The hosts, where there are several.
        name: What the devices of a host are, for a person.

    Attributes:
        num_hosts: How many hosts there are.
        is_chief: Whether this process writes the run.
    """

    def __init__(
        self, strategy: tf.distribute.Strategy, cluster: Cluster | None = None, name: str = "1 device"
    ) -> None:
        self.strategy = strategy
        self.cluster = cluster
        self.num_hosts = 1 if cluster is None else len(cluster.addresses)
        self.is_chief = cluster is None or cluster.is_chief
        self.name = name
        self._sum = tf.function(self._summed, autograph=False, reduce_retracing=True)

    @property
    def count(self) -> int:
        """How many devices there are on all hosts."""
        return int(self.strategy.num_replicas_in_sync)

    def describe(self) -> str:
        """The devices on one line; empty for one."""
        if self.num_hosts > 1:
            return f"{self.num_hosts} hosts with {self.name} each"
        return self.name if self.count > 1 else ""

    def scope(self) -> AbstractContextManager[Any]:
        """Where models and optimizers are made."""
        scope: AbstractContextManager[Any] = self.strategy.scope()
        return scope

    def feed(self, batches: Callable[[Shares], tf.data.Dataset]) -> Any:
        """What ``fit`` takes: to each device its share of every batch.

        Args:
            batches: Makes a dataset without end of some shares of every batch.
        """
        if self.count == 1:
            return batches(Shares())
        here = self.count // self.num_hosts
        shares = Shares(self.count, 0 if self.cluster is None else self.cluster.index * here, here)
        # Without an end: else each update would begin with the question whether there is one.
        endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
        return self.strategy.distribute_datasets_from_function(lambda _: batches(shares).apply(endless))

    def from_chief(self, value: Any) -> Any:
        """What the chief has, on every host; all call it at the same time.

        Args:
            value: What JSON can hold; only the chief's counts.
        """
        if self.num_hosts == 1:
            return value
        said = np.frombuffer(json.dumps(value).encode() if self.is_chief else b"", np.uint8)
        size = int(self._of_chief(np.array([len(said)], np.int32))[0])
        content = np.zeros(size, np.int32)
        content[: len(said)] = said
        return json.loads(self._of_chief(content).astype(np.uint8).tobytes())

    def copy_from_chief(self, variables: Iterable[Any]) -> None:
        """Gives variables the chief's values on every host; all call it at the same time."""
        if self.num_hosts == 1:
            return
        for variable in variables:
            value = np.asarray(variable.numpy())
            variable.assign(self._of_chief(value.reshape(-1)).reshape(value.shape))

    def _of_chief(self, value: Any) -> Any:
        own = value if self.is_chief else np.zeros_like(value)
        return self._sum(tf.constant(own)).numpy()

    def _summed(self, value: tf.Tensor) -> tf.Tensor:
        """The sum over hosts, of the first device of each."""
        here = self.count // self.num_hosts

        def each() -> tf.Tensor:
            return total(value if replica_number() % here == 0 else tf.zeros_like(value))

        return self.strategy.experimental_local_results(self.strategy.run(each))[0]

    def lost(self, error: Exception) -> RunError:
        """The error of a host that has lost another one."""
        reason = re.sub(r"\{\{.*?\}\} *", "", str(error)).split("\n")[0][:200]
        return RunError(
            f"another of {self.num_hosts} hosts has gone, and the training has stopped. The same command on "
            f"all of them continues from the last checkpoint; TensorFlow says: {reason}"
        )


def num_gpus() -> int:
    """How many GPUs TensorFlow can use on this machine."""
    return len(tf.config.list_physical_devices("GPU"))


def open_devices(wanted: str, cluster: Cluster | None = None, named: str = "training.devices") -> Devices:
    """Takes hold of devices; to be called before TensorFlow is used for anything.

    Args:
        wanted: ``training.devices`` of a recipe: ``auto``, ``cpu:N`` or ``gpu:N``, of each host.
        cluster: The hosts, where there are several, which have met.
        named: What a person calls them by.

    Raises:
        RunError: When they are not there, or cannot be had.
    """
    gpus = tf.config.list_physical_devices("GPU")
    kind, _, number = wanted.partition(":")
    if kind == "auto":
        kind, count = ("gpu", len(gpus)) if gpus else ("cpu", 1)
    else:
        count = int(number)
    if kind == "gpu" and count > len(gpus):
        there = counted(len(gpus), "GPU")
        raise RunError(f"{named}: {wanted}: TensorFlow finds {there} on this machine")
    if kind == "cpu" and count > 1 and cluster is not None:
        raise RunError(
            f"{named}: must be auto, cpu:1 or gpu:N on several hosts, since TensorFlow joins one "
            f"CPU of each. Received: {wanted} on {len(cluster.addresses)} hosts"
        )
    _set_up(kind, count, gpus, f"{named}: {wanted}")
    name = counted(count, "CPU" if kind == "cpu" else "GPU")
    if cluster is not None:
        return Devices(_joined(cluster, count if kind == "gpu" else 0), cluster, name)
    if count == 1:
        return Devices(tf.distribute.get_strategy(), name=name)
    names = [f"{kind.upper()}:{place}" for place in range(count)]
    return Devices(tf.distribute.MirroredStrategy(names), name=name)


def _set_up(kind: str, count: int, gpus: list[Any], asked: str) -> None:
    """Hides the GPUs that are not wanted, and makes several devices of one CPU."""
    visible = gpus[:count] if kind == "gpu" else []
    try:
        if tf.config.get_visible_devices("GPU") != visible:
            tf.config.set_visible_devices(visible, "GPU")
        if kind == "cpu" and count > 1:
            _divide_cpu(count)
    except RuntimeError:
        raise RunError(
            f"{asked}: devices are made when TensorFlow starts, and it has; begin a new process"
        ) from None


def _divide_cpu(count: int) -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]
    try:
        each = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, [each] * count)
    except RuntimeError:
        if len(tf.config.list_logical_devices("CPU")) < count:
            raise


def _joined(cluster: Cluster, num_gpus: int) -> tf.distribute.Strategy:
    """The strategy of all hosts, which have met."""
    hosts = tf.train.ClusterSpec({"worker": list(cluster.addresses)})
    # A host that dies is noticed by its connections at once; one that is only busy is not to be given up.
    context.context().configure_coordination_service(
        service_type="standalone",
        service_leader="/job:worker/replica:0/task:0",
        heartbeat_timeout_in_ms=1000 * HEARTBEAT_SECONDS,
        coordinated_jobs=[CoordinatedJob(name="worker", num_tasks=len(cluster.addresses))],
    )
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        hosts,
        task_type="worker",
        task_id=cluster.index,
        num_accelerators={"GPU": num_gpus} if num_gpus else {},
        rpc_layer="grpc",
    )
    return tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver)
