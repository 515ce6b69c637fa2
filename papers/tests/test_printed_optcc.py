# SPDX-License-Identifier: Apache-2.0
"""What docs/results/optcc.md prints and OptCC has a closed form for, or traffic over ports does, computed again from
the formula, which is written here once more: nothing of what made the report is used.

p ranks, N bytes, factors l of slow ranks; over the fault-free T0 = 2(p-1)N/p. Simulated with 5 µs and 25 GB/s."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import pytest
from printed import GIB, MIB, Row, check, check_quotient, rows_of, section, tables_in
from scipy.optimize import linprog

ALPHA, NIC = 5e-6, 25e9
Factors = tuple[float, ...]


def ring_s(p: int, nbytes: float) -> float:
    return 2 * (p - 1) * (ALPHA + nbytes / p / NIC)


def rails_s(p: int, g: int, nbytes: float) -> float:
    """One fault-free ring for each of a host's g NICs, without latency."""
    return 2 * (p - 1) * nbytes / (g * p) / NIC


def iccl_s(p: int, nbytes: float, factors: Sequence[float]) -> float:
    """The ring on the degraded network: all that passes the slowest port, with a latency before and after it."""
    through = max(factors) * 2 * (p - 1) / p * nbytes / NIC + 2 * ALPHA
    return max(ring_s(p, nbytes), through)


def rail_exchange(h: int, g: int, k: int, factor: float) -> float:
    """In N over a NIC, for a factor of 2 and more: l(k+1) + 2 of 1/(gk), of which the last all-gather saves a part
    (docs/decisions/0007-slow-ranks.md)."""
    return (factor * (k + 1) + 2 - (h - 2) / ((h - 1) * (g - 1))) / (g * k)


def r2ccl(p: int, factor: float) -> float:
    return 1 + p * (factor - 1) / (2 * (p - 1))


def factors_of(text: str) -> Factors:
    """Printed with three or four digits, of sevenths and thirds."""
    exact = {f"{value:.{digits}g}": value for value in (8 / 7, 4 / 3) for digits in (3, 4)}
    return tuple(exact.get(one, 0.0) or float(one) for one in text.split(", "))


def shared(p: int, factors: Sequence[float]) -> float:
    """[OptCC, Theorems 1 and 2] in N: everybody's bytes over everybody's ports."""
    return 2 * (p - 1) / (p - len(factors) + sum(1 / factor for factor in factors))


@lru_cache(maxsize=1 << 12)
def one_message(p: int, factors: Factors) -> float:
    """In N. Give each port a price and a message its ends' times its length: every byte goes up a tree and down it, so
    that T · Σ prices ≥ N · cheapest tree, whatever the prices are; for one slow rank [OptCC, Theorem 6]. Healthy ranks
    have one price. The best prices are a linear program's, to which the cheapest tree by its answer is added until that
    is no cheaper than those known."""
    slow = tuple(factor for factor in factors if factor > 1)
    healthy = p - len(slow)
    known: list[list[float]] = []
    prices, most = [1 / p] * (len(slow) + 1), 0.0
    for _ in range(200):
        tree = cheapest_tree(healthy, slow, prices)
        cost = sum(share * price for share, price in zip(tree, prices, strict=True))
        if known and cost > most * (1 - 1e-9):
            return cost
        known.append(tree)
        # The most T with T ≤ cost of each tree, where all prices together are 1.
        found = linprog(
            [0.0] * len(prices) + [-1.0],
            A_ub=[[-share for share in one] + [1.0] for one in known],
            b_ub=[0.0] * len(known),
            A_eq=[[float(healthy)] + [1.0] * len(slow) + [0.0]],
            b_eq=[1.0],
        )
        *prices, most = found.x
    raise AssertionError(f"no best prices of {factors} after 200 trees")


