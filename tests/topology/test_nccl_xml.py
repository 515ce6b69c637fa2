# SPDX-License-Identifier: Apache-2.0
"""NCCL's topology XML: what is in the file, and what NCCL reckons with where it is silent."""

from pathlib import Path

import networkx as nx
import pytest

import hemiola as hm
from hemiola import topologies
from hemiola.errors import FormatError
from hemiola.topology.nccl_xml import from_xml

DATA = Path(__file__).parent / "data"


def costs(t):
    return {(int(r["src"]), int(r["dst"])): (r["latency_s"], r["bandwidth"]) for r in t.links}


def gpu(rank, *inside, bus=None, sm=80, speed="16.0 GT/s PCIe", width=16):
    links = "".join(inside)
    return (
        f'<pci busid="{bus or f"0000:0{rank}:00.0"}" class="0x030200" link_speed="{speed}" link_width="{width}">'
        f'<gpu dev="{rank}" sm="{sm}" rank="{rank}" gdr="1">{links}</gpu></pci>'
    )


def nvlink(target, count=1, kind="0x030200"):
    return f'<nvlink target="{target}" count="{count}" tclass="{kind}"/>'


def bridge(*inside, bus="0000:80:00.0"):
    return f'<pci busid="{bus}" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">{"".join(inside)}</pci>'


def cpu(*inside, host="0x1", numa=0, vendor="AuthenticAMD", model=1):
    return (
        f'<cpu host_hash="{host}" numaid="{numa}" vendor="{vendor}" modelid="{model}">{"".join(inside)}</cpu>'
    )


def read(*cpus):
    return from_xml(f'<system version="1">{"".join(cpus)}</system>', "'test.xml'")


def test_dgx1_dump_has_the_hybrid_cube_mesh():
    t = hm.Topology.load(DATA / "dgx1_v100.xml")
    nvlinks = {pair: cost for pair, cost in costs(t).items() if max(pair) < 8}
    assert nvlinks == costs(topologies.dgx1(latency_s=0.6e-6, bandwidth=20e9))
    assert (t.rank_count, t.node_count) == (8, 1)


def test_dgx1_dump_has_pcie_sockets_and_nics():
    """Per socket two bridges of two GPUs and a NIC: 2 sockets, 4 bridges, 4 NICs, the network last."""
    t = hm.Topology.load(DATA / "dgx1_v100.xml")
    assert t.switch_count == 2 + 4 + 4 + 1
    network = t.rank_count + t.switch_count - 1
    nics = {a: cost for (a, b), cost in costs(t).items() if b == network}
    assert len(nics) == 4
    assert set(nics.values()) == {(2.5e-6, 12.5e9)}
    g = nx.DiGraph(t.to_networkx())
    assert nx.shortest_path_length(g, 0, network) == 3  # GPU, bridge, NIC, network


def test_gpus_on_an_nvswitch_have_one_port_of_all_their_nvlinks():
    """Given H100s with 5 + 5 + 4 + 4 NVLinks to four NVSwitch chips: one vertex, 18 x 20.6 GB/s."""
    t = hm.Topology.load(DATA / "h100_four.xml")
    ports = {pair: cost for pair, cost in costs(t).items() if cost[1] == 18 * 20.6e9}
    assert len(ports) == 8
    assert len({b for a, b in ports if a < 4}) == 1
    assert {latency_s for latency_s, _ in ports.values()} == {0.3e-6}


def test_a_box_from_a_dump_becomes_a_rack():
    box = hm.Topology.load(DATA / "h100_four.xml")
    last = box.rank_count + box.switch_count - 1
    rack = box.repeated(3, shared=[last])
    assert (rack.rank_count, rack.node_count, rack.switch_count) == (12, 3, 3 * (box.switch_count - 1) + 1)
    assert nx.is_strongly_connected(nx.DiGraph(rack.to_networkx()))


def test_ranks_are_in_the_order_of_their_rank_not_of_the_file():
    t = read(cpu(gpu(1, speed="8.0 GT/s"), gpu(0, speed="32.0 GT/s")))
    assert costs(t)[0, 2][1] == 48e9
    assert costs(t)[1, 2][1] == 12e9


def test_ranks_are_in_the_files_order_where_it_does_not_number_them():
    t = read(cpu(gpu(0, bus="0000:01:00.0", speed="8.0 GT/s"), gpu(0, bus="0000:02:00.0")))
    assert (costs(t)[0, 2][1], costs(t)[1, 2][1]) == (12e9, 24e9)


