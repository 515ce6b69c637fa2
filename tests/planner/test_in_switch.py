# SPDX-License-Identifier: Apache-2.0
"""Collectives in the switch: judged like schedules, simulated, bounded, offered, and never run."""

import pickle

import numpy as np
import pytest

import hemiola as hm
from hemiola import topologies
from hemiola.algorithms import InSwitch
from hemiola.algorithms.in_switch import IN_SWITCH, NAMES
from hemiola.errors import ArgumentError, NotExecutableError

KINDS = sorted(IN_SWITCH)
SIZE = 8_000_000


def star(n=8, **more):
    cost = {"latency_s": 2e-6, "bandwidth": 1e9} | more
    return topologies.switch(n, **cost, reduces=True, multicasts=True)


def made(kind, topology, pieces=1, **options):
    return IN_SWITCH[kind][0](topology, pieces, **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "pieces"), [(2, 1), (3, 4), (8, 1), (8, 9), (8, 10)])
def test_the_judge_finds_them_right_with_the_switch_as_a_participant(kind, n, pieces):
    one = made(kind, star(n), pieces)
    assert hm.verify(one.star) == []
    assert one.star.rank_count == n + 1
    assert (one.name, one.kind, one.switch) == (f"{kind}_in_switch", kind, n)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pieces", [1, 4, 10])
@pytest.mark.parametrize("message_s", [0.0, 3e-6])
@pytest.mark.parametrize("launch_s", [0.0, 5e-6])
def test_formula_and_simulation_agree(kind, pieces, message_s, launch_s):
    t = star(message_s=message_s).replaced(launch_s=launch_s)
    one = made(kind, t, pieces)
    for nbytes in (8 * pieces, SIZE):
        assert hm.simulate(one, t, nbytes).seconds == pytest.approx(one.formula_s(nbytes), rel=1e-6)
        assert one.formula_s(nbytes) >= hm.lower_bound(t, kind, nbytes).seconds * (1 - 1e-9)


def test_an_all_reduce_takes_each_port_once():
    # Given 8 ranks, 1 GB/s, 2 us, 8 MB in 64 pieces. Derivation: 65 pieces of 125 us one after the other, and 2 us.
    assert made("all_reduce", star(), 64).formula_s(SIZE) == pytest.approx(65 * 125e-6 + 2e-6)
    assert hm.simulate(made("all_reduce", star(), 64), star(), SIZE).seconds == pytest.approx(8.127e-3)
    assert hm.lower_bound(star(), "all_reduce", SIZE).seconds == pytest.approx(8.002e-3)


def test_late_and_slow_ranks_count():
    one = made("all_reduce", star(), 4)
    soon = hm.simulate(one, star(), SIZE).seconds
    late = hm.simulate(one, star(), SIZE, conditions=hm.Conditions(late={3: 5e-3})).seconds
    assert late == pytest.approx(soon + 5e-3)
    slow = hm.Conditions(slow={3: 2.0})
    assert hm.simulate(one, star(), SIZE, conditions=slow).seconds > 1.5 * soon
    assert (
        hm.lower_bound(star(), "all_reduce", SIZE, slow).seconds
        <= hm.simulate(one, star(), SIZE, conditions=slow).seconds
    )


def test_another_root_may_broadcast():
    one = made("broadcast", star(), 4, root=5)
    assert hm.verify(one.star) == []
    assert one.star.collective.root == 5
    with pytest.raises(ArgumentError, match=r"expected a root in 0 … 7, found 8"):
        made("broadcast", star(), root=8)


@pytest.mark.parametrize("pieces", [0, 1025])
def test_another_number_of_pieces_is_refused(pieces):
    with pytest.raises(ArgumentError, match="pieces, found"):
        made("all_reduce", star(), pieces)


