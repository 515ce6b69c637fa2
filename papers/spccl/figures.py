# SPDX-License-Identifier: Apache-2.0
"""Figures 2 to 9 by the model, from codec speeds that are measured when the section is made."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from papers.report import Report
from papers.spccl import arrays, model
from papers.spccl.model import RankPorts
from papers.spccl.speeds import Speeds, measure, threads_at

MIB = 1 << 20
GBIT = 1e9 / 8
_BANDWIDTH = 10 * GBIT
_RANKS = (4, 8, 16, 32, 64, 256, 1024)
_SIZES = (256, 512, 1024, 2048)

#: Gives the codec of a format, or of the smallest.
Measured = Callable[[str | None], Speeds]


@functools.cache
def measured_codec(format: str | None) -> Speeds:
    """Measure a format, None for the smallest, once in a run."""
    return measure(format)


def our_formats(codec_of: Measured) -> model.Formats:
    """Return the codecs that operations choose from."""
    return codec_of(None), codec_of("pici"), codec_of("hier")


def _stated(what: str) -> str:
    return f"{what} The times are by the model, not from the paper's machine. The core's speeds were measured before."


def figure_2(report: Report, command: str, *, codec_of: Measured = measured_codec, step: float = 0.1) -> None:
    """Thresholds of the paper's ring, beside none at all."""
    report.section(
        "Figure 2: thresholds of a reduce-scatter, 95 % zeros, 16 ranks, 512 MiB",
        _stated(
            "Printed: swapping to dense too soon or too late loses; 0.6 (inside a node) and 0.5 (between) "
            "are generally strong. The paper's ring with Pici goes dense where the last known sparsity is at "
            "most the threshold; one kind of link here, so one threshold. Times over dense; `Hemiola` has no "
            "threshold and no fill-in."
        ),
        command,
    )
    pici, ours = codec_of("pici"), our_formats(codec_of)
    rows: list[tuple[object, ...]] = []
    curves: dict[str, list[float | None]] = {}
    thresholds = [round(i * step, 3) for i in range(round(1 / step) + 1)]
    for gbits in (1, 10, 25):
        setting = RankPorts(16, 512 * MIB, gbits * GBIT)
        dense = model.dense_scatter(setting, pici).seconds(setting)
        ring = [dense / model.ring_scatter(setting, pici, 0.05, t).seconds(setting) for t in thresholds]
        found = dense / model.scatter_s(setting, ours, 0.05)
        curves[f"Pici ring, {gbits} Gbit/s"] = list(ring)
        curves[f"Hemiola, {gbits} Gbit/s"] = [found] * len(thresholds)
        best = max(range(len(thresholds)), key=ring.__getitem__)
        rows.append((gbits, thresholds[best], ring[best], ring[0], ring[-1], found))
    report.curves(
        "figure_2", "Reduce-scatter over dense, by threshold", thresholds, curves,
        x_label="sparsity at which the ring goes dense", y_label="times as fast as dense",
    )  # fmt: skip
    columns = ("Gbit/s", "best threshold", "ring at its best", "never dense", "always dense", "Hemiola")
    report.table("figure_2", columns, rows)


def figure_3(
    report: Report,
    command: str,
    *,
    codec_of: Measured = measured_codec,
    sparsities: Sequence[float] = arrays.SPARSITIES,
) -> None:
    """Pici and COO."""
    report.section(
        "Figure 3: Pici and COO, 16 ranks, 512 MiB",
        _stated(
            "Printed, all-reduce: Pici 1.19 times as fast as COO at 99 % and 1.33 times at 95 %, where COO "
            "is slower than dense. Times as fast as dense. SpCCL: its ring and thresholds with either codec; "
            "`Hemiola`: direct rounds, of Pici, hier and the smallest format the fastest."
        ),
        command,
    )
    pici, coo, ours = codec_of("pici"), codec_of("coo"), our_formats(codec_of)
    setting = RankPorts(16, 512 * MIB, _BANDWIDTH)
    gather = model.dense_gather(setting).seconds(setting)
    reduce = model.dense_reduce_s(setting, pici)
    rows: list[tuple[object, ...]] = []
    for sparsity in sparsities:
        d = 1 - sparsity
        gathers = [gather / model.sparse_gather(setting, codec, d).seconds(setting) for codec in (pici, coo)]
        reduces = (
            reduce / model.spccl_reduce_s(setting, pici, d),
            reduce / model.spccl_reduce_s(setting, coo, d, inter=0.6, gather=0.5),
        )
        found = (gather / model.gather_s(setting, ours, d), reduce / model.reduce_s(setting, ours, d))
        rows.append(
            (f"{100 * sparsity:g} %", *gathers, found[0], *reduces, reduces[0] / reduces[1], found[1])
        )
    columns = (
        "zeros",
        "all-gather, Pici",
        "COO",
        "Hemiola's",
        "all-reduce, Pici",
        "COO ",
        "Pici / COO",
        "Hemiola",
    )
    report.table("figure_3", columns, rows)


