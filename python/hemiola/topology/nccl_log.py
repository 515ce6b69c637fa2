# SPDX-License-Identifier: Apache-2.0
"""The tree of a machine in NCCL's log, as NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=GRAPH (or INIT,GRAPH) write it.

Every line of it names a vertex, and the bandwidth of the link from the vertex above it, in GB/s. GPUs become ranks in
the order of the ranks in brackets. Every process writes the tree: the first of each host counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hemiola.topology import wiring
from hemiola.topology.place import Place, quote
from hemiola.topology.wiring import TopologyFile, Wiring, nic_name, on_host

_BEGIN = re.compile(r"=== System : maxBw")
_END = re.compile(r"={10,}\s*$")
_PREFIX = re.compile(r"^[\s#>|]*(?:(\S+?):(\d+):\d+\s+)?(?:\[\S*\]\s*)?NCCL INFO ?")
_ROOT = re.compile(r"^\s*(?P<kind>CPU|PCI)/(?P<id>[\w\-]+)")
_CHILD = re.compile(
    r"^(?P<indent>\s*)\+ (?P<link>[A-Z0-9]+)\[(?P<speed>[\d.]+)\] - "
    r"(?P<kind>[A-Z]+)/(?P<id>[\w\-]+)(?:\s+\((?P<more>[^)]*)\))?"
)
_LATENCIES = {
    "NVL": wiring.NVLINK_LATENCY_S,
    "XGMI": wiring.NVLINK_LATENCY_S,
    "C2C": wiring.NVLINK_LATENCY_S,
    "NET": wiring.NETWORK_LATENCY_S / 2,
}
_NAMES = {"NVS": "NVSwitch", "PCI": "PCIe"}

_Vertex = tuple[str, str]  # kind and number


@dataclass
class _Tree:
    """What one process wrote: per vertex what follows it in brackets, and links with what they carry."""

    place: Place
    vertices: dict[_Vertex, str] = field(default_factory=dict)
    links: dict[tuple[_Vertex, _Vertex, str], float] = field(default_factory=dict)

    def of(self, kind: str) -> list[_Vertex]:
        return [vertex for vertex in self.vertices if vertex[0] == kind]


def is_log(text: str) -> bool:
    """Whether a text holds such a tree."""
    return _BEGIN.search(text) is not None


def read(text: str, source: str) -> TopologyFile:
    """Read the trees of a log; raise FormatError that names source and line."""
    trees = _trees(text, source)
    ranks = [(host, gpu) for host, tree in enumerate(trees) for gpu in tree.of("GPU")]
    numbers = [trees[host].vertices[gpu].partition("/")[0] for host, gpu in ranks]
    if all(number.isdigit() for number in numbers) and len(set(numbers)) == len(ranks):
        ranks = [rank for _, rank in sorted(zip(map(int, numbers), ranks, strict=True))]
    if not ranks:
        trees[0].place.fail("expected GPUs in NCCL's tree, found none")
    vertex = {rank: number for number, rank in enumerate(ranks)}
    of_host = [[gpu for h, gpu in ranks if h == host] for host in range(len(trees))]
    names = [on_host(f"GPU{of_host[host].index(gpu)}", host, len(trees)) for host, gpu in ranks]
    built = Wiring(names)
    for host, tree in enumerate(trees):
        _add_switches(tree, host, len(trees), built, vertex)
        _add_links(tree, host, built, vertex)
    is_amd = any(link == "XGMI" for tree in trees for _, _, link in tree.links)
    return built.read(f"{len(ranks)} GPUs (NCCL's log)", [host for host, _ in ranks], is_amd=is_amd)


def _trees(text: str, source: str) -> list[_Tree]:
    """Return the first tree of each host."""
    by_host: dict[str, _Tree] = {}
    lines = [
        (Place(source, number), _PREFIX.match(line), line) for number, line in enumerate(text.splitlines(), 1)
    ]
    reading: dict[tuple[str, str], tuple[_Tree, list[tuple[int, _Vertex]]]] = {}
    for place, prefix, line in lines:
        writer = (prefix[1] or "", prefix[2] or "") if prefix else ("", "")
        body = line[prefix.end() :] if prefix else line
        if _BEGIN.search(body):
            reading[writer] = (_Tree(place), [])
        elif writer in reading and _END.search(body):
            by_host.setdefault(writer[0], reading.pop(writer)[0])
        elif writer in reading:
            _add_line(body, place, *reading[writer])
    for writer, (tree, _) in reading.items():
        by_host.setdefault(writer[0], tree)
    return list(by_host.values())


def _add_line(body: str, place: Place, tree: _Tree, above: list[tuple[int, _Vertex]]) -> None:
    if root := _ROOT.match(body):
        vertex = root["kind"], root["id"]
        tree.vertices.setdefault(vertex, "")
        above[:] = [(-1, vertex)]
    elif child := _CHILD.match(body):
        indent = len(child["indent"])
        while above and above[-1][0] >= indent:
            above.pop()
        if not above:
            place.fail(f"expected a CPU above {quote(child['kind'] + '/' + child['id'])}, found none")
        vertex = child["kind"], child["id"]
        if not tree.vertices.get(vertex):
            tree.vertices[vertex] = child["more"] or ""
        speed = float(child["speed"]) * 1e9
        if not 0 < speed <= 1e14:
            place.fail(f"expected a bandwidth above 0 GB/s, found {quote(child['speed'])}")
        tree.links[above[-1][1], vertex, child["link"]] = speed
        above.append((indent, vertex))


def _add_switches(
    tree: _Tree, host: int, host_count: int, built: Wiring, vertex: dict[tuple[int, _Vertex], int]
) -> None:
    for kind, number in tree.vertices:
        if kind in ("GPU", "NET"):
            continue
        if kind == "NVS" and host > 0 and (0, (kind, number)) in vertex:
            vertex[host, (kind, number)] = vertex[0, (kind, number)]  # trays of one rack share it
            continue
        name = f"{kind}{number.rpartition('-')[2]}" if kind in ("CPU", "NIC") else _NAMES.get(kind, kind)
        vertex[host, (kind, number)] = built.add_switch(on_host(nic_name(name), host, host_count))


def _add_links(tree: _Tree, host: int, built: Wiring, vertex: dict[tuple[int, _Vertex], int]) -> None:
    """Add links; a pair that lists its link from both sides has one."""
    done: set[tuple[_Vertex, _Vertex, str]] = set()
    for (a, b, link), speed in tree.links.items():
        if (b, a, link) in done:
            continue
        done.add((a, b, link))
        latency_s = _LATENCIES.get(link, wiring.PCIE_HOP_S)
        if b[0] == "NET":
            built.nic(f"net{b[1].rpartition('-')[2]}", host, vertex[host, a], latency_s, speed)
            continue
        if "NVS" in (a[0], b[0]):
            latency_s = latency_s / 2
        is_of_gpu = "GPU" in (a[0], b[0])
        join = built.gpu_link if is_of_gpu else built.both_ways
        join(vertex[host, a], vertex[host, b], latency_s, speed)
