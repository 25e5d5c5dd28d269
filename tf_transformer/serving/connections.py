"""Connections of HTTP clients: one that says nothing, or does not read what it is told, is let go."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol


class Connection(H11Protocol):
    """A connection that ends when no whole head of a request has come for as long as one may be idle.

    uvicorn itself waits for ever for the first request, and for the rest of one that has begun to come.
    """

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._end_waiting()

    def timeout_keep_alive_handler(self) -> None:
        """Ends an idle connection, also one whose client has not read its last answer."""
        super().timeout_keep_alive_handler()
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    def _watch(self) -> None:
        """Begins to wait for a request, if none is being answered; what comes bit by bit has no more time."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._end_waiting()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(self.timeout_keep_alive, self._leave)

    def _end_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _leave(self) -> None:
        self._waiting = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()
