# SPDX-License-Identifier: Apache-2.0
"""Who sends to whom: nobody works for two, everybody meets everybody, and the schedules are what they say."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hemiola as hm
from hemiola.calibration.network import Figures, network_of
from hemiola.calibration.rounds import Nodes, matchings
from hemiola.calibration.traffic import chain, stream

node_lists = st.lists(st.integers(0, 4), min_size=2, max_size=14)


@given(node_lists)
def test_in_a_round_nobody_sends_or_receives_twice(nodes: list[int]) -> None:
    places = Nodes.of(nodes)
    rounds = [*places.rounds_inside(), *places.rounds_between(), *places.rounds_between([0])]
    rounds += [places.both_ways(couples) for couples in matchings(places.count)]
    for pairs in rounds:
        assert len({src for src, _ in pairs}) == len({dst for _, dst in pairs}) == len(pairs)


@given(node_lists)
def test_all_rounds_together_have_every_pair_once(nodes: list[int]) -> None:
    places = Nodes.of(nodes)
    inside = [pair for pairs in places.rounds_inside() for pair in pairs]
    between = [pair for pairs in places.rounds_between() for pair in pairs]
    everybody = [(src, dst) for src in range(len(nodes)) for dst in range(len(nodes)) if src != dst]
    assert sorted(inside) == [pair for pair in everybody if nodes[pair[0]] == nodes[pair[1]]]
    assert sorted(between) == [pair for pair in everybody if nodes[pair[0]] != nodes[pair[1]]]


@pytest.mark.parametrize("count", range(1, 12))
def test_every_two_nodes_are_a_couple_once(count: int) -> None:
    rounds = matchings(count)
    assert len(rounds) == (0 if count == 1 else count - 1 + count % 2)
    for couples in rounds:
        assert len({node for couple in couples for node in couple}) == count - count % 2
    met = sorted(tuple(sorted(couple)) for couples in rounds for couple in couples)
    assert met == list(combinations(range(count), 2))


def test_only_some_places_of_each_node_send() -> None:
    places = Nodes.of([0, 0, 1, 1, 2])
    assert places.between(1, [1]) == [(1, 3)]  # the third node has one rank only
    assert places.both_ways([(0, 1)], [0]) == [(0, 2), (2, 0)]


@given(node_lists, st.integers(1, 5))
def test_a_stream_is_a_schedule_that_keeps_its_promise(nodes: list[int], steps: int) -> None:
    places = Nodes.of(nodes)
    rounds = [*places.rounds_inside(), *places.rounds_between()]
    for pairs in rounds[:3]:
        made = stream(len(nodes), pairs, steps)
        assert hm.verify(made) == []
        assert len(made.transfers) == steps * len(pairs)


@given(node_lists, st.integers(1, 3))
def test_chains_are_right_also_where_some_only_receive(nodes: list[int], at_once: int) -> None:
    places = Nodes.of(nodes)
    for rounds in (places.rounds_inside(), places.rounds_between(), places.rounds_between([0])):
        if rounds:
            found = hm.verify(chain(len(nodes), rounds[:at_once], 3))
            assert {each.rule for each in found} <= {"leftover"}  # of what comes last, nobody wants anything


def test_a_step_of_a_chain_takes_the_latency_and_every_message() -> None:
    # Given a switch with 10 µs from rank to rank, 2 µs a message, and no byte that counts. Derivation: a step is over
    # when what all ranks sent has come, 10 µs + k · 2 µs later; with 100 steps 100 times as long. Expect it for k =
    # 1, 2, 3.
    places = Nodes.of([0, 1, 2, 3])
    network = hm.topologies.switch(4, latency_s=10e-6, bandwidth=1e15, message_s=2e-6)
    for at_once in (1, 2, 3):
        made = chain(4, places.rounds_between()[:at_once], 100)
        assert hm.simulate(made, network, 8, unchecked=True).seconds == pytest.approx(
            100 * (10e-6 + at_once * 2e-6), rel=1e-6
        )


def figures(count: int, nic: list[int], **more: float) -> Figures:
    """Return round numbers for so many ranks."""
    times = {
        "inside_latency_s": 2e-6,
        "inside_message_s": 1e-6,
        "latency_s": 20e-6,
        "message_s": 3e-6,
        "busy_message_s": 4e-6,
    } | more
    return Figures(
        inside_bandwidth=np.full(count, 10e9), nic=np.array(nic), nic_bandwidth=np.full(count, 1e9), **times
    )


def test_figures_travel_as_numbers() -> None:
    own = figures(3, [0, 1, 0])
    found = Figures.from_numbers(own.to_numbers())
    assert found.to_numbers().tolist() == own.to_numbers().tolist()
    assert found.nic.tolist() == [0, 1, 0]


def test_a_chain_takes_on_the_network_what_the_figures_say() -> None:
    # Two ranks behind each of three NICs. Alone a rank's message costs 3 µs, among both 4 µs: the NIC takes 2 µs for
    # each of 2 · k messages. Bytes of 8 B messages at 1 GB/s: 16 · k ns.
    places = Nodes.of([0, 0, 1, 1, 2, 2])
    network = network_of(places, figures(6, [0] * 6))
    for at_once in (1, 2):
        busy = chain(6, places.rounds_between()[:at_once], 50)
        alone = chain(6, places.rounds_between([0])[:at_once], 50)
        assert hm.simulate(busy, network, 8, unchecked=True).seconds == pytest.approx(
            50 * (20e-6 + at_once * 4e-6), rel=5e-3
        )
        assert hm.simulate(alone, network, 8, unchecked=True).seconds == pytest.approx(
            50 * (20e-6 + at_once * 3e-6), rel=5e-3
        )


def test_inside_a_host_messages_do_not_pass_the_nic() -> None:
    places = Nodes.of([0, 0, 1, 1])
    network = network_of(places, figures(4, [0] * 4))
    inside = chain(4, places.rounds_inside(), 50)
    assert hm.simulate(inside, network, 8, unchecked=True).seconds == pytest.approx(50 * 3e-6, rel=5e-3)


@pytest.mark.parametrize("nic", [[0, 0, 0, 0], [0, 1, 0, 1]], ids=["shared", "own"])
def test_the_network_is_what_the_builder_makes_but_for_where_latency_lies(nic: list[int]) -> None:
    network = network_of(Nodes.of([0, 0, 1, 1]), figures(4, nic))
    built = hm.topologies.hosts(
        2, 2, 1 + max(nic), latency_s=2e-6, bandwidth=10e9, nic_latency_s=20e-6, nic_bandwidth=1e9
    )
    columns = ["src", "dst", "bandwidth"]
    assert sorted(network.links[columns].tolist()) == sorted(built.links[columns].tolist())
    assert [(name, host) for name, host, _ in network.nics] == [(name, host) for name, host, _ in built.nics]
    assert network.nodes.tolist() == built.nodes.tolist()


def test_ranks_may_be_numbered_in_any_order(tmp_path: object) -> None:
    network = network_of(Nodes.of([1, 0, 1, 0]), figures(4, [0, 0, 0, 0]))
    assert network.nodes.tolist() == [1, 0, 1, 0]
    assert hm.plan(network, "all_reduce", 1 << 20).seconds > 0


def test_on_one_host_there_are_no_nics() -> None:
    network = network_of(Nodes.of([0, 0, 0]), figures(3, [0, 0, 0]))
    assert (network.nics, network.switch_count, network.link_count) == ([], 1, 6)
