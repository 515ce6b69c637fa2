# SPDX-License-Identifier: Apache-2.0
"""A device that a file lists twice has one set of links: what is listed again changes nothing."""

from __future__ import annotations

import itertools
import re
import warnings
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hemiola as hm
from hemiola.topology.nccl_xml import from_xml
from hemiola.topology.nvidia_smi import from_matrix

DATA = Path(__file__).parent / "data"

GPU = (
    '<pci busid="0000:0{i}:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev="{i}" sm="90" '
    'rank="{i}"><nvlink target="fffffff:ff:ff.0" count="18" tclass="0x068000"/><c2c bw="40000" count="5"/></gpu></pci>'
)
NIC = (
    '<pci busid="{bus}" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="16"><nic>'
    '<net name="{name}" dev="{dev}" port="1" speed="200000" guid="0x{dev}1"/></nic></pci>'
)
VETH = '<nic><net name="eth0" dev="0" speed="10000" port="0" guid="0x0"/></nic>'


def cpu(number: int, *inside: str) -> str:
    what = f'host_hash="0x1" numaid="{number}" vendor="GenuineIntel" modelid="207"'
    return f"<cpu {what}>{''.join(inside)}</cpu>"


def read(*cpus: str) -> hm.Topology:
    return from_xml(f'<system version="1">{"".join(cpus)}</system>', "'x.xml'")


def out_of(t: hm.Topology, *, to_network: bool) -> float:
    """Add up what links carry into the network, the last vertex, or into all other switches from ranks."""
    network = t.rank_count + t.switch_count - 1
    links = t.links[(t.links["dst"] == network) == to_network]
    return float(links["bandwidth"][links["src"] < network].sum())


def test_a_virtual_nic_under_each_cpu_is_one_nic() -> None:
    one = cpu(0, GPU.format(i=0), VETH), cpu(1, GPU.format(i=1))
    both = cpu(0, GPU.format(i=0), VETH), cpu(1, GPU.format(i=1), VETH)
    assert read(*both) == read(*one)
    assert out_of(read(*both), to_network=True) == 1.25e9


def test_a_nic_is_taken_from_its_pci_device_where_it_stands_under_a_cpu_too() -> None:
    card = NIC.format(bus="0000:51:00.0", name="mlx5_0", dev=0)
    bare = '<nic><net name="mlx5_0" dev="0" port="1" speed="200000" guid="0x01"/></nic>'
    alone = read(cpu(0, GPU.format(i=0)), cpu(1, card))
    assert read(cpu(0, GPU.format(i=0), bare), cpu(1, card)) == alone


def test_a_nic_of_two_joined_ports_is_these_ports() -> None:
    parts = "".join(NIC.format(bus=f"0000:5{i}:00.0", name=f"mlx5_{i}", dev=i) for i in range(2))
    joined = '<nic><net name="mlx5_0+mlx5_1" dev="2" port="1" speed="400000" guid="0x21"/></nic>'
    assert read(cpu(0, GPU.format(i=0), parts, joined)) == read(cpu(0, GPU.format(i=0), parts))


def test_two_functions_of_a_card_share_its_pcie_link() -> None:
    """Given a card of two ports of 25 GB/s on one PCIe link of 48 GB/s: both ports together carry no more than that."""
    ports = [NIC.format(bus=f"0000:51:00.{i}", name=f"ens1f{i}", dev=i) for i in range(2)]
    t = read(cpu(0, GPU.format(i=0), *ports))
    assert [name for name, _, _ in t.nics] == ["ens1f0", "ens1f1"]
    assert out_of(t, to_network=True) == 50e9
    (card,) = {int(t.links[links[0]]["src"]) for _, _, links in t.nics}
    into_card = t.links[(t.links["dst"] == card) & (t.links["src"] < t.rank_count + t.switch_count - 1)]
    assert into_card["bandwidth"].tolist() == [48e9]


def test_two_ports_under_one_function_share_its_pcie_link() -> None:
    net = '<nic><net name="mlx5_{}" dev="{}" port="1" speed="200000"/></nic>'
    card = NIC.format(bus="0000:51:00.0", name="mlx5_0", dev=0).replace("</pci>", net.format(1, 1) + "</pci>")
    t = read(cpu(0, GPU.format(i=0), card))
    assert sorted(t.links["bandwidth"][t.links["dst"] == 1].tolist())[:1] == [48e9]
    assert t.switch_count == 4  # socket, NVSwitch, card, network


