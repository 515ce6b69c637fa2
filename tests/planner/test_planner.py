# SPDX-License-Identifier: Apache-2.0
"""The planner's choices, derived by hand from the α-β model; its answers to odd questions; its sentences."""

import math

import pytest

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.planner.budget import IN_SIMULATION, SHARES, WORK
from hemiola.topology.port_speed import port_speed

KINDS = [
    "all_gather",
    "reduce_scatter",
    "all_reduce",
    "broadcast",
    "reduce",
    "all_to_all",
    "gather",
    "scatter",
]
LATENCY_S, BANDWIDTH = 5e-6, 12.5e9


def switch(rank_count: int) -> hm.Topology:
    return hm.topologies.switch(rank_count, latency_s=LATENCY_S, bandwidth=BANDWIDTH)


def may_simulate(monkeypatch: pytest.MonkeyPatch, transfers: int) -> None:
    share = transfers * IN_SIMULATION["fluid"] / WORK
    monkeypatch.setitem(SHARES, "simulated", (share, share))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank_count", [1, 2, 3, 7, 8])
def test_every_plan_is_a_correct_schedule_at_or_above_the_bound(kind: str, rank_count: int) -> None:
    plan = hm.plan(switch(rank_count), kind, 1 << 20)
    assert hm.verify(plan.schedule) == []
    assert plan.schedule.collective.kind == kind
    # Times are rounded to picoseconds, once per message.
    assert plan.seconds >= plan.bound_s * (1 - 1e-6)


def test_a_small_all_reduce_over_a_switch_goes_all_pairs() -> None:
    # Given: 8 ranks, 1 KiB, one port of 12.5 GB/s each. Derivation: a step of 5 us, in which a port sends 7 whole
    # buffers: 5 us + 7 * 1 KiB / 12.5 GB/s. Expect: 5.573 us, and no other is below.
    plan = hm.plan(switch(8), "all_reduce", 1024)
    assert plan.name == "one_shot"
    assert plan.seconds == pytest.approx(LATENCY_S + 7 * 1024 / BANDWIDTH, rel=1e-6)


def test_a_large_all_reduce_on_a_torus_takes_both_directions() -> None:
    # Given: 4 x 4 torus, 64 MiB. A ring that uses both directions of its links takes half of the one-way
    # ring's time.
    torus = hm.topologies.torus([4, 4], latency_s=0.5e-6, bandwidth=50e9)
    plan = hm.plan(torus, "all_reduce", 1 << 26)
    published = [other.name for other in plan.alternatives if other.name in hm.algorithms.names()]
    assert published[0] == "all_reduce_ring_two_way"


def test_a_late_rank_is_met_with_an_algorithm_made_for_it() -> None:
    # Given: rank 7 comes 20 ms late; a plain all-reduce then takes 2 * 7/8 of the buffer's time (9.4 ms)
    # after that. Expect: less than 1.1 of the bound of one buffer's time (5.37 ms) after arrival.
    plan = hm.plan(switch(8), "all_reduce", 1 << 26, hm.Conditions(late={7: 20e-3}))
    assert plan.name in ("all_reduce_late", "late_stars", "late_matched")
    assert plan.seconds - 20e-3 < 1.03 * (1 << 26) / BANDWIDTH
    assert hm.verify(plan.schedule) == []


def test_a_slow_rank_is_met_with_an_algorithm_made_for_it() -> None:
    # Given: rank 0 at half speed; a plain all-reduce takes twice as long (18.8 ms).
    plan = hm.plan(switch(8), "all_reduce", 1 << 26, hm.Conditions(slow={0: 2.0}))
    assert plan.name == "all_reduce_weighted_exchange"
    assert plan.seconds < 1.1 * plan.bound_s
    assert hm.verify(plan.schedule) == []


def test_with_several_slow_ranks_the_planner_takes_the_better_of_two_exchanges() -> None:
    plan = hm.plan(switch(8), "all_reduce", 1 << 26, hm.Conditions(slow={0: 4.0, 1: 2.0, 2: 1.5}))
    simulated = {a.name for a in plan.alternatives if a.simulated_s is not None}
    exchanges = {f"all_reduce_{name}_exchange" for name in ("weighted", "paced")}
    assert plan.name in exchanges <= simulated
    assert plan.seconds <= 1.07 * plan.bound_s


