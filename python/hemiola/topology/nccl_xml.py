# SPDX-License-Identifier: Apache-2.0
"""NCCL's (and RCCL's) topology XML, as NCCL_TOPO_DUMP_FILE writes it.

GPUs become ranks in the order of their `rank`; PCIe bridges, CPU sockets, the NVSwitch, NICs and the network
become switches, and so does a GPU that several ranks share. Bridges with nothing or one thing behind them are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NoReturn

from hemiola._core import Topology
from hemiola.topology import message_costs, wiring, xml_tree
from hemiola.topology.assumed import Assumed
from hemiola.topology.nccl_devices import busid, card_of, gpu_name, host_of, net_name, with_each_once
from hemiola.topology.nccl_figures import (
    gpu_link_bandwidth,
    net_bandwidth,
    net_latency_s,
    pcie_bandwidth,
    socket_bandwidth,
)
from hemiola.topology.place import quote
from hemiola.topology.wiring import TopologyFile, Wiring, nic_name, on_host
from hemiola.topology.xml_tree import Element

#: Beside GPUs of that compute capability NVSwitches reduce and multicast: the third generation, of the H100.
_COMPUTING_SM = 90
_NVSWITCH_CLASS, _CPU_CLASS, _GPU_CLASSES = "0x0680", "0x0600", ("0x03", "0x12")


def from_xml(text: str, source: str) -> Topology:
    """Return the topology that `read` reads, without its list of assumptions."""
    return read(text, source).topology


def read(text: str, source: str) -> TopologyFile:
    """Read the XML; raise FormatError that names source and line."""
    root = xml_tree.parse(text, source)
    if root.tag == "graphs":
        root.place.fail(
            "expected NCCL's topology (NCCL_TOPO_DUMP_FILE), found its graphs (NCCL_GRAPH_DUMP_FILE), which do not say "
            "how fast links are"
        )
    if root.tag != "system":
        root.place.fail(f"expected NCCL's <system>, found <{quote(root.tag)[1:-1]}>")
    return _Reader(with_each_once(root)).read()


class _Reader:
    """Walks CPU by CPU through the PCIe trees, then adds what crosses them."""

    def __init__(self, root: Element) -> None:
        self._root = root
        self._gpus = gpus_in_rank_order(root)
        if not self._gpus:
            _refuse_without_gpus(root)
        self._rank = {id(gpu): rank for rank, (_, gpu) in enumerate(self._gpus)}
        self._hosts: dict[str, int] = {}
        self._vendor: dict[int, str] = {}  # of a host's CPUs
        for cpu in root.named("cpu"):
            host = self._hosts.setdefault(host_of(cpu), len(self._hosts))
            self._vendor.setdefault(host, cpu.attributes.get("vendor", ""))
        named = {
            id(gpu): self._name(gpu_name(gpu), self._hosts[host_of(cpu)])
            for cpu in root.named("cpu")
            for pci in _gpu_devices_below(cpu)
            for gpu in pci.named("gpu")
        }
        self._wiring = Wiring([named[id(gpu)] for _, gpu in self._gpus])
        self._host = [0] * len(self._gpus)
        self._vertex: dict[int, int] = {}  # by id of a GPU's <pci>
        # The same bus number exists on every host of a file.
        self._by_busid: dict[tuple[int, str], int] = {}
        self._nvswitch: int | None = None

    def read(self) -> TopologyFile:
        sockets: dict[int, list[tuple[int, float]]] = {}
        for cpu in self._root.named("cpu"):
            host = self._hosts[host_of(cpu)]
            for pci in _gpu_devices_below(cpu):
                vertex = self._vertex[id(pci)] = self._new_vertex_of(pci, host)
                self._by_busid[host, busid(pci)] = vertex
                self._by_busid.setdefault((host, card_of(busid(pci))), vertex)
        for cpu in self._root.named("cpu"):
            host = self._hosts[host_of(cpu)]
            vertex = self._wiring.add_switch(self._name(f"CPU{cpu.attributes.get('numaid', '')}", host))
            sockets.setdefault(host, []).append((vertex, socket_bandwidth(cpu)))
            self._add_cpu(cpu, vertex, host)
        for of_host in sockets.values():
            for (a, a_speed), (b, b_speed) in combinations(of_host, 2):
                self._wiring.both_ways(a, b, wiring.PCIE_HOP_S, min(a_speed, b_speed))
        is_amd = any("gcn" in gpu.attributes for _, gpu in self._gpus)
        return self._wiring.read(f"{len(self._gpus)} GPUs (NCCL)", self._host, is_amd=is_amd)

    def _name(self, what: str, host: int) -> str:
        return on_host(nic_name(what), host, len(self._hosts))

    def _new_vertex_of(self, pci: Element, host: int) -> int:
        """Return the vertex of a GPU: its rank's, or one that its ranks share, with what else is on its card."""
        gpus = list(pci.named("gpu"))
        shares = len(gpus) > 1 or any(_ports_of(pci)) or any(map(_has_device, pci.named("pci")))
        if not shares:
            return self._rank[id(gpus[0])]
        return self._wiring.add_switch(self._name(f"{gpu_name(gpus[0])}-card", host))

    def _add_cpu(self, cpu: Element, vertex: int, host: int) -> None:
        for child in cpu.children:
            if child.tag == "pci":
                self._add_pci(child, vertex, vertex, host, pcie_bandwidth(child))
            elif child.tag == "nic":  # a network card that is on no PCIe bus, such as a virtual one
                self._add_virtual_nic(child, vertex, host)

    def _add_pci(self, pci: Element, parent: int, cpu: int, host: int, bandwidth: float) -> None:
        """Attach what is behind a PCIe link of that bandwidth to `parent`."""
        gpus, ports = list(pci.named("gpu")), list(_ports_of(pci))
        behind = [child for child in pci.named("pci") if _has_device(child)]
        if not gpus and not ports and len(behind) == 1:
            self._add_pci(behind[0], parent, cpu, host, min(bandwidth, pcie_bandwidth(behind[0])))
            return
        if not gpus and not ports and not behind:
            return
        what = net_name(ports[0]) if ports else "PCIe"
        vertex = self._vertex[id(pci)] if gpus else self._wiring.add_switch(self._name(what or "NIC", host))
        join = self._wiring.gpu_link if gpus else self._wiring.both_ways
        join(vertex, parent, wiring.PCIE_HOP_S, bandwidth)
        self._add_gpu_links(pci, vertex, cpu, host)
        self._add_ports(ports, vertex, host, bandwidth)
        for child in behind:
            self._add_pci(child, vertex, cpu, host, pcie_bandwidth(child))
        of_card = Assumed(self._wiring.bandwidth_from(vertex))
        for gpu in gpus:
            rank = self._rank[id(gpu)]
            self._host[rank] = host
            if rank != vertex:
                self._wiring.both_ways(rank, vertex, Assumed(0.0), of_card)

    def _add_virtual_nic(self, nic: Element, cpu: int, host: int) -> None:
        ports = list(nic.named("net"))
        if ports:
            card = self._wiring.add_switch(self._name(net_name(ports[0]) or "NIC", host))
            together = sum((net_bandwidth(net, None) for net in ports), start=Assumed(0))
            self._wiring.both_ways(card, cpu, wiring.PCIE_HOP_S, together)
            self._add_ports(ports, card, host, None)

    def _add_ports(self, ports: list[Element], card: int, host: int, pcie: float | None) -> None:
        for net in ports:
            bandwidth = net_bandwidth(net, pcie)
            vendor = self._vendor[host]
            self._wiring.nic(net_name(net), host, card, net_latency_s(net) / 2, bandwidth, vendor)

    def _add_gpu_links(self, pci: Element, vertex: int, cpu: int, host: int) -> None:
        """Add NVLinks, xGMI and C2C links that leave the GPU; its peers list theirs."""
        to_switch = 0.0
        for gpu, link in _links_of(pci, "nvlink", "xgmi"):
            bandwidth = gpu_link_bandwidth(gpu, link)
            target, kind = busid(link, "target"), link.attributes.get("tclass", "")
            peer = self._by_busid.get((host, target), self._by_busid.get((host, card_of(target))))
            if bandwidth == 0 or peer == vertex:
                continue
            if peer is not None:
                self._wiring.one_way(
                    vertex, peer, wiring.NVLINK_LATENCY_S, bandwidth, message_costs.GPU_LINK.seconds
                )
            elif kind.startswith(_NVSWITCH_CLASS):
                to_switch = bandwidth + to_switch
            elif kind.startswith(_CPU_CLASS):
                self._wiring.gpu_link(vertex, cpu, wiring.NVLINK_LATENCY_S, bandwidth)
            elif not kind.startswith(_GPU_CLASSES):
                link.place.warn(
                    f"<{link.tag}>: leads to {quote(target)} of unknown class {quote(kind)}; left out"
                )
        if to_switch:
            if self._nvswitch is None:
                computes = all(each.number("sm", 0.0) >= _COMPUTING_SM for _, each in self._gpus)
                self._nvswitch = self._wiring.add_nvswitch("NVSwitch", computes=computes)
            self._wiring.gpu_link(vertex, self._nvswitch, wiring.NVLINK_LATENCY_S / 2, to_switch)
        for gpu, link in _links_of(pci, "c2c"):
            if bandwidth := gpu_link_bandwidth(gpu, link):
                self._wiring.gpu_link(vertex, cpu, wiring.NVLINK_LATENCY_S, bandwidth)