def test_a_switch_must_be_able_and_join_all_ranks():
    plain = topologies.switch(8, latency_s=1e-6, bandwidth=1e9)
    for kind in KINDS:
        with pytest.raises(ArgumentError, match="expected a switch that"):
            made(kind, plain)
        with pytest.raises(ArgumentError, match="expected a switch that"):
            made(kind, topologies.dgx_h100(2))  # an NVSwitch joins one box
    reducing = plain.replaced(reduces=[8])
    assert made("reduce_scatter", reducing).switch == 8
    with pytest.raises(ArgumentError, match="expected a switch that reduces and multicasts"):
        made("all_reduce", reducing)
    with pytest.raises(ArgumentError, match="expected a switch that multicasts"):
        made("all_gather", reducing)


def test_a_later_switch_of_a_box_is_found():
    # Two switches, the second of which joins all ranks and can do it.
    t = star(4)
    links = [(a + (a == 4), b + (b == 4), *cost) for a, b, *cost in t.links.tolist()]
    both = hm.Topology(
        4, [*links, (0, 4, 1e-6, 1e9), (4, 1, 1e-6, 1e9)], switch_count=2, reduces=[5], multicasts=[5]
    )
    one = made("all_reduce", both)
    assert one.switch == 5
    assert hm.simulate(one, both, SIZE).seconds == hm.simulate(made("all_reduce", t), t, SIZE).seconds


def test_another_topology_is_refused():
    one = made("all_reduce", star())
    assert hm.simulate(one, star(bandwidth=2e9), SIZE).seconds < hm.simulate(one, star(), SIZE).seconds
    for other in (star(7), star().replaced(reduces=[])):
        with pytest.raises(ArgumentError, match="expected the topology that it was made for"):
            hm.simulate(one, other, SIZE)


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_offers_it_beside_a_schedule_that_ranks_run(kind):
    t = topologies.dgx_h100()
    found = hm.plan(t, kind, 1 << 26)
    assert found.name not in NAMES
    assert hm.verify(found.schedule) == []
    assert found.schedule.rank_count == 8
    assert not NAMES & {one.name for one in found.alternatives}
    offer = found.in_switch
    assert isinstance(offer.schedule, InSwitch)
    assert offer.seconds == hm.simulate(offer.schedule, t, 1 << 26).seconds
    assert offer.seconds >= offer.bound_s == hm.lower_bound(t, kind, 1 << 26).seconds
    assert f"In the switch, {kind}_in_switch would take" in found.explain()
    assert pickle.loads(pickle.dumps(found)).in_switch == offer


def test_nothing_is_offered_where_no_switch_can():
    for found in (
        hm.plan(topologies.dgx_a100(), "all_reduce", 1 << 20),
        hm.plan(topologies.dgx_h100(2), "all_reduce", 1 << 20),
        hm.plan(topologies.dgx_h100(), "all_to_all", 1 << 20),
    ):
        assert found.in_switch is None
        assert "In the switch" not in found.explain()


def test_eight_h100_are_offered_what_no_ranks_reach():
    t = topologies.dgx_h100()
    found = hm.plan(t, "all_reduce", 1 << 30)
    assert found.in_switch.seconds < 0.6 * found.bound_s
    assert found.seconds >= found.bound_s


@pytest.mark.parametrize("name", sorted(NAMES))
def test_their_names_are_refused_wherever_an_algorithm_is_named(name):
    with pytest.raises(NotExecutableError, match="for comparison"):
        hm.algorithms.get(name)
    assert name not in hm.algorithms.names(needs=None)


def _run(schedule):
    comm = hm.init()
    try:
        comm.all_reduce(np.ones(8, np.float32), schedule=schedule)
    except NotExecutableError as error:
        return str(error)
    return "ran"


@pytest.mark.parametrize("schedule", ["all_reduce_in_switch", made("all_reduce", star(2))])
def test_running_one_raises_a_typed_error_on_every_rank(schedule):
    answers = hm.launch(_run, 2, schedule)
    assert all("ranks cannot command it" in answer for answer in answers)


@pytest.mark.parametrize("kind", KINDS)
def test_a_negative_number_of_bytes_is_refused(kind):
    with pytest.raises(ArgumentError, match=r"expected nbytes >= 0, found -1"):
        made(kind, star()).formula_s(-1)