@pytest.mark.parametrize(
    "conditions", [{"late": {1: 0.0}}, {"slow": {1: 1.0}}, {"slow": {0: 2.0, 1: 2.0, 2: 2.0, 3: 2.0}}]
)
def test_conditions_that_treat_all_alike_add_no_candidates(conditions: dict[str, dict[int, float]]) -> None:
    names = {
        other.name
        for other in hm.plan(switch(4), "all_reduce", 1 << 28, hm.Conditions(**conditions)).alternatives
    }
    assert names == {name for name in hm.algorithms.names("all_reduce")}


def test_conditions_of_other_collectives_add_no_candidates() -> None:
    for kind in ("all_gather", "reduce_scatter", "all_to_all", "reduce", "scatter"):
        plan = hm.plan(switch(4), kind, 1 << 20, hm.Conditions(late={1: 1e-3}, slow={2: 2.0}))
        names = {other.name for other in plan.alternatives}
        assert names - {"through_all"} <= set(hm.algorithms.names(kind))


def test_a_broadcast_hands_slow_ranks_less_to_hand_on() -> None:
    for root in (0, 3):
        plan = hm.plan(switch(8), "broadcast", 1 << 28, hm.Conditions(slow={3: 2.0, 5: 1.5}), root=root)
        assert plan.name == "broadcast_weighted_exchange"
        assert hm.verify(plan.schedule) == []
        assert plan.schedule.collective.root == root
        # Given a slow port that must take the whole buffer in, or give it out: 2·N·β is the bound.
        assert plan.seconds <= 1.02 * plan.bound_s


def test_the_paced_exchange_wins_where_ports_carry_several_large_messages_at_once() -> None:
    plan = hm.plan(switch(8), "all_reduce", 1 << 30, hm.Conditions(slow={0: 1.5, 1: 1.5}))
    assert plan.name == "all_reduce_paced_exchange"
    assert plan.seconds <= 1.035 * plan.bound_s
    # One message a port at a time has a bound of its own: 1.95 over 21/11.
    one = hm.lower_bound(switch(8), "all_reduce", 1 << 30, plan.conditions, ports="one")
    assert plan.seconds < one.seconds * 1.02


def test_segments_are_as_many_as_pay_where_latencies_overlap() -> None:
    # Given that a latency occupies no port: 31 rounds a body cost one, not 31 of them.
    now = hm.Conditions(slow={3: 2.0})
    plan = hm.plan(switch(32), "all_reduce", 1 << 28, now)
    times = [
        hm.simulate(hm.algorithms.all_reduce_weighted_exchange(32, {3: 2.0}, k), switch(32), 1 << 28, now)
        for k in (4, 8, 16, 32, 64)
    ]
    assert plan.seconds <= 1.01 * min(time.seconds for time in times)


def test_a_slow_rank_among_hundreds_is_told_by_ports_that_wait_once_a_body() -> None:
    # Given 8 segments of 255 · 256 messages: too many to be simulated by the plan. A formula that charges each its
    # latency says far more; the port's 9/8 and a latency a body at most is what a simulation finds.
    now, nbytes = hm.Conditions(slow={3: 2.0}), 1 << 28
    plan = hm.plan(switch(256), "all_reduce", nbytes, now)
    assert plan.name == "all_reduce_weighted_exchange"
    assert plan.is_simulated
    assert plan.seconds <= 1.13 * plan.bound_s
    least = min(
        hm.simulate(plan.schedule, switch(256), nbytes, now).seconds,
        hm.simulate(hm.algorithms.all_reduce_direct(256), switch(256), nbytes, now).seconds,
    )
    assert 0.99 * plan.seconds <= least <= plan.seconds


