# SPDX-License-Identifier: Apache-2.0
"""The devices of NCCL's XML, each once, however often the file lists it.

A container's virtual NIC stands under every CPU, a card with two functions under two bus numbers, and a GPU that two
ranks use has two `<gpu>`, each with all its NVLinks. NCCL names devices by bus number, NIC by name and port.
"""

from __future__ import annotations

from collections.abc import Iterator

from hemiola.topology.xml_tree import Element

_BRIDGE_CLASS = "0x0604"
#: So much of a class names the kind of a device: 0x02, a network card, 0x03, a display.
_KIND = 4
_GPU_LINKS = ("nvlink", "xgmi")

#: Tells ranks on one GPU apart.
_OF_A_RANK = ("dev", "rank", "mlopart")

_Key = tuple[str, ...]


def with_each_once(root: Element) -> Element:
    """Return the tree with each device where it stands first, and with all that the file says of it there."""
    merged = Element(root.tag, root.attributes, root.place)
    _Merger(root).merge(root.children, merged, ())
    return merged


def busid(element: Element, attribute: str = "busid") -> str:
    """Read a PCI bus number such as 0000:51:00.0; empty where there is none."""
    return element.attributes.get(attribute, "").strip().lower()


def host_of(cpu: Element) -> str:
    """Read which host a CPU is of."""
    return cpu.attributes.get("host_hash", "")


def net_name(net: Element) -> str:
    """Read the name of a port's NIC; all ports of one name are one NIC."""
    number = net.attributes.get("dev", "")
    return net.attributes.get("name", "") or (f"net{number}" if number else "")


def gpu_name(gpu: Element) -> str:
    """Return nvidia-smi's name for the GPU."""
    return f"GPU{gpu.attributes.get('dev', '')}"


def card_of(pci_busid: str) -> str:
    """Return the bus number without its function: two functions of one card share its PCIe link."""
    return pci_busid.rpartition(".")[0] or pci_busid


class _Merger:
    def __init__(self, root: Element) -> None:
        self._first: dict[_Key, Element] = {}
        nets = list(_nets_of(root))
        self._on_pci = {_net_key(host, net) for host, net, on_pci in nets if on_pci}
        self._names = {(host, net_name(net)) for host, net, _ in nets}
        self._linked_functions = _functions_with_links_between(root)

    def merge(self, children: list[Element], into: Element, above: _Key) -> None:
        """Add children to an element of the new tree; those that it knows already, to where they stand there."""
        for child in children:
            key = self._key(child, above)
            if child.tag == "net" and self._stands_elsewhere(child, above):
                continue
            first = self._first.get(key) if key else None
            if first is None or (_is_bridge(first) and first in into.children):
                first = Element(child.tag, dict(child.attributes), child.place)
                into.children.append(first)
                if key:
                    self._first.setdefault(key, first)
            else:
                _add_to(first, child)
            below = {"cpu": (host_of(child), ""), "pci": (*above[:1], self._card(child))}
            self.merge(child.children, first, below.get(child.tag, above))

    def _stands_elsewhere(self, net: Element, above: _Key) -> bool:
        """Whether a port is listed on a PCI device, too, or joins ports that the file lists one by one."""
        if len(above) < 2:
            return False
        host, card = above
        if not card and _net_key(host, net) in self._on_pci:
            return True
        parts = net_name(net).split("+")
        return len(parts) > 1 and all((host, part) in self._names for part in parts)

    def _key(self, element: Element, above: _Key) -> _Key | None:
        """Return what tells this device from all others of the file; None where nothing does.

        `above` : the host, and the card on which it is; nothing outside a CPU.
        """
        attributes = element.attributes
        if element.tag == "cpu":
            return ("cpu", host_of(element), attributes["numaid"]) if attributes.get("numaid") else None
        if len(above) < 2:
            return None
        host, card = above
        if element.tag == "pci":
            kind = attributes.get("class", "")[:_KIND]
            return ("pci", host, self._card(element), kind) if busid(element) else None
        if element.tag == "net":
            return _net_key(host, element)
        if not card:
            return None
        if element.tag == "gpu":
            return ("gpu", host, card, *(attributes.get(name, "") for name in _OF_A_RANK))
        if element.tag in _GPU_LINKS:
            return (element.tag, host, card, self._endpoint(busid(element, "target")))
        return ("c2c", host, card) if element.tag == "c2c" else None

    def _card(self, pci: Element) -> str:
        return busid(pci) if _is_bridge(pci) else self._endpoint(busid(pci))

    def _endpoint(self, pci_busid: str) -> str:
        card = card_of(pci_busid)
        return pci_busid if card in self._linked_functions else card


def _is_bridge(element: Element) -> bool:
    """Whether this is a PCIe bridge. RCCL lists one chip with several links upwards as bridges of one number, side by
    side."""
    return element.tag == "pci" and element.attributes.get("class", "").startswith(_BRIDGE_CLASS)


def _add_to(first: Element, again: Element) -> None:
    """Take over what the first listing leaves out; of two counts of links the larger."""
    for name, value in again.attributes.items():
        first.attributes.setdefault(name, value)
    if first.tag in (*_GPU_LINKS, "c2c"):
        weight = [e.number("count", 1.0) * e.number("bw", 1.0) for e in (first, again)]
        if weight[1] > weight[0]:
            first.attributes.update(again.attributes)


def _net_key(host: str, net: Element) -> _Key | None:
    name = net_name(net) or net.attributes.get("guid", "").removeprefix("0x0")
    return ("net", host, name, net.attributes.get("port", "")) if name else None


def _nets_of(root: Element) -> Iterator[tuple[str, Element, bool]]:
    """Yield host and port, and whether it stands on a PCI device, of every port."""
    for cpu in root.named("cpu"):
        for element in (cpu, *cpu.descendants()):
            for nic in element.named("nic"):
                for net in nic.named("net"):
                    yield host_of(cpu), net, element.tag == "pci" and busid(element) != ""


def _functions_with_links_between(root: Element) -> set[str]:
    """Return bus numbers under which GPUs stand that are linked to each other: a virtual machine may put devices of
    its own there."""
    found = set()
    for pci in (element for element in root.descendants() if element.tag == "pci"):
        own = busid(pci)
        for gpu in pci.named("gpu"):
            for link in (child for child in gpu.children if child.tag in _GPU_LINKS):
                target = busid(link, "target")
                if target != own and card_of(target) == card_of(own):
                    found.add(card_of(own))
    return found
