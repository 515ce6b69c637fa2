# SPDX-License-Identifier: Apache-2.0
"""What docs/results/spccl.md prints and follows from bits of formats, from the union of places, from ports of 10 Gbit/s
or from other numbers that it prints, computed again: nothing of what made the report is used. p ranks, density d of
32-bit elements; a rank's time is what its port carries, one slice of 1 MiB, and 10 µs a message."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

import pytest
from printed import GIB, MIB, Row, check, check_quotient, half, rows_of, section, tables

GBIT = 1e9 / 8
MESSAGE_S = 10e-6


def entropy(d: float) -> float:
    return 0.0 if d in (0, 1) else -d * math.log2(d) - (1 - d) * math.log2(1 - d)


def density(zeros: str) -> float:
    return 1 - float(zeros.rstrip(" %")) / 100


def one_phase_s(p: int, nbytes: float, bandwidth: float = 10 * GBIT) -> float:
    """Dense: an all-gather or a reduce-scatter, whose sums take a core less than its port."""
    chunk = nbytes / p
    return (p - 1) * (chunk / bandwidth + MESSAGE_S) + min(MIB, chunk) / bandwidth


FORMATS: dict[str, Callable[[float], float]] = {
    "dense": lambda d: 32,
    "pici": lambda d: 32 * d + 1 + 1 / 128,
    "coo": lambda d: 64 * d,
}


def test_formats_over_the_entropy() -> None:
    """Given one draw of 4 Mi places. Derivation: their number has a relative deviation of √((1-d)/(d·n)). Expect:
    within four of these."""
    for row in tables("spccl", "Bytes of messages")[0]:
        d = density(row["zeros"])
        for name, bits in FORMATS.items():
            expected = bits(d) / (entropy(d) + 32 * d)
            check(row[name], expected, row, 4 * math.sqrt((1 - d) / (d * 4 * MIB)))


def formats() -> Iterator[tuple[int, Row]]:
    for index, table in enumerate(tables("spccl", "Bytes of messages")[:2]):
        for row in table:
            yield index, row


def test_formats_of_clustered_places_have_the_sizes_of_their_density() -> None:
    """How many places a draw in runs has is not known, but dense bytes say it: pici's and coo's follow."""
    for index, row in formats():
        given = float(row["dense"])
        if index == 0 or not 1.5 < given < 1000:  # beyond, the slices' headers count
            continue
        low, high = 0.0, 1.0
        while high - low > 1e-12:
            d = (low + high) / 2
            low, high = (d, high) if 32 / (entropy(d) + 32 * d) > given else (low, d)
        off = 2 * half(row["dense"]) / given + 2e-3  # a message has a header
        for name, bits in FORMATS.items():
            check(row[name], bits(low) / (entropy(low) + 32 * low), row, off)


def test_slices_and_the_smallest_format() -> None:
    names = ("dense", "pici", "coo", "hier", "ef")
    for _, row in formats():
        check_quotient(row["dense over slices"], row["dense"], row["slices"], row)
        assert float(row[row["smallest"]]) == min(float(row[name]) for name in names), row


def test_what_was_to_be_reached_is_found_above() -> None:
    *both, reached = tables("spccl", "Bytes of messages")
    random, clustered = ({row["zeros"]: row for row in table} for table in both)
    found = {row["bytes over the limit"]: row["found"] for row in reached}
    bits = 100 * (1 + 1 / 128) / 32
    check(found["Pici's index over dense bytes, 4-byte elements"].rstrip("%"), bits, found, digits=3)
    for zeros in ("95 %", "99 %", "99.9 %"):
        assert found[f"ef, {zeros}, one message"] == random[zeros]["ef"]
        assert found[f"smallest, {zeros}, slices"] == random[zeros]["slices"]
    assert found["clustered, 99 %, slices"] == clustered["99 %"]["slices"]
    for row in reached:
        if row["to reach"].startswith("at most"):
            assert float(row["found"]) <= float(row["to reach"].split()[-1]), row


def test_what_the_union_allows_an_all_reduce() -> None:
    for row in rows_of("spccl", "All-reduce bytes", "ranks", "zeros", "dense over the limit"):
        p, zeros = int(row["ranks"]), 1 - density(row["zeros"])
        union = 1 - zeros ** (p - 1)
        check(row["dense over the limit"], 2 * (p - 1) / p * 32 / (entropy(union) + 32 * union), row)
        check_quotient(row["share"], row["dense over ours"], row["dense over the limit"], row)
        check_quotient(
            row["the ring's share"], row["dense over the Pici ring"], row["dense over the limit"], row
        )


def test_competitors() -> None:
    """Without zeros, dense bytes 2·7/8: doubling sends all of it three times; blocks of 256 elements of 4 bytes have 8
    bytes of header; an all-gather of pairs, which split and Ok-Topk end with, twice as much as a dense one."""
    found = tables("spccl", "Competitors")
    for table in found[:4]:
        (row,) = (row for row in table if row["zeros"] == "0 %")
        check(row["Hemiola"], 1, row)
        check(row["SparCML, doubling"], 2 * 7 / 8 / 3, row)
        check(row["SparCML, split"], 1, row)
        check(row["OmniReduce"], 256 * 4 / (256 * 4 + 8), row)
        check(row["Ok-Topk (lossy)"], 0.5, row, 1e-3)
    random, skewed, layers, pruned = found[0], found[2], found[4], found[5]
    for row, even, layer in zip(layers, random, skewed, strict=True):
        assert (row["dense layer"], row["spread evenly"]) == (layer["Hemiola"], even["Hemiola"]), row
        check_quotient(row["share"], row["dense layer"], row["spread evenly"], row)
    for row in pruned:
        check(row["independent"], 1 - (1 - density(row["zeros"])) ** 8, row, 0.006)  # zeros have four digits


def test_codecs_of_fixed_size() -> None:
    """Random data of 16 slices of 128 Ki elements: within four deviations; a message has some bytes of header."""
    for row in rows_of("spccl", "Codec speeds", "format", "dense over it"):
        d = density(row["zeros"])
        if row["format"] in FORMATS:
            off = 0.0 if d == 1 else 4 * math.sqrt((1 - d) / (d * 16 * 131_072))
            check(row["dense over it"], 32 / FORMATS[row["format"]](d), row, 2e-3 + off)


def test_thresholds_and_links() -> None:
    for row in rows_of("spccl", "Figure 2:", "ring at its best", "never dense"):
        least = max(float(row["never dense"]), float(row["always dense"]))
        assert float(row["ring at its best"]) >= least, row
        if float(row["best threshold"]) == 0:
            assert row["ring at its best"] == row["never dense"], row
    for row in rows_of("spccl", "99 % zeros by the links' speed", "all-gather, over dense"):
        for kind in ("all-gather", "reduce-scatter"):
            assert float(row[f"{kind}, over the better"]) <= float(row[f"{kind}, over dense"]), row


def test_pici_over_coo() -> None:
    """Two columns of the table are called COO; the all-reduce's is the second."""
    lines = [line for line in section("spccl", "Figure 3").splitlines() if line.startswith("|")]
    for line in lines[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        check_quotient(cells[6], cells[4], cells[5], line)


def test_slices_and_codec_threads() -> None:
    """512 MiB on 16 ranks of 100 Gbit/s; the larger of the port's and the core's seconds, and a message's a round."""
    p, chunk, port = 16, 512 * MIB / 16, 100 * GBIT
    for row in rows_of("spccl", "Figure 4", "slice, KiB", "all-gather over dense"):
        compress, decompress = (1e9 * float(row[f"{way}, GB/s"]) for way in ("compress", "decompress"))
        core_s = chunk / compress + (p - 1) * chunk / decompress
        port_s = (p - 1) * chunk / float(row["dense over coded"]) / port
        sparse_s = max(core_s, port_s) + (p - 1) * MESSAGE_S
        check(row["all-gather over dense"], one_phase_s(p, 512 * MIB, port) / sparse_s, row, 5e-4)


def test_dense_times() -> None:
    for row in rows_of("spccl", "Figure 5", "ranks", "dense", "0 %"):
        dense_s = one_phase_s(int(row["ranks"]), int(row["MiB"]) * MIB)
        check(row["dense"], 1e3 * dense_s, row)
        assert row["0 %"] == row["dense"], row
    for row in rows_of("spccl", "Figure 9", "ranks", "dense", "SparCML"):
        check(row["dense"], 2e3 * one_phase_s(int(row["ranks"]), GIB), row)


@pytest.mark.parametrize("heading", ["Figure 6:", "Figure 7:", "Figure 8:"])
def test_both_tables_of_a_heat_map_have_the_same_corner(heading: str) -> None:
    by_size, by_sparsity = tables("spccl", heading)
    for one, other in zip(by_size, by_sparsity, strict=True):
        assert (one["ranks"], one["2048"]) == (other["ranks"], other["99 %"])
        check(other["0 %"], 1, other)


def test_trainings_with_pruned_gradients() -> None:
    rows = list(rows_of("spccl", "Training on digits", "gradients", "accuracy"))
    dense = float(rows[0]["accuracy"])
    for row in rows:
        lost = 100 * (float(row["accuracy"]) - dense)
        assert abs(float(row["points over dense"]) - lost) <= 0.1, row  # of three decimals
        share = 1 - (1 - float(row["kept"])) ** 8
        check(row["independent"], share, row, 8 * half(row["kept"]) / share)


#: Parameters, and seconds of pruning in 80 iterations, as printed.
MODELS = {"1.5 B, 40 GB": (1.5e9, 1.5), "3.3 B, 80 GB": (3.3e9, 3.0)}


def iteration_ms(model: str, p: int) -> tuple[float, float]:
    """Return 6 operations a parameter and token at 40 % of 312 TFLOP/s, and the dense all-reduce of 4 bytes each."""
    parameters, _ = MODELS[model]
    return 1e3 * 6 * parameters * 1024 / (0.4 * 312e12), 2e3 * one_phase_s(p, 4 * parameters, 25e9)


def test_iterations_of_the_papers_models() -> None:
    whole = list(rows_of("spccl", "Figures 10 and 11", "model", "dense, ms"))
    parts = {row["model"]: row for row in rows_of("spccl", "Figures 10 and 11", "model", "prune")}
    for row in whole:
        compute_ms, dense_ms = iteration_ms(row["model"], int(row["ranks"]))
        check(row["dense, ms"], compute_ms + dense_ms, row)
        if row["ranks"] == "32":
            for column, name in (("faster, SpCCL's ring", "SpCCL's ring"), ("faster, Hemiola", "Hemiola")):
                one = parts[row["model"]]
                pruned_ms = sum(float(one[part]) for part in ("compute", "prune", name))
                saved = 100 * (1 - pruned_ms / float(row["dense, ms"]))
                assert abs(float(row[column].rstrip("%")) - saved) <= 0.6, row
    for model, row in parts.items():
        compute_ms, dense_ms = iteration_ms(model, 32)
        check(row["compute"], compute_ms, row)
        check(row["prune"], 1e3 * MODELS[model][1] / 80, row)
        check(row["all-reduce, dense"], dense_ms, row)
        check_quotient(row["dense / ring"], row["all-reduce, dense"], row["SpCCL's ring"], row)
        check_quotient(row["dense / Hemiola"], row["all-reduce, dense"], row["Hemiola"], row)


def test_measured_over_denses_optimum() -> None:
    """7/8 of 64 MiB in each phase at 95.5 % of 100 Mbit/s, goodput over Ethernet."""
    text = section("spccl", "Measured: 8 hosts")
    said = re.search(r"at their optimum, ([\d.]+)% of the NICs' rate", text)
    assert said is not None
    for row in rows_of("spccl", "Measured: 8 hosts", "collective", "median, ms"):
        phases = 2 if row["collective"] == "all_reduce" else 1
        best_ms = 1e3 * phases * 7 / 8 * 64 * MIB / (100e6 / 8 * float(said[1]) / 100)
        off = half(row["median, ms"]) / float(row["median, ms"]) + 5e-4  # of the goodput's three digits
        check(row["over dense's optimum"], best_ms / float(row["median, ms"]), row, off)


def test_measured_training_steps() -> None:
    (dense, pruned), ratios = tables("spccl", "Measured: training steps")
    found, limit = ratios
    step, all_reduce = (found[column].split()[0] for column in list(found)[1:])
    check_quotient(step, dense["step, ms"], pruned["step, ms"], found, digits=3)
    check_quotient(all_reduce, dense["all-reduce, ms"], pruned["all-reduce, ms"], found, digits=3)
    alone = float(pruned["compute, ms"]) + float(pruned["prune, ms"])
    check(limit[list(limit)[1]], float(dense["step, ms"]) / alone, limit, 1e-3, digits=3)