@pytest.mark.parametrize("kind", ["broadcast", "reduce"])
@pytest.mark.parametrize("ranks", [3, 8])
def test_one_root_uses_all_links_of_a_mesh(kind: str, ranks: int) -> None:
    # Given n - 1 links out of, or into, the root, of which published broadcasts use one or two at a time.
    mesh = hm.topologies.fully_connected(ranks, latency_s=0.5e-6, bandwidth=50e9)
    plan = hm.plan(mesh, kind, 20_000_000, root=1)
    assert plan.name in ("synthesized", "forest")
    assert hm.verify(plan.schedule) == []
    assert plan.seconds <= 1.02 * plan.bound_s


@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"])
def test_schedules_synthesized_under_slow_ranks_go_round_their_links(kind: str) -> None:
    mesh = hm.topologies.mesh([4, 4], latency_s=0.5e-6, bandwidth=50e9)
    now = hm.Conditions(slow={1: 2.0})
    plan = hm.plan(mesh, kind, 1 << 26, now)
    as_if_well = [
        other.seconds
        for other in plan.alternatives
        if other.name in ("synthesized", "forest") and "slow links" not in other.variant
    ]
    assert "of slow links" in plan.alternatives[0].variant
    assert hm.verify(plan.schedule) == []
    # As if all were fast they take a third longer at least, and are not made beside one at the bound.
    assert plan.seconds < 0.75 * min(as_if_well, default=2 * plan.bound_s)
    assert as_if_well or plan.seconds <= 1.01 * plan.bound_s


@pytest.mark.parametrize("nbytes", [1 << 10, 1 << 16, 1 << 18, 1 << 20, 1 << 24])
@pytest.mark.parametrize("slow", [{1: 2.0, 4: 3.0}, {0: 1.3, 1: 1.2, 2: 1.7}], ids=str)
def test_messages_for_several_slow_ranks_are_never_too_small_to_tell_a_ports_speed(
    nbytes: int, slow: dict[int, float]
) -> None:
    # Given that a port is measured by messages which it carries for a latency at least: with smaller ones in force, a
    # port that has recovered would count as slow for ever.
    cluster = hm.topologies.switch(6, latency_s=50e-6, bandwidth=100e6)
    for other in hm.plan(cluster, "all_reduce", nbytes, hm.Conditions(slow=slow)).alternatives:
        if other.name == "all_reduce_paced_exchange":
            chunks = hm.algorithms.all_reduce_paced_exchange(
                6, slow, int(other.variant.split()[0])
            ).chunk_count
            assert nbytes / chunks >= 50e-6 * 100e6


@pytest.mark.parametrize(("late", "slow"), [({3: 1e-2}, {}), ({}, {3: 1.5}), ({}, {1: 1.25, 2: 3.0})])
def test_formulas_for_conditions_are_a_tenth_below_the_simulation_at_most(late: dict, slow: dict) -> None:
    plan = hm.plan(switch(8), "all_reduce", 1 << 26, hm.Conditions(late=late, slow=slow))
    made_for_it = [other for other in plan.alternatives if other.name not in hm.algorithms.names()]
    assert made_for_it
    for other in made_for_it:
        # Above by more where they count each message's latency, which simulations overlap.
        assert 0.9 * other.simulated_s <= other.formula_s <= 1.4 * other.simulated_s, other
        assert other.name == "all_reduce_stragglar" or other.variant


def test_transfer_counts_of_the_candidates_are_exact() -> None:
    for conditions in (
        hm.Conditions(late={3: 1e-2}),
        hm.Conditions(slow={3: 2.0}),
        hm.Conditions(slow={1: 1.5}),
    ):
        task = hm.algorithms.Task("all_reduce", 8, 1 << 22, port_speed(switch(8)), conditions)
        for candidate in hm.algorithms.candidates(task):
            assert candidate.generate().transfer_count == candidate.transfer_count, candidate.name


def test_the_root_is_kept() -> None:
    assert hm.plan(switch(5), "broadcast", 4096, root=3).schedule.collective.root == 3


def test_the_same_question_has_the_same_answer() -> None:
    first, second = (hm.plan(switch(6), "all_reduce", 12345) for _ in range(2))
    assert first.alternatives == second.alternatives
    assert (first.schedule.transfers == second.schedule.transfers).all()


