"""A bound on what all requests together hold in memory."""

from collections.abc import Iterator
from contextlib import contextmanager

from tf_transformer.serving.fault import Code, Fault


class HeldBytes:
    """Counts the bytes of requests that are read or answered; for one event loop.

    Args:
        most: Bytes that may be held.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.count = 0

    @contextmanager
    def holding(self) -> Iterator["Share"]:
        """A request's own share, given back when the block is left."""
        share = Share(self)
        try:
            yield share
        finally:
            self.count -= share.count


class Share:
    """What one request holds.

    Args:
        whole: Of all requests.
    """

    def __init__(self, whole: HeldBytes) -> None:
        self.whole = whole
        self.count = 0

    def add(self, count: int) -> None:
        """Holds more bytes.

        Raises:
            Fault: When there is no room for them.
        """
        if self.whole.count + count > self.whole.most:
            raise Fault(
                Code.RESOURCE_EXHAUSTED,
                f"requests of {self.whole.count:,} bytes are being answered, at most {self.whole.most:,} "
                "may. Try again",
            )
        self.whole.count += count
        self.count += count
