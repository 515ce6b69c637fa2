# SPDX-License-Identifier: Apache-2.0
"""Random schedules on random networks: the simulator against the plain oracle.

A schedule here keeps no promise: its transfers are drawn at random, so that slots are read and overwritten in
every order that the rules must sort out."""

import random

import oracle
import pytest

import hemiola as hm

CASES = 60


def random_network(rng: random.Random, ranks: int) -> list[tuple[int, int, int, int]]:
    """A random tree of two-way links and some more one-way links; figures in ps and ps per byte."""
    ends = set()
    for v in range(1, ranks):
        u = rng.randrange(v)
        ends |= {(u, v), (v, u)}
    for _ in range(rng.randrange(ranks)):
        u, v = rng.sample(range(ranks), 2)
        ends.add((u, v))
    return [(u, v, rng.randrange(1, 3_000_000), rng.choice([400, 700, 1000, 1700])) for u, v in sorted(ends)]


def with_slots(rng: random.Random, rows: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """Let some transfers read or write scratch, and some stay within a rank."""
    found = set()
    for step, src, dst, chunk in sorted(rows):
        slots = rng.randrange(3), rng.randrange(3)
        to = src if slots[0] != slots[1] and rng.random() < 0.4 else dst
        found.add((step, src, to, chunk, *slots))
    return found


def random_case(seed: int) -> oracle.Case:
    rng = random.Random(seed)
    ranks, chunks, steps = rng.randint(2, 6), rng.randint(1, 4), rng.randint(1, 6)
    rows = {
        (rng.randrange(steps), *rng.sample(range(ranks), 2), rng.randrange(chunks))
        for _ in range(rng.randint(1, 30))
    }
    if seed % 4 == 0:
        rows = with_slots(rng, rows)
    late = [rng.randrange(8_000_000) if rng.random() < 0.3 else 0 for _ in range(ranks)]
    links = random_network(rng, ranks)
    return oracle.Case(
        transfers=sorted(
            (oracle.Transfer(*row) for row in rows),
            key=lambda t: (t.step, t.src, t.dst, t.src_slot, t.dst_slot, t.chunk),
        ),
        sizes=[rng.randint(1, 4000) for _ in range(chunks)],
        links=links,
        arrival=late,
        messages=[rng.choice((0, 0, rng.randrange(4_000_000))) for _ in links] if seed % 3 == 0 else [],
    )


def simulated(case: oracle.Case, network: str) -> list[float]:
    """The same case as Hemiola sees it; returns when each rank is done, in ps."""
    ranks, chunks = len(case.arrival), len(case.sizes)
    schedule = hm.Schedule.from_transfers(
        hm.Collective.make("broadcast", ranks, chunks),
        [(t.step, t.src, t.dst, t.chunk, False, t.src_slot, t.dst_slot) for t in case.transfers],
        case.sizes,
    )
    links = zip(case.links, case.messages, strict=True)
    rows = [(u, v, lat * 1e-12, 1e12 / per, message * 1e-12) for (u, v, lat, per), message in links]
    topology = hm.Topology(ranks, rows)
    late = {rank: ps * 1e-12 for rank, ps in enumerate(case.arrival) if ps}
    now = hm.Conditions(late=late)
    timeline = hm.simulate(schedule, topology, sum(case.sizes), now, network, unchecked=True)
    return [s * 1e12 for s in timeline.finish_s]


@pytest.mark.parametrize("seed", range(CASES))
def test_fifo_equals_the_oracle_to_the_picosecond(seed):
    case = random_case(seed)
    assert [round(t) for t in simulated(case, "fifo")] == oracle.fifo(case), f"seed {seed}"


@pytest.mark.parametrize("seed", range(CASES))
def test_fluid_equals_the_oracle_but_for_rounding_the_end_of_each_flow(seed):
    case = random_case(seed)
    expected = [float(t) for t in oracle.fluid(case)]
    flows = len(case.transfers) * (2 if any(case.messages) else 1)
    assert simulated(case, "fluid") == pytest.approx(expected, abs=flows), f"seed {seed}"
