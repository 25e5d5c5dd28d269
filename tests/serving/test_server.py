"""A server under load: nothing lost, nothing swapped, whatever clients and versions do meanwhile."""

import contextlib
import http.client
import random
import shutil
import socket
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toy_server import Running, Toys, running, until, write_version

from tf_transformer.errors import ExportError, ServingError
from tf_transformer.serving import server as server_module
from tf_transformer.serving.options import ServerOptions
from tf_transformer.serving.server import ModelServer

CLIENTS = 16


class Clients:
    """Clients that ask without end, over connections that they keep, and check their own answers."""

    def __init__(self, server: Running) -> None:
        self.server = server
        self.faults: list[str] = []
        self.versions: set[int] = set()
        self.answered = 0
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(place,)) for place in range(CLIENTS)]

    def __enter__(self) -> "Clients":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(30)

    def _ask(self, place: int) -> None:
        draw = random.Random(place)
        while not self._ended.is_set():
            texts = [f"client {place} asks {draw.random()}" for _ in range(draw.randint(1, 3))]
            status, found = self.server.predict({"instances": texts})
            if status != 200 or [row["text"] for row in found["predictions"]] != [t[::-1] for t in texts]:
                self.faults.append(f"{texts}: {status} {found}")
                return
            self.versions |= {row["version"] for row in found["predictions"]}
            self.answered += 1


