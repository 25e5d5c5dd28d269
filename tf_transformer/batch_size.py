"""``training.batch_tokens: auto``: the largest update that there is memory for, found by real updates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tf_transformer.build.problem import Problem, Words
from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.pipeline import Position, training_dataset
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
    size = min(FIRST_TOKENS, most)
    search.try_size(size)  # builds the graph, whose memory is no batch's
    if not search.try_size(size):
        raise RunError(
            f"training.batch_tokens: auto: an update of {size:,} {words.unit}s does not fit in {memory.of}; "
            f"make the model smaller, or lower {words.lengths}"
        )
    if size < most:
        # The second size may be the smaller one, where four times the first would not fit.
        search.try_size(min(4 * size, most) if 4 * search.peaks[size] <= memory.limit else size // 2)
    while (size := search.next_size(most)) > WORTH_IT * search.largest or most == size > search.largest:
        search.try_size(size)
    return BatchSizeChoice(search.largest, _reason(search, epoch_tokens, words.data))


def _reason(search: "_Search", epoch_tokens: int, data: str) -> str:
    limits = {MOST_TOKENS: "as many as are of use", epoch_tokens: f"all of the training {data}"}
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
        return wanted if wanted == most else wanted - wanted % 100


def find_batch_tokens(
    problem: Problem[Any],
    model: TrainingModel,
    encoded: EncodedCorpus,
    weights: Sequence[float],
    side: Any,
    memory: Memory | None = None,
) -> BatchSizeChoice:
    """Finds the batch size of a recipe by updates on its own data.

    Args:
        problem: Of a recipe with ``auto`` for the size of an update.
        model: A compiled one like the one to be trained; its weights are spoilt.
        encoded: The training data.
        weights: Times that an epoch takes each corpus.
        side: Makes its batches.
        memory: Measures; by default that of the device at hand.

    Raises:
        RunError: When not even a small update fits.
    """
    scale = getattr(model.optimizer, "dynamic_scale", None)
    if scale is not None:  # an update that overflows is skipped, and takes less
        scale.assign(1.0)

    def prepare(tokens: int) -> Callable[[], object]:
        plan = problem.batches(encoded, weights, tokens)
        place = problem.most_expensive(plan.epoch(0), side)
        batches = training_dataset(encoded, plan, side.assemble, Position(0, place))
        return lambda: model.fit(batches, steps_per_epoch=1, epochs=1, verbose=0, shuffle=False)

    size = problem.epoch_size(encoded, weights)
    return choose_batch_tokens(prepare, memory or device_memory(), size, problem.WORDS)