def figure_4(
    report: Report,
    command: str,
    *,
    slice_kib: Sequence[int] = (64, 256, 1024, 4096),
    threads: Sequence[int] = (1, 2, 4),
    nbytes: int = 64 * MIB,
) -> None:
    """Slices and threads instead of channels."""
    report.section(
        "Figure 4: slices and codec threads, 99 % zeros",
        "Printed: a sparse all-gather gains much from more channels (64 best in 72.5 % of cases), a dense "
        "one little. A channel is a slice's codec at work; measured here through `hm.codecs` on "
        f"{nbytes // MIB} MiB, float32 at random places, medians of five passes. GB/s of dense "
        "bytes; to the right the all-gather of 512 MiB on 16 ranks of 100 Gbit/s by the model, times as fast "
        "as dense.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    for kib, count, size, compress, decompress in threads_at(
        [k << 8 for k in slice_kib], threads, nbytes=nbytes
    ):
        setting = RankPorts(16, 512 * MIB, 100 * GBIT)
        dense_s = model.dense_gather(setting).seconds(setting)
        core = setting.chunk / compress + setting.rounds * setting.chunk / decompress
        sparse = model.Load(setting.rounds * setting.chunk / size, core, setting.rounds)
        gain = dense_s / sparse.seconds(setting)
        rows.append((kib, count, size, compress / 1e9, decompress / 1e9, gain))
    columns = (
        "slice, KiB",
        "threads",
        "dense over coded",
        "compress, GB/s",
        "decompress, GB/s",
        "all-gather over dense",
    )
    report.table("figure_4", columns, rows)


def figure_5(
    report: Report,
    command: str,
    *,
    codec_of: Measured = measured_codec,
    sparsities: Sequence[float] = arrays.SPARSITIES,
) -> None:
    """All-gather times."""
    report.section(
        "Figure 5: all-gather by sparsity",
        _stated(
            "Printed: behind dense only at 1 to 10 % zeros; gains from 10 % on (64 GPUs, 2,048 MiB). Milliseconds."
        ),
        command,
    )
    formats = our_formats(codec_of)
    rows: list[tuple[object, ...]] = []
    for ranks in (8, 16, 64, 1024):
        for mib in (512, 2048):
            setting = RankPorts(ranks, mib * MIB, _BANDWIDTH)
            times = [1e3 * model.gather_s(setting, formats, 1 - s) for s in sparsities]
            rows.append((ranks, mib, 1e3 * model.dense_gather(setting).seconds(setting), *times))
    report.table("figure_5", ("ranks", "MiB", "dense", *(f"{100 * s:g} %" for s in sparsities)), rows)


Time = Callable[[RankPorts, model.Formats, float], float]


def _dense_gather_s(setting: RankPorts, _: Speeds) -> float:
    return model.dense_gather(setting).seconds(setting)


def _dense_scatter_s(setting: RankPorts, codec: Speeds) -> float:
    return model.dense_scatter(setting, codec).seconds(setting)


#: Figure, collective, what is printed, our time and dense time.
_HEAT_MAPS: Mapping[str, tuple[str, str, Time, Callable[[RankPorts, Speeds], float]]] = {
    "figure_6": ("all-gather", "up to 5.25 at 99 %", model.gather_s, _dense_gather_s),
    "figure_7": ("all-reduce", "up to 2.66 at 99 %", model.reduce_s, model.dense_reduce_s),
    "figure_8": ("reduce-scatter", "up to 2.5 at 99 %", model.scatter_s, _dense_scatter_s),
}


def heat_map(
    report: Report,
    command: str,
    *,
    figure: str,
    codec_of: Measured = measured_codec,
    rank_counts: Sequence[int] = _RANKS,
    sizes: Sequence[int] = _SIZES,
    sparsities: Sequence[float] = arrays.SPARSITIES,
) -> None:
    """Gains by ranks and size, and by sparsity."""
    kind, printed, ours_s, dense_s = _HEAT_MAPS[figure]
    number = figure.removeprefix("figure_")
    report.section(f"Figure {number}: {kind} over dense", _stated(f"Printed: {printed}."), command)
    formats = our_formats(codec_of)

    def gain(ranks: int, mib: int, sparsity: float) -> float:
        setting = RankPorts(ranks, mib * MIB, _BANDWIDTH)
        return dense_s(setting, formats[0]) / ours_s(setting, formats, 1 - sparsity)

    report.text("99 % zeros, by size in MiB:")
    rows = [(ranks, *(gain(ranks, mib, 0.99) for mib in sizes)) for ranks in rank_counts]
    report.table(figure, ("ranks", *map(str, sizes)), rows)
    report.text(f"{sizes[-1]} MiB, by sparsity:")
    rows = [(ranks, *(gain(ranks, sizes[-1], s) for s in sparsities)) for ranks in rank_counts]
    report.table(f"{figure}_sparsity", ("ranks", *(f"{100 * s:g} %" for s in sparsities)), rows)
    curves = {f"{ranks} ranks": [gain(ranks, sizes[-1], s) for s in sparsities] for ranks in rank_counts}
    report.curves(
        figure, f"{kind}, {sizes[-1]} MiB, 10 Gbit/s", [1 - s for s in sparsities], curves,
        x_label="density", y_label="times as fast as dense", log="xy",
    )  # fmt: skip