def cheapest_tree(healthy: int, slow: Factors, prices: Sequence[float]) -> list[float]:
    """Prim's, from a healthy rank; return how long messages hold healthy ports together, and each slow rank's."""

    def edge(i: int, j: int) -> tuple[float, float]:
        """Of ends by their place in `prices`: the cost and the length."""
        length = max(1.0 if end == 0 else slow[end - 1] for end in (i, j))
        return (prices[i] + prices[j]) * length, length

    held, joined = [0.0] * len(prices), {0}
    left = {0: healthy - 1} | {i + 1: 1 for i in range(len(slow))}
    while any(left.values()):
        cost_of = {(i, j): edge(i, j) for i in joined for j, count in left.items() if count}
        (i, j), (_, length) = min(cost_of.items(), key=lambda item: item[1])
        held[i] += left[j] * length
        held[j] += left[j] * length
        joined.add(j)
        left[j] = 0
    return held


def test_best_prices_give_theorem_6_and_what_all_trees_give_for_two() -> None:
    for p, factor in ((8, 8 / 7), (8, 1.5), (64, 2.0), (16, 3.0)):
        assert one_message(p, (factor,)) == pytest.approx(
            max(2 * (p - 1) * factor / ((p - 2) * factor + 2), factor)
        )
    # By equal prices of all ports, which are best for two of one factor of 4/3 and more.
    for p, factor in ((8, 1.5), (64, 4 / 3), (64, 2.0)):
        assert one_message(p, (factor, factor)) == pytest.approx(max(factor, 2 * (p - 3 + 2 * factor) / p))


def bound_s(p: int, nbytes: float, factors: Factors, ports: str) -> float:
    """Shared ports with one latency, the whole buffer through the slowest with one, and by prices with none."""
    through = ALPHA + max(shared(p, factors), *factors) * nbytes / NIC
    return through if ports == "shared" else max(through, one_message(p, factors) * nbytes / NIC)


def hosts_bound(h: int, g: int, inside: float, factors: Factors, ports: str) -> tuple[float, float]:
    """In N over a NIC, of h hosts of g ranks with a NIC each and links inside of `inside` NICs a rank: the most of what
    has a latency beside it, and of what has none.

    All 2(p-1)N go over NICs and links inside, 2(h-1)N over NICs, all N through the slowest host's. One message a port:
    a byte to or from the slowest host holds a healthy one's port l times as long, so that its NICs add (2 - l)/l of a
    healthy one's bytes, not 1/l [OptCC, Theorem 13]; over NICs alone hosts are ranks that are g times as fast.
    """
    p, slow = h * g, sorted((f for f in factors if f > 1), reverse=True)
    healthy = h - len(slow)
    nics = g * (healthy + sum(1 / f for f in slow))
    with_latency = max(2 * (p - 1) / (p * inside + nics), 2 * (h - 1) / nics)
    without = max([1.0, *slow]) / g
    if ports == "one":
        without = max(without, one_message(h, tuple(slow)) / g)
        if slow and slow[0] < 2:
            without = max(without, 2 * (p - 1) / (p * inside + g * (h - 1 + (2 - slow[0]) / slow[0])))
    return with_latency, without


def rails_bound_s(h: int, g: int, nbytes: float, factors: Factors) -> float:
    with_latency, without = hosts_bound(h, g, g - 1, factors, "one")
    return max(ALPHA + with_latency * nbytes / NIC, without * nbytes / NIC)


def test_table_1() -> None:
    for row in rows_of("optcc", "Table 1", "cluster", "shared ports"):
        factors, columns = factors_of(row["l"]), (("shared ports", "shared"), ("one message a port", "one"))
        several = re.fullmatch(r"(\d+) hosts of (\d+) ranks, links inside (\d+) times a NIC", row["cluster"])
        if several:
            h, g, inside = map(int, several.groups())
            for column, ports in columns:
                found = max(hosts_bound(h, g, inside, factors, ports))
                check(row[column], found * g * (h * g) / (2 * (h * g - 1)), row)
        else:
            p = int(row["cluster"].removesuffix(" hosts"))
            check(row["shared ports"], max(shared(p, factors), *factors) * p / (2 * (p - 1)), row)
            check(row["one message a port"], one_message(p, factors) * p / (2 * (p - 1)), row)


