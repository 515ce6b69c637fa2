# SPDX-License-Identifier: Apache-2.0
"""SpCCL's Figures 10 and 11: iterations of two models with sparse gradients, predicted from one rank count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hemiola.workload.model import Layer, Model
from hemiola.workload.parallel import Parallel
from hemiola.workload.programs import step_of
from hemiola.workload.running import Cost, run
from hemiola.workload.task import Call
from papers.report import Report
from papers.spccl import model
from papers.spccl.model import RankPorts
from papers.workloads.spccl_codec import DENSITY, RING, fitted_rate, steady

#: Printed: pruning is told of so many iterations [SpCCL, §7.2].
_ITERATIONS = 80
#: Assumed of gradients.
_BYTES = 4
_FITTED_AT = 16


@dataclass(frozen=True)
class Trained:
    """A model of the paper.

    Attributes
    ----------
    name : str.
    parameters : float.
    prune_s : float, of an iteration, printed.
    saved_at_16 : float, the printed share that is saved on 16 GPUs, to which computation is fitted.
    printed : dict of GPUs to printed words.
    """

    name: str
    parameters: float
    prune_s: float
    saved_at_16: float
    printed: dict[int, str]


_MODELS = (
    Trained("1.5 B, 40 GB", 1.5e9, 1.5 / _ITERATIONS, 0.16, {8: "at least 13 %", 16: "16 %"}),
    Trained("3.3 B, 80 GB", 3.3e9, 3.0 / _ITERATIONS, 0.26, {16: "26 %", 64: "22 %"}),
)


def reduce_s(trained: Trained, ranks: int, *, sparse: bool) -> float:
    """Return the seconds of the gradients' all-reduce, a ring at the paper's rate, with its codec or without."""
    setting, codec = RankPorts(ranks, int(trained.parameters * _BYTES), RING), steady(fitted_rate())
    if sparse:
        return model.spccl_reduce_s(setting, codec, DENSITY)
    return model.dense_reduce_s(setting, codec)


def iteration_s(trained: Trained, ranks: int, compute_s: float, *, sparse: bool) -> float:
    """Return the seconds of an iteration: computation, pruning, and the all-reduce, with nothing hidden."""
    computed = compute_s + (trained.prune_s if sparse else 0.0)
    call = Call("all_reduce", int(trained.parameters * _BYTES), "dp")
    layer = Layer("all", computed / 3, 2 * computed / 3, 0.0, input=(call,))
    step = step_of(Model(trained.name, (layer,), True), Parallel(dp=ranks))
    seconds = reduce_s(trained, ranks, sparse=sparse)
    return run(step, lambda _call, _late: Cost(seconds)).seconds


def fitted_compute_s(trained: Trained) -> float:
    """Return the computation with which 16 GPUs save the printed share.

    1 - (c + p + q)/(c + r) = s gives c = (r(1 - s) - q - p)/s for all-reduces of r dense and q sparse, and pruning p.
    """
    dense_s, sparse_s = (reduce_s(trained, _FITTED_AT, sparse=one) for one in (False, True))
    saved = trained.saved_at_16
    return (dense_s * (1 - saved) - sparse_s - trained.prune_s) / saved


def figures_10_and_11(report: Report, command: str, *, rank_counts: Sequence[int] = (8, 16, 32, 64)) -> None:
    """Predict the other rank counts from 16 GPUs, and the parts of 80 iterations."""
    report.section(
        "SpCCL, Figures 10 and 11: iterations of the 1.5 B and 3.3 B models",
        "**Fitted**: computation, so that 16 GPUs save the printed share; and the codec's rate, on Figure 6 as "
        "above. The all-reduce is the paper's ring with its thresholds, whose sums fill up with more ranks. "
        "Printed and used: 1.5 and 3 s of pruning in 80 iterations. Assumed: gradients of 4 bytes, a ring of "
        "100 GB/s a rank, independent places, nothing hidden. [spccl.md](spccl.md) has the same figures for "
        "a NIC a GPU. No bound: the constants are a library's.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    for trained in _MODELS:
        compute_s = fitted_compute_s(trained)
        for ranks in rank_counts:
            dense, sparse = (iteration_s(trained, ranks, compute_s, sparse=one) for one in (False, True))
            parts = (1e3 * one for one in (compute_s, dense, sparse))
            saved = f"{1 - sparse / dense:.1%}"
            rows.append((trained.name, ranks, *parts, saved, trained.printed.get(ranks)))
    columns = ("model", "GPUs", "computation, ms", "dense, ms", "sparse, ms", "saved", "printed")
    report.table("spccl_10", columns, rows)
    report.text(
        "Figure 11, 32 GPUs, seconds of 80 iterations. Printed: an all-reduce more than twice as fast."
    )
    rows = []
    for trained in _MODELS:
        dense, sparse = (_ITERATIONS * reduce_s(trained, 32, sparse=one) for one in (False, True))
        rows.append((trained.name, _ITERATIONS * trained.prune_s, dense, sparse, dense / sparse, "over 2"))
    report.table(
        "spccl_11", ("model", "pruning, printed", "dense", "sparse", "dense / sparse", "printed"), rows
    )
