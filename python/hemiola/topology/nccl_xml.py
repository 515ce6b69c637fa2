"""NCCL's (and RCCL's) topology XML, as NCCL_TOPO_DUMP_FILE writes it.

GPUs become ranks in the order of their `rank`; PCIe bridges, CPU sockets, the NVSwitch, NICs and the network
become switches. Bridges with nothing or one thing behind them are left out. Speeds that the file gives only
as a kind of link are those that NCCL itself reckons with (src/graph/topo.h).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NoReturn

from hemiola._core import Topology
from hemiola.topology import wiring, xml_tree
from hemiola.topology.place import quote
from hemiola.topology.wiring import Wiring
from hemiola.topology.xml_tree import Element

#: Bytes per second of one NVLink in one direction, by the GPU's compute capability (at least).
_NVLINKS = ((100, 40.1e9), (90, 20.6e9), (87, 20e9), (86, 12e9), (70, 20e9), (0, 18e9))
#: Bytes per second and lane of PCIe, by gigatransfers per second: what is left after protocol overhead.
_PCIE_LANES = {2.5: 0.1875e9, 5.0: 0.375e9, 8.0: 0.75e9, 16.0: 1.5e9, 32.0: 3.0e9, 64.0: 6.0e9}
_PCIE_DEFAULT = 8.0
#: Bytes per second of an xGMI link of an MI300 and later, an MI200, and anything older.
_XGMI = (("gfx94", 48e9), ("gfx95", 48e9), ("gfx90a", 36e9), ("gfx910", 36e9), ("", 24e9))
#: Bytes per second between two CPU sockets: POWER, then Intel by model number (at least), then by vendor.
_POWER = 32e9
_INTEL = ((207, 40e9), (143, 22e9), (85, 10e9), (0, 6e9))
_SOCKETS = {"AuthenticAMD": 16e9, "CentaurHauls": 6e9}
_SOCKETS_DEFAULT = 6e9
#: A NIC that does not know its speed counts as 10 Gbit/s (NCCL does the same).
_DEFAULT_NIC_MBIT = 10000.0

_NVSWITCH_CLASS, _CPU_CLASS = "0x0680", "0x0600"


def from_xml(text: str, source: str) -> Topology:
    """Read the XML; raise FormatError that names source and line."""
    root = xml_tree.parse(text, source)
    if root.tag != "system":
        root.place.fail(f"expected NCCL's <system>, found <{quote(root.tag)[1:-1]}>")
    return _Reader(root).topology()


class _Reader:
    """Walks CPU by CPU through the PCIe trees, then adds what crosses them."""

    def __init__(self, root: Element) -> None:
        self._root = root
        self._gpus = _gpus_in_rank_order(root)
        if not self._gpus:
            _refuse_without_gpus(root)
        self._rank = {id(gpu): rank for rank, (_, gpu) in enumerate(self._gpus)}
        self._wiring = Wiring(len(self._gpus))
        self._host = [0] * len(self._gpus)
        self._hosts: dict[str, int] = {}
        # The same bus number exists on every host of a file.
        self._by_busid: dict[tuple[int, str], int] = {}
        self._nvswitch: int | None = None

    def topology(self) -> Topology:
        sockets: dict[int, list[tuple[int, float]]] = {}
        for cpu in self._root.named("cpu"):
            host = self._host_of(cpu)
            for pci, gpu in _gpus_below(cpu):
                self._by_busid[host, _busid(pci, "busid")] = self._rank[id(gpu)]
        for cpu in self._root.named("cpu"):
            host = self._host_of(cpu)
            vertex = self._wiring.add_switch()
            sockets.setdefault(host, []).append((vertex, _socket_bandwidth(cpu)))
            self._add_cpu(cpu, vertex, host)
        for of_host in sockets.values():
            for (a, a_speed), (b, b_speed) in combinations(of_host, 2):
                self._wiring.both_ways(a, b, wiring.PCIE_HOP_S, min(a_speed, b_speed))
        return self._wiring.topology(f"{len(self._gpus)} GPUs (NCCL)", self._host)

    def _host_of(self, cpu: Element) -> int:
        return self._hosts.setdefault(cpu.attributes.get("host_hash", ""), len(self._hosts))

    def _add_cpu(self, cpu: Element, vertex: int, host: int) -> None:
        for child in cpu.children:
            if child.tag == "pci":
                self._add_pci(child, vertex, vertex, host, _pcie_bandwidth(child))
            elif child.tag == "nic":  # a network card that is on no PCIe bus, such as a virtual one
                self._add_nic(child, vertex, host, sum(_net_bandwidth(net) for net in child.named("net")))

    def _add_pci(self, pci: Element, parent: int, cpu: int, host: int, bandwidth: float) -> None:
        """Attach what is behind a PCIe link of that bandwidth to `parent`."""
        for gpu in pci.named("gpu"):
            rank = self._rank[id(gpu)]
            self._host[rank] = host
            self._wiring.both_ways(rank, parent, wiring.PCIE_HOP_S, bandwidth)
            self._add_gpu_links(gpu, rank, cpu, host)
        for nic in pci.named("nic"):
            self._add_nic(nic, parent, host, bandwidth)
        behind = [child for child in pci.named("pci") if _has_device(child)]
        if len(behind) == 1:
            self._add_pci(behind[0], parent, cpu, host, min(bandwidth, _pcie_bandwidth(behind[0])))
        elif behind:
            bridge = self._wiring.add_switch()
            self._wiring.both_ways(bridge, parent, wiring.PCIE_HOP_S, bandwidth)
            for child in behind:
                self._add_pci(child, bridge, cpu, host, _pcie_bandwidth(child))

    def _add_nic(self, nic: Element, parent: int, host: int, bandwidth: float) -> None:
        nets = list(nic.named("net"))
        if not nets:
            return
        card = self._wiring.add_switch()
        self._wiring.both_ways(card, parent, wiring.PCIE_HOP_S, bandwidth)
        for net in nets:
            latency_s = net.number("latency", 0.0) * 1e-6 or wiring.NETWORK_LATENCY_S
            self._wiring.nic(_net_name(net), host, card, latency_s / 2, _net_bandwidth(net))

    def _add_gpu_links(self, gpu: Element, rank: int, cpu: int, host: int) -> None:
        """Add NVLinks and xGMI links that leave the GPU; its peers list theirs."""
        to_switch = 0.0
        for link in (*gpu.named("nvlink"), *gpu.named("xgmi")):
            bandwidth = link.number("count", 1.0) * _link_bandwidth(gpu, link.tag)
            if bandwidth == 0:
                continue
            peer = self._by_busid.get((host, _busid(link, "target")))
            kind = link.attributes.get("tclass", "")
            if peer is not None and peer != rank:
                self._wiring.one_way(rank, peer, wiring.NVLINK_LATENCY_S, bandwidth)
            elif kind.startswith(_NVSWITCH_CLASS):
                to_switch += bandwidth
            elif kind.startswith(_CPU_CLASS):
                self._wiring.both_ways(rank, cpu, wiring.NVLINK_LATENCY_S, bandwidth)
        if to_switch:
            if self._nvswitch is None:
                self._nvswitch = self._wiring.add_switch()
            self._wiring.both_ways(rank, self._nvswitch, wiring.NVLINK_LATENCY_S / 2, to_switch)
        for link in gpu.named("c2c"):
            bandwidth = link.number("bw") * 1e6 * link.number("count", 1.0)
            if bandwidth:
                self._wiring.both_ways(rank, cpu, wiring.NVLINK_LATENCY_S, bandwidth)


def _busid(element: Element, attribute: str) -> str:
    return element.attributes.get(attribute, "").lower()


def _refuse_without_gpus(root: Element) -> NoReturn:
    """Say whether there are GPUs in the wrong place, or none at all."""
    for element in root.descendants():
        if element.tag == "gpu":
            element.place.fail("expected <gpu> inside a <pci> of a <cpu> of the <system>, as NCCL writes it")
    root.place.fail("expected <gpu> elements; dump the file from a running program with NCCL_TOPO_DUMP_FILE")


def _gpus_in_rank_order(root: Element) -> list[tuple[Element, Element]]:
    """Return (pci, gpu) pairs by `rank` where all have different ones, else as they come."""
    found = list(_gpus_below(root))
    ranks = [gpu.number("rank", -1.0) for _, gpu in found if gpu.attributes.get("rank", "-1") != "-1"]
    if len(set(ranks)) == len(found):
        found.sort(key=lambda pair: pair[1].number("rank"))
    return found


def _gpus_below(element: Element) -> Iterator[tuple[Element, Element]]:
    for child in element.children:
        if child.tag == "gpu" and element.tag == "pci":
            yield element, child
        elif child.tag in ("cpu", "pci"):
            yield from _gpus_below(child)


def _has_device(pci: Element) -> bool:
    """Whether a GPU or a NIC with a port is on this PCIe device or behind it."""
    return any(
        child.tag == "gpu"
        or (child.tag == "nic" and any(child.named("net")))
        or (child.tag == "pci" and _has_device(child))
        for child in pci.children
    )


def _pcie_bandwidth(pci: Element) -> float:
    """Read link_speed ("16.0 GT/s PCIe") and link_width; unknown ones count as third generation, 16 lanes."""
    text = pci.attributes.get("link_speed", "").split(" ")[0]
    try:
        lane = _PCIE_LANES[float(text)]
    except (KeyError, ValueError):
        lane = _PCIE_LANES[_PCIE_DEFAULT]
    return lane * (pci.number("link_width", 16.0) or 16.0)


def _net_name(net: Element) -> str:
    """Read what a port's NIC is called; all ports of one name are one NIC."""
    number = net.attributes.get("dev", "")
    return net.attributes.get("name", "") or (f"net{number}" if number else "")


def _net_bandwidth(net: Element) -> float:
    speed = net.attributes.get("speed", "")
    mbit = _DEFAULT_NIC_MBIT if speed.startswith("-") else net.number("speed", _DEFAULT_NIC_MBIT)
    return (mbit or _DEFAULT_NIC_MBIT) * 1e6 / 8


def _link_bandwidth(gpu: Element, tag: str) -> float:
    if tag == "xgmi":
        # Older files write 942 for gfx942.
        model = "gfx" + gpu.attributes.get("gcn", "").removeprefix("gfx")
        return next(speed for prefix, speed in _XGMI if model.startswith(prefix))
    capability = gpu.number("sm", 0.0)
    return next(speed for least, speed in _NVLINKS if capability >= least)


def _socket_bandwidth(cpu: Element) -> float:
    if cpu.attributes.get("arch", "").startswith("ppc64"):
        return _POWER
    vendor = cpu.attributes.get("vendor", "")
    if vendor == "GenuineIntel":
        model = cpu.number("modelid", 0.0)
        return next(speed for least, speed in _INTEL if model >= least)
    return _SOCKETS.get(vendor, _SOCKETS_DEFAULT)
