"""The search for the largest update: by memory that a test makes up, and once by a real training."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import trainings
from trainings import demand_equal

from tf_transformer import batch_size
from tf_transformer.batch_size import choose_batch_tokens
from tf_transformer.build import problem_of
from tf_transformer.build.translation import TranslationProblem
from tf_transformer.callbacks.advance import Advance
from tf_transformer.data.batching import Batch
from tf_transformer.errors import RecipeError, RunError
from tf_transformer.memory import ProcessMemory
from tf_transformer.recipe import load_recipe
from tf_transformer.run_folder import RunFolder

MIB = 2**20


class Machine:
    """A machine whose updates take memory by a formula.

    Args:
        limit: MiB that may be taken.
        needs: MiB that an update of so many tokens takes.
        breaks: MiB from which on it raises an error, as a GPU does.
    """

    def __init__(self, limit: float, needs: Callable[[int], float], breaks: float = np.inf) -> None:
        self.limit = int(limit * MIB)
        self.of = "half of a machine"
        self.needs = needs
        self.breaks = breaks * MIB
        self.tried: list[int] = []
        self._peak = 0.0

    def prepare(self, tokens: int) -> Callable[[], None]:
        return lambda: self.update(tokens)

    def update(self, tokens: int) -> None:
        self.tried.append(tokens)
        self._peak = self.needs(tokens) * MIB
        if self._peak > self.breaks:
            raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor")

    def peak(self, work: Callable[[], object]) -> int:
        work()
        return int(self._peak)

    def choose(self, epoch_tokens: int = 10**6) -> batch_size.BatchSizeChoice:
        return choose_batch_tokens(self.prepare, self, epoch_tokens, TranslationProblem.WORDS)


def test_two_sizes_lead_to_the_largest_and_that_one_is_tried() -> None:
    # 100 MiB and a tenth of one for each token: 1000 MiB are 9000 tokens.
    machine = Machine(1000, lambda tokens: 100 + tokens / 10)
    choice = machine.choose()
    assert machine.tried == [1024, 1024, 4096, 9000]
    assert choice.tokens == 9000
    takes = "the largest such update takes 1.0 GiB, and 1.0 GiB may be taken: half of a machine"
    assert choice.reason == f"limited by memory; {takes}"


def test_no_more_than_is_of_use_on_a_large_machine() -> None:
    machine = Machine(10**6, lambda tokens: tokens)
    choice = machine.choose()
    assert choice.tokens == 25_000 == machine.tried[-1]
    assert choice.reason.startswith(
        "as many as are of use; the largest such update takes 24.4 GiB, and 976.6 "
    )


@pytest.mark.parametrize(("epoch_tokens", "tried"), [(700, [700, 700]), (3000, [1024, 1024, 3000])])
def test_no_more_than_the_text_has(epoch_tokens: int, tried: list[int]) -> None:
    machine = Machine(10**6, lambda tokens: tokens)
    choice = machine.choose(epoch_tokens)
    assert (choice.tokens, machine.tried) == (epoch_tokens, tried)
    assert choice.reason.startswith("all of the training text; ")


def test_a_small_machine_is_never_asked_for_four_times_what_just_fits() -> None:
    machine = Machine(1000, lambda tokens: 10 + tokens * 0.75)
    assert machine.choose().tokens == 1300
    assert machine.tried == [1024, 1024, 512, 1300]
    assert max(map(machine.needs, machine.tried)) <= 1000


def test_memory_that_grows_faster_than_two_sizes_say() -> None:
    machine = Machine(1000, lambda tokens: 50 + tokens / 50 + (tokens / 400) ** 2)
    tokens = machine.choose().tokens
    assert machine.needs(tokens) <= 1000 < machine.needs(int(1.1 * tokens))
    assert len(machine.tried) <= 9


@pytest.mark.parametrize("breaks", [900, np.inf], ids=["error", "no error"])
def test_what_breaks_below_the_limit_is_found_out(breaks: float) -> None:
    # A pool in pieces: from 7000 tokens on nothing is found that is large enough.
    machine = Machine(1000, lambda tokens: 100 + tokens / 10 + 10**4 * (tokens > 7000), breaks)
    tokens = machine.choose().tokens
    assert 6600 <= tokens <= 7000
    assert len(machine.tried) <= 9


def test_noise_that_hides_what_a_token_takes_leads_no_further_than_eight_times() -> None:
    machine = Machine(1000, lambda tokens: 300 if tokens <= 1024 else tokens / 4)
    tokens = machine.choose().tokens
    assert machine.tried[:4] == [1024, 1024, 512, 8100]  # 8 * 1024 in round numbers
    assert 3500 <= tokens <= 4000


def test_not_even_a_small_update_fits() -> None:
    machine = Machine(1000, lambda tokens: 2000 + tokens)
    with pytest.raises(RunError, match=r"auto: an update of 1,024 target tokens does not fit in half of"):
        machine.choose()
    with pytest.raises(RunError, match=r"make the model smaller, or lower data\.max_source_length and"):
        Machine(1000, lambda tokens: 2000 + tokens, breaks=1500).choose()


@pytest.mark.parametrize(
    ("vocabulary_size", "heads", "loss_chunk", "place"),
    [
        (50_000, 1, None, 0),  # logits: the most target positions, 8 * 10
        (50_000, 1, 16, 1),  # logits of 16 positions each: nothing between the batches
        (5, 1, None, 1),  # layers: target positions count double, 2 * 60 + 2 * 20 and 8 + 2 * 80 against 150
        (5, 64, None, 2),  # attention: squares
    ],
)
def test_the_most_expensive_batch_hangs_on_the_model(
    reversal: Path, vocabulary_size: int, heads: int, loss_chunk: int | None, place: int
) -> None:
    def batch(rows: int, source: int, target: int) -> Batch:
        return Batch(np.arange(rows), {"source": source, "target": target}, rows * target)

    batches = [batch(8, 1, 10), batch(30, 6, 2), batch(1, 50, 50)]
    model = f"model={{num_layers: 2, hidden_dim: 64, intermediate_dim: 64, num_heads: {heads}}}"
    chunk = "null" if loss_chunk is None else loss_chunk
    problem = problem_of(load_recipe(reversal, [model, f"training.loss_chunk={chunk}"]))
    side = SimpleNamespace(target_vocabulary_size=vocabulary_size)
    assert problem.most_expensive(batches, side) == place


SMALL = (
    "model.num_layers=1",
    "model.hidden_dim=8",
    "model.intermediate_dim=8",
    "model.num_heads=2",
    "model.dropout=0.3",
    "training.checkpoint_every=2",
    "decoding.beam=1",
)


def test_a_run_finds_the_pieces_that_fit(
    reversal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(batch_size, "device_memory", lambda: ProcessMemory((4 * 2**30, "a test leaves")))
    words = ("training.micro_batch_tokens=auto", "training.batch_tokens=500", "training.steps=2")
    assert trainings.start(reversal, tmp_path / "run", *SMALL, *words, quiet=False) == 0
    training = RunFolder(tmp_path / "run").recipe().training
    # With room for all of it: the most expensive batch, five digits and the end in each of its rows.
    assert training.batch_tokens == 500 and 500 <= training.micro_batch_tokens <= 600
    told = (
        f"micro_batch_tokens {training.micro_batch_tokens:,}: all that a device has of an update; the largest"
    )
    assert told in capsys.readouterr().err


def test_only_one_size_can_be_found(reversal: Path) -> None:
    words = ["training.batch_tokens=auto", "training.micro_batch_tokens=auto"]
    with pytest.raises(
        RecipeError, match=r"micro_batch_tokens: must be a number where training\.batch_tokens"
    ):
        load_recipe(reversal, words)


class Died(Exception):
    """Stands for the death of the process."""


def test_a_run_finds_its_batch_size_once_and_goes_on_with_it(
    reversal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    count = Advance.on_train_batch_end

    def train_until(step: int, run: Path, batch_tokens: Any, left: int) -> None:
        """Trains until it dies, on a machine with so many GiB left; what updates take is measured."""

        def die(self: Advance, batch: int, logs: Any = None) -> None:
            count(self, batch, logs)
            if self.state.step == step:
                raise Died

        monkeypatch.setattr(Advance, "on_train_batch_end", die)
        room = left * 2**30, "a test leaves"
        monkeypatch.setattr(batch_size, "device_memory", lambda: ProcessMemory(room))
        with pytest.raises(Died):
            trainings.start(reversal, run, *SMALL, f"training.batch_tokens={batch_tokens}", quiet=False)

    train_until(3, tmp_path / "auto", "auto", left=4)
    rows = (reversal.parent / "train.tsv").read_text().split("\n")[1:-1]
    found = RunFolder(tmp_path / "auto").recipe().training.batch_tokens
    # All of the training text: its digits, and the end of each sentence.
    assert found == sum(len(row.split("\t")[1].split()) + 1 for row in rows)
    assert f"batch_tokens {found:,}: all of the training text; the largest such" in capsys.readouterr().err
    # Going on asks nothing again, whatever the machine has left by now.
    train_until(5, tmp_path / "auto", "auto", left=0)
    assert "batch_tokens" not in capsys.readouterr().err
    train_until(5, tmp_path / "number", found, left=0)
    demand_equal(tmp_path / "auto", tmp_path / "number", "step-00000004")
    assert not (tmp_path / "auto" / "events.jsonl").exists()  # nothing was changed, and no batch is new
