"""What Prometheus is told: counts and times, never contents."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Figures:
    """One server's figures, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "unembed_requests_total",
            "Requests by path and status.",
            ["path", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "unembed_request_seconds", "Time to answer.", ["path"], buckets=_SECONDS, registry=self.registry
        )
        self.vectors = Counter(
            "unembed_vectors_total", "Texts encoded and vectors inverted.", ["kind"], registry=self.registry
        )
        self.passes = Counter(
            "unembed_forward_passes_total", "Passes that vectors took part in.", registry=self.registry
        )
        self.calls = Counter(
            "unembed_encoder_calls_total", "Texts that searches embedded.", registry=self.registry
        )
        self.batch = Histogram(
            "unembed_batch_vectors", "Vectors a batch.", ["kind"], buckets=_SIZES, registry=self.registry
        )
        self.waited = Histogram(
            "unembed_queue_seconds", "Time in the queue.", buckets=_SECONDS, registry=self.registry
        )
        self.waiting = Gauge("unembed_queue_vectors", "Vectors that wait.", registry=self.registry)
        self.refused = Counter(
            "unembed_refused_total", "Requests refused, by reason.", ["code"], registry=self.registry
        )
        self.abandoned = Counter(
            "unembed_abandoned_total",
            "Requests whose client left or whose time ran out.",
            registry=self.registry,
        )

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)
