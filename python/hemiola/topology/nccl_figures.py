# SPDX-License-Identifier: Apache-2.0
"""The bandwidth of links of NCCL's XML: the file's figure, NCCL's own where it is silent (src/graph/topo.h), and a
replacement where a figure cannot be."""

from __future__ import annotations

from hemiola.topology.assumed import Assumed
from hemiola.topology.place import quote
from hemiola.topology.wiring import NETWORK_LATENCY_S
from hemiola.topology.xml_tree import Element
from hemiola.units import format_bandwidth

#: Bytes per second of one NVLink in one direction, by the GPU's compute capability (at least).
_NVLINKS = ((100, 40.1e9), (90, 20.6e9), (87, 20e9), (86, 12e9), (70, 20e9), (0, 18e9))
#: Bytes per second and lane of PCIe, by gigatransfers per second, after protocol overhead.
_PCIE_LANES = {
    2.5: 0.1875e9,
    5.0: 0.375e9,
    8.0: 0.75e9,
    16.0: 1.5e9,
    32.0: 3.0e9,
    64.0: 6.0e9,
    128.0: 12.0e9,
}
_PCIE_WIDTHS = (1, 2, 4, 8, 12, 16, 32)
_PCIE_DEFAULT, _WIDTH_DEFAULT = 8.0, 16
#: Bytes per second of an xGMI link of an MI300 and later, an MI200, and anything older.
_XGMI = (("gfx94", 48e9), ("gfx95", 48e9), ("gfx90a", 36e9), ("gfx910", 36e9), ("", 24e9))
#: Bytes per second between two CPU sockets: POWER, then Intel by model number (at least), then by vendor.
_POWER = 32e9
_INTEL = ((207, 40e9), (143, 22e9), (85, 10e9), (0, 6e9))
_SOCKETS = {"AuthenticAMD": 16e9, "CentaurHauls": 6e9}
_SOCKETS_DEFAULT = 6e9
#: A NIC that does not know its speed counts as 10 Gbit/s (NCCL does the same).
_DEFAULT_NIC = 1.25e9
#: No NIC is faster: ConnectX-9 has 1.6 Tbit/s.
_FASTEST_NIC = 200e9
#: No network takes longer from NIC to NIC: half way round the Earth is 67 ms.
_LONGEST_LATENCY_S = 0.1
#: No GPU has more over one kind of link: NVLink 6 has 1.8 TB/s in each direction, and this is twice that.
_FASTEST_GPU_LINKS = 3.6e12


def pcie_bandwidth(pci: Element) -> float:
    """Read link_speed ("16.0 GT/s PCIe") and link_width; unknown ones count as third generation, 16 lanes."""
    text = pci.attributes.get("link_speed", "").strip()
    width = pci.number("link_width", 0.0)
    try:
        lane: float = _PCIE_LANES[float(text.split(" ")[0])]
    except (KeyError, ValueError):
        lane = Assumed(_PCIE_LANES[_PCIE_DEFAULT])
        if text and not text.lower().startswith("unknown"):
            pci.place.warn(f"<pci>: {quote(text)} is no speed of PCIe; taken for third generation")
    if width not in _PCIE_WIDTHS:
        if width or not isinstance(lane, Assumed):
            pci.place.warn(f"<pci>: no PCIe link has {width:g} lanes; taken for {_WIDTH_DEFAULT}")
        lane, width = Assumed(lane), _WIDTH_DEFAULT
    return lane * width


def net_bandwidth(net: Element, pcie: float | None) -> float:
    """Read a NIC's speed, in Mbit/s; of one that cannot be, use the speed of its PCIe link."""
    text = net.attributes.get("speed", "").strip()
    given = 0.0 if text.startswith("-") else net.number("speed", 0.0) * 1e6 / 8
    if given == 0:
        return Assumed(_DEFAULT_NIC)
    if given <= _FASTEST_NIC:
        return given
    taken = Assumed(_DEFAULT_NIC if pcie is None else pcie)
    why = "as no PCIe link says better" if pcie is None else "what its PCIe link carries"
    net.place.warn(
        f"<net>: a speed of {quote(text)} Mbit/s is {format_bandwidth(given)}, more than any NIC has; taken for "
        f"{format_bandwidth(taken)}, {why}"
    )
    return taken


def net_latency_s(net: Element) -> float:
    """Read the latency from NIC to NIC, in µs."""
    given = net.number("latency", 0.0) * 1e-6
    if given > _LONGEST_LATENCY_S:
        net.place.warn(f"<net>: a latency of {given:g} s is more than any network has; taken for 5 us")
        given = 0.0
    return given or NETWORK_LATENCY_S


def gpu_link_bandwidth(gpu: Element, link: Element) -> float:
    """Return the bandwidth of an `<nvlink>`, `<xgmi>` or `<c2c>` of a GPU, all its links together."""
    count = link.number("count", 1.0)
    bandwidth = count * (link.number("bw") * 1e6 if link.tag == "c2c" else _one_link(gpu, link.tag))
    if bandwidth > _FASTEST_GPU_LINKS:
        link.place.fail(
            f"<{link.tag}>: expected at most {format_bandwidth(_FASTEST_GPU_LINKS)}, more than any GPU has, found "
            f"{count:g} links of {format_bandwidth(bandwidth / count)}"
        )
    if bandwidth == 0:
        link.place.warn(f"<{link.tag}>: no links, or links of 0 B/s; left out")
    return bandwidth


def socket_bandwidth(cpu: Element) -> Assumed:
    """Return the bandwidth that NCCL assumes between this CPU and another one like it."""
    if cpu.attributes.get("arch", "").startswith("ppc64"):
        return Assumed(_POWER)
    vendor = cpu.attributes.get("vendor", "")
    if vendor == "GenuineIntel":
        model = cpu.number("modelid", 0.0)
        return Assumed(next(speed for least, speed in _INTEL if model >= least))
    return Assumed(_SOCKETS.get(vendor, _SOCKETS_DEFAULT))


def _one_link(gpu: Element, tag: str) -> Assumed:
    if tag == "xgmi":
        # Older files write 942 for gfx942.
        model = "gfx" + gpu.attributes.get("gcn", "").removeprefix("gfx")
        return Assumed(next(speed for prefix, speed in _XGMI if model.startswith(prefix)))
    capability = gpu.number("sm", 0.0)
    return Assumed(next(speed for least, speed in _NVLINKS if capability >= least))