def test_equal_times_are_decided_by_name() -> None:
    # One rank: every algorithm takes no time at all.
    names = [other.name for other in hm.plan(switch(1), "all_reduce", 1 << 20).alternatives]
    assert names == sorted(names)


def test_nothing_to_send_still_has_a_plan() -> None:
    plan = hm.plan(switch(4), "all_reduce", 0)
    assert plan.bound_s == 0 or math.isfinite(plan.seconds / plan.bound_s)
    assert "0 B" in plan.explain()


def test_a_schedule_too_large_to_simulate_is_chosen_by_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    may_simulate(monkeypatch, 100)
    plan = hm.plan(switch(8), "all_reduce", 1 << 20)  # the best by formula has 112 transfers
    assert not plan.is_simulated
    assert all(other.simulated_s is None for other in plan.alternatives)
    assert plan.seconds == min(other.formula_s for other in plan.alternatives)
    assert "too many to simulate" in plan.explain()
    assert hm.verify(plan.schedule) == []


def test_what_the_budget_does_not_cover_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    may_simulate(monkeypatch, 240)  # two candidates of 112, and one of 24 do not fit
    plan = hm.plan(switch(8), "all_reduce", 1 << 28)
    simulated = [other.simulated_s is not None for other in plan.alternatives]
    assert plan.is_simulated
    assert simulated == sorted(simulated, reverse=True)
    assert "the best 2 were simulated" in plan.explain()


def test_of_equal_times_the_fewest_transfers_win() -> None:
    # A message costs ranks time of which the network knows nothing: through these NICs 16 chunks come as soon as one.
    hosts = hm.topologies.hosts(
        2, 4, bandwidth=80e9, nic_bandwidth=12.5e9, latency_s=1e-6, nic_latency_s=5e-6
    )
    winner, *others = hm.plan(hosts, "all_to_all", 256 << 10).alternatives
    equals = [other for other in others if other.seconds == pytest.approx(winner.seconds, rel=5e-4)]
    assert any(winner.transfer_count < other.transfer_count for other in equals)
    assert all(winner.transfer_count <= other.transfer_count for other in equals)


def test_the_explanation_names_the_winner_the_next_and_the_bound() -> None:
    plan = hm.plan(switch(8), "all_reduce", 1 << 26, hm.Conditions(late={7: 20e-3}))
    text = plan.explain()
    assert "rank 7 is 20 ms late" in text
    assert f"{plan.alternatives[0].label} is chosen" in text
    assert f"Next comes {plan.alternatives[1].label}" in text
    assert plan.bound.witness in text
    assert "above the lower bound" in text


@pytest.mark.parametrize("network", ["fluid", "fifo"])
def test_predictions_are_those_of_the_simulator(network: str) -> None:
    plan = hm.plan(switch(4), "all_gather", 1 << 20, network=network)
    assert plan.seconds == hm.simulate(plan.schedule, switch(4), 1 << 20, network=network).seconds


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"kind": "all_scatter"}, "all_scatter"),
        ({"kind": "custom"}, "custom"),
        ({"nbytes": -1}, "-1"),
        ({"nbytes": 1 << 60}, "bytes"),
        ({"nbytes": 1.5}, "1.5"),
        ({"network": "token ring"}, "token ring"),
        ({"kind": "broadcast", "root": 4}, "root"),
        ({"conditions": hm.Conditions(late={4: 1.0})}, "rank 4"),
        ({"conditions": hm.Conditions(slow={4: 2.0})}, "rank 4"),
        ({"topology": "cluster.yaml"}, "str"),
    ],
)
def test_a_wrong_argument_is_a_typed_error_that_names_it(arguments: dict[str, object], named: str) -> None:
    right = {"topology": switch(4), "kind": "all_reduce", "nbytes": 1024}
    with pytest.raises(ArgumentError, match=named):
        hm.plan(**{**right, **arguments})


def test_a_topology_in_two_pieces_is_refused() -> None:
    with pytest.raises(ArgumentError, match="no path"):
        hm.plan(hm.Topology(3, [(0, 1, 1e-6, 1e9), (1, 0, 1e-6, 1e9)]), "all_reduce", 1024)


@pytest.mark.parametrize(
    ("topology", "maker"),
    [
        (hm.topologies.mesh([4, 4], latency_s=1e-6, bandwidth=25e9), "synthesized"),
        (hm.topologies.dgx1(latency_s=0.7e-6, bandwidth=25e9), "forest"),
    ],
    ids=["mesh", "DGX-1"],
)
def test_on_an_uneven_network_what_was_made_for_it_beats_the_published(
    topology: hm.Topology, maker: str
) -> None:
    plan = hm.plan(topology, "all_reduce", 1 << 28, network="fifo")
    published = [a.seconds for a in plan.alternatives if a.name in hm.algorithms.names()]
    assert any(other.name == maker for other in plan.alternatives)
    assert plan.name in ("synthesized", "forest", "all_reduce_mesh_trees")
    assert plan.seconds < min(published)
    assert hm.verify(plan.schedule, topology=topology) == []


@pytest.mark.parametrize("kind", ["broadcast", "reduce", "scatter", "gather", "all_to_all"])
def test_every_collective_is_made_for_boxes_that_are_cabled_in_a_ring(kind: str) -> None:
    # Given 8 boxes, 64 MiB. The published broadcasts use one direction of the ring, or cross links several times.
    ring = hm.topologies.boxes(8, cable_latency_s=2e-6, cable_bandwidth=12.5e9)
    root = 0 if kind == "all_to_all" else 3
    plan = hm.plan(ring, kind, 64 << 20, root=root)
    assert plan.name in ("synthesized", "forest")
    assert plan.bound_s <= plan.seconds <= plan.bound_s / 0.9
    assert (plan.schedule.collective.root or 0) == root
    assert hm.verify(plan.schedule, topology=ring) == []


@pytest.mark.parametrize(
    "cables", [[(0, 1), (1, 2), (2, 3), (3, 4)], [(0, 1), (0, 2), (0, 3), (0, 4)]], ids=["line", "star"]
)
def test_an_all_reduce_over_boxes_without_a_ring_uses_both_directions_at_once(
    cables: list[tuple[int, int]],
) -> None:
    # Given 5 boxes of one rank, 64 MiB. Derivation: a reduce-scatter and an all-gather each send 4/5 of the buffer over
    # the last cable, one after the other: 1.6 buffers. Up a tree and down again each cable carries one buffer each way.
    boxes = hm.topologies.boxes(5, cables, cable_latency_s=2e-6, cable_bandwidth=12.5e9)
    plan = hm.plan(boxes, "all_reduce", 64 << 20)
    assert plan.name in ("forest", "all_reduce_mesh_trees")
    assert plan.seconds <= plan.bound_s / 0.95
    assert hm.verify(plan.schedule, topology=boxes) == []


def test_a_mesh_beyond_the_reach_of_trees_from_every_rank_gets_trees_up_and_down() -> None:
    # Given 8 x 8, a cable slower than the others, so that no trees are known for it: 112 edges / 63. A reduce-scatter
    # and an all-gather reach 4/7 of the bound, limited by the corners.
    mesh = hm.topologies.mesh([8, 8], latency_s=0.5e-6, bandwidth=50e9).degraded({(0, 1): 1.5})
    plan = hm.plan(mesh, "all_reduce", 1 << 28, network="fifo")
    assert plan.name == "forest"
    assert plan.seconds <= plan.bound_s / 0.95


def test_a_gather_between_unequal_nodes_comes_near_its_bound() -> None:
    # Given boxes of 8, 4 and 4 GPUs with a NIC each: the published gathers wait for one NIC after the other.
    def box(ranks: int) -> hm.topologies.Host:
        return hm.topologies.Host(
            ranks, latency_s=1e-6, bandwidth=450e9, nic_latency_s=5e-6, nic_bandwidth=50e9, nic_count=ranks
        )

    plan = hm.plan(hm.topologies.cluster([box(8), box(4), box(4)]), "gather", 64 << 20)
    assert plan.name == "synthesized"
    assert plan.seconds <= plan.bound_s / 0.8


@pytest.mark.parametrize("kind", ["broadcast", "reduce"])
def test_trees_from_one_root_use_all_links_of_a_box_that_lost_a_gpu(kind: str) -> None:
    # Given 7 of the 8 GPUs of a DGX-1: matching takes single links where a double one leads the same way.
    box = hm.topologies.dgx1(latency_s=0.7e-6, bandwidth=25e9).without_ranks([7])
    plan = hm.plan(box, kind, 64 << 20, root=2)
    assert plan.name == "forest"
    assert plan.seconds <= plan.bound_s / 0.95
    assert plan.schedule.collective.root == 2
    assert hm.verify(plan.schedule, topology=box) == []


@pytest.mark.parametrize(("ranks", "share"), [((8, 4, 4), 0.88), ((8, 2, 1), 0.96)], ids=str)
def test_an_all_reduce_between_unequal_hosts_comes_near_its_bound(
    ranks: tuple[int, ...], share: float
) -> None:
    # Given GPUs with a NIC each. Rings and equal shares from every rank wait for the host with the fewest NICs.
    hosts = [
        hm.topologies.Host(
            n, latency_s=1e-6, bandwidth=450e9, nic_latency_s=5e-6, nic_bandwidth=50e9, nic_count=n
        )
        for n in ranks
    ]
    cluster = hm.topologies.cluster(hosts)
    plan = hm.plan(cluster, "all_reduce", 64 << 20)
    assert plan.name == "forest"
    assert plan.seconds <= plan.bound_s / share
    assert hm.verify(plan.schedule, topology=cluster) == []


def test_a_forest_reaches_the_bound_of_a_dgx1() -> None:
    # Given GPUs with single and double links: matching reaches two thirds of the bound here, a forest all of it.
    plan = hm.plan(
        hm.topologies.dgx1(latency_s=0.7e-6, bandwidth=25e9), "all_reduce", 1 << 30, network="fifo"
    )
    assert plan.name == "forest"
    assert plan.seconds < 1.01 * plan.bound_s


def test_links_of_almost_no_bandwidth_are_refused_and_not_planned_with_for_ever() -> None:
    rows = [
        (0, 3, 0.0, 2e-315),
        (1, 0, 0.0, 4870.0),
        (1, 3, 671.96, 8550.0),
        (2, 0, 3.2e-4, 4.89e11),
        (2, 1, 335.97, 1e18),
        (3, 0, 0.0, 1.3e-295),
        (3, 1, 299.8, 1e18),
        (3, 2, 0.0, 1e18),
    ]
    network = hm.Topology(2, rows, switch_count=2)
    with pytest.raises(ArgumentError, match="more than 45 days"):
        hm.plan(network, "all_reduce", 1, hm.Conditions(late={0: 0.0173}))


def test_open_shop_and_relayed_exchanges_run_only_where_they_are_named() -> None:
    named = {"all_reduce_open_shop_exchange", "all_reduce_relayed_exchange"}
    for slow in ({0: 1.5, 1: 1.5}, {0: 4.0, 1: 2.0, 2: 1.5}):
        plan = hm.plan(switch(8), "all_reduce", 1 << 26, hm.Conditions(slow=slow))
        assert not named & {other.name for other in plan.alternatives}
        for name in named:
            assert hm.verify(getattr(hm.algorithms, name)(8, slow, 4)) == []


def test_where_messages_cost_fewer_of_them_are_looked_at_in_large_exchanges_too() -> None:
    # 8 ranks behind one NIC send 592 messages of a microsecond each to others in a direct exchange; Bruck's send 10.
    network = hm.topologies.hosts(
        75, 8, 1, latency_s=1e-6, bandwidth=100e9, nic_latency_s=2e-6, nic_bandwidth=25e9, nic_message_s=1e-6
    )  # fmt: skip
    plan = hm.plan(network, "all_to_all", 600 * 8)
    assert plan.name == "all_to_all_bruck"
    assert plan.seconds < 0.5e-3 < 8 * 592e-6
