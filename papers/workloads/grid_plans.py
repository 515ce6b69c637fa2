# SPDX-License-Identifier: Apache-2.0
"""The planner's all-reduces on the grids of TACOS' steps, beside ring, Themis and synthesis, all simulated alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from hemiola import algorithms, plan, synthesize, topologies
from hemiola._core import Schedule, Topology
from hemiola.simulate import simulate
from papers.report import Report

_LATENCY_S, _TORUS, _RFS = 0.5e-6, 50e9, (200e9, 100e9, 50e9)
#: Gradients of ResNet-50, and of Turing-NLG's two layers.
SIZES = (51_005_824, 869_449_728)
#: Of Themis' schedules on 1,024 ranks, those of more parts have too many transfers to be simulated.
_MANY_RANKS = 1024


@dataclass(frozen=True)
class Grid:
    """A network of TACOS' steps.

    Attributes
    ----------
    dims : tuple of int.
    wires : tuple of str, of the dimensions.
    """

    dims: tuple[int, ...]
    wires: tuple[str, ...]

    @property
    def name(self) -> str:
        """What it is called in tables."""
        return ("torus " if set(self.wires) == {"ring"} else "3D-RFS ") + "×".join(map(str, self.dims))

    @property
    def bandwidth(self) -> float | list[float]:
        """Bytes per second of its dimensions' links."""
        return _TORUS if set(self.wires) == {"ring"} else list(_RFS)

    def topology(self) -> Topology:
        """Return the network."""
        make = topologies.torus if set(self.wires) == {"ring"} else topologies.rfs_3d
        return make(list(self.dims), latency_s=_LATENCY_S, bandwidth=self.bandwidth)


_RFS_WIRES = ("ring", "fully_connected", "switch")
GRIDS = (
    Grid((16, 8, 8), ("ring",) * 3),
    Grid((2, 4, 8), _RFS_WIRES),
    Grid((2, 4, 32), _RFS_WIRES),
)


@dataclass(frozen=True)
class Beside:
    """The times of one all-reduce, in seconds, simulated; of Themis the best of its numbers of parts."""

    label: str
    plan_s: float
    ring_s: float
    themis_s: float
    synthesis_s: float
    bound_s: float

    @property
    def over_best(self) -> float:
        """The plan's time over the best of the others."""
        return self.plan_s / min(self.ring_s, self.themis_s, self.synthesis_s)


def beside(grid: Grid, nbytes: int) -> Beside:
    """Plan an all-reduce, and simulate the plan's schedule and the others on the same network, two at a time.

    Parameters
    ----------
    grid : Grid.
    nbytes : int, one rank's buffer.

    Returns
    -------
    Beside
    """
    network = grid.topology()
    found = plan(network, "all_reduce", nbytes)

    def seconds(make: Callable[[], Schedule]) -> float:
        return float(simulate(make(), network, nbytes, unchecked=True).seconds)

    made = found.schedule
    assert isinstance(made, Schedule)
    themis, synthesized = _themis(grid, nbytes), _synthesized(network, nbytes)
    ring = partial(algorithms.all_reduce_ring_two_way, network.rank_count)
    with ThreadPoolExecutor(2) as pool:
        times = list(pool.map(seconds, (*themis, *synthesized, ring, lambda: made)))
    return Beside(
        found.alternatives[0].label,
        times[-1],
        times[-2],
        min(times[: len(themis)]),
        min(times[len(themis) : -2]),
        found.bound_s,
    )


def _themis(grid: Grid, nbytes: int) -> list[Callable[[], Schedule]]:
    """Return how to make it in 64, 16 and 4 parts, as far as these can be simulated."""
    ranks = grid.topology().rank_count
    make = partial(
        algorithms.all_reduce_themis, list(grid.dims), list(grid.wires),
        nbytes=nbytes, latency_s=_LATENCY_S, bandwidth=grid.bandwidth,
    )  # fmt: skip
    return [partial(make, chunk_count=parts) for parts in ((64, 16, 4) if ranks < _MANY_RANKS else (4,))]


def _synthesized(network: Topology, nbytes: int) -> list[Callable[[], Schedule]]:
    make = partial(synthesize, network, "all_reduce", nbytes=nbytes, trials=1, threads=1, progress=False)
    return [partial(make, chunks) for chunks in ((4, 1) if network.rank_count < _MANY_RANKS else (1,))]


def plans(
    report: Report, command: str, *, grids: Sequence[Grid] = GRIDS, sizes: Sequence[int] = SIZES[:1]
) -> None:
    """Table the plan's time and what the others take over it."""
    report.section(
        "Plans on the grids of these steps, beside ring, Themis and synthesis",
        "One all-reduce of the gradients of ResNet-50, where messages share links. plan: the schedule that "
        "`hemiola.plan` chooses. Beside it stand the two-way ring, Themis in the best of 4, 16 and 64 parts (4 on "
        "1,024 ranks), and `hemiola.synthesize` with the best of 1 and 4 chunks a rank (1 on 1,024 ranks). All are "
        "simulated in the same run. Times over the plan's. To reach: the plan over the best of the three at "
        "most 1.02. `tests/workload/test_large_networks.py` asks the same for Turing-NLG's 869 MB.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    for grid in grids:
        for nbytes in sizes:
            found = beside(grid, nbytes)
            times = (found.ring_s, found.themis_s, found.synthesis_s, found.bound_s)
            ratios = (one / found.plan_s for one in times)
            size = f"{nbytes / 1e6:.0f}"
            rows.append((grid.name, size, 1e3 * found.plan_s, found.label, *ratios, found.over_best))
    columns = (
        "network",
        "MB",
        "plan, ms",
        "chosen",
        "ring",
        "Themis",
        "synthesis",
        "bound",
        "plan over the best",
    )
    report.table("grid_plans", columns, rows)
