# SPDX-License-Identifier: Apache-2.0
"""Training with pruned gradients: the digits, and Figures 10 and 11 with constants that are assumed."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from papers.report import Report
from papers.spccl import arrays, model
from papers.spccl.figures import Measured, measured_codec, our_formats
from papers.spccl.gradients import Settings, train
from papers.spccl.model import RankPorts
from papers.spccl.speeds import Speeds

_VARIANTS: Mapping[str, Settings] = {
    "dense": Settings(),
    "99 %, leak 1": Settings(0.01),
    "99 %, leak 1, by layer": Settings(0.01, by_layer=True),
    "99 %, leak 1, warm-up of 50 steps": Settings(0.01, warm_up_steps=50),
    "99 %, leak 0.9": Settings(0.01, leak=0.9),
    "99 %, no feedback": Settings(0.01, leak=0.0),
    "99.9 %, leak 1": Settings(0.001),
    "99.9 %, no feedback": Settings(0.001, leak=0.0),
}


def digits(
    report: Report,
    command: str,
    *,
    steps: int = 300,
    seeds: Sequence[int] = (0, 1, 2),
    variants: Sequence[str] = (),
) -> None:
    """Accuracy, and how full the sums get."""
    report.section(
        "Training on digits with pruned gradients, 8 ranks",
        f"A perceptron of 64-512-256-10 on scikit-learn's digits, {steps} steps, 8 ranks with 32 images each "
        f"and `hemiola.Pruner`s of their own, medians over {len(seeds)} seeds; ranks are a loop in one "
        "process, with the sums of the collectives. `union`: share of elements that some rank "
        "sends; `independent`: the share for independent places of the same density. To reach at 99 %: "
        "within one point of dense.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    dense = 0.0
    for name in variants or _VARIANTS:
        runs = [train(replace(_VARIANTS[name], steps=steps, seed=seed)) for seed in seeds]
        accuracy = statistics.median(run.accuracy for run in runs)
        dense = dense or accuracy
        kept, union = (statistics.median(getattr(run, part) for run in runs) for part in ("kept", "union"))
        loss = statistics.median(run.loss for run in runs)
        points = 100 * (accuracy - dense)
        rows.append(
            (name, f"{accuracy:.3f}", f"{points:+.2f}", loss, kept, union, arrays.union(min(kept, 1.0), 8))
        )
    columns = ("gradients", "accuracy", "points over dense", "loss", "kept", "union", "independent")
    report.table("digits", columns, rows)


@dataclass(frozen=True)
class Model:
    """One of the paper's models and its printed figures."""

    name: str
    parameters: float
    prune_s: float
    printed: Mapping[int, str]


#: [SpCCL, §7.2]: 80 iterations prune for 1.5 and 3 s without error feedback.
_MODELS = (
    Model("1.5 B, 40 GB", 1.5e9, 1.5 / 80, {8: "at least 13 %", 16: "16 %"}),
    Model("3.3 B, 80 GB", 3.3e9, 3.0 / 80, {16: "26 %", 64: "22 %"}),
)
_TOKENS = 2 * 512
_GRADIENT_BYTES = 4
#: Assumed: an A100's peak in bfloat16 and the share of it that is reached, and its memory's rate.
_FLOPS, _REACHED, _MEMORY = 312e12, 0.4, 1555e9
#: A GPU's own NIC; printed.
_NIC = 25e9


def figures_10_and_11(
    report: Report,
    command: str,
    *,
    codec_of: Measured = measured_codec,
    rank_counts: Sequence[int] = (8, 16, 32, 64),
) -> None:
    """Iterations of the paper's models, by the model and assumptions."""
    report.section(
        "Figures 10 and 11: iterations of the 1.5 B and 3.3 B models, assumed",
        "**Assumed throughout**: an iteration is 6 operations per parameter and token at 40 % of 312 "
        "TFLOP/s, with two sequences of 512 a GPU. Gradients of 4 bytes are all-reduced after it, with nothing "
        "hidden, on a NIC of 25 GB/s a GPU. Codecs are as fast beside an A100's memcpy (half of 1,555 GB/s) as "
        "here beside this core's. Pruning takes the printed time without error feedback. 99 % zeros at "
        "independent places. Milliseconds; `faster`: time saved.",
        command,
    )
    ours = [_on_gpu(codec) for codec in our_formats(codec_of)]
    pici = ours[1]
    rows: list[tuple[object, ...]] = []
    parts: list[tuple[object, ...]] = []
    for what in _MODELS:
        compute = 6 * what.parameters * _TOKENS / (_FLOPS * _REACHED)
        for ranks in rank_counts:
            setting = RankPorts(ranks, int(what.parameters * _GRADIENT_BYTES), _NIC)
            dense = model.dense_reduce_s(setting, pici)
            spccl = model.spccl_reduce_s(setting, pici, 0.01)
            found = model.reduce_s(setting, ours, 0.01)
            whole = compute + dense
            saved = [1 - (compute + what.prune_s + s) / whole for s in (spccl, found)]
            percent = (f"{share:.0%}" for share in saved)
            rows.append((what.name, ranks, 1e3 * whole, *percent, what.printed.get(ranks, "–")))
            if ranks == 32:
                times = (compute, what.prune_s, dense, spccl, found)
                parts.append((what.name, *(1e3 * s for s in times), dense / spccl, dense / found))
    columns = ("model", "ranks", "dense, ms", "faster, SpCCL's ring", "faster, Hemiola", "printed")
    report.table("figure_10", columns, rows)
    report.text(
        "Figure 11, 32 GPUs; printed: an all-reduce more than twice as fast in both, 1.5 and 3 s of pruning in 80 "
        "iterations."
    )
    parts_columns = (
        "model",
        "compute",
        "prune",
        "all-reduce, dense",
        "SpCCL's ring",
        "Hemiola",
        "dense / ring",
        "dense / Hemiola",
    )
    report.table("figure_11", parts_columns, parts)


def _on_gpu(codec: Speeds) -> Speeds:
    """Scale this core's rates to a GPU whose memcpy runs at half its memory's rate."""
    return replace(codec, threads=_MEMORY / 2 / codec.memcpy)
