"""Bodies of HTTP requests, read within bounds of size, time and memory."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from starlette.requests import ClientDisconnect, Request

from tf_transformer.serving.fault import Code, Fault, invalid
from tf_transformer.serving.held_bytes import HeldBytes, Share

_DRAINED = 8
_GZIP = 16 + zlib.MAX_WBITS
_WINDOWS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": zlib.MAX_WBITS}


class Bodies:
    """Reads bodies.

    Args:
        most: Bytes of one.
        held: What all requests may hold.
        timeout: Seconds within which one must have come.
    """

    def __init__(self, most: int, held: HeldBytes, timeout: float) -> None:
        self.most = most
        self.held = held
        self.timeout = timeout

    @asynccontextmanager
    async def reading(self, request: Request) -> AsyncIterator[bytes]:
        """The body of a request; it counts as held until the block is left.

        Raises:
            Fault: When it is too large, too slow, or there are too many.
        """
        with self.held.holding() as share:
            try:
                body = await asyncio.wait_for(self._read(share, request), self.timeout)
            except TimeoutError:
                late = f"the body must come within {self.timeout:g} seconds"
                raise Fault(Code.DEADLINE_EXCEEDED, late, 408) from None
            except ClientDisconnect:
                raise Fault(Code.UNAVAILABLE, "the client has gone") from None
            yield _decoded(body, request.headers, self.most, share)

    async def _read(self, share: Share, request: Request) -> bytes:
        parts: list[bytes] = []
        size, fault = 0, None
        async for part in request.stream():
            size += len(part)
            try:
                if fault is None:
                    if size > self.most:
                        raise _too_large(self.most)
                    share.add(len(part))
                    parts.append(part)
            except Fault as found:
                # What is refused is read on and dropped: a client that still writes would not see the answer.
                fault, parts = found, []
            if size > self.most * _DRAINED:
                break
        if fault is not None:
            raise fault
        return b"".join(parts)


def _decoded(body: bytes, headers: Mapping[str, str], most: int, share: Share) -> bytes:
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding == "identity":
        return body
    if encoding not in _WINDOWS:
        raise Fault(
            Code.INVALID_ARGUMENT, f"Content-Encoding must be gzip or deflate. Received: {encoding[:60]}", 415
        )
    inflate = zlib.decompressobj(_WINDOWS[encoding])
    try:
        content = inflate.decompress(body, most + 1)
    except zlib.error:
        raise invalid(f"the body is no valid {encoding}") from None
    if len(content) > most:
        raise _too_large(most)
    if not inflate.eof:
        raise invalid(f"the body is no valid {encoding}: it ends too early")
    share.add(len(content))
    return content


def _too_large(most: int) -> Fault:
    return Fault(Code.RESOURCE_EXHAUSTED, f"the body must have at most {most:,} bytes", 413)
