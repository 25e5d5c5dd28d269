"""The hosts of one training, as the environment names them, and how they find each other before it begins.

The same command runs on each host. Who they are is said by one of these, the first that is there:

- ``TF_CONFIG``, TensorFlow's own: ``{"cluster": {"worker": ["a:2222", "b:2222"]}, "task": {"index": 0}}``;
- ``TF_TRANSFORMER_HOSTS``, ``a:2222,b:2222``, with the index of this host in ``TF_TRANSFORMER_HOST``, in
  Kubernetes' ``JOB_COMPLETION_INDEX``, or at the end of the pod's name as a StatefulSet gives it;
- what SLURM's ``srun`` sets, where it starts several tasks.
"""

import json
import os
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from tf_transformer.errors import RunError

PORT = 2222
"""Where hosts listen that are named without a port."""
WAIT_SECONDS = 300.0
"""How long hosts wait for each other by default."""
_PATIENCE = 5.0
"""Seconds after which a person is told who is waited for."""
_LONGEST = 65536


@dataclass(frozen=True)
class Cluster:
    """The hosts of a training; the first one is the chief, which writes its files.

    Args:
        addresses: ``host:port`` of each.
        index: Which of them this process is.
    """

    addresses: tuple[str, ...]
    index: int

    @property
    def is_chief(self) -> bool:
        """Whether this process is the chief."""
        return self.index == 0

    def named(self, index: int) -> str:
        """A host for a message, such as ``host 1 (b:2222)``."""
        return f"host {index} ({self.addresses[index]})"


def find_cluster(environment: Mapping[str, str]) -> Cluster | None:
    """The hosts that the environment names; None where it names one alone, or none.

    Args:
        environment: The variables of the process.

    Raises:
        RunError: When a variable does not say what it should; names it.
    """
    if environment.get("TF_CONFIG"):
        found = _of_tf_config(environment["TF_CONFIG"])
    elif environment.get("TF_TRANSFORMER_HOSTS"):
        found = _of_list(environment)
    elif environment.get("SLURM_STEP_NUM_TASKS", "1") != "1" and "SLURM_PROCID" in environment:
        found = _of_slurm(environment)
    else:
        return None
    addresses, index, source = found
    if not addresses:
        return None
    if not 0 <= index < len(addresses):
        raise RunError(f"{source}: names {len(addresses)} hosts. Received: index {index}, which is from 0")
    if len(set(addresses)) < len(addresses):
        raise RunError(f"{source}: names a host twice. Received: {', '.join(addresses)}")
    return Cluster(addresses, index) if len(addresses) > 1 else None


def is_chief(environment: Mapping[str, str]) -> bool:
    """Whether this process is the chief of its hosts, or the only one."""
    cluster = find_cluster(environment)
    return cluster is None or cluster.is_chief


def _of_tf_config(text: str) -> tuple[tuple[str, ...], int, str]:
    try:
        values = json.loads(text)
        cluster, task = values.get("cluster", {}), values.get("task", {})
        others = sorted(set(cluster) - {"chief", "worker"})
        if others:
            raise RunError(f"TF_CONFIG: hosts must be of chief and worker. Received: {', '.join(others)}")
        chiefs = list(cluster.get("chief", []))
        addresses = [_address(name) for name in (*chiefs, *cluster.get("worker", []))]
        index = int(task.get("index", 0)) + (len(chiefs) if task.get("type", "worker") == "worker" else 0)
    except (ValueError, TypeError, AttributeError) as error:
        raise RunError(
            f"TF_CONFIG: is no JSON with cluster and task ({error}). Received: {text[:200]}"
        ) from None
    return tuple(addresses), index, "TF_CONFIG"


def _of_list(environment: Mapping[str, str]) -> tuple[tuple[str, ...], int, str]:
    names = [name.strip() for name in environment["TF_TRANSFORMER_HOSTS"].split(",") if name.strip()]
    pod = re.search(r"-(\d+)$", environment.get("HOSTNAME", ""))
    number = (
        environment.get("TF_TRANSFORMER_HOST")
        or environment.get("JOB_COMPLETION_INDEX")
        or (pod[1] if pod else "")
    )
    if not number.isdigit():
        raise RunError(
            "TF_TRANSFORMER_HOSTS: needs the index of this host in TF_TRANSFORMER_HOST, JOB_COMPLETION_INDEX "
            f"or at the end of HOSTNAME. Received: {number or 'none of them'}"
        )
    return tuple(map(_address, names)), int(number), "TF_TRANSFORMER_HOSTS"


def _of_slurm(environment: Mapping[str, str]) -> tuple[tuple[str, ...], int, str]:
    """Each task's node, and a port of its own where a node has several."""
    try:
        nodes = list(expand_hosts(environment["SLURM_STEP_NODELIST"]))
        tasks = list(_expand_counts(environment["SLURM_STEP_TASKS_PER_NODE"]))
        placed = zip(nodes, tasks, strict=True)
        addresses = [f"{node}:{PORT + task}" for node, count in placed for task in range(count)]
        return tuple(addresses), int(environment["SLURM_PROCID"]), "SLURM_PROCID"
    except (KeyError, ValueError) as error:
        raise RunError(f"SLURM's variables do not say who the hosts are: {error}") from None


