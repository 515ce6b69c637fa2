# SPDX-License-Identifier: Apache-2.0
"""What ranks do to test all_to_all_single with split sizes; each checks its own results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import torch
import torch.distributed as dist
from group_ranks import place, told

from hemiola.planner.communicator_plans import CommunicatorPlans
from hemiola.synthesis.exchange_through_hosts import exchange_through_hosts

MANY = 30_000


def tables(n: int) -> dict[str, Any]:
    """Return rows by giver and taker."""
    skewed = np.array([[(7 * a + 3 * b) % 5 for b in range(n)] for a in range(n)])
    only_first = np.zeros((n, n), int)
    only_first[0] = MANY
    return {"skewed": skewed, "of one rank": only_first, "to itself": np.diag(range(n)), "none": 0 * skewed}


def rows(giver: int, taker: int, count: int, dtype: torch.dtype) -> torch.Tensor:
    """Return a block: small whole numbers that tell giver, taker and place."""
    return (torch.arange(3 * count).reshape(count, 3) % 11 + 5 * giver + 20 * taker).to(dtype)


def exchange(
    table: Any, dtype: torch.dtype, laid: Callable[[torch.Tensor], torch.Tensor], **how: Any
) -> None:
    """Exchange by a table, and compare."""
    rank, n = place()
    given = laid(torch.cat([rows(rank, to, table[rank, to], dtype) for to in range(n)]))
    before = given.clone()
    got = torch.full((int(table[:, rank].sum()), 3), 99, dtype=dtype)
    work = dist.all_to_all_single(got, given, table[:, rank].tolist(), table[rank].tolist(), **how)
    if work is not None:
        work.wait()
    right = torch.cat([rows(of, rank, table[of, rank], dtype) for of in range(n)])
    torch.testing.assert_close(got, right, rtol=0, atol=0)
    torch.testing.assert_close(given, before, rtol=0, atol=0)


def turned(tensor: torch.Tensor) -> torch.Tensor:
    """Return the same values, columns side by side in memory."""
    return tensor.t().contiguous().t()


def spaced(tensor: torch.Tensor) -> torch.Tensor:
    """Return the same values with gaps in memory."""
    return torch.stack([tensor, tensor + 1], dim=2)[:, :, 0]


def splits() -> None:
    """Split sizes with blocks that are long, short and empty, of several types and layouts."""
    for table in tables(place()[1]).values():
        for dtype in (torch.float32, torch.bfloat16, torch.int8):
            for laid in (torch.clone, turned, spaced):
                exchange(table, dtype, laid)
                exchange(table, dtype, laid, async_op=True)


def passed_on() -> list[list[list[int]]]:
    """Have ranks pass blocks on as where hosts of two ranks share their NICs; return the tables of bytes."""
    seen = []

    def shared(plans: Any, sizes: Any) -> Any:
        seen.append(sizes.table.tolist())
        hosts = sizes.rank_count // 2
        return exchange_through_hosts(sizes.table, np.ones((hosts, hosts), np.int64), 2)

    given = tables(place()[1])
    with mock.patch.object(CommunicatorPlans, "schedule_of_blocks", shared):
        for name in ("skewed", "of one rank"):
            exchange(given[name], torch.bfloat16, spaced)
    assert seen == [(6 * given[name]).tolist() for name in ("skewed", "of one rank")]
    return seen


def one_side() -> None:
    """Sizes on one side alone: the other side is of equal blocks."""
    rank, n = place()
    given = torch.cat([rows(rank, to, 2, torch.float32) for to in range(n)])
    for sizes in ((None, [2] * n), ([2] * n, None)):
        got = torch.zeros(2 * n, 3)
        dist.all_to_all_single(got, given, *sizes)
        torch.testing.assert_close(got, torch.cat([rows(of, rank, 2, torch.float32) for of in range(n)]))


def disagreements() -> dict[str, tuple[str, str]]:
    """Ranks that do not fit together all hear of it, and the group goes on. Results stay as they were, but where a rank
    has called for equal blocks, and so told nobody of sizes."""
    rank, n = place()
    is_odd, twos = rank == 1, [2] * n
    seen = {}

    def tried(name: str, given: torch.Tensor, output_sizes: Any, input_sizes: Any, dtype: Any = None) -> None:
        for in_background in (False, True):
            got = torch.full((2 * n, 3), -1.0).to(dtype or torch.float32)

            def call(got: torch.Tensor = got, in_background: bool = in_background) -> None:
                work = dist.all_to_all_single(got, given, output_sizes, input_sizes, async_op=in_background)
                if in_background:
                    work.wait()

            seen[f"{name}, background: {in_background}"] = told(call)
            assert (got == -1).all() or name == "no sizes", name

    plain = torch.ones(2 * n, 3)
    shifted = [3, 1, *twos[2:]]
    tried("expected", plain, shifted if is_odd else twos, twos)
    tried("given", plain, twos, shifted if is_odd else twos)
    tried("a sum", plain, twos, [1] * n if is_odd else twos)
    tried("a negative size", plain, twos, [5, -1, *twos[2:]] if is_odd else twos)
    tried("a size too many", plain, twos, [*twos, 0] if is_odd else twos)
    tried("sizes that are none", plain, twos, [float("nan")] * n if is_odd else twos)
    tried("halves", plain, twos, [2.0] * n if is_odd else twos)
    tried("a size missing", plain, twos[is_odd:], twos)
    tried("rows that do not divide", torch.ones(2 * n + 1, 3) if is_odd else plain, twos, None)
    wide = torch.float64 if is_odd else torch.float32
    tried("types", plain.to(wide), twos, twos, wide)
    tried("no sizes", plain, *((None, None) if is_odd else (twos, twos)))
    exchange(tables(n)["skewed"], torch.float32, torch.clone)
    return seen
