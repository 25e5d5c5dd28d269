"""A server under load: throughput, waiting times and memory, each answer checked.

    python tests/benchmarks/serve_load.py EXPORT TEXTS [--clients 64] [--seconds 10] [options of serve]

TEXTS has a text a line. First one client asks one after another, which gives the answers that are right; then
all clients ask at once, each over a connection that it keeps, and any other answer counts as wrong.
"""

import argparse
import http.client
import json
import os
import random
import re
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any


class Client:
    """A connection that is kept.

    Args:
        address: Of the model, as the server says it.
    """

    def __init__(self, address: str) -> None:
        found = re.fullmatch(r"http://([^/]+)(/.*)", address)
        assert found is not None, address
        self.path = f"{found[2]}:predict"
        self.connection = http.client.HTTPConnection(found[1], timeout=120)

    def ask(self, text: str) -> Any:
        """What the server answers to a text."""
        headers = {"content-type": "application/json"}
        self.connection.request("POST", self.path, json.dumps({"instances": [text]}), headers)
        response = self.connection.getresponse()
        content = json.loads(response.read())
        if response.status != 200:
            raise RuntimeError(f"{response.status} {content}")
        (answer,) = content["predictions"]
        return answer.get("text", answer.get("label")) if isinstance(answer, dict) else answer


class Load:
    """Clients that ask at the same time.

    Args:
        address: Of the model.
        expected: The right answer to each text.
        clients: How many.
    """

    def __init__(self, address: str, expected: dict[str, Any], clients: int) -> None:
        self.address = address
        self.expected = expected
        self.clients = clients
        self.seconds: list[float] = []
        self.wrong: list[str] = []

    def run(self, until: float, process: int) -> list[float]:
        """Asks until a time of ``time.monotonic``; returns the server's memory in MB, twice a second."""
        threads = [threading.Thread(target=self._ask, args=(seed, until)) for seed in range(self.clients)]
        for thread in threads:
            thread.start()
        memory = []
        while any(thread.is_alive() for thread in threads):
            memory.append(resident(process))
            time.sleep(0.5)
        return memory

    def _ask(self, seed: int, until: float) -> None:
        draw, client, texts = random.Random(seed), Client(self.address), list(self.expected)
        while time.monotonic() < until:
            text, started = draw.choice(texts), time.perf_counter()
            try:
                answer = client.ask(text)
            except (OSError, RuntimeError, http.client.HTTPException) as error:
                self.wrong.append(f"{text}: {error!r}")
                return
            self.seconds.append(time.perf_counter() - started)
            if answer != self.expected[text]:
                self.wrong.append(f"{text}: {answer} in place of {self.expected[text]}")


def resident(process: int) -> float:
    """Memory of a process in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


def busy(process: int) -> float:
    """Seconds that a process has computed, whatever else the machine did."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(export: str, options: list[str]) -> tuple[subprocess.Popen[str], str, float]:
    """A server, its address, and the seconds until it answered."""
    began = time.monotonic()
    words = ["serve", export, "--port", "0", "--no-grpc", *options]
    server = subprocess.Popen(
        [sys.executable, "-m", "tf_transformer", *words], stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    for line in server.stderr:
        if line.startswith("http://"):
            return server, line.strip(), time.monotonic() - began
    raise SystemExit(f"the server ended with {server.wait()}")


def main() -> None:
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("export")
    parser.add_argument("texts", type=Path)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--distinct", type=int, default=60, help="so many of the texts")
    words, options = parser.parse_known_args()
    texts = words.texts.read_text(encoding="utf-8").splitlines()[: words.distinct]
    server, address, first = start(words.export, options)
    try:
        client = Client(address)
        client.ask(texts[0])
        alone, expected, computed = [], {}, busy(server.pid)
        for text in texts:
            started = time.perf_counter()
            expected[text] = client.ask(text)
            alone.append(time.perf_counter() - started)
        computed_alone = (busy(server.pid) - computed) / len(alone)
        load = Load(address, expected, words.clients)
        load.run(time.monotonic() + 2, server.pid)  # buffers grow to their size
        load.seconds.clear()
        began, computed = time.monotonic(), busy(server.pid)
        memory = load.run(began + words.seconds, server.pid)
        passed, computed = time.monotonic() - began, busy(server.pid) - computed
    finally:
        server.terminate()
        code = server.wait()
    part = max(1, len(memory) // 4)
    quarters = [statistics.mean(memory[start : start + part]) for start in range(0, 4 * part, part)]
    times = sorted(load.seconds)
    figures = {
        "seconds until it answers": round(first, 1),
        "one client: requests/s": round(len(alone) / sum(alone), 1),
        "one client: p50 ms": round(1000 * statistics.median(alone), 1),
        "one client: ms computed a request": round(1000 * computed_alone, 1),
        "clients": words.clients,
        "requests": len(times),
        "requests/s": round(len(times) / passed, 1),
        "times one client": round(len(times) / passed * sum(alone) / len(alone), 2),
        "ms computed a request": round(1000 * computed / len(times), 1),
        "p50 ms": round(1000 * statistics.median(times)),
        "p99 ms": round(1000 * times[int(len(times) * 0.99)]),
        "wrong": len(load.wrong),
        "first wrong": load.wrong[:3],
        "memory MB, quarters": [round(quarter) for quarter in quarters],
        "exit code": code,
    }
    print(json.dumps(figures, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
