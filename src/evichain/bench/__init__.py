"""Benchmarks, as ratios measured in one run: training steps, bulk generation, growing data."""

from evichain.bench.embed import bench_embed
from evichain.bench.scale import bench_scale
from evichain.bench.step import bench_step

__all__ = ["bench_embed", "bench_scale", "bench_step"]
