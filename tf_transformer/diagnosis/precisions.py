"""Each number format that a training can be in, against float32: the same updates of the same small model."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import tensorflow as tf
from keras.optimizers import LossScaleOptimizer

from tf_transformer.memory import tensor_peak
from tf_transformer.models import Transformer
from tf_transformer.models.work import update_products
from tf_transformer.optimizers import Adam
from tf_transformer.precision import measured_peak
from tf_transformer.presets import START_ID
from tf_transformer.schedules import Constant
from tf_transformer.training_step import TrainingModel

Tell = Callable[[str], None]
POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")
UPDATES = 50
SLOW = 5
"""First updates that are not timed: the first one builds the graph, and others find memory."""
AT_ONCE = 5
"""Updates of a turn."""


@dataclass(frozen=True)
class Size:
    """A model and its batches.

    Args:
        vocabulary: Pieces.
        layers: Of the encoder, and of the decoder.
        width: The hidden width; the inner one is four times it.
        heads: Attention heads.
        rows: Sentences of an update.
        length: Pieces of each side.
    """

    vocabulary: int
    layers: int
    width: int
    heads: int
    rows: int
    length: int


ON_CPU = Size(vocabulary=1000, layers=2, width=128, heads=4, rows=32, length=32)
ON_GPU = Size(vocabulary=8000, layers=6, width=512, heads=8, rows=128, length=64)


@dataclass(frozen=True)
class Trial:
    """Updates in one precision.

    Args:
        policy: Its Keras policy.
        losses: The loss of each update that was taken.
        skipped: Updates whose gradient was not finite; they were tried again at a lower loss scale.
        tokens_per_second: Real target tokens.
        gigaflops: What the products of the model take of the machine, in 10^9 operations a second.
        peak_gigaflops: What it reaches in one large product, in the format of the products.
        memory: The most bytes of tensors in an update, weights included; None where nobody counts.
        first_seconds: Until the first update was done.
    """

    policy: str
    losses: Sequence[float]
    skipped: int
    tokens_per_second: float
    gigaflops: float
    peak_gigaflops: float
    memory: int | None
    first_seconds: float

    @property
    def share_of_peak(self) -> float:
        """The share of the measured peak."""
        return self.gigaflops / self.peak_gigaflops


def try_precisions(
    size: Size, policies: Sequence[str] = POLICIES, updates: int = UPDATES, tell: Tell = lambda line: None
) -> list[Trial]:
    """Updates a small model on made text: a target is its source with each piece replaced by another.

    Weights, batches and their order are the same in each precision, and nothing is dropped out. An update
    that is skipped is tried again, so that losses of different precisions are of the same updates. The
    precisions take turns: what else the machine does slows down all of them.

    Args:
        size: Of the model and its batches.
        policies: Keras policies.
        updates: How many.
        tell: Told what is done.
    """
    batches = made_batches(size, updates)
    runs = []
    for policy in policies:
        tell(f"{policy}: builds its graph")
        runs.append(_Run(policy, size, batches))
        runs[-1].begin()
    tell(f"{updates} updates in each, in turns")
    while any(not run.is_done for run in runs):
        for run in runs:
            run.go_on(AT_ONCE)
    return [run.trial() for run in runs]


class _Run:
    """A model in one precision, and its updates so far."""

    def __init__(self, policy: str, size: Size, batches: Sequence[Any]) -> None:
        self.policy, self.size, self.batches = policy, size, batches
        self.peak = measured_peak(policy)
        self.before = tensor_peak(lambda: None) or 0
        self.model = _model(policy, size)
        self.step = tf.function(self.model.train_step, autograph=False, jit_compile=self.model.jit_compile)
        self.losses: list[float] = []
        self.seconds: list[float] = []
        self.skipped = 0
        self.memory: int | None = None

    @property
    def is_done(self) -> bool:
        return len(self.losses) >= len(self.batches) or self.skipped > len(self.batches)

    def begin(self) -> None:
        """The first updates, which are not timed; how much memory one takes."""
        self.go_on(1)
        peak = tensor_peak(lambda: self.go_on(SLOW - 1))
        self.memory = None if peak is None else peak - self.before
        self.first_seconds, self.seconds = self.seconds[0], []

    def go_on(self, updates: int) -> None:
        for _ in range(updates):
            if self.is_done:
                return
            begun = time.perf_counter()
            logs = self.step(self.batches[len(self.losses)])
            loss, taken = float(logs["loss"]), int(logs["taken"])
            self.seconds.append(time.perf_counter() - begun)
            self.skipped += 1 - taken
            if taken or not np.isfinite(loss):
                self.losses.append(loss)

    def trial(self) -> Trial:
        count = self.size.rows * self.size.length
        held = {"source_tokens": count, "target_tokens": count}
        products = update_products(self.model.model, held) or 0.0
        usual = median(self.seconds) if self.seconds else self.first_seconds
        return Trial(
            policy=self.policy,
            losses=self.losses,
            skipped=self.skipped,
            tokens_per_second=count / usual,
            gigaflops=2 * products / usual / 1e9,
            peak_gigaflops=max(self.peak, measured_peak(self.policy)) / 1e9,
            memory=self.memory,
            first_seconds=self.first_seconds,
        )


def made_batches(size: Size, updates: int) -> list[tuple[dict[str, tf.Tensor], tf.Tensor]]:
    """Batches of sentences whose pieces are as unevenly frequent as words are (Zipf's law)."""
    first, draw = START_ID + 2, np.random.default_rng(1)
    shares = 1 / np.arange(1, size.vocabulary - first + 1)
    replaced = draw.permutation(size.vocabulary - first) + first
    found = []
    for _ in range(updates):
        pieces = draw.choice(len(shares), (size.rows, size.length), p=shares / shares.sum())
        labels = replaced[pieces].astype(np.int32)
        target = np.concatenate([np.full((size.rows, 1), START_ID, np.int32), labels[:, :-1]], axis=1)
        inputs = {"source_ids": tf.constant(pieces + first, tf.int32), "target_ids": tf.constant(target)}
        found.append((inputs, tf.constant(labels)))
    return found


def _model(policy: str, size: Size) -> TrainingModel:
    model = Transformer(
        size.vocabulary,
        num_layers=size.layers,
        hidden_dim=size.width,
        intermediate_dim=4 * size.width,
        num_heads=size.heads,
        dropout=0.0,
        norm="pre",
        seed=1,
        dtype=policy,
    )
    trained = TrainingModel(model, 0.1, loss_chunk=1024)
    optimizer: Any = Adam(
        trained.adjustable(Constant(peak=1e-3, warmup_steps=10)), beta_2=0.98, global_clipnorm=1.0
    )
    if policy == "mixed_float16":
        optimizer = LossScaleOptimizer(optimizer)
    trained.compile(optimizer=optimizer)
    trained.optimizer.build(model.trainable_variables)
    return trained
