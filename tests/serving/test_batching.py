"""Requests that wait: what runs together, what never does, and what is refused."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from toy_server import SCALAR, TEXT, Function, Gate, Toy, until

from tf_transformer.manifest import Manifest
from tf_transformer.serving.batching import Batcher, Task
from tf_transformer.serving.fault import Code, Fault
from tf_transformer.serving.options import BatchOptions
from tf_transformer.serving.signature import ServedSignature

MANIFEST = Manifest(task="translate", signatures=("serving_default",), verification={})


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def toy(gate: Gate) -> Toy:
    return Toy(7, gate, MANIFEST)


@pytest.fixture
def batcher(gate: Gate) -> Iterator[Batcher]:
    made = Batcher(BatchOptions(rows=5, wait=0, queue=11, threads=1))
    yield made
    gate.open()
    made.close()


def strings(*words: str) -> Any:
    return np.array([word.encode() for word in words], object)


def ask(signature: ServedSignature, *words: str, seconds: float = 60, **others: Any) -> Task:
    return Task(signature, {"text": strings(*words), **others}, len(words), time.monotonic() + seconds)


def words_of(task: Task) -> list[str]:
    return [word.decode() for word in task.future.result(20)["text"].tolist()]


def hold(batcher: Batcher, gate: Gate, signature: ServedSignature) -> Task:
    """Keeps the thread busy with a task, so that what comes next has to wait."""
    gate.shut()
    first = ask(signature, "first")
    batcher.submit([first])
    assert gate.reached.wait(20)
    return first


def test_what_waits_runs_together_and_each_gets_its_own(batcher: Batcher, gate: Gate, toy: Toy) -> None:
    function = toy.signatures["serving_default"]
    signature = ServedSignature("serving_default", function)
    first = hold(batcher, gate, signature)
    tasks = [ask(signature, "ab"), ask(signature, "cd", "ef", "gh"), ask(signature, "ij", "kl")]
    for task in tasks:
        batcher.submit([task])
    assert batcher.rows == 6
    gate.open()
    assert words_of(first) == ["tsrif"]
    assert [words_of(task) for task in tasks] == [["ba"], ["dc", "fe", "hg"], ["ji", "lk"]]
    # 1 and 3 rows fit into 5, and the next 2 do not.
    assert function.sizes == [1, 4, 2]
    assert batcher.rows == 0


def test_the_oldest_goes_with_those_of_its_length(batcher: Batcher, gate: Gate, toy: Toy) -> None:
    function = toy.signatures["serving_default"]
    signature = ServedSignature("serving_default", function)
    hold(batcher, gate, signature)
    order: list[str] = []
    for word in ("aaaa", "bb", "cccccccc", "dddd", "ee", "fff", "ggggg", "hhhhhh"):
        task = ask(signature, word)
        task.future.add_done_callback(lambda found, word=word: order.append(word))
        batcher.submit([task])
    gate.open()
    until(lambda: len(order) == 8)
    assert sorted(order[:5]) == ["aaaa", "bb", "dddd", "fff", "ggggg"]
    assert function.sizes == [1, 5, 3]


def test_options_without_rows_are_never_mixed(batcher: Batcher, gate: Gate, toy: Toy) -> None:
    scaled = toy.signatures["scaled"]
    signature = ServedSignature("scaled", scaled)
    hold(batcher, gate, ServedSignature("serving_default", toy.signatures["serving_default"]))
    factors = (2.0, 3.0, 2.0)
    tasks = [ask(signature, "abc", by=np.float32(factor)) for factor in factors]
    for task in tasks:
        batcher.submit([task])
    gate.open()
    assert [task.future.result(20)["length"].tolist() for task in tasks] == [[6.0], [9.0], [6.0]]
    assert sorted(scaled.sizes) == [1, 2]


def test_what_depends_on_its_neighbours_runs_alone(batcher: Batcher, gate: Gate, toy: Toy) -> None:
    """Results without rows, or with a size that is that of the longest row."""
    hold(batcher, gate, ServedSignature("serving_default", toy.signatures["serving_default"]))
    ragged = Function({"text": TEXT}, {"text": tf.TensorSpec([None, None], tf.string)}, None)
    assert not ServedSignature("ragged", ragged).joins
    assert not ServedSignature("scalar", Function({"by": SCALAR}, {"by": SCALAR}, None)).joins
    whole = toy.signatures["whole"]
    tasks = [ask(ServedSignature("whole", whole), *words) for words in (["a"], ["b", "c"])]
    for task in tasks:
        batcher.submit([task])
    gate.open()
    assert [int(task.future.result(20)["count"]) for task in tasks] == [1, 2]
    assert whole.sizes == [1, 2]


def test_one_that_fails_fails_alone(batcher: Batcher, gate: Gate, toy: Toy) -> None:
    signature = ServedSignature("serving_default", toy.signatures["serving_default"])
    hold(batcher, gate, signature)
    good, bad, wrong, other = (ask(signature, word) for word in ("good", "poison", "bug", "other"))
    for task in (good, bad, wrong, other):
        batcher.submit([task])
    gate.open()
    assert (words_of(good), words_of(other)) == (["doog"], ["rehto"])
    with pytest.raises(Fault, match=r"^poison is no word$") as found:
        bad.future.result(20)
    assert found.value.code is Code.INVALID_ARGUMENT
    with pytest.raises(Fault, match="cannot be run: nobody knows") as found:
        wrong.future.result(20)
    assert found.value.code is Code.INTERNAL


def test_a_full_queue_refuses_whole_requests(batcher: Batcher, gate: Gate, toy: Toy) -> None:
    signature = ServedSignature("serving_default", toy.signatures["serving_default"])
    hold(batcher, gate, signature)
    batcher.submit([ask(signature, *"abcde"), ask(signature, *"abcd")])
    with pytest.raises(Fault, match="queue is full: 9 rows wait, at most 11 may") as found:
        batcher.submit([ask(signature, "x"), ask(signature, "y", "z")])
    assert found.value.code is Code.UNAVAILABLE and batcher.rows == 9
    batcher.submit([ask(signature, "x", "y")])


def test_what_nobody_waits_for_makes_room(batcher: Batcher, gate: Gate, toy: Toy) -> None:
    function = toy.signatures["serving_default"]
    signature = ServedSignature("serving_default", function)
    hold(batcher, gate, signature)
    left, late = ask(signature, *"abcde"), ask(signature, *"abcdef", seconds=-1)
    batcher.submit([left, late])
    left.future.cancel()
    kept = ask(signature, "x", "y")
    batcher.submit([kept])
    assert batcher.rows == 2
    gate.open()
    assert words_of(kept) == ["x", "y"] and function.sizes == [1, 2]
    with pytest.raises(Fault, match="the deadline has passed in the queue") as found:
        late.future.result(20)
    assert found.value.code is Code.DEADLINE_EXCEEDED


def test_a_late_one_is_not_run(batcher: Batcher, gate: Gate, toy: Toy) -> None:
    function = toy.signatures["serving_default"]
    signature = ServedSignature("serving_default", function)
    hold(batcher, gate, signature)
    late, kept = ask(signature, "late", seconds=-1), ask(signature, "kept")
    batcher.submit([late])
    batcher.submit([kept])
    gate.open()
    assert words_of(kept) == ["tpek"] and function.sizes == [1, 1]
    assert isinstance(late.future.exception(20), Fault)


def test_closing_answers_what_waits_and_takes_no_more(gate: Gate, toy: Toy) -> None:
    batcher = Batcher(BatchOptions(rows=3, wait=60, queue=11, threads=1))
    signature = ServedSignature("serving_default", toy.signatures["serving_default"])
    tasks = [ask(signature, "ab"), ask(signature, "cd")]
    batcher.submit(tasks)
    batcher.close()
    assert [words_of(task) for task in tasks] == [["ba"], ["dc"]]
    with pytest.raises(Fault, match="the server is stopping"):
        batcher.submit([ask(signature, "ef")])


def test_a_request_waits_for_others_and_a_full_batch_does_not(gate: Gate, toy: Toy) -> None:
    batcher = Batcher(BatchOptions(rows=2, wait=60, queue=11, threads=1))
    function = toy.signatures["serving_default"]
    signature = ServedSignature("serving_default", function)
    first, second = ask(signature, "ab"), ask(signature, "cd")
    batcher.submit([first])
    assert not first.future.done()
    batcher.submit([second])
    assert (words_of(first), words_of(second), function.sizes) == (["ba"], ["dc"], [2])
    batcher.close()


def test_batches_run_at_the_same_time_where_there_are_threads(gate: Gate, toy: Toy) -> None:
    batcher = Batcher(BatchOptions(rows=1, wait=0, queue=11, threads=2))
    both = threading.Barrier(2)

    def meet(text: Any) -> Any:
        both.wait(20)
        return {"text": text}

    signature = ServedSignature("meet", Function({"text": TEXT}, {"text": TEXT}, meet))
    tasks = [ask(signature, "ab"), ask(signature, "cd")]
    batcher.submit(tasks)
    assert [words_of(task) for task in tasks] == [["ab"], ["cd"]]
    batcher.close()


def test_results_without_a_row_for_each_row_are_asked_for_one_by_one(batcher: Batcher, gate: Gate) -> None:
    """A signature that promises rows and does not keep it: nobody gets another's."""
    function = Function({"text": TEXT}, {"text": TEXT}, lambda text: {"text": text[:1]})
    signature = ServedSignature("cut", function)
    held = ServedSignature("serving_default", Toy(1, gate, MANIFEST).signatures["serving_default"])
    hold(batcher, gate, held)
    tasks = [ask(signature, "ab"), ask(signature, "cd")]
    for task in tasks:
        batcher.submit([task])
    gate.open()
    assert [words_of(task) for task in tasks] == [["ab"], ["cd"]]
    until(lambda: function.sizes == [2, 1, 1])