def weighted(p: int, factor: float, k: int) -> float:
    """The weighted exchange in N for one slow rank, as the report says it."""
    if factor >= 2:
        return factor * (k + 1) / k
    return 2 * (p - 1) * factor / ((p - 2) * factor + 2) * (k + factor - 1) / k


def test_bandwidth_only() -> None:
    for row in rows_of("optcc", "Bandwidth only", "ranks", "l", "k", "time"):
        p, k, factors = int(row["ranks"]), int(row["k"]), factors_of(row["l"])
        over = p / (2 * (p - 1))
        check(row["ICCL"], max(factors), row)
        if row["schedule"] == "all_reduce_paced_exchange":
            check(row["bound"], max(shared(p, factors), *factors) * over, row)
            continue
        check(row["bound"], one_message(p, factors) * over, row)
        if row["schedule"] == "all_reduce_relayed_exchange":
            # A body more than segments fills its pipeline.
            check(row["time"], one_message(p, factors) * over * (k + 1) / k, row)
        if len(factors) == 1:
            check(row["R²CCL"], r2ccl(p, factors[0]), row)
            check(row["time"], weighted(p, factors[0], k) * over, row)
        else:
            assert row["R²CCL"] == "–", row


def test_noise_is_measured_against_a_calm_exchange_by_its_formula() -> None:
    """p = 16, k = 32, no fixed costs."""
    for row in rows_of("optcc", "Noise", "l", "calm / bound"):
        (factor,) = factors_of(row["l"])
        check(row["calm / bound"], weighted(16, factor, 32) / one_message(16, (factor,)), row)


def test_tasks_of_one_rank() -> None:
    """A raw part and a result to and from each other rank in each segment; a slow rank of 2 owns nothing."""
    for row in rows_of("optcc", "One rank's program", "k", "tasks"):
        check(row["tasks"], (4 * 1023 - 2) * int(row["k"]), row, digits=9)


def test_measured_over_the_ring_of_the_same_run() -> None:
    rows = list(rows_of("optcc", "Measured", "setting", "ratio, simulated"))
    rings = {row["setting"]: row for row in rows if row["schedule"] == "fault-free ring"}
    for row in rows:
        for column in ("simulated", "measured"):
            ring = rings[row["setting"]][f"{column}, ms"]
            check_quotient(row[f"ratio, {column}"], row[f"{column}, ms"], ring, row)


def parts_of(heading: str) -> Iterator[tuple[str, Row]]:
    """Return the rows of a section's tables, each with the bold title above it."""
    parts = re.split(r"\n\*\*(.*)\*\*\n", section("optcc", heading))[1:]
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        for table in tables_in(text):
            for row in table:
                yield title, row


def setting(title: str, row: Row) -> tuple[int, int, Factors]:
    """Return ranks, bytes and factors, of which a table has one by row and the others in its title."""
    size, count = re.search(r"(\d+) GiB", title), re.search(r"(\d+) ranks", title)
    both = re.match(r"l = ([\d., ]*\d),", title)
    p = int(row["ranks"]) if "ranks" in row else int(count[1] if count else 0)
    nbytes = int(row["MiB"]) * MIB if "MiB" in row else int(size[1] if size else 0) * GIB
    if "l of both" in row:
        factors = factors_of(row["l of both"]) * 2
    elif "l" in row:
        factors = factors_of(row["l"])
    else:
        factors = factors_of(both[1]) if both else (8 / 7 if "8/7" in title else 2.0,)
    return p, nbytes, factors