@pytest.mark.parametrize("how", ["in one device", "in two functions"])
def test_ranks_on_one_gpu_share_its_links(how: str) -> None:
    """Given two ranks on each of two GPUs of 18 NVLinks: into the NVSwitch go 2 x 18 x 20.6 GB/s, not twice that."""

    def shared(i: int) -> str:
        first = GPU.format(i=i).replace(f'rank="{i}"', f'rank="{2 * i}" mlopart="0"')
        second = GPU.format(i=i).replace(f'rank="{i}"', f'rank="{2 * i + 1}" mlopart="1"')
        if how == "in two functions":
            return first + second.replace(":00.0", ":00.1")
        return first.replace("</pci>", re.findall("<gpu.*</gpu>", second)[0] + "</pci>")

    t = read(cpu(0, shared(0), shared(1)))
    assert t.rank_count == 4
    nvlinks = t.links[np_close(t.links["bandwidth"], 18 * 20.6e9)]
    assert len(nvlinks) == 4
    assert len(t.links[np_close(t.links["bandwidth"], 48e9)]) == 4
    of_card = 18 * 20.6e9 + 200e9 + 48e9
    assert len(t.links[np_close(t.links["bandwidth"], of_card)]) == 8


def np_close(values, wanted: float):
    return abs(values - wanted) < 1


def test_gpus_that_are_functions_of_one_slot_and_linked_to_each_other_are_two() -> None:
    """As a virtual machine may show them."""

    def gpu(i: int) -> str:
        link = f'<nvlink target="0000:04:00.{1 - i}" count="4" tclass="0x030200"/>'
        return f'<pci busid="0000:04:00.{i}" class="0x030200"><gpu dev="{i}" sm="80" rank="{i}">{link}</gpu></pci>'

    t = read(cpu(0, gpu(0), gpu(1)))
    assert t.links["bandwidth"][(t.links["src"] == 0) & (t.links["dst"] == 1)].tolist() == [80e9]


def test_bridges_of_one_number_side_by_side_are_several_links_upwards() -> None:
    """As RCCL lists the chip of a switch whose devices each have a link of their own."""

    def bridge(inside: str) -> str:
        speed = 'link_speed="8 GT/s" link_width="16"'
        return f'<pci busid="0000:c5:00.0" class="0x060400" {speed}>{inside}</pci>'

    t = read(cpu(0, bridge(GPU.format(i=0)), bridge(GPU.format(i=1))))
    assert t.links["bandwidth"][t.links["src"] < 2].tolist().count(12e9) == 2


def elements_of(tree: ElementTree.Element) -> list[tuple[ElementTree.Element, ElementTree.Element]]:
    parents = {child: parent for parent in tree.iter() for child in parent}
    return [(parents[e], e) for e in tree.iter() if e in parents]


@pytest.mark.parametrize("name", ["dgx1_v100.xml", "h100_four.xml"])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_listing_any_element_again_changes_nothing(name: str, data: st.DataObject) -> None:
    """The same device again beside itself, or, a NIC, a GPU or a CPU, at the end of its CPU or of the file."""
    text = (DATA / name).read_text()
    tree = ElementTree.fromstring(text)
    found = elements_of(tree)
    for _ in range(data.draw(st.integers(1, 3))):
        parent, element = found[data.draw(st.integers(0, len(found) - 1))]
        parent.append(element)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = from_xml(ElementTree.tostring(tree, encoding="unicode"), "'x'")
    assert again == from_xml(text, "'x'")


def matrix_lines(nic: str = "") -> list[str]:
    return [line for line in (DATA / "dgx_a100.topo").read_text().splitlines()] + ([nic] if nic else [])


def test_a_row_that_stands_again_changes_nothing() -> None:
    lines = matrix_lines()
    rows = [line for line in lines if re.match(r"\s*(GPU|NIC|mlx)\w*\s+(X|NV|SYS|PXB|NODE|PIX|PHB)", line)]
    place = lines.index(rows[-1])
    for row in rows:
        again = "\n".join([*lines[: place + 1], row, *lines[place + 1 :]])
        assert from_matrix(again, nic_bandwidth=25e9) == from_matrix("\n".join(lines), nic_bandwidth=25e9)


def test_two_functions_of_a_card_in_a_matrix_share_its_pcie_link() -> None:
    """Given ports rocep4s0f0 and rocep4s0f1: one card, with one link of 24 GB/s, and two ports of 25 GB/s."""
    rows = {"GPU0": "X PHB PHB", "NIC0": "PHB X PIX", "NIC1": "PHB PIX X"}
    text = "GPU0 NIC0 NIC1\n" + "\n".join(f"{name} {cells}" for name, cells in rows.items())
    t = from_matrix(text + "\nNIC0: rocep4s0f0\nNIC1: rocep4s0f1\n", nic_bandwidth=25e9)
    cards = {int(t.links[links[0]]["src"]) for _, _, links in t.nics}
    assert len(t.nics) == 2
    assert len(cards) == 1
    others = from_matrix(text + "\nNIC0: mlx5_0\nNIC1: mlx5_1\n", nic_bandwidth=25e9)
    assert len({int(others.links[links[0]]["src"]) for _, _, links in others.nics}) == 2


def test_every_order_of_the_cpus_reads_the_same_links() -> None:
    cpus = [cpu(0, GPU.format(i=0), VETH), cpu(1, GPU.format(i=1), VETH), cpu(2, GPU.format(i=2), VETH)]
    sums = {tuple(sorted(read(*order).links["bandwidth"].tolist())) for order in itertools.permutations(cpus)}
    assert len(sums) == 1