def figure_9(
    report: Report,
    command: str,
    *,
    codec_of: Measured = measured_codec,
    rank_counts: Sequence[int] = (8, 16, 32, 64, 256, 1024),
    sparsities: Sequence[float] = (0.9, 0.95, 0.99, 0.999),
) -> None:
    """All-reduces of others."""
    report.section(
        "Figure 9: all-reduce beside the paper's ring and SparCML, 1 GiB",
        _stated(
            "Printed: SparCML at least ten times slower than dense NCCL in most cases; it works in the "
            "host's memory there, and here on the same ports and cores as everyone. Milliseconds; SparCML's "
            "with COO's measured speeds, the faster of doubling and split."
        ),
        command,
    )
    pici, coo, ours = codec_of("pici"), codec_of("coo"), our_formats(codec_of)
    rows: list[tuple[object, ...]] = []
    for ranks in rank_counts:
        setting = RankPorts(ranks, 1024 * MIB, _BANDWIDTH)
        for sparsity in sparsities:
            d = 1 - sparsity
            dense = model.dense_reduce_s(setting, pici)
            sparcml = min(model.doubling_s(setting, coo, d), model.split_s(setting, coo, d))
            found = model.reduce_s(setting, ours, d)
            times = (dense, model.spccl_reduce_s(setting, pici, d), sparcml, found)
            rows.append((ranks, f"{100 * sparsity:g} %", *(1e3 * s for s in times), dense / found))
    columns = ("ranks", "zeros", "dense", "SpCCL's ring", "SparCML", "Hemiola", "dense / Hemiola")
    report.table("figure_9", columns, rows)


def links(report: Report, command: str, *, codec_of: Measured = measured_codec) -> None:
    """The issue's row: 8 ranks, 64 MiB at 99 %, by link."""
    report.section(
        "99 % zeros by the links' speed, 8 ranks, 64 MiB",
        "By the same model with other ports, one core a rank. To reach at 10 Gbit/s: 20, 12 and 10.",
        command,
    )
    formats = our_formats(codec_of)
    rows: list[tuple[object, ...]] = []
    for gbits in (0.1, 1, 10, 25, 100):
        setting = RankPorts(8, 64 * MIB, gbits * GBIT)
        gains = [
            dense(setting, formats[0]) / ours(setting, formats, 0.01)
            for _, _, ours, dense in _HEAT_MAPS.values()
        ]
        rows.append((gbits, gains[0], gains[2], gains[1]))
    report.table("links", ("Gbit/s", "all-gather", "reduce-scatter", "all-reduce"), rows)
    report.text(
        "The loss by the rule, the worst of 4, 8, 16 and 64 ranks, 1 to 512 MiB and all sparsities. The first "
        "figure is the time of the better of sparse (in its fastest format, whether the rule tries it or not) and "
        "dense, over the chosen one's. The second is dense over the chosen one. To reach: 0.97 to 25 Gbit/s; "
        "0.97 on any link."
    )
    rows = []
    for gbits in (0.1, 1, 10, 25, 100, 400):
        worst = [_worst(choice, formats, gbits * GBIT) for choice in _CHOICES]
        rows.append((gbits, *(share for pair in worst for share in pair)))
    columns = [
        f"{kind}, over {what}"
        for kind in ("all-gather", "reduce-scatter")
        for what in ("the better", "dense")
    ]
    report.table("never_worse", ("Gbit/s", *columns), rows)


def _dense_gather_of(setting: RankPorts, _: Speeds) -> model.Load:
    return model.dense_gather(setting)


Sparse = Callable[[RankPorts, Speeds, float], model.Load]
Dense = Callable[[RankPorts, Speeds], model.Load]
#: A phase: with zeros left out, dense, and as the rule has it.
_CHOICES: Sequence[tuple[Sparse, Dense, Time]] = (
    (model.sparse_gather, _dense_gather_of, model.gather_s),
    (model.direct_scatter, model.dense_scatter, model.scatter_s),
)


def _worst(
    choice: tuple[Sparse, Dense, Time], formats: model.Formats, bandwidth: float
) -> tuple[float, float]:
    """Return the least of the better way, and of dense, over what is chosen."""
    sparse, dense, chosen_s = choice
    of_better, of_dense = [], []
    for ranks in (4, 8, 16, 64):
        for mib in (1, 16, 512):
            setting = RankPorts(ranks, mib * MIB, bandwidth)
            dense_s = dense(setting, formats[0]).seconds(setting)
            for sparsity in arrays.SPARSITIES:
                density = 1 - sparsity
                sparse_s = min(sparse(setting, codec, density).seconds(setting) for codec in formats)
                found_s = chosen_s(setting, formats, density)
                of_better.append(min(sparse_s, dense_s) / found_s)
                of_dense.append(dense_s / found_s)
    return min(of_better), min(of_dense)
