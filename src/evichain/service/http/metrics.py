"""Metrics for Prometheus, and the latest latencies for the overview."""

import os
from collections import deque

import numpy as np
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)

from evichain.service.live.snapshot import Snapshot

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_KEPT = 2000
MULTIPROCESS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable with the folder in which several workers share their metrics."""


class Metrics:
    """The metrics of one application."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter(
            "evichain_requests",
            "Requests answered.",
            ("method", "route", "status"),
            registry=registry,
        )
        self.seconds = Histogram(
            "evichain_request_seconds",
            "Time to answer a request.",
            ("method", "route"),
            buckets=_SECONDS,
            registry=registry,
        )
        self.refused = Counter("evichain_refused", "Requests refused.", ("why",), registry=registry)
        self.in_progress = _gauge(registry, "evichain_in_progress", "Requests in progress.", "sum")
        self.written = Counter(
            "evichain_ratings_written", "Ratings added or changed.", registry=registry
        )
        self.ratings = _gauge(registry, "evichain_ratings", "Ratings.", "mostrecent")
        self.users = _gauge(registry, "evichain_users", "Users with ratings.", "mostrecent")
        self.items = _gauge(registry, "evichain_items", "Items with ratings.", "mostrecent")
        self.version = _gauge(registry, "evichain_version", "Version of the ratings.")
        self.stale_versions = _gauge(
            registry, "evichain_stale_versions", "Versions that the embeddings do not include yet."
        )
        self.rmse = _gauge(
            registry,
            "evichain_recent_rmse",
            "Root mean squared error on the latest ratings, predicted before they were added.",
            "mostrecent",
        )
        self._latencies: deque[float] = deque(maxlen=_KEPT)

    def changed(self, snapshot: Snapshot) -> None:
        """Record a version."""
        self.version.set(snapshot.version)
        self.stale_versions.set(snapshot.version - snapshot.refreshed_version)

    def counted(self, ratings: int, users: int, items: int, rmse: float | None) -> None:
        """Record the counts, and the error on the latest ratings."""
        self.ratings.set(ratings)
        self.users.set(users)
        self.items.set(items)
        if rmse is not None:
            self.rmse.set(rmse)
        elif MULTIPROCESS_FOLDER not in os.environ:
            self.rmse.set(float("nan"))

    def recommended(self, seconds: float) -> None:
        """Record the time of a list of recommendations."""
        self._latencies.append(seconds)

    def latency(self) -> tuple[float, float] | None:
        """The median and the 99th percentile of the latest lists, in milliseconds."""
        if not self._latencies:
            return None
        median, high = np.percentile(list(self._latencies), (50, 99)) * 1000
        return float(median), float(high)

    def text(self) -> bytes:
        """All metrics in the format of Prometheus, summed over the workers."""
        if MULTIPROCESS_FOLDER not in os.environ:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


def forget(worker: int) -> None:
    """Drop the gauges of a worker that has ended; its counters stay."""
    multiprocess.mark_process_dead(worker)  # type: ignore[no-untyped-call]


def _gauge(registry: CollectorRegistry, name: str, help: str, mode: str = "max") -> Gauge:
    return Gauge(name, help, registry=registry, multiprocess_mode=f"live{mode}")  # type: ignore[arg-type]
