"""Bad surroundings for tests, made by the system itself: disks that are full, files that may not be read."""

import ctypes
import errno
import os
import platform
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

FULL = "(No space left on device|File too large)"
"""What the system says of a write to a :class:`SmallDisk` that is full."""


class SmallDisk:
    """A disk that can be filled: a small one that is mounted, or a limit on the size of files.

    The limit is of this whole process, and leaves its files cut where it is reached, as a full disk does.

    Args:
        folder: Where it is; is made.
        mount: Whether to mount one. Where that is not allowed, it is the limit all the same.
    """

    SIZE = 16 * 2**20

    def __init__(self, folder: Path, *, mount: bool) -> None:
        folder.mkdir()
        self.folder = folder
        self.is_mounted = mount and self._mount()
        self._ballast = folder / "ballast"
        self._limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(self, spare: int = 0) -> None:
        """Leaves no more room than this: on the disk, or in any one file."""
        if not self.is_mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (spare, self._limits[1]))
            return
        descriptor = os.open(self._ballast, os.O_CREAT | os.O_WRONLY)
        with suppress(OSError):
            while True:
                os.write(descriptor, bytes(4096))
        os.ftruncate(descriptor, os.fstat(descriptor).st_size - spare)
        os.close(descriptor)

    def free(self) -> None:
        """Gives the room back."""
        resource.setrlimit(resource.RLIMIT_FSIZE, self._limits)
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        """Gives everything back."""
        self.free()
        if self.is_mounted:  # lazily: TensorFlow may still hold a file
            subprocess.run(["umount", "--lazy", str(self.folder)], check=True)

    def _mount(self) -> bool:
        if shutil.which("mount") is None:
            return False
        command = ["mount", "-t", "tmpfs", "-o", f"size={self.SIZE}", "tmpfs", str(self.folder)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


_CAP_SET = (1 << 1) | (1 << 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: why the permissions of files mean nothing to root on Linux."""


@contextmanager
def permissions_count() -> Iterator[None]:
    """Lets the permissions of files mean in the block what they mean to ordinary users, for root too."""
    if os.geteuid() != 0:
        yield
        return
    assert platform.system() == "Linux", "run these tests as an ordinary user"
    effective = _swap_effective(lambda word: word & ~_CAP_SET)
    try:
        yield
    finally:
        _swap_effective(lambda word: effective)


def _swap_effective(change: Any) -> int:
    """Changes the lower half of this thread's effective capabilities; what it was before."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    words = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable: of the lower half, of the upper
    if libc.capget(header, words) == 0:
        before = int(words[0])
        words[0] = change(before)
        if libc.capset(header, words) == 0:
            return before
    number = ctypes.get_errno()
    raise OSError(number, f"capabilities: {errno.errorcode.get(number, number)}")