def _links_of(pci: Element, *tags: str) -> Iterator[tuple[Element, Element]]:
    """Yield the links of those kinds that leave a card, each with the GPU that lists it."""
    return ((gpu, link) for gpu in pci.named("gpu") for tag in tags for link in gpu.named(tag))


def _refuse_without_gpus(root: Element) -> NoReturn:
    """Say whether there are GPUs in the wrong place, or none at all."""
    for element in root.descendants():
        if element.tag == "gpu":
            element.place.fail("expected <gpu> inside a <pci> of a <cpu> of the <system>, as NCCL writes it")
    root.place.fail("expected <gpu> elements; dump the file from a running program with NCCL_TOPO_DUMP_FILE")


def gpus_in_rank_order(root: Element) -> list[tuple[Element, Element]]:
    """Return (pci, gpu) pairs by `rank` where all have different ones, else as they come."""
    found = [(pci, gpu) for pci in _gpu_devices_below(root) for gpu in pci.named("gpu")]
    ranks = [gpu.number("rank", -1.0) for _, gpu in found if gpu.attributes.get("rank", "-1") != "-1"]
    if len(set(ranks)) == len(found):
        found.sort(key=lambda pair: pair[1].number("rank"))
    return found


def _gpu_devices_below(element: Element) -> Iterator[Element]:
    """Yield the PCI devices that are GPUs, in the order of the text."""
    if element.tag == "pci" and any(element.named("gpu")):
        yield element
    for child in element.children:
        if child.tag in ("cpu", "pci"):
            yield from _gpu_devices_below(child)


def _ports_of(pci: Element) -> Iterator[Element]:
    """Yield the network ports of a PCI device; all of them share its PCIe link."""
    return (net for nic in pci.named("nic") for net in nic.named("net"))


def _has_device(pci: Element) -> bool:
    """Whether a GPU or a NIC with a port is on this PCIe device or behind it."""
    return any(pci.named("gpu")) or any(_ports_of(pci)) or any(map(_has_device, pci.named("pci")))