@pytest.mark.parametrize(
    ("speed", "width", "bandwidth"),
    [
        ("2.5 GT/s", 16, 3e9),
        ("5.0 GT/s PCIe", 16, 6e9),
        ("8 GT/s", 16, 12e9),
        ("16.0 GT/s PCIe", 8, 12e9),
        ("32.0 GT/s PCIe", 16, 48e9),
        ("64.0 GT/s PCIe", 16, 96e9),
        ("", 0, 12e9),
        ("Unknown speed", 16, 12e9),
    ],
)
def test_pcie_speed_is_generation_times_lanes(speed, width, bandwidth):
    assert costs(read(cpu(gpu(0, speed=speed, width=width))))[0, 1] == (0.5e-6, bandwidth)


@pytest.mark.parametrize(
    ("sm", "bandwidth"),
    [
        (60, 18e9),
        (70, 20e9),
        (75, 20e9),
        (80, 20e9),
        (86, 12e9),
        (89, 20e9),
        (90, 20.6e9),
        (100, 40.1e9),
        (120, 40.1e9),
    ],
)
def test_nvlink_speed_goes_by_compute_capability(sm, bandwidth):
    t = read(cpu(gpu(0, nvlink("0000:01:00.0", 3), sm=sm), gpu(1, nvlink("0000:00:00.0", 3), sm=sm)))
    assert costs(t)[0, 1] == (0.6e-6, 3 * bandwidth)


def test_a_bridge_with_one_thing_behind_it_is_left_out():
    t = read(cpu(bridge(bridge(gpu(0, speed="32.0 GT/s")), bridge())))
    assert t.switch_count == 1
    assert costs(t) == {(0, 1): (0.5e-6, 24e9), (1, 0): (0.5e-6, 24e9)}


def test_sockets_of_one_host_are_linked_at_the_slower_ones_speed():
    t = read(
        cpu(gpu(0), vendor="GenuineIntel", model=85), cpu(gpu(1), numa=1, vendor="GenuineIntel", model=143)
    )
    assert costs(t)[2, 3] == (0.5e-6, 10e9)


def test_hosts_are_told_apart_by_their_hash_and_joined_by_their_nics():
    nic = '<pci busid="0000:99:00.0"><nic><net name="mlx5_0" speed="200000" latency="2"/></nic></pci>'
    t = read(cpu(gpu(0), nic, host="0xa"), cpu(gpu(1), nic, host="0xb"))
    assert t.nodes.tolist() == [0, 1]
    g = nx.DiGraph(t.to_networkx())
    path = nx.shortest_path(g, 0, 1)
    assert len(path) == 7  # GPU, socket, NIC, network, NIC, socket, GPU
    assert costs(t)[path[2], path[3]] == (1e-6, 25e9)
    assert path[3] == t.rank_count + t.switch_count - 1


@pytest.mark.parametrize("speed", ["", 'speed="-1"', 'speed="0"'])
def test_a_nic_that_does_not_know_its_speed_counts_as_10_gbit(speed):
    t = read(cpu(gpu(0), f'<nic><net name="eth0" {speed}/></nic>'))
    assert 1.25e9 in {bandwidth for _, bandwidth in costs(t).values()}


def test_grace_and_power_link_gpus_to_their_cpu():
    grace = read(cpu(gpu(0, '<c2c bw="44712" count="5"/>')))
    assert (0.6e-6, 5 * 44712e6) in [(r["latency_s"], r["bandwidth"]) for r in grace.links if r["src"] == 0]
    power = read(cpu(gpu(0, nvlink("0004:00:00.0", 3, "0x060000"), sm=70)))
    assert (0.6e-6, 60e9) in [(r["latency_s"], r["bandwidth"]) for r in power.links if r["src"] == 0]


def test_amd_gpus_have_xgmi():
    def amd(rank, peer):
        return (
            f'<pci busid="0000:0{rank}:00.0"><gpu dev="{rank}" sm="94" gcn="gfx942" rank="{rank}" gdr="1">'
            f'<xgmi target="0000:0{peer}:00.0" count="1" tclass="0x038000"/></gpu></pci>'
        )

    assert costs(read(cpu(amd(0, 1), amd(1, 0))))[0, 1] == (0.6e-6, 48e9)


@pytest.mark.parametrize(
    ("model", "bandwidth"),
    [("906", 24e9), ("gfx908", 24e9), ("910", 36e9), ("gfx90a", 36e9), ("942", 48e9), ("gfx950", 48e9)],
)
def test_xgmi_speed_goes_by_model_with_and_without_gfx(model, bandwidth):
    def amd(rank, peer):
        link = f'<xgmi target="0000:0{peer}:00.0" count="1" tclass="0x120000"/>'
        gpu = f'<gpu dev="{rank}" sm="94" gcn="{model}" rank="{rank}">{link}</gpu>'
        return f'<pci busid="0000:0{rank}:00.0">{gpu}</pci>'

    assert costs(read(cpu(amd(0, 1), amd(1, 0))))[0, 1] == (0.6e-6, bandwidth)


