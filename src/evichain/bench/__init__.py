"""Benchmarks, as ratios measured in one run: steps, bulk generation, growing data, lists."""

from evichain.bench.compare import compare_systems
from evichain.bench.embed import bench_embed
from evichain.bench.lists import bench_lists
from evichain.bench.scale import bench_scale
from evichain.bench.step import bench_step

__all__ = ["bench_embed", "bench_lists", "bench_scale", "bench_step", "compare_systems"]
