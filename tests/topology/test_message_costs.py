# SPDX-License-Identifier: Apache-2.0
"""Launches and costs of messages that readers assume: their table, their places, and their marks."""

from pathlib import Path

import pytest

import hemiola as hm
from hemiola import topologies
from hemiola.errors import ArgumentError, FormatError
from hemiola.topology.assumed import Assumed
from hemiola.topology.files import read as read_file
from hemiola.topology.message_costs import COSTS, GPU_LINK, LAUNCH_AMD, LAUNCH_NVIDIA, NIC, NIC_BESIDE_AMD_CPU

DATA = Path(__file__).parent / "data"

BOX = """<system version="1">
 <cpu host_hash="0x1" numaid="0" arch="x86_64" vendor="{vendor}" modelid="1">
  <pci busid="0000:80:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
   <pci busid="0000:81:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
    <gpu dev="0" {model} rank="0"><{link} target="0000:82:00.0" count="4" tclass="0x030200"/></gpu>
   </pci>
   <pci busid="0000:82:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
    <gpu dev="1" {model} rank="1"><{link} target="0000:81:00.0" count="4" tclass="0x030200"/></gpu>
   </pci>
   <pci busid="0000:83:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16">
    <nic><net name="mlx5_0" dev="0" speed="200000"/></nic>
   </pci>
  </pci>
 </cpu>
</system>
"""


def box(tmp_path, vendor="GenuineIntel", model='sm="90"', link="nvlink"):
    path = tmp_path / "box.xml"
    path.write_text(BOX.format(vendor=vendor, model=model, link=link))
    return path


def message_of(topology, a, b):
    links = topology.links
    (cost,) = links["message_s"][(links["src"] == topology.vertex(a)) & (links["dst"] == topology.vertex(b))]
    return cost


def test_each_row_of_the_table_is_an_assumed_time_with_an_address():
    for row in COSTS:
        assert isinstance(row.seconds, Assumed)
        assert 0 < row.seconds < 20e-6
        assert row.source.startswith("https://")


def test_gpus_and_nics_pay_for_messages_and_bridges_do_not(tmp_path):
    t = hm.Topology.load(box(tmp_path))
    assert t.launch_s == LAUNCH_NVIDIA.seconds
    assert message_of(t, "GPU0", "GPU1") == message_of(t, "GPU1", "PCIe") == GPU_LINK.seconds
    assert message_of(t, "PCIe", "GPU0") == GPU_LINK.seconds
    assert message_of(t, "mlx5_0", "network") == message_of(t, "network", "mlx5_0") == NIC.seconds
    assert message_of(t, "mlx5_0", "PCIe") == message_of(t, "PCIe", "mlx5_0") == 0


def test_the_nic_of_a_host_with_amd_cpus_takes_longer(tmp_path):
    t = hm.Topology.load(box(tmp_path, vendor="AuthenticAMD"))
    assert message_of(t, "mlx5_0", "network") == NIC_BESIDE_AMD_CPU.seconds


def test_gpus_of_amd_have_a_launch_of_their_own(tmp_path):
    t = hm.Topology.load(box(tmp_path, model='gcn="942"', link="xgmi"))
    assert t.launch_s == LAUNCH_AMD.seconds
    assert message_of(t, "GPU0", "GPU1") == GPU_LINK.seconds


def test_matrices_have_the_same_costs():
    t = hm.Topology.load(DATA / "dgx_a100.topo")
    assert t.launch_s == LAUNCH_NVIDIA.seconds
    assert message_of(t, "GPU0", "NVSwitch") == GPU_LINK.seconds


def test_every_assumed_cost_is_marked(tmp_path):
    read = read_file(box(tmp_path))
    costly = read.topology.links["message_s"] > 0
    assert (read.assumed[:, 2] == costly).all()
    assert costly.any()
    assert read.is_launch_assumed
    path = tmp_path / "own.yaml"
    read.topology.save(path)
    own = read_file(path)
    assert own.topology == read.topology
    assert own.assumed is None
    assert not own.is_launch_assumed


def test_builders_launch_at_once_and_keep_messages_free():
    for t in (topologies.switch(4, latency_s=1e-6, bandwidth=1e9), topologies.dgx_h100(2)):
        assert t.launch_s == 0
        assert not t.links["message_s"].any()


def launched(launch_s):
    return topologies.switch(4, latency_s=1e-6, bandwidth=1e9).replaced(launch_s=launch_s)