def test_nvlinks_stay_inside_a_host_though_bus_numbers_repeat():
    """Given two hosts, on each GPUs on buses 1 and 2 with two NVLinks: 0-1 and 2-3 are linked, nothing else."""

    def host(name, first):
        one = gpu(first, nvlink("0000:02:00.0", 2), bus="0000:01:00.0")
        two = gpu(first + 1, nvlink("0000:01:00.0", 2), bus="0000:02:00.0")
        nic = '<nic><net name="eth0" speed="100000"/></nic>'
        return cpu(one, two, nic, host=name)

    t = read(host("0xa", 0), host("0xb", 2))
    assert {pair for pair in costs(t) if max(pair) < 4} == {(0, 1), (1, 0), (2, 3), (3, 2)}
    assert t.nodes.tolist() == [0, 0, 1, 1]


def test_trays_on_one_nvswitch_share_it_across_hosts():
    """Given two trays of two GPUs, bus numbers alike, 18 NVLinks each to an NVSwitch that nobody sees."""

    def tray(name, first):
        links = nvlink("fffffff:ff:ff.0", 18, "0x068000"), '<c2c bw="44712" count="5"/>'
        return cpu(
            gpu(first, *links, bus="0008:06:00.0", sm=103),
            gpu(first + 1, *links, bus="0009:06:00.0", sm=103),
            host=name,
        )

    t = read(tray("0xa", 0), tray("0xb", 2))
    ports = {pair for pair, cost in costs(t).items() if cost == (0.3e-6, 18 * 40.1e9)}
    assert len(ports) == 8
    assert len({b for a, b in ports if a < 4}) == 1


def test_sockets_of_a_power_machine_have_their_own_speed():
    text = cpu(gpu(0, sm=70), vendor="", model="").replace("<cpu ", '<cpu arch="ppc64le" ')
    other = (
        text.replace('rank="0"', 'rank="1"').replace('numaid="0"', 'numaid="8"').replace("0:00.0", "1:00.0")
    )
    assert costs(read(text, other))[2, 3] == (0.5e-6, 32e9)


def test_empty_attributes_count_as_missing():
    t = read(cpu(gpu(0, speed="", width=""), '<nic><net name="eth0" speed="" latency=""/></nic>'))
    assert costs(t)[0, 1][1] == 12e9
    assert 1.25e9 in {bandwidth for _, bandwidth in costs(t).values()}


def test_an_nvlink_to_a_gpu_outside_the_file_is_left_out():
    t = read(cpu(gpu(0, nvlink("0000:77:00.0", 4))))
    assert t.link_count == 2  # its PCIe link


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<system", "line 1: not XML"),
        ("<a/>", "expected NCCL's <system>, found <a>"),
        ("<system/>", "expected <gpu> elements"),
        ("<system>\n<cpu><gpu/></cpu></system>", "line 2: expected <gpu> inside a <pci>"),
        ('<!DOCTYPE s [<!ENTITY a "b">]><system/>', "no document type"),
        (
            '<?xml version="1.0"?>\n<!DOCTYPE s SYSTEM "file:///etc/passwd">\n<system/>',
            "line 2: expected no document type",
        ),
        (f"{'<pci>' * 100}{'</pci>' * 100}", "levels of elements"),
        (
            f"<system>{cpu(gpu(0, nvlink('0000:01:00.0', 'many')))}</system>",
            "expected a number >= 0 as 'count'",
        ),
        (f"<system>{cpu(gpu(0, nvlink('0000:01:00.0', '-3')))}</system>", "found '-3'"),
        (f"<system>{cpu(gpu(0, nvlink('0000:01:00.0', 'nan')))}</system>", "found 'nan'"),
        (f"<system>{cpu(gpu(0, nvlink('0000:01:00.0', '9' * 400)))}</system>", "found '999"),
        ("<system>" + cpu(gpu(0, '<c2c count="1"/>')) + "</system>", "expected the attribute 'bw'"),
        (f"<system>{cpu(gpu(0))}", "no element found"),
    ],
)
def test_bad_files_are_refused_with_source_and_reason(text, words):
    with pytest.raises(FormatError, match=words) as caught:
        from_xml(text, "'x.xml'")
    assert str(caught.value).startswith("'x.xml'")
    assert "\n" not in str(caught.value)
