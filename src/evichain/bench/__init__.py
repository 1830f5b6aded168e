"""Benchmarks, as ratios measured in one run: of a training step, and of growing data."""

from evichain.bench.scale import bench_scale
from evichain.bench.step import bench_step

__all__ = ["bench_scale", "bench_step"]