def test_figures_8_and_20_their_ring_r2ccl_and_bound() -> None:
    rows = list(parts_of("Figures 8 and 20"))
    assert len(rows) > 40
    for title, row in rows:
        p, nbytes, factors = setting(title, row)
        check(row["ring ms"], 1e3 * ring_s(p, nbytes), (title, row))
        check(row["R²CCL"], r2ccl(p, factors[0]), (title, row))
        check(row["ICCL"], iccl_s(p, nbytes, factors) / ring_s(p, nbytes), (title, row))
        check(row["bound"], bound_s(p, nbytes, factors, "one") / ring_s(p, nbytes), (title, row))


@pytest.mark.parametrize("heading", ["Figures 9 and 21: two slow hosts", "Figures 9 and 21, sweeps"])
def test_figures_9_and_21_their_ring_and_bounds(heading: str) -> None:
    rows = list(parts_of(heading))
    assert len(rows) > 15
    for title, row in rows:
        p, nbytes, factors = setting(title, row)
        assert len(factors) == 2, title
        base = ring_s(p, nbytes)
        check(row["ring ms"], 1e3 * base, (title, row))
        check(row["ICCL"], iccl_s(p, nbytes, factors) / base, (title, row))
        check(row["bound, shared"], bound_s(p, nbytes, factors, "shared") / base, (title, row))
        check(row["bound, one message"], bound_s(p, nbytes, factors, "one") / base, (title, row))


def test_figures_10_and_22_their_ring_bounds_and_the_papers_own_form() -> None:
    columns = ("hosts", "k", "ring, ms")
    rows = [
        *rows_of("optcc", "Figures 10 and 22: four ranks", *columns),
        *rows_of("optcc", "Eight ranks a host", *columns),
    ]
    for row in rows:
        g, h, k = int(row["g"]) if "g" in row else 4, int(row["hosts"]), int(row["k"])
        p = g * h
        base = rails_s(p, g, 8 * GIB)
        check(row["ring, ms"], 1e3 * base, row)
        # Latencies of 8 GiB are 2 in 1,000 at most.
        check(row["l = 2"], rail_exchange(h, g, k, 2.0) * p / (2 * (p - 1)) * g, row, 2e-3)
        check(row["paper, l = 2"], 2 * (k + 5.5) / k * p / (2 * (p - 1)), row)
        for column, factor in (("bound, 8/7", 8 / 7), ("bound, 2", 2.0)):
            check(row[column], rails_bound_s(h, g, 8 * GIB, (factor,)) / base, row)


def rails(heading: str, shape: Callable[[Row], tuple[int, int]]) -> None:
    for row in rows_of("optcc", heading, "l", "ring, ms", "ICCL", "bound"):
        h, g = shape(row)
        nbytes, factors = int(row.get("MiB", "8192")) * MIB, factors_of(row["l"])
        base = rails_s(h * g, g, nbytes)
        check(row["ring, ms"], 1e3 * base, row)
        check(row["ICCL"], max(factors), row)
        check(row["bound"], rails_bound_s(h, g, nbytes, factors) / base, row)
        if "time" in row and factors[0] >= 2 and nbytes >= 4 * GIB:
            exchange_s = rail_exchange(h, g, int(row["k"]), factors[0]) * nbytes / NIC
            check(row["time"], exchange_s / base, row, 2e-3)


def test_sweeps_of_hosts_their_ring_iccl_and_bound() -> None:
    rails("Figures 10 and 22, sweeps", lambda row: (64 // int(row["g"]), int(row["g"])))
    rails("Appendix E.5", lambda row: (int(row["hosts"]), 4))


def test_best_prices_are_prices_of_every_factor() -> None:
    """Given ranks that are all healthy: 2(p-1)/p, as of any tree."""
    assert one_message(8, (1.0,)) == pytest.approx(2 * 7 / 8)
    assert math.isclose(one_message(8, (4.0, 2.0, 1.5)), 4.0)