@pytest.mark.parametrize("network", ["fluid", "fifo"])
def test_a_launch_comes_before_all_that_a_schedule_and_a_bound_have(network):
    # Given a switch of 1 us and 1 GB/s, a ring of 4, 4 MB. Derivation: 6 steps of 1 MB, 1 ms + 1 us each; a launch of
    # 5 us once before them. Expect the same later by 5 us, on time and around a late rank, and bounds likewise.
    ring = hm.algorithms.all_reduce_ring(4)
    for conditions in (None, hm.Conditions(late={2: 3e-3}), hm.Conditions(slow={1: 2.0})):
        soon = hm.simulate(ring, launched(0.0), 4_000_000, conditions=conditions, network=network)
        late = hm.simulate(ring, launched(5e-6), 4_000_000, conditions=conditions, network=network)
        assert [round(1e12 * (b - a)) for a, b in zip(soon.finish_s, late.finish_s, strict=True)] == [
            5_000_000
        ] * 4
    for a, b in zip(
        hm.lower_bound(launched(0.0), "all_reduce", 4_000_000).bounds,
        hm.lower_bound(launched(5e-6), "all_reduce", 4_000_000).bounds,
        strict=True,
    ):
        assert (a.name, round(1e12 * (b.seconds - a.seconds))) == (b.name, 5_000_000)
        assert b.witness == f"{a.witness}, after a launch of 5 us"


def test_a_launch_changes_no_choice_and_delays_every_time():
    soon, late = (hm.plan(launched(launch_s), "all_reduce", 1 << 20) for launch_s in (0.0, 5e-6))
    assert late.schedule == soon.schedule
    assert late.launch_s == 5e-6
    assert "5 us pass before a rank can send" in late.explain()
    assert late.seconds == pytest.approx(soon.seconds + 5e-6, abs=1e-12)
    assert late.bound_s == pytest.approx(soon.bound_s + 5e-6, abs=1e-12)
    assert late.seconds >= late.bound_s
    assert late.seconds == pytest.approx(
        hm.simulate(late.schedule, launched(5e-6), 1 << 20).seconds, abs=1e-12
    )


def test_a_launch_survives_every_copy_and_form():
    t = topologies.dgx_h100(2).replaced(launch_s=5e-6)
    copies = [
        t.without_ranks([3]),
        t.without_links([(0, int(t.links["dst"][t.links["src"] == 0][0]))]),
        t.degraded({0: 2.0}),
        t.with_slow_hosts({0: 2.0}),
        t.repeated(2),
        t.unwind_switches(1),
        t.replaced(name="another"),
        hm.Topology.from_networkx(t.to_networkx()),
        hm.Topology.from_yaml(t.to_yaml()),
    ]
    assert {copy.launch_s for copy in copies} == {5e-6}
    assert "launch: 5 us" in t.to_yaml()
    assert t != t.replaced(launch_s=0.0)
    assert hash(t) != hash(t.replaced(launch_s=0.0))


@pytest.mark.parametrize("launch_s", [-1e-6, 1001.0, float("nan")])
def test_an_impossible_launch_is_refused(launch_s):
    with pytest.raises(ArgumentError):
        launched(launch_s)
    with pytest.raises(ArgumentError):
        hm.Topology(2, [(0, 1, 1e-6, 1e9)], launch_s=launch_s)


def test_a_launch_without_a_unit_is_refused_in_a_file():
    text = "ranks: 2\nlatency: 1 us\nbandwidth: 1 GB/s\nlaunch: 5\nlinks:\n  - [0, 1]\n"
    with pytest.raises(FormatError, match="line 4"):
        hm.Topology.from_yaml(text)


def test_another_number_of_links_is_refused_where_nics_have_places():
    t = topologies.dgx_h100(2)
    with pytest.raises(ArgumentError, match="as many links as NICs refer to"):
        t.replaced(links=t.links[:-1])


def test_explain_says_where_the_choice_rests_on_free_messages():
    t = topologies.switch(4096, latency_s=1e-6, bandwidth=25e9)
    assert "Messages are free on this topology; at 1 us each, " in hm.plan(t, "all_reduce", 1 << 20).explain()
    costly = topologies.switch(64, latency_s=1e-6, bandwidth=25e9, message_s=1e-6)
    assert "Messages are free" not in hm.plan(costly, "all_reduce", 1 << 20).explain()
    two = topologies.switch(2, latency_s=1e-6, bandwidth=25e9)  # where no choice saves a message
    assert "Messages are free" not in hm.plan(two, "all_gather", 1 << 20).explain()
    assert "Messages are free" not in hm.plan(t, "all_reduce", 0).explain()


def test_the_other_choice_is_that_of_a_plan_with_costly_messages():
    t = topologies.switch(64, latency_s=1e-6, bandwidth=25e9)
    then = hm.plan(topologies.switch(64, latency_s=1e-6, bandwidth=25e9, message_s=1e-6), "all_reduce", 4096)
    assert (
        f"at 1 us each, {then.alternatives[0].label} would be chosen"
        in hm.plan(t, "all_reduce", 4096).explain()
    )
