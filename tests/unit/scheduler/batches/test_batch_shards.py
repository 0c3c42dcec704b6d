"""Shards: each run is in exactly one, large shards come first, and slots finish at about the same time."""

from __future__ import annotations

import heapq
from itertools import pairwise

import pytest

from cagematch.scheduler.batches.shards import LARGEST_SHARD, SMALLEST_SHARD, cuts

SIZES = [(1, 1), (9, 2), (95, 2), (4_500, 2), (20_000, 2), (95, 64), (1_000_000, 8)]


@pytest.mark.parametrize(("runs", "slots"), SIZES)
def test_every_run_is_in_one_shard(runs: int, slots: int):
    found = list(cuts(runs, slots))

    assert found[0][0] == 0
    assert found[-1][1] == runs
    assert all(stop == start for (_, stop), (start, _) in pairwise(found))


@pytest.mark.parametrize(("runs", "slots"), SIZES)
def test_shard_sizes_decrease_within_their_bounds(runs: int, slots: int):
    sizes = [stop - start for start, stop in cuts(runs, slots)]

    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] <= min(LARGEST_SHARD, -(-runs // (4 * slots)))
    assert all(size >= min(SMALLEST_SHARD, sizes[0]) for size in sizes[:-1])


@pytest.mark.parametrize(("runs", "slots"), [(4_500, 2), (2_850, 2), (20_000, 3), (50_000, 16)])
def test_slots_finish_within_one_smallest_shard(runs: int, slots: int):
    busy_until = [0] * slots
    for start, stop in cuts(runs, slots):
        heapq.heappushpop(busy_until, busy_until[0] + stop - start)

    assert max(busy_until) - min(busy_until) <= SMALLEST_SHARD
