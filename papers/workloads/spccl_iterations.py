# SPDX-License-Identifier: Apache-2.0
"""SpCCL's Figures 10 and 11: iterations of two models with sparse gradients, from constants of one rank count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hemiola.workload.model import Layer, Model
from hemiola.workload.parallel import Parallel
from hemiola.workload.programs import step_of
from hemiola.workload.running import Cost, run
from hemiola.workload.task import Call
from papers.report import Report

#: Printed: pruning in 80 iterations, and 2.3 times on the all-reduce at 32 GPUs [SpCCL, §7.2].
_FASTER = 2.3
_ITERATIONS = 80
#: Assumed: GPUs of a node share 100 GB/s, and gradients have 4 bytes.
_NODE, _GPUS, _BYTES = 100e9, 4, 4


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


def dense_s(model: Trained, ranks: int) -> float:
    """Return the seconds of the dense all-reduce: 2(n-1)/n of the gradients over a node's rate."""
    return 2 * (ranks - 1) / ranks * model.parameters * _BYTES / _NODE


def iteration_s(model: Trained, ranks: int, compute_s: float, *, sparse: bool) -> float:
    """Return the seconds of an iteration: computation, pruning, and the all-reduce, with nothing hidden."""
    computed = compute_s + (model.prune_s if sparse else 0.0)
    call = Call("all_reduce", int(model.parameters * _BYTES), "dp")
    layer = Layer("all", computed / 3, 2 * computed / 3, 0.0, input=(call,))
    step = step_of(Model(model.name, (layer,), True), Parallel(dp=ranks))
    seconds = dense_s(model, ranks) / (_FASTER if sparse else 1.0)
    return run(step, lambda _call, _late: Cost(seconds)).seconds


def fitted_compute_s(model: Trained) -> float:
    """Return the computation with which 16 GPUs save the printed share.

    1 - (c + p + r/f)/(c + r) = s gives c = (r(1 - 1/f - s) - p)/s for the all-reduce r, f times faster, and pruning p.
    """
    reduce_s = dense_s(model, 16)
    return (reduce_s * (1 - 1 / _FASTER - model.saved_at_16) - model.prune_s) / model.saved_at_16


def figures_10_and_11(report: Report, command: str, *, rank_counts: Sequence[int] = (8, 16, 32, 64)) -> None:
    """Predict the other rank counts from 16 GPUs."""
    report.section(
        "SpCCL, Figures 10 and 11: iterations of the 1.5 B and 3.3 B models",
        "**Fitted**: computation, so that 16 GPUs save the printed share; the other rows follow. Printed "
        "and used: 2.3 times on the all-reduce, 1.5 and 3 s of pruning in 80 iterations. Assumed: gradients "
        "of 4 bytes, 100 GB/s a node, nothing hidden. The constant 2.3 ignores that sums of more ranks have "
        "fewer zeros, so that 64 GPUs save less than this says. [spccl.md](spccl.md) has the same figures "
        "from a model of the codec. No bound: the constant is a library's.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    for model in _MODELS:
        compute_s = fitted_compute_s(model)
        for ranks in rank_counts:
            dense, sparse = (iteration_s(model, ranks, compute_s, sparse=one) for one in (False, True))
            saved = f"{1 - sparse / dense:.1%}"
            rows.append(
                (
                    model.name,
                    ranks,
                    1e3 * compute_s,
                    1e3 * dense,
                    1e3 * sparse,
                    saved,
                    model.printed.get(ranks),
                )
            )
    columns = ("model", "GPUs", "computation, ms", "dense, ms", "sparse, ms", "saved", "printed")
    report.table("spccl_10", columns, rows)
