"""Several batches at once: their answers in order, the first one by itself."""

import threading

import pytest

from tf_transformer.tasks import batches as module
from tf_transformer.tasks.batches import at_once, share_cores


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cores", lambda: 2)
    monkeypatch.setattr(module.tf.config, "list_physical_devices", lambda kind: [])


def test_two_are_in_work_after_the_first() -> None:
    here, both = threading.current_thread(), threading.Barrier(2, timeout=20)
    done: list[int] = []

    def answer(batch: int) -> int:
        if batch == 0:
            assert threading.current_thread() is here and not done
        else:
            both.wait()  # nobody passes alone
        done.append(batch)
        return batch * batch

    assert at_once(answer, range(5)) == [0, 1, 4, 9, 16]
    assert sorted(done) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("reason", ["cores", "batches", "gpu"])
def test_one_after_the_other(monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    if reason == "cores":
        monkeypatch.setattr(module, "cores", lambda: 1)
    if reason == "gpu":
        monkeypatch.setattr(module.tf.config, "list_physical_devices", lambda kind: ["one"])
    batches = range(2) if reason == "batches" else range(7)
    threads = at_once(lambda batch: threading.current_thread(), batches)
    assert set(threads) == {threading.current_thread()}
    assert at_once(lambda batch: -batch, []) == []


def test_an_error_of_any_batch_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        at_once(lambda batch: 1 // (batch - 3), range(5))


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 1), (3, 1), (16, 4)])
def test_cores_are_shared_among_batches(monkeypatch: pytest.MonkeyPatch, cores: int, threads: int) -> None:
    told: list[int] = []
    monkeypatch.delenv("TF_NUM_INTRAOP_THREADS", raising=False)
    monkeypatch.setattr(module, "cores", lambda: cores)
    monkeypatch.setattr(module.tf.config.threading, "set_intra_op_parallelism_threads", told.append)
    share_cores()
    assert told == [threads]
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "7")
    share_cores()
    assert told == [threads]


def test_too_late_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(number: int) -> None:
        raise RuntimeError("cannot be modified after initialization")

    monkeypatch.delenv("TF_NUM_INTRAOP_THREADS", raising=False)
    monkeypatch.setattr(module.tf.config.threading, "set_intra_op_parallelism_threads", refuse)
    share_cores()
