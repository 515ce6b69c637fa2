# SPDX-License-Identifier: Apache-2.0
"""TACOS' Figures 20 and 21: training steps on a torus of 1,024 ranks and on 3D-RFS networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hemiola import algorithms, synthesize, topologies
from hemiola._core import Schedule, Topology
from hemiola.arguments.names import as_kind
from hemiola.bounds import lower_bound
from hemiola.simulate import simulate
from hemiola.workload.model import Layer, Model
from hemiola.workload.parallel import Parallel
from hemiola.workload.programs import step_of
from hemiola.workload.running import Cost, run
from hemiola.workload.task import Call
from papers.report import Report

_LATENCY_S, _TORUS = 0.5e-6, 50e9
_RFS = (200e9, 100e9, 50e9)


@dataclass(frozen=True)
class Setting:
    """A model on a network, split over a part of its dimensions.

    Attributes
    ----------
    model : str.
    dims : tuple of int, of the network.
    wires : tuple of str, of the dimensions.
    forward_s, backward_s : float, computation.
    exchanges : tuple of (kind, bytes, times), of the first two dimensions, each pass.
    gradient_bytes : int, all-reduced over the rest of the dimensions at the end.
    is_split : bool, whether there are exchanges; without, gradients go over all dimensions.
    """

    model: str
    dims: tuple[int, ...]
    wires: tuple[str, ...]
    forward_s: float
    backward_s: float
    gradient_bytes: int
    exchanges: tuple[tuple[str, int, int], ...] = ()

    @property
    def parallel(self) -> Parallel:
        """Its degrees: the first two dimensions share layers where there are exchanges."""
        ranks = int(np.prod(self.dims))
        tp = int(np.prod(self.dims[:2])) if self.exchanges else 1
        return Parallel(dp=ranks // tp, tp=tp, bucket=0)


#: Computation and sizes of LIBRA's workloads [won2024], which TACOS uses; two layers stand for a language model.
_SETTINGS = (
    Setting("ResNet-50", (16, 8, 8), ("ring",) * 3, 0.380038e-3, 0.715276e-3, 51_005_824),
    Setting(
        "MSFT-1T", (16, 8, 8), ("ring",) * 3, 56.665e-3, 113.330e-3, 226_492_416,
        (("all_reduce", 805_306_368, 4), ("all_gather", 6_291_456, 1)),
    ),
    Setting("ResNet-50", (2, 4, 32), ("ring", "fully_connected", "switch"), 0.380038e-3, 0.715276e-3, 51_005_824),
    Setting("Turing-NLG", (2, 4, 32), ("ring", "fully_connected", "switch"), 109.05e-3, 218.10e-3, 869_449_728),
)  # fmt: skip
#: Of the printed text: percent of ideal, and times faster than ring and Themis over all workloads.
_PRINTED = {
    "torus": "97.32 % of ideal, communication 93.17 %; 1.58 over ring, 1.21 over Themis",
    "rfs": "93.61 % of ideal, communication 82.38 %",
}
#: Two-way, in as many parts as a schedule of 1,024 ranks allows.
_THEMIS_PARTS = 4


def figures_20_and_21(report: Report, command: str, *, settings: Sequence[Setting] = _SETTINGS) -> None:
    """Time each model with each library's collectives."""
    report.section(
        "TACOS, Figures 20 and 21: steps on a torus of 16×8×8 and on 3D-RFS 2×4×32",
        "Computation and sizes are those of LIBRA's workload files, 1 tick a nanosecond. Assumed: "
        "dimensions 16×8×8; tensor groups of 16×8 ranks for MSFT-1T, replicas for the others; the "
        "gradients' all-reduce at the end, nothing hidden; a two-way ring in rank order; Themis in 4 parts; "
        "TACOS is Hemiola's own synthesis. Two layers stand for a language model, as in those files. GNMT "
        "is left out: its layers are not published. Times over Hemiola's; the bound over it is the share of ideal.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    for setting in settings:
        times = {name: _step_s(setting, name) for name in ("hemiola", "ring", "themis", "bound")}
        own = times["hemiola"]
        printed = _PRINTED["torus" if setting.wires[0] == setting.wires[2] else "rfs"]
        ratios = (times[name] / own for name in ("ring", "themis", "bound"))
        computed = setting.forward_s + setting.backward_s
        communicated = (times["bound"] - computed) / (own - computed)
        dims = "×".join(map(str, setting.dims))
        rows.append((setting.model, dims, 1e3 * own, 1e3 * computed, *ratios, communicated, printed))
    columns = (
        "model", "network", "Hemiola, ms", "of it compute", "ring", "Themis", "bound", "bound of communication",
        "printed",
    )  # fmt: skip
    report.table("tacos", columns, rows)
    report.text(
        "The printed ratios are means over workloads of which GNMT is one. With the two models here on the "
        "torus ours are the means of the rows."
    )


def _step_s(setting: Setting, library: str) -> float:
    """Return a step's seconds with a library's collectives; \"bound\" takes the lower bounds."""
    calls = tuple(Call(kind, size, "tp", times) for kind, size, times in setting.exchanges)
    end = Call("all_reduce", setting.gradient_bytes, "dp")
    layer = Layer(
        "all", setting.forward_s, setting.backward_s, 0.0,
        forward=tuple(call for call in calls if call.kind == "all_reduce"),
        input=(*calls, *(call for call in calls if call.kind == "all_gather"), end),
    )  # fmt: skip
    step = step_of(Model(setting.model, (layer,), True), setting.parallel)

    def price(call: Call, _: float) -> Cost:
        dims = setting.dims
        if setting.exchanges:
            dims = setting.dims[:2] if call.group == "tp" else setting.dims[2:]
        wires = (
            setting.wires[: len(dims)] if call.group == "tp" or not setting.exchanges else setting.wires[2:]
        )
        return Cost(_collective_s(call.kind, call.nbytes, dims, wires, library))

    return run(step, price).seconds


@lru_cache(maxsize=128)
def _collective_s(
    kind: str, nbytes: int, dims: tuple[int, ...], wires: tuple[str, ...], library: str
) -> float:
    """Return the seconds of a collective on a grid; sibling grids share no link."""
    network = _network(dims, wires)
    if library == "bound":
        return float(
            lower_bound(network, "all_reduce" if kind == "all_reduce" else "all_gather", nbytes).seconds
        )
    schedule = _MAKERS[library](kind, nbytes, network, dims, wires)
    return float(simulate(schedule, network, nbytes, network="fifo", unchecked=True).seconds)


def _network(dims: tuple[int, ...], wires: tuple[str, ...]) -> Topology:
    if len(dims) == 1:
        return topologies.ring(dims[0], latency_s=_LATENCY_S, bandwidth=_TORUS)
    if wires[0] == wires[-1]:
        return topologies.torus(list(dims), latency_s=_LATENCY_S, bandwidth=_TORUS)
    return topologies.rfs_3d(list(dims), latency_s=_LATENCY_S, bandwidth=list(_RFS))


def _ring(
    kind: str, nbytes: int, network: Topology, dims: tuple[int, ...], wires: tuple[str, ...]
) -> Schedule:
    made: Schedule = getattr(algorithms, f"{kind}_ring_two_way")(network.rank_count)
    return made


def _themis(
    kind: str, nbytes: int, network: Topology, dims: tuple[int, ...], wires: tuple[str, ...]
) -> Schedule:
    if kind != "all_reduce" or len(dims) == 1:
        return _ring(kind, nbytes, network, dims, wires)
    speeds = dict(latency_s=_LATENCY_S, bandwidth=_TORUS if wires[0] == wires[-1] else list(_RFS))
    made: Schedule = algorithms.all_reduce_themis(
        list(dims), list(wires), nbytes=nbytes, chunk_count=_THEMIS_PARTS, **speeds
    )
    return made


def _hemiola(
    kind: str, nbytes: int, network: Topology, dims: tuple[int, ...], wires: tuple[str, ...]
) -> Schedule:
    if len(dims) == 1:
        return _ring(kind, nbytes, network, dims, wires)
    counts = (1,) if network.rank_count >= 1024 else (1, 4)
    made = [
        synthesize(network, as_kind(kind), count, nbytes=nbytes, trials=1, threads=1, progress=False)
        for count in counts
    ]
    return min(made, key=lambda one: simulate(one, network, nbytes, network="fifo", unchecked=True).seconds)


_MAKERS: dict[str, Callable[[str, int, Topology, tuple[int, ...], tuple[str, ...]], Schedule]] = {
    "ring": _ring,
    "themis": _themis,
    "hemiola": _hemiola,
}