def expand_hosts(text: str) -> Iterator[str]:
    """The names behind SLURM's short form of them: ``n[1-2,07],m`` is n1, n2, n07, m.

    Raises:
        ValueError: When it is none.
    """
    parts = re.findall(r"([^,\[\]]*)(?:\[([\d,-]+)\])?([^,\[\]]*)(?:,|$)", text)[:-1]
    written = (before + (f"[{numbers}]" if numbers else "") + after for before, numbers, after in parts)
    if ",".join(written) != text:
        raise ValueError(f"SLURM_STEP_NODELIST is {text!r}")
    for before, numbers, after in parts:
        for each in (numbers or "").split(","):
            first, _, last = each.partition("-")
            if not first:
                yield before + after
            for number in range(int(first or 1), int(last or first or 0) + 1):
                yield f"{before}{number:0{len(first)}}{after}"


def _expand_counts(text: str) -> Iterator[int]:
    """SLURM's ``2(x3),1`` is 2, 2, 2, 1."""
    for part in text.split(","):
        found = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part)
        if found is None:
            raise ValueError(f"SLURM_STEP_TASKS_PER_NODE is {text!r}")
        yield from [int(found[1])] * int(found[2] or 1)


def _address(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise ValueError(f"{name!r} is no host")
    return name if re.search(r":\d+$", name) else f"{name}:{PORT}"


def meet(
    cluster: Cluster, greeting: Mapping[str, Any], say: Callable[[str], None], seconds: float = WAIT_SECONDS
) -> None:
    """Waits until all hosts are there, and have come for the same.

    The chief listens at the port that TensorFlow takes afterwards; the others knock.

    Args:
        cluster: The hosts.
        greeting: What must be the same for all, by what it is called.
        say: Told whom this host waits for, where it takes long.
        seconds: How long to wait.

    Raises:
        RunError: When a host is missing then, or has come for something else; names it.
    """
    waiting = _Waiting(cluster, dict(greeting), say, seconds)
    if cluster.is_chief:
        waiting.gather()
    else:
        waiting.knock()


class _Waiting:
    """One host that waits for the others."""

    def __init__(
        self, cluster: Cluster, greeting: dict[str, Any], say: Callable[[str], None], seconds: float
    ) -> None:
        self.cluster = cluster
        self.greeting = greeting
        self.say = say
        self.seconds = seconds
        self.begun = time.monotonic()
        self._told = False

    def gather(self) -> None:
        """The chief's part: all others have come, and each is told that all have."""
        host, _, port = self.cluster.addresses[0].rpartition(":")
        missing = set(range(1, len(self.cluster.addresses)))
        calls: dict[int, socket.socket] = {}
        try:
            server = socket.create_server(("", int(port)))
        except OSError as error:
            raise RunError(
                f"{host}:{port}: cannot be listened at ({os.strerror(error.errno or 0)})"
            ) from None
        fault = None
        with closing(server):
            server.settimeout(0.2)
            while missing - set(calls) and fault is None:
                self._tell(missing - set(calls))
                if self._is_over():
                    fault = self._missing(missing - set(calls))
                    break
                with suppress(TimeoutError, OSError, ValueError, KeyError, TypeError):
                    call, _ = server.accept()
                    call.settimeout(5.0)
                    said = json.loads(_line(call))
                    calls[int(said["host"])] = call
                    fault = self._difference(said)
        for call in calls.values():
            with suppress(OSError), closing(call):
                call.sendall(json.dumps({"fault": fault}).encode() + b"\n")
        if fault is not None:
            raise RunError(fault)

    def knock(self) -> None:
        """The part of all others: the chief answers when all are there."""
        host, _, port = self.cluster.addresses[0].rpartition(":")
        while not self._is_over():
            with suppress(OSError), socket.create_connection((host.strip("[]"), int(port)), 2.0) as call:
                call.sendall(json.dumps({**self.greeting, "host": self.cluster.index}).encode() + b"\n")
                # The chief's own patience ends a little earlier or later than this one's.
                call.settimeout(max(self._left(), 1.0) + _PATIENCE)
                answer = _line(call)
                if answer:
                    if fault := json.loads(answer)["fault"]:
                        raise RunError(fault)
                    return
            self._tell({0})
            time.sleep(0.2)
        raise RunError(self._missing({0}))

    def _difference(self, said: Mapping[str, Any]) -> str | None:
        """What another host has come for that this one has not."""
        for name, mine in self.greeting.items():
            if said.get(name) != mine:
                other = self.cluster.named(int(said["host"]))
                return f"{other} has another {name} than {self.cluster.named(0)}: {said.get(name)} and {mine}"
        return None

    def _missing(self, hosts: set[int]) -> str:
        names = ", ".join(self.cluster.named(host) for host in sorted(hosts))
        verb = "is" if len(hosts) == 1 else "are"
        return (
            f"{names} {verb} missing: {len(self.cluster.addresses)} hosts were to come within "
            f"{self.seconds:g} seconds (--wait). The same command must run on each of them"
        )

    def _tell(self, hosts: set[int]) -> None:
        if not self._told and time.monotonic() - self.begun > _PATIENCE:
            self._told = True
            names = ", ".join(self.cluster.named(host) for host in sorted(hosts))
            self.say(f"waiting for {names}, {self.seconds:g} seconds at most")

    def _left(self) -> float:
        return self.begun + self.seconds - time.monotonic()

    def _is_over(self) -> bool:
        return self._left() <= 0


def _line(call: socket.socket) -> bytes:
    """What is said up to the end of a line; nothing where the other side hangs up."""
    said = b""
    while not said.endswith(b"\n") and len(said) < _LONGEST:
        more = call.recv(4096)
        if not more:
            return b""
        said += more
    return said
