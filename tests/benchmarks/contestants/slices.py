"""A contestant's side of the race: work when told to, count, answer, wait. Standard library alone.

An order is a line of JSON on standard input, ``{"warm": updates, "seconds": seconds}``: so many updates that
do not count, then updates until the time is over. The answer, a line on standard output, holds what was done
in that time. The end of the input ends the process.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def settings() -> dict[str, Any]:
    """What the race wants of this contestant: the JSON file that its one argument names."""
    found: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    return found


class Slices:
    """Cuts a training that knows nothing of it into slices; call `after_update` after each of its updates.

    Args:
        totals: Sums since the training began, by name; read at the borders of slices only.
        about: Facts for the first answer, which tells that one update was done; may be filled in until then.
    """

    def __init__(self, totals: Callable[[], dict[str, float]], about: dict[str, Any]) -> None:
        # Libraries print what they like; the answers have a descriptor of their own.
        self._answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self._totals = totals
        self._about = about
        self._order: dict[str, float] | None = None
        self._updates = 0
        self._start = 0.0
        self._before: dict[str, float] = {}

    def after_update(self) -> None:
        """Counts an update, and waits where a slice is over."""
        if self._order is None:
            self._wait_after(self._about)
            return
        self._updates += 1
        if self._updates == self._order["warm"]:
            self._before, self._start = self._totals(), time.perf_counter()
            return
        seconds = time.perf_counter() - self._start
        if self._updates > self._order["warm"] and seconds >= self._order["seconds"]:
            done = {name: value - self._before[name] for name, value in self._totals().items()}
            self._wait_after({"seconds": seconds, "updates": self._updates - self._order["warm"]} | done)

    def _wait_after(self, answer: dict[str, Any]) -> None:
        self._answers.write(json.dumps(answer | {"peak_bytes": peak_bytes()}) + "\n")
        self._answers.flush()
        line = sys.stdin.readline()
        if not line:
            os._exit(0)  # in the middle of a training: nothing of it is wanted
        self._order = json.loads(line)
        self._updates = 0


def peak_bytes() -> int:
    """The most memory this process has had resident."""
    status = Path("/proc/self/status")
    if status.exists():  # `getrusage` may report what the parent had before the program was replaced
        line = next(line for line in status.read_text().split("\n") if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
