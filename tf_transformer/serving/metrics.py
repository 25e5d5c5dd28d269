"""What Prometheus reads of a server."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tf_transformer.serving.batching import Batcher
from tf_transformer.serving.model_host import ModelHost

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """Counts of one server, in a registry of its own.

    Attributes:
        requests: By ``interface``, ``method``, ``signature`` and ``code``.
        seconds: From a request's end to its answer, by ``interface`` and ``method``.
        in_progress: Requests that are being read or answered.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "tf_transformer_requests",
            "Requests that were answered, or refused.",
            ("interface", "method", "signature", "code"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "tf_transformer_request_seconds",
            "Time from request to answer.",
            ("interface", "method"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.in_progress = Gauge(
            "tf_transformer_requests_in_progress",
            "Requests that are being read or answered.",
            registry=self.registry,
        )
        self._batch_rows = Histogram(
            "tf_transformer_batch_rows", "Rows that ran together.", buckets=_ROWS, registry=self.registry
        )
        self._batch_seconds = Histogram(
            "tf_transformer_batch_seconds",
            "Time that a batch took.",
            buckets=_SECONDS,
            registry=self.registry,
        )

    def ran(self, rows: int, seconds: float) -> None:
        """Counts a batch."""
        self._batch_rows.observe(rows)
        self._batch_seconds.observe(seconds)

    def follow(self, host: ModelHost, batcher: Batcher) -> None:
        """Tells of versions and of the queue from now on."""
        self.registry.register(_State(host, batcher))

    def text(self) -> bytes:
        """All figures in Prometheus' text format."""
        found: bytes = generate_latest(self.registry)
        return found


class _State(Collector):
    """What is looked up when somebody asks."""

    def __init__(self, host: ModelHost, batcher: Batcher) -> None:
        self.host = host
        self.batcher = batcher

    def collect(self) -> list[GaugeMetricFamily]:
        queue = GaugeMetricFamily("tf_transformer_queue_rows", "Rows that wait.", value=self.batcher.rows)
        versions = GaugeMetricFamily(
            "tf_transformer_version_phase",
            "20 loading, 30 available, 40 unloading, 50 unloaded or not loadable.",
            labels=("model", "version"),
        )
        for number, status in self.host.statuses(self.host.name, None).items():
            versions.add_metric([self.host.name, str(number)], status.phase)
        return [queue, versions]
