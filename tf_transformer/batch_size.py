"""``auto`` for the size of an update, or of what a device takes of it: what there is memory for, found by
real updates.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tf_transformer.build.problem import Problem, Words
from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.pipeline import Plan, Position, Shares, training_dataset
from tf_transformer.devices import Devices
from tf_transformer.errors import RunError
from tf_transformer.memory import Memory, device_memory, in_gib
from tf_transformer.training_step import TrainingModel

MOST_TOKENS = 25_000
"""Target tokens of an update in "Attention Is All You Need" (section 5.1), and the most that ``auto`` takes.

A larger update averages away noise that is small already: it learns no more from a token, and fewer updates
come out of the same text and time. Whoever wants more, for many GPUs say, writes a number.
"""
FIRST_TOKENS = 1024
"""The first size tried: small for any machine, and large enough for its memory to be seen."""
FIRST_ROWS = 8
"""The first size tried where examples are counted."""
WORTH_IT = 1.05
"""How much larger a size must be to be tried after one that fitted."""
STRIDE = 8
"""A size is at most this many times one that was really tried: what memory grows by is only an estimate."""

Prepare = Callable[[int], Callable[[], object]]


@dataclass(frozen=True)
class BatchSizeChoice:
    """A batch size, and what limited it.

    Args:
        tokens: Real target tokens of an update.
        reason: One line for the terminal.
    """

    tokens: int
    reason: str


def choose_batch_tokens(prepare: Prepare, memory: Memory, epoch_tokens: int, words: Words) -> BatchSizeChoice:
    """Finds the largest update that fits, by the memory that real ones take.

    Two small sizes show what a token takes; the size that this leads to is then tried itself, and made
    smaller as long as it takes too much. So the answer has always been seen to fit.

    Args:
        prepare: Makes ready an update with a batch of so many target tokens, the most expensive one of its
            size.
        memory: Measures the update.
        epoch_tokens: Target tokens of an epoch; an update of more there cannot be.
        words: What messages call tokens and data.

    Raises:
        RunError: When not even a small update fits.
    """
    most = min(MOST_TOKENS, epoch_tokens)
    search = _Search(prepare, memory)
    what = f"training.batch_tokens: auto: an update of {{size:,}} {words.unit}s"
    search.run(min(FIRST_TOKENS, most), most, what, words.lengths)
    limits = {MOST_TOKENS: "as many as are of use", epoch_tokens: f"all of the training {words.data}"}
    return BatchSizeChoice(search.largest, _reason(search, limits))


def _reason(search: "_Search", limits: Mapping[int, str]) -> str:
    memory, peak = search.memory, search.peaks[search.largest]
    return (
        f"{limits.get(search.largest, 'limited by memory')}; the largest such update takes {in_gib(peak)}, "
        f"and {in_gib(memory.limit)} may be taken: {memory.of}"
    )


class _Search:
    """The sizes tried so far.

    Attributes:
        peaks: Bytes that each size took which fitted.
        too_large: The smallest size that did not fit.
    """

    def __init__(self, prepare: Prepare, memory: Memory) -> None:
        self.prepare = prepare
        self.memory = memory
        self.peaks: dict[int, int] = {}
        self.too_large: int | None = None

    @property
    def largest(self) -> int:
        """The largest size that fitted."""
        return max(self.peaks)

    def run(self, first: int, most: int, what: str, lengths: str) -> None:
        """Finds the largest size.

        Args:
            first: The size to begin with.
            most: The largest that is wanted.
            what: Names an update of a ``{size}``, for the error.
            lengths: The keys that bound how long an example may be.

        Raises:
            RunError: When not even the first size fits.
        """
        self.try_size(first)  # builds the graph, whose memory is no batch's
        if not self.try_size(first):
            raise RunError(
                f"{what.format(size=first)} does not fit in {self.memory.of}; make the model smaller, or "
                f"lower {lengths}"
            )
        if first < most:
            # The second size may be the smaller one, where four times the first would not fit.
            fits = 4 * self.peaks[first] <= self.memory.limit
            self.try_size(min(4 * first, most) if fits else max(first // 2, 1))
        while (size := self.next_size(most)) > WORTH_IT * self.largest or most == size > self.largest:
            self.try_size(size)

    def try_size(self, tokens: int) -> bool:
        """Does an update of a size; whether it fitted."""
        update = self.prepare(tokens)
        try:
            peak = self.memory.peak(update)
        except tf.errors.ResourceExhaustedError:
            peak = None
        if peak is None or peak > self.memory.limit:
            self.too_large = min(tokens, self.too_large or tokens)
            self.peaks.pop(tokens, None)
            return False
        self.peaks[tokens] = peak
        return True

    def next_size(self, most: int) -> int:
        """What to try next: as far as the memory reaches by what two sizes took, in round numbers."""
        wanted = min(most, STRIDE * self.largest)
        if len(self.peaks) > 1:
            smaller, larger = sorted(self.peaks)[-2:]
            per_token = (self.peaks[larger] - self.peaks[smaller]) / (larger - smaller)
            if per_token > 0:
                wanted = min(wanted, larger + int((self.memory.limit - self.peaks[larger]) / per_token))
        if self.too_large is not None:  # the estimate was not right: a part of the way there
            wanted = min(wanted, (3 * self.too_large + self.largest) // 4)
        return wanted if wanted == most or wanted < 100 else wanted - wanted % 100


def find_batch_tokens(
    problem: Problem[Any],
    model: TrainingModel,
    encoded: EncodedCorpus,
    weights: Sequence[float],
    side: Any,
    devices: Devices,
    memory: Memory | None = None,
) -> BatchSizeChoice:
    """Finds the batch size of a recipe by updates on its own data.

    Args:
        problem: Of a recipe with ``auto`` for the size of an update.
        model: A compiled one like the one to be trained; its weights are spoilt.
        encoded: The training data.
        weights: Times that an epoch takes each corpus.
        side: Makes its batches.
        devices: What updates are spread over.
        memory: Measures; by default that of the device at hand.

    Raises:
        RunError: When not even a small update fits.
    """
    _never_skip(model)

    def prepare(tokens: int) -> Callable[[], object]:
        plan = problem.batches(encoded, weights, tokens)
        place = problem.most_expensive(plan.epoch(0), side)
        return _update(model, encoded, plan, side, place, devices)

    size = problem.epoch_size(encoded, weights)
    return choose_batch_tokens(prepare, memory or device_memory(), size, problem.WORDS)


def find_micro_batch(
    problem: Problem[Any],
    model: TrainingModel,
    encoded: EncodedCorpus,
    weights: Sequence[float],
    side: Any,
    devices: Devices,
    memory: Memory | None = None,
) -> BatchSizeChoice:
    """Finds how much of an update a device takes at once; arguments and errors as of `find_batch_tokens`.

    Args:
        problem: Of a recipe with a number for the size of an update, and ``auto`` for this.
        model: See there.
        encoded: See there.
        weights: See there.
        side: See there.
        devices: See there.
        memory: See there.
    """
    _never_skip(model)
    plan = problem.batches(encoded, weights, problem.update_size)
    place = problem.most_expensive(plan.epoch(0), side)
    batch = plan.epoch(0)[place]
    row = max(batch.lengths.values(), default=1)
    most = -(-len(batch.rows) // devices.count) * row
    model.micro_batch = size = tf.Variable(1, dtype=tf.int64, trainable=False)

    def prepare(wanted: int) -> Callable[[], object]:
        update = _update(model, encoded, plan, side, place, devices)

        def run() -> object:
            size.assign(wanted)
            return update()

        return run

    search = _Search(prepare, memory or device_memory())
    what = f"training.micro_{problem.recipe.training.BUDGET}: auto: a part of {{size:,}} padded positions"
    search.run(min(FIRST_TOKENS if row > 1 else FIRST_ROWS, most), most, what, problem.WORDS.lengths)
    return BatchSizeChoice(search.largest, _reason(search, {most: "all that a device has of an update"}))


def _never_skip(model: TrainingModel) -> None:
    scale = getattr(model.optimizer, "dynamic_scale", None)
    if scale is not None:  # an update that overflows is skipped, and takes less
        scale.assign(1.0)


def _update(
    model: TrainingModel, encoded: EncodedCorpus, plan: Plan, side: Any, place: int, devices: Devices
) -> Callable[[], object]:
    """An update with one batch of a plan, ready to be done."""

    def batches(shares: Shares) -> tf.data.Dataset:
        return training_dataset(encoded, plan, side.assemble, Position(0, place), shares=shares)

    data = devices.feed(batches)
    return lambda: model.fit(data, steps_per_epoch=1, epochs=1, verbose=0, shuffle=False)
