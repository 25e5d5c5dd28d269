"""Which version answers: the newest of an export's folder that is whole and loads.

A new one is loaded and warmed up beside the old one, then takes its place; what the
old one has begun it ends.
"""

import gc
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from tf_transformer.errors import ExportError
from tf_transformer.manifest import check_whole, read_manifest
from tf_transformer.serving.fault import Code, Fault
from tf_transformer.serving.signature import reason
from tf_transformer.serving.version import Load, ServedVersion
from tf_transformer.serving.version_folders import State, state_of, versions_in
from tf_transformer.serving.warm_up import warm_up

_REMEMBERED = 8


class Phase(IntEnum):
    """The life of a version, by the numbers of TensorFlow Serving's protocol."""

    LOADING = 20
    AVAILABLE = 30
    UNLOADING = 40
    END = 50


@dataclass(frozen=True)
class Status:
    """Where a version stands.

    Args:
        phase: In its life.
        fault: Why it could not be loaded; empty otherwise.
    """

    phase: Phase
    fault: str = ""


class ModelHost:
    """The versions of one export.

    Args:
        name: What clients call the model.
        folder: The export's folder, or that of one version.
        load: Loads a version.
        say: Told what happens, a line each.
    """

    def __init__(self, name: str, folder: Path, load: Load, say: Callable[[str], None]) -> None:
        self.name = name
        self.folder = folder
        self._load = load
        self._say = say
        self._current: ServedVersion | None = None
        self._retired: list[ServedVersion] = []
        self._statuses: dict[int, Status] = {}
        self._tried: dict[int, State] = {}
        self._seen: dict[int, State] = {}
        self._unwhole: dict[int, str] = {}
        self._stopped = threading.Event()
        self._watcher: threading.Thread | None = None

    @property
    def current(self) -> ServedVersion | None:
        """The version that answers."""
        return self._current

    def find(self, name: str, number: int | None) -> ServedVersion:
        """The version for a request.

        Args:
            name: The model's name.
            number: The version that was asked for, None for the newest.

        Raises:
            Fault: When it is not served.
        """
        self._demand(name)
        current = self._current
        if current is None:
            raise Fault(Code.UNAVAILABLE, f"no version of {self.name} is loaded yet")
        if number not in (None, current.number):
            raise Fault(
                Code.NOT_FOUND, f"{self.name} is served in version {current.number}. Received: {number}"
            )
        return current

    def statuses(self, name: str, number: int | None) -> dict[int, Status]:
        """Where the versions stand, the newest first.

        Raises:
            Fault: When there is no such model or version.
        """
        self._demand(name)
        known = dict(sorted(self._statuses.items(), reverse=True))
        if number is None:
            return known
        if number not in known:
            raise Fault(Code.NOT_FOUND, f"{self.name} has no version of this number here. Received: {number}")
        return {number: known[number]}

    def _demand(self, name: str) -> None:
        if name != self.name:
            raise Fault(Code.NOT_FOUND, f"the model here is {self.name}. Received: {name[:60]}")

    def open(self) -> ServedVersion:
        """Loads the newest version that can be.

        Raises:
            ExportError: When there is none.
        """
        self.look(patient=False)
        if self._current is None:
            faults = {number: status.fault for number, status in self._statuses.items()} | self._unwhole
            raise ExportError(faults[max(faults)] if faults else f"{self.folder}: no exported model is here")
        return self._current

    def watch(self, seconds: float) -> None:
        """Looks for new versions from now on, in a thread of its own."""
        self._watcher = threading.Thread(target=self._watch, args=(seconds,), name="versions", daemon=True)
        self._watcher.start()

    def close(self) -> None:
        """Looks no more; waits for a version that is being loaded."""
        self._stopped.set()
        if self._watcher is not None:
            self._watcher.join()

    def look(self, *, patient: bool = True) -> None:
        """Loads the newest version if it is another one, and lets go of old ones that have answered all.

        Args:
            patient: Whether a version that does not say how long its files are is left alone until two looks
                have found it the same.
        """
        there = versions_in(self.folder)
        current = self._current
        # A version that was taken away goes back to the one before it, if there is one.
        least = current.number if current is not None and current.number in there else -1
        for number in sorted((number for number in there if number > least), reverse=True):
            if current is not None and number == current.number:
                break
            if self._stopped.is_set() or self._bring(number, there[number], patient):
                break
        self._let_go()
        self._forget(there)

    def _watch(self, seconds: float) -> None:
        while not self._stopped.wait(seconds):
            try:
                self.look()
            except Exception as error:  # the folder can hold anything; what is served goes on
                self._say(f"{self.folder}: cannot be looked through ({reason(error)})")

    def _bring(self, number: int, folder: Path, patient: bool) -> bool:
        """Puts a version in the place of the current one; false when it cannot be, or is not whole yet."""
        state = state_of(folder)
        if self._tried.get(number) == state or not self._is_whole(number, folder, state, patient):
            return False
        self._set(number, Status(Phase.LOADING))
        try:
            version = ServedVersion(number, folder, self._load(folder))
            self._warm(version)
        except Exception as error:  # a folder can hold anything; what is served goes on
            self._tried[number] = state
            self._set(number, Status(Phase.END, reason(error)))
            self._say(f"version {number} is not loaded{self._instead()}: {reason(error)}")
            return False
        self._switch(version)
        return True

    def _is_whole(self, number: int, folder: Path, state: State, patient: bool) -> bool:
        """Whether all of a version is there; says once what is not."""
        seen, self._seen[number] = self._seen.get(number), state
        try:
            manifest = read_manifest(folder)
            check_whole(folder, manifest)
        except (ExportError, OSError) as error:
            if number not in self._unwhole:
                self._say(f"version {number} is not whole yet{self._instead()}: {reason(error)}")
            self._unwhole[number] = reason(error)
            return False
        self._unwhole.pop(number, None)
        return bool(manifest.files) or not patient or seen == state

    def _instead(self) -> str:
        return "" if self._current is None else f", version {self._current.number} is served"

    def _warm(self, version: ServedVersion) -> None:
        try:
            warm_up(version)
        except Fault as fault:
            if fault.code is not Code.INVALID_ARGUMENT:
                raise
            # What was made up for it is not what it takes, which says nothing against the version.
            self._say(f"version {version.number} is not warmed up: {fault.reason}")

    def _switch(self, version: ServedVersion) -> None:
        old, self._current = self._current, version
        self._set(version.number, Status(Phase.AVAILABLE))
        checkpoint = version.manifest.checkpoint or "of unknown name"
        self._say(f"version {version.number} is served: checkpoint {checkpoint}")
        if old is not None:
            self._retired.append(old)
            if old.number != version.number:
                self._set(old.number, Status(Phase.UNLOADING))

    def _let_go(self) -> None:
        """Drops old versions that answer nothing any more."""
        done = [version for version in self._retired if version.requests == 0]
        for version in done:
            self._retired.remove(version)
            if self._statuses[version.number].phase is Phase.UNLOADING:
                self._set(version.number, Status(Phase.END))
            self._say(f"version {version.number} is unloaded")
        if done:
            del done, version
            gc.collect()  # a loaded model is full of circles, and as large as its weights

    def _forget(self, there: dict[int, Path]) -> None:
        """Keeps what is told to versions that are there, in use, or among the newest of those that were."""
        ended = {number for number, status in self._statuses.items() if status.phase is Phase.END}
        old = sorted(ended - set(there))[:-_REMEMBERED]
        self._statuses = {number: status for number, status in self._statuses.items() if number not in old}
        for known in (self._tried, self._seen, self._unwhole):
            for number in set(known) - set(there):
                del known[number]

    def _set(self, number: int, status: Status) -> None:
        # A new dictionary: who reads the old one is in another thread.
        self._statuses = {**self._statuses, number: status}
