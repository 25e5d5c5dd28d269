"""Processes that work in turns: each is started once, and stopped while another one works."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FIRST_WARM, WARM = 60, 1
"""Updates that do not count: of a contestant's first slice (buffers grow, kernels are made for shapes that
are new; no training is as short as that), and of later ones."""


@dataclass(frozen=True)
class Contestant:
    """What one process runs.

    Args:
        name: In the tables.
        script: File in `contestants/`.
        python: Interpreter whose environment it needs.
        settings: What the script reads.
        batch: Padded tokens of an update; 0 where there are none.
        seconds: Length of its slices.
    """

    name: str
    script: str
    python: Path
    settings: Mapping[str, Any]
    batch: int
    seconds: float


@dataclass
class Runner:
    """A contestant's process, stopped but for its slices.

    Args:
        contestant: What it runs.
        folder: Working folder; its log goes there too.
        threads: Threads it may use.

    Attributes:
        first: Its first answer, `first_update_seconds` added.
        slices: Its answers since then.
    """

    contestant: Contestant
    folder: Path
    threads: int
    first: dict[str, Any] = field(default_factory=dict)
    slices: list[dict[str, float]] = field(default_factory=list)

    def start(self) -> None:
        """Starts the process and waits for its first update."""
        stem = self.contestant.name.replace(" ", "_").replace(",", "")
        self.log = self.folder / f"{stem}.log"
        settings = self.folder / f"{stem}.json"
        settings.write_text(json.dumps(dict(self.contestant.settings)), encoding="utf-8")
        begin = time.perf_counter()
        with self.log.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [self.contestant.python, HERE / "contestants" / self.contestant.script, settings],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self.folder,
                env=_environment(self.threads),
                text=True,
            )
        self.first = self._answer() | {"first_update_seconds": time.perf_counter() - begin}

    def work(self) -> dict[str, float]:
        """Lets it work for one slice; returns its answer."""
        order = {"warm": WARM if self.slices else FIRST_WARM, "seconds": self.contestant.seconds}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        self.process.send_signal(signal.SIGCONT)
        self.slices.append(self._answer())
        return self.slices[-1]

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            tail = self.log.read_text(encoding="utf-8", errors="replace").split("\n")[-25:]
            raise SystemExit(
                f"{self.contestant.name} ended with code {self.process.wait()}; its log, {self.log}, ends:\n"
                + "\n".join(tail)
            )
        # Waiting would do, were it not for threads that spin or fetch ahead.
        self.process.send_signal(signal.SIGSTOP)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        """Ends the process, whatever it is doing."""
        if hasattr(self, "process"):
            self.process.kill()
            self.process.wait()


def run(runners: Sequence[Runner], rounds: int, say: Any) -> None:
    """Starts all, and lets each of them work once in each round, forwards and backwards in turn."""
    # Stopped processes would outlive this one unless its end is an exception.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        for runner in runners:
            runner.start()
            seconds = runner.first["first_update_seconds"]
            say(f"{runner.contestant.name}: first update after {seconds:.0f} s")
        for number in range(rounds):
            for runner in runners if number % 2 == 0 else reversed(runners):
                done = runner.work()
                rates = [
                    f"{done[key] / done['seconds'] / unit:,.0f} {name}"
                    for key, unit, name in (("target_tokens", 1, "tokens/s"), ("flop", 1e9, "GFLOP/s"))
                    if key in done
                ]
                say(f"round {number + 1} of {rounds}, {runner.contestant.name}: {rates[0]}")
    finally:
        for runner in runners:
            runner.end()


def keep_to_cores(threads: int) -> None:
    """Binds this process and all that it starts to as many cores as threads, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def _environment(threads: int) -> dict[str, str]:
    variables = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KERAS"))}
    # OpenMP's threads (JoeyNMT's) spin while they wait, which costs nine tenths of the speed as soon as
    # anything else wants a core.
    kept.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    return kept | {
        **dict.fromkeys(variables, str(threads)),
        "CUDA_VISIBLE_DEVICES": "-1",
        "KERAS_BACKEND": "tensorflow",
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }
