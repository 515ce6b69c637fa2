# SPDX-License-Identifier: Apache-2.0
"""What a communicator runs where messages may leave zeros out: where a core is fast enough for the link, and by what
does not fill up where that is faster."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola import codecs
from hemiola.codecs import Speeds
from hemiola.conditions import least_share
from hemiola.planner import sparse_rule
from hemiola.planner.communicator_plans import CommunicatorPlans
from hemiola.planner.recipe import Recipe, SparseWords
from hemiola.planner.spread import segments_of, spread
from hemiola.topology.port_speed import PortSpeed

RANKS = 8
HOSTS = list(range(RANKS))
SWITCH = hm.topologies.switch(RANKS, latency_s=1e-5, bandwidth=1e9)
SPEEDS = Speeds(compress=10e9, decompress=20e9, add=10e9)
MIB = 1 << 20


@pytest.fixture(autouse=True)
def _known_speeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codecs, "speeds", lambda: SPEEDS)


def chosen(
    kind: str,
    nbytes: int = 64 * MIB,
    sparse: bool | None = True,
    *,
    network: hm.Topology = SWITCH,
    hosts: list[int] = HOSTS,
    emulated: hm.Topology | None = None,
) -> Recipe:
    """Return what ranks on these hosts, between which this network was measured, choose."""
    plans = CommunicatorPlans(range(RANKS), hosts, None, emulated, hm.Conditions(), ["late", "slow"])
    plans._network = network
    return Recipe.from_bytes(plans.decide(kind, nbytes, 0, {}, "", sparse))


@pytest.mark.parametrize("kind", ["reduce_scatter", "all_reduce"])
def test_a_large_sparse_reduction_between_hosts_is_direct_where_ranks_see_zeros(kind: str) -> None:
    recipe = chosen(kind)
    assert recipe.algorithm == f"{kind}_ring" == chosen(kind, sparse=False).algorithm
    assert recipe.sparse is not None
    assert recipe.sparse.algorithm == f"{kind}_direct_rounds"
    assert 0.5 <= recipe.sparse.algorithm_below < recipe.sparse.coded_below


def test_halving_runs_where_messages_take_the_time_of_links() -> None:
    # A message takes a link 0.1 ms: 14 of direct rounds 1.4 ms, 6 of halving and doubling 0.6, as long as 60 KB.
    network = hm.topologies.switch(RANKS, latency_s=5e-5, bandwidth=100e6, message_s=1e-4)
    recipe = chosen("all_reduce", 256 << 10, network=network)
    assert recipe.algorithm == "all_reduce_bruck"
    assert recipe.sparse is not None
    assert 0.9 < recipe.sparse.coded_below < 0.97
    assert recipe.sparse.algorithm_below == 0


def test_two_levels_run_where_several_ranks_share_a_node() -> None:
    network = hm.topologies.hosts(4, 2, latency_s=1e-6, bandwidth=10e9, nic_latency_s=5e-5, nic_bandwidth=1e9)
    hosts = [rank // 2 for rank in range(RANKS)]
    recipe = chosen("all_reduce", 4 * MIB, network=network, hosts=hosts)
    assert recipe.sparse is not None
    assert recipe.sparse.algorithm == "all_reduce_hierarchical"
    assert recipe.sparse.segments == 1
    assert 0 < recipe.sparse.algorithm_below < 0.5
    seconds = [
        hm.simulate(schedule, network, 4 * MIB, conditions=hm.Conditions(density=0.01), codecs=SPEEDS).seconds
        for schedule in (
            Recipe(recipe.sparse.algorithm, recipe.sparse.arguments).schedule_on(network),
            recipe.schedule_on(network),
            hm.algorithms.all_reduce_direct_rounds(RANKS),
        )
    ]
    assert min(seconds) == seconds[0]


def test_unasked_ranks_keep_the_schedule_that_they_run_dense() -> None:
    recipe = chosen("all_reduce", sparse=None)
    assert recipe.algorithm == chosen("all_reduce", sparse=False).algorithm
    costs = sparse_rule.message_costs("all_reduce", RANKS, 1e9, SPEEDS)
    below = sparse_rule.coded_below("all_reduce", RANKS, 64 * MIB, 1e9, SPEEDS)
    assert recipe.sparse == SparseWords(below, costs=costs)


def test_a_rank_is_told_what_messages_take_links_and_cores() -> None:
    # Given 8 ranks of 1 GB/s, and cores that take 2 ns to write a place and 4 to read it: in an all-gather one writes
    # what seven read; what is added, and what an all-to-all brings, is written and read once.
    speeds = Speeds(10e9, 20e9, 5e9, position_compress_s=2e-9, position_decompress_s=4e-9)
    copied, added = sparse_rule.message_costs("all_reduce", RANKS, 1e9, speeds)
    assert tuple(copied) == pytest.approx((1e-9, 1 / 70e9 + 1 / 20e9, 2e-9 / 7 + 4e-9))
    assert tuple(added) == pytest.approx((1e-9, 1 / 10e9 + 1 / 5e9, 6e-9))
    copied, _ = sparse_rule.message_costs("all_to_all", RANKS, 1e9, speeds)
    assert tuple(copied) == pytest.approx((1e-9, 1 / 10e9 + 1 / 20e9, 6e-9))


@pytest.mark.parametrize(
    "never",
    [
        {"sparse": None, "nbytes": MIB // 2},
        {"sparse": None, "emulated": SWITCH},
        {"hosts": [0] * RANKS},
        {"hosts": [0] * RANKS, "sparse": None},
        {"nbytes": 4096},
        {"network": hm.topologies.switch(RANKS, latency_s=1e-6, bandwidth=50e9)},
    ],
    ids=[
        "small unasked",
        "emulated unasked",
        "shared memory",
        "that unasked",
        "too small to show",
        "a fast link",
    ],
)
def test_what_would_not_pay_is_never_looked_for(never: dict[str, object]) -> None:
    assert chosen("all_gather", **never).sparse == SparseWords(0.0)  # type: ignore[arg-type]


def test_a_dense_call_says_nothing_of_zeros() -> None:
    assert chosen("all_gather", sparse=False).sparse is None


def test_the_network_of_one_host_is_emulated_where_it_is_asked_for() -> None:
    recipe = chosen("all_gather", hosts=[0] * RANKS, emulated=SWITCH)
    assert recipe.sparse is not None
    assert 0.9 < recipe.sparse.coded_below < 0.97


def test_a_recipe_keeps_what_it_says_of_zeros() -> None:
    recipe = chosen("all_reduce")
    assert Recipe.from_bytes(recipe.to_bytes()) == recipe


# Given a link of B, and cores of C, A = 10 and D = 20 GB/s. Derivation: an added byte takes the core 1/10 + 1/10 ns,
# one that is put in place 1/10 + 1/20, in an all-gather of 8 ranks 1/70 + 1/20; times 1.5: 0.3, 0.225 and 0.0964 ns.
# Expect it tried on links up to 3.33, 4.44 and 10.37 GB/s.
@pytest.mark.parametrize(
    ("kind", "fastest"), [("reduce_scatter", 3.33e9), ("gather", 4.44e9), ("all_gather", 10.37e9)]
)
def test_coding_is_tried_where_the_core_takes_two_thirds_of_the_link(kind: str, fastest: float) -> None:
    assert sparse_rule.coded_below(kind, 8, 1 << 40, 0.99 * fastest, SPEEDS) == pytest.approx(0.97, abs=1e-5)
    assert sparse_rule.coded_below(kind, 8, 1 << 40, 1.01 * fastest, SPEEDS) == 0


def test_one_rank_and_short_operations_are_left_alone() -> None:
    assert sparse_rule.coded_below("all_gather", 1, 1 << 40, 1e6, SPEEDS) == 0
    assert sparse_rule.coded_below("all_gather", 2, 149_000, 1e9, SPEEDS) == 0
    assert sparse_rule.coded_below("all_gather", 2, 151_000, 1e9, SPEEDS) > 0
    # 64 ranks exchange what they see in 12 messages of 50 us, 64 times a thirtieth of which is 312 us.
    assert sparse_rule.coded_below("all_gather", 64, 312_000, 1e9, SPEEDS) == 0
    assert sparse_rule.coded_below("all_gather", 64, 313_000, 1e9, SPEEDS) > 0


def test_what_a_core_does_while_no_link_is_busy_must_be_saved_too() -> None:
    # Given 2 ranks of 1 GB/s: half of 1 MB is encoded (0.1 ns a byte) before it goes, and decoded (0.05) after.
    below = sparse_rule.coded_below("all_gather", 2, 1_000_000, 1e9, SPEEDS)
    assert below == pytest.approx(0.97 - 0.15 / 2)
    # Of large chunks that is one slice.
    below = sparse_rule.coded_below("all_gather", 2, 100 * MIB, 1e9, SPEEDS)
    assert below == pytest.approx(0.97 - 0.15 / 100)


def test_a_message_takes_its_values_and_the_entropy_of_their_places() -> None:
    # H(0.01) = 0.0808 bits; 0.01 + 0.0808/32 = 1/79.9
    assert 1 / least_share(0.01) == pytest.approx(79.9, abs=0.3)
    assert least_share(1.0) == 1
    assert least_share(0.3, 2) == pytest.approx(least_share(0.51))


def test_direct_rounds_must_save_what_they_cost_dense() -> None:
    # Of two ranks no sum fills up on its way, so nothing is saved; of eight at 99 % a ring's messages hold 3.9 times as
    # much.
    speed = PortSpeed(0.0, 1e9)
    assert sparse_rule.direct_below("reduce_scatter", 2, 1.0, 1.0, speed) == 0
    assert sparse_rule.direct_below("reduce_scatter", 8, 1.0, 1.0, speed) >= 0.7
    assert sparse_rule.direct_below("reduce_scatter", 8, 1.0, 3.0, speed) < 0.2
    assert sparse_rule.direct_below("reduce_scatter", 8, 1.0, 30.0, speed) == 0


# Eight ranks exchange in 3 rounds of 2 messages of 50 us at least: 0.3 ms, a five-hundredth of 0.15 s.
def test_ranks_look_as_often_as_that_takes_a_five_hundredth() -> None:
    assert sparse_rule.pause_of(8, 0.16, 1e-6) == 1
    assert sparse_rule.pause_of(8, 0.076, 1e-6) == 2
    assert sparse_rule.pause_of(8, 0.16, 100e-6) == 2
    assert sparse_rule.pause_of(8, 1e-4, 1e-6) == 64


def test_an_all_reduce_without_fill_in_is_spread_over_its_owners() -> None:
    # A dense tenth of 512 pieces is 51.2; of 8 owners in turn the first have 7, in a row one would have all.
    by_kind = [chosen(kind).sparse for kind in ("all_reduce", "reduce_scatter")]
    assert [words and words.segments for words in by_kind] == [64, 1]
    assert segments_of(4 << 20, 8) == 8
    assert segments_of(1000, 8) == 1
    plain = hm.algorithms.all_reduce_direct_rounds(8)
    made = spread(plain, 64)
    assert hm.verify(made) == []
    assert made.step_count == plain.step_count
    assert made.collective.owner[:52].tolist() == [piece % 8 for piece in range(52)]
    assert spread(plain, 1) is plain


def test_the_speeds_of_this_core_are_measured() -> None:
    speeds = Speeds(*hm._core.codecs.speeds(0.1, None))
    assert min(speeds.compress, speeds.decompress, speeds.add) > 1e6


def test_a_rank_sends_between_hosts_with_its_share_of_what_its_host_has() -> None:
    def hosts(count: int, ranks: int, nics: int) -> hm.Topology:
        return hm.topologies.hosts(
            count, ranks, nics, latency_s=1e-6, bandwidth=300e9, nic_latency_s=5e-6, nic_bandwidth=25e9
        )

    assert sparse_rule.link_bandwidth(hosts(3, 4, 2)) == 12.5e9
    assert sparse_rule.link_bandwidth(hosts(2, 4, 1)) == 6.25e9
    assert sparse_rule.link_bandwidth(hosts(2, 4, 4)) == 25e9
    # Given two hosts of two ranks and one cable of 6 GB/s between two of them, 3 GB/s for each rank.
    cables = [(0, 2, 6e9), (0, 1, 1e9), (2, 3, 1e9)]
    links = [(src, dst, 1e-6, speed) for a, b, speed in cables for src, dst in ((a, b), (b, a))]
    assert sparse_rule.link_bandwidth(hm.Topology(4, links, nodes=[0, 0, 1, 1])) == 3e9
