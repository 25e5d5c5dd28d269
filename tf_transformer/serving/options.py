"""How a server runs, with the one place of each default; light, since the command line reads it first."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class BatchOptions:
    """How requests are put together.

    Args:
        rows: Most rows that run together.
        wait: Seconds that a request waits for others while a thread is free.
        queue: Most rows that wait.
        threads: Batches that run at the same time.
    """

    rows: int = 32
    wait: float = 0.002
    queue: int = 1024
    threads: int = 2


@dataclass(frozen=True)
class ServerOptions:
    """How a server runs.

    Args:
        host: Address to listen on.
        port: Of REST; 0 for any that is free.
        grpc_port: Of gRPC; 0 for any that is free, None for no gRPC.
        timeout: Seconds that a request may take.
        body: Bytes of a request.
        poll: Seconds between two looks for new versions.
        grace: Seconds that requests have to end when the server stops.
        batch: How requests are put together.
    """

    host: str = "127.0.0.1"
    port: int = 8501
    grpc_port: int | None = 8500
    timeout: float = 30.0
    body: int = 32 << 20
    poll: float = 1.0
    grace: float = 30.0
    batch: BatchOptions = field(default_factory=BatchOptions)
