# SPDX-License-Identifier: Apache-2.0
"""PCCL's Figure 12 and Table 1: batches of ZeRO-3 with two GPT models on Frontier and Perlmutter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from hemiola.workload.parallel import Parallel
from hemiola.workload.programs import step_of
from hemiola.workload.running import Cost, run
from hemiola.workload.task import Call
from hemiola.workload.transformer import transformer
from papers.pccl.fitted import Fitted, fitted
from papers.pccl.machine import FRONTIER, PERLMUTTER, Machine
from papers.report import Report

_SEQUENCE, _TOKENS = 2048, 1 << 22
#: [PCCL, Table 1]: layers and width.
_MODELS = {"GPT 7B": (32, 4096), "GPT 13B": (40, 5120)}
#: [PCCL, §6.2]: shares of RCCL's batch time that PCCL saves; 0 where the text says about equal.
_PRINTED = {
    ("GPT 7B", 128): 0.0, ("GPT 7B", 256): 0.0, ("GPT 7B", 512): 0.30, ("GPT 7B", 1024): 0.60, ("GPT 7B", 2048): 0.75,
    ("GPT 13B", 128): 0.0, ("GPT 13B", 256): 0.0, ("GPT 13B", 512): 0.16, ("GPT 13B", 1024): 0.39,
    ("GPT 13B", 2048): 0.75,
}  # fmt: skip
_PRINTED_PERLMUTTER = {256: "-6 %", 512: "+7 %", 1024: "+20 %"}
#: Operations per second of a GCD that are tried for the fit, and a GPU's of Perlmutter, assumed.
_RATES = tuple(1e12 * rate for rate in (25, 30, 35, 40, 50, 60))
_PERLMUTTER_RATE = 100e12


def batch_s(machine: Machine, model: str, ranks: int, rate: float, library: str, prefetch: int = 0) -> float:
    """Return the seconds of a batch.

    Parameters
    ----------
    machine : Machine, whose fitted constants price collectives.
    model : str, a key of Table 1.
    ranks : int.
    rate : float, operations per second that a rank reaches.
    library : str, "vendor" or "pccl".
    prefetch : int, layers that are gathered ahead.

    Returns
    -------
    float, of ZeRO-3 with one micro-batch, with activations computed again.
    """
    layers, width = _MODELS[model]
    tokens = _TOKENS // ranks
    made = transformer(
        layers,
        width,
        min(_SEQUENCE, tokens),
        max(1, tokens // _SEQUENCE),
        vocabulary=0,
        rate=rate,
        recompute=True,
    )
    step = step_of(made, Parallel(dp=ranks, zero=3, prefetch=prefetch))
    costs = {kind: _fitted(machine, kind) for kind in ("all_gather", "reduce_scatter")}

    def price(call: Call, _: float) -> Cost:
        of = costs[call.kind]
        return Cost(of.vendor_s(ranks, call.nbytes) if library == "vendor" else of.pccl_s(ranks, call.nbytes))

    return run(step, price).seconds


@lru_cache(maxsize=4)
def _fitted(machine: Machine, kind: str) -> Fitted:
    return fitted(machine, kind)


def _saved(machine: Machine, model: str, ranks: int, rate: float, prefetch: int = 0) -> float:
    vendor_s, pccl_s = (batch_s(machine, model, ranks, rate, name, prefetch) for name in ("vendor", "pccl"))
    return 1 - pccl_s / vendor_s


@lru_cache(maxsize=4)
def _fit(prefetch: int, as_ratios: bool) -> tuple[float, float]:
    """Return the root of the mean square error over all printed figures, and the rate that makes it least."""
    errors = []
    for rate in _RATES:
        wrong = [
            _saved(FRONTIER, model, ranks, rate, prefetch) - (1 - 1 / (1 + share) if as_ratios else share)
            for (model, ranks), share in _PRINTED.items()
        ]
        errors.append((math.sqrt(sum(one * one for one in wrong) / len(wrong)), rate))
    return min(errors)


def figure_12(
    report: Report, command: str, *, rank_counts: Sequence[int] = (128, 256, 512, 1024, 2048)
) -> None:
    """Batches by rank count, and what the printed percentages are."""
    rate = _fit(0, False)[1]
    report.section(
        "PCCL, Figure 12 and Table 1: ZeRO-3 batches of GPT 7B and 13B",
        "4 M tokens a batch, sequences of 2,048, one micro-batch, activations computed again, one gather or "
        "scatter a layer and pass. **Fitted**: the constants of both libraries' collectives "
        f"([pccl.md](pccl.md)), and a GCD's rate, {rate / 1e12:g} TFLOP/s, the best of {len(_RATES)}. "
        "Assumed: nothing is gathered ahead. Share of the batch's time that PCCL saves, 1 - T_PCCL/T_RCCL. "
        "No bound: the constants are those of software.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    for model in _MODELS:
        for ranks in rank_counts:
            vendor_s, pccl_s = (batch_s(FRONTIER, model, ranks, rate, name) for name in ("vendor", "pccl"))
            printed = _PRINTED.get((model, ranks))
            rows.append((model, ranks, vendor_s, pccl_s, f"{1 - pccl_s / vendor_s:.2f}", printed))
    report.table("pccl_12", ("model", "GCDs", "RCCL, s", "PCCL, s", "saved", "printed"), rows)
    fits = [
        (_fit(prefetch, as_ratios)[0], prefetch, as_ratios)
        for prefetch in (0, 1)
        for as_ratios in (False, True)
    ]
    words = "; ".join(
        f"{'ratios' if as_ratios else 'shares'}, {'with' if prefetch else 'without'} prefetch: {wrong:.3f}"
        for wrong, prefetch, as_ratios in fits
    )
    report.text(
        "Are the printed percentages shares of time saved, or how much faster? Root of the mean square "
        f"error of the best rate of each reading: {words}."
    )
    _perlmutter(report)


def _perlmutter(report: Report) -> None:
    rows: list[tuple[object, ...]] = []
    for ranks, printed in _PRINTED_PERLMUTTER.items():
        saved = _saved(PERLMUTTER, "GPT 7B", ranks, _PERLMUTTER_RATE)
        rows.append(("GPT 7B", ranks, f"{100 * saved:+.0f} %", printed))
    report.text(f"Perlmutter, with an assumed {_PERLMUTTER_RATE / 1e12:g} TFLOP/s a GPU:")
    report.table("pccl_12_perlmutter", ("model", "GPUs", "saved", "printed"), rows)