def later(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Does work in another thread; its result is in the list when the thread has ended."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    return thread, results


def test_versions_change_under_load_and_no_request_is_lost(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    toys = Toys()
    toys.broken.add(3)
    with running(tmp_path, toys) as server:
        with Clients(server) as clients:
            until(lambda: clients.answered > 50)
            for number in (2, 3, 4):
                write_version(tmp_path, number)
                if number != 3:
                    until(lambda number=number: number in clients.versions)
                    shutil.rmtree(tmp_path / str(number - 1), ignore_errors=number == 4)
                    count = clients.answered
                    until(lambda count=count: clients.answered > count + 50)
                else:
                    until(lambda: any("version 3 is not loaded" in line for line in server.said))
            kill_some(server)
            count = clients.answered
            until(lambda: clients.answered > count + 50)
        assert clients.faults == []
        assert clients.versions == {1, 2, 4}
        until(lambda: "version 2 is unloaded" in server.said)
        rows = [size for toy in toys.loaded.values() for size in toy.signatures["serving_default"].sizes]
        assert max(rows) > 3  # requests did run together


def test_a_version_that_is_unloaded_is_held_by_nobody(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    with running(tmp_path) as server:
        assert server.predict({"instances": ["ab"]})[0] == 200
        old = weakref.ref(server.server.host.find("toy", None))
        function = weakref.ref(server.server.host.find("toy", None).signatures["serving_default"])
        write_version(tmp_path, 2)
        until(lambda: old() is None and function() is None)
        assert server.said[-1] == "version 1 is unloaded"


def test_a_client_that_says_nothing_or_only_begins_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "_IDLE", 0.2)
    write_version(tmp_path, 1)
    with running(tmp_path) as server:
        address = ("127.0.0.1", server.server.port)
        for said in (b"", b"POST /v1/models/toy:predict HTTP/1.1\r\nHost: a\r\nX-"):
            with socket.create_connection(address, 20) as raw:
                raw.sendall(said)
                assert raw.recv(1) == b""
        with socket.create_connection(address, 20) as raw, pytest.raises(OSError):
            for _ in range(2000):  # one that says a letter at a time has no more time
                raw.sendall(b"a")
                time.sleep(0.01)
        assert server.predict({"instances": ["ab"]})[0] == 200


def kill_some(server: Running) -> None:
    """Clients that go away in the middle of a body, or before the answer."""
    for body in (b'{"instances": ["never', b'{"instances": ["not waited for"]}'):
        raw = socket.create_connection(("127.0.0.1", server.server.port), 20)
        raw.sendall(b"POST /v1/models/toy:predict HTTP/1.1\r\nHost: a\r\nContent-Length: 33\r\n\r\n" + body)
        raw.close()


def test_a_client_that_has_gone_leaves_the_queue(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    with running(tmp_path) as server:
        gate, function = server.toys.gate, server.toys.loaded[1].signatures["serving_default"]
        gate.shut()
        first, answers = later(lambda: server.predict({"instances": ["ab"]}))
        assert gate.reached.wait(20)
        gone = server.connect()
        gone.request("POST", "/v1/models/toy:predict", b'{"instances": ["gone"]}')
        until(lambda: server.server.host.find("toy", None).requests == 2)
        gone.close()
        until(lambda: server.server.host.find("toy", None).requests == 1)
        gate.open()
        first.join(20)
        assert answers[0][0] == 200 and function.sizes[-1] == 1
        assert server.predict({"instances": ["cd"]})[0] == 200


def test_a_full_queue_says_so_and_an_answer_has_a_deadline(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    with running(tmp_path, timeout=1.5, batch={"rows": 2, "queue": 3}) as server:
        gate = server.toys.gate
        gate.shut()
        first, begun = later(lambda: server.predict({"instances": ["ab"]}))
        assert gate.reached.wait(20)
        second, waiting = later(lambda: server.predict({"instances": ["c", "d"]}))
        until(lambda: b"tf_transformer_queue_rows 2.0" in server.send("GET", "/metrics")[1])
        full = {"error": "the queue is full: 2 rows wait, at most 3 may. Try again"}
        assert server.predict({"instances": ["e", "f"]}) == (503, full)
        first.join(20)
        second.join(20)
        late = (504, {"error": "no answer within 1.5 seconds"})
        assert begun == [late]
        assert waiting[0][0] == 504
        gate.open()
        until(lambda: server.predict({"instances": ["g", "h"]})[0] == 200)


def test_a_stop_ends_what_was_begun_and_takes_no_more(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    with running(tmp_path) as server:
        gate = server.toys.gate
        kept = server.connect()
        kept.request("GET", "/readyz")
        assert kept.getresponse().read() == b'{"status": "ready"}'
        gate.shut()
        first, begun = later(lambda: server.predict({"instances": ["ab"]}))
        assert gate.reached.wait(20)
        second, waiting = later(lambda: server.predict({"instances": ["cd"]}))
        until(lambda: server.server.host.find("toy", None).requests == 2)
        server.server.stop()
        until(lambda: server.server.stopping)
        until(lambda: refuses(server))
        gate.open()
        first.join(20)
        second.join(20)
        assert begun == [(200, {"predictions": [{"text": "ba", "version": 1}]})]
        assert waiting == [(200, {"predictions": [{"text": "dc", "version": 1}]})]
        server.thread.join(20)
        assert server.said[-2:] == ["stopping: what was begun is ended", "stopped"]
        kept.close()


def test_a_stop_does_not_wait_for_ever(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    with running(tmp_path, grace=1) as server:
        server.toys.gate.shut()
        asking, answers = later(lambda: lost(server))
        assert server.toys.gate.reached.wait(20)
        server.server.stop()
        server.thread.join(15)
        assert not server.thread.is_alive()
        asking.join(20)
        assert answers == [True]


def lost(server: Running) -> bool:
    """Whether a request gets no good answer."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        return server.predict({"instances": ["ab"]}) == (500, b"Internal Server Error")
    return True


def test_a_log_that_nobody_reads_is_no_fault(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    with running(tmp_path, fault=BrokenPipeError()) as server:
        write_version(tmp_path, 2)
        until(lambda: "version 1 is unloaded" in server.said)
        assert server.predict({"instances": ["ab"]})[1] == {"predictions": [{"text": "ba", "version": 2}]}
        server.server.stop()
        server.thread.join(20)
        assert server.said[-1] == "stopped"


def refuses(server: Running) -> bool:
    """Whether a new request is not taken."""
    with contextlib.suppress(OSError):
        return server.predict({"instances": ["new"]})[0] == 503
    return True


def test_a_port_that_is_taken_is_told_before_anything_is_loaded(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for options in (ServerOptions(port=port), ServerOptions(port=0, grpc_port=port)):
            with pytest.raises(
                ServingError, match=f"127.0.0.1:{port} cannot be listened on: Address already"
            ):
                ModelServer("toy", tmp_path, Toys().load, options, print)
    with pytest.raises(ServingError, match=r"nowhere\.invalid:8501 cannot be listened on"):
        ModelServer("toy", tmp_path, Toys().load, ServerOptions(host="nowhere.invalid"), print)


def test_an_export_that_cannot_be_loaded_ends_it(tmp_path: Path) -> None:
    server = ModelServer("toy", tmp_path, Toys().load, ServerOptions(port=0, grpc_port=None), print)
    with pytest.raises(ExportError, match="no exported model is here"):
        server.run()


def test_sixteen_clients_get_their_own_answers(tmp_path: Path, figure: Callable[[str], None]) -> None:
    write_version(tmp_path, 1)
    with running(tmp_path, grpc_port=None) as server:
        started = time.monotonic()
        with Clients(server) as clients:
            until(lambda: clients.answered > 1000 or clients.faults, 60)
        seconds = time.monotonic() - started
    assert clients.faults == []
    figure(f"{clients.answered / seconds:.0f} requests/s from {CLIENTS} clients")
