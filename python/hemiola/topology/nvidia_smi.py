# SPDX-License-Identifier: Apache-2.0
"""Reads the output of `nvidia-smi topo -m`: a matrix of how GPUs and NICs are connected.

It counts NVLinks but not their speed, and hides the PCIe path of GPUs that share NVLinks. So this is the
fallback where there is no NCCL dump: speeds are assumed, as documented in docs/reference/formats/topology.md. GPUs
become ranks. NICs are left out unless their speed is given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import combinations

from hemiola._core import Topology
from hemiola.topology import wiring
from hemiola.topology.assumed import Assumed
from hemiola.topology.device_tree import PCIE_BANDWIDTH, SOCKET_BANDWIDTH, add_tree, grouped_by
from hemiola.topology.matrix_text import Matrix
from hemiola.topology.nvidia_smi_text import LEVELS, MOST_NVLINKS, matrices_of
from hemiola.topology.wiring import Speeds, TopologyFile, Wiring, nic_name, on_host

#: One NVLink in one direction, as NCCL reckons it for Volta, Ampere and (nearly) Hopper.
NVLINK_BANDWIDTH = Assumed(20e9)
#: All NVLinks of a V100, an A800 or H800, an A100. Where each GPU of three or more has as many to each other one, they
#: lead to an NVSwitch, because no board has that many times the others.
_ALL_NVLINKS = (6, 8, 12)
#: But the board of four H100, and the bridge of four H200, join each two by six of 18.
_HOPPER_PAIR, _HOPPER_BOARD = 6, 4
#: An H100 has 18 NVLinks, an A100 12. With 18 the NVSwitch is of the third generation or a later one, which reduces and
#: multicasts.
_COMPUTING_NVLINKS = 18
#: Two functions of a card: ens1f0, rocep4s0f1, enp65s0f0np0.
_FUNCTION = re.compile(r"(.*\D\d+)f\d+(np\d+)?")


def from_matrix(
    text: str,
    source: str = "nvidia-smi topo -m",
    *,
    nvlink_bandwidth: float | None = None,
    nic_bandwidth: float | None = None,
    pcie_bandwidth: float | None = None,
) -> Topology:
    """Return the topology that `read` reads, without its list of assumptions."""
    return read(text, source, Speeds(nvlink_bandwidth, nic_bandwidth, pcie_bandwidth)).topology


def read(text: str, source: str, speeds: Speeds) -> TopologyFile:
    """Read the matrix, or one of each host.

    Parameters
    ----------
    text : the command's output; other lines around the matrix are skipped.
    source : the text's name in messages.
    speeds : the known speeds of links. With the speed of NICs these appear, on one network switch.

    Raises
    ------
    FormatError
        Not such a matrix, a cell that is missing, unknown or not the same both ways; several matrices where NICs, which
        join hosts, are left out. Names source and line.
    """
    matrices = matrices_of(text, source)
    if len(matrices) > 1 and speeds.nic is None:
        lines = " and ".join(str(matrix.place.line) for matrix in matrices)
        matrices[1].place.fail(
            f"found {len(matrices)} matrices, in lines {lines}: {len(matrices)} hosts. Keep one; or give "
            "--nic-bandwidth, to read all of them, joined by their NICs"
        )
    hosts = [host for host, matrix in enumerate(matrices) for _ in _gpus(matrix)]
    names = [on_host(gpu, host, len(matrices)) for host, m in enumerate(matrices) for gpu in _gpus(m)]
    built = Wiring(names)
    for host, matrix in enumerate(matrices):
        _Box(matrix, built, speeds, host, hosts).add()
    return built.read(f"{len(hosts)} GPUs (nvidia-smi)", hosts, lacks_network=speeds.nic is None)


def _gpus(matrix: Matrix) -> list[str]:
    return [device for device in matrix.devices if device.startswith("GPU")]


class _Box:
    """One host's GPUs and NICs."""

    def __init__(
        self, matrix: Matrix, built: Wiring, speeds: Speeds, host: int, hosts: Sequence[int]
    ) -> None:
        self._matrix, self._built, self._speeds, self._host = matrix, built, speeds, host
        self._host_count = hosts[-1] + 1
        self._vertex = {gpu: hosts.index(host) + i for i, gpu in enumerate(_gpus(matrix))}
        self._gpus = list(self._vertex)

    def add(self) -> None:
        joined = grouped_by(self._gpus, lambda a, b: self._nvlinks(a, b) > 0)
        for gpus in joined:
            self._add_nvlinks(gpus)
        if self._speeds.nic is None and len(joined) == 1:
            return
        devices = dict(self._vertex)
        if self._speeds.nic is not None:
            devices |= self._add_nics(self._speeds.nic)
        pcie = self._speeds.pcie or PCIE_BANDWIDTH
        levels = [
            (self._name(what), SOCKET_BANDWIDTH if level == "SYS" else pcie, self._meeting_at(level))
            for level, what in LEVELS.items()
        ]
        add_tree(self._built, devices, levels)

    def _name(self, what: str) -> str:
        return on_host(what, self._host, self._host_count)

    def _meeting_at(self, level: str) -> Callable[[str, str], bool]:
        return lambda a, b: self._matrix.cells[a, b] == level

    def _nvlinks(self, a: str, b: str) -> int:
        """How many NVLinks two devices share."""
        relation = self._matrix.cells[a, b]
        return int(relation[2:]) if relation.startswith("NV") else 0

    def _add_nvlinks(self, gpus: list[str]) -> None:
        """Link pairs directly, or every GPU to an NVSwitch."""
        speed = self._speeds.gpu_link or NVLINK_BANDWIDTH
        counts = {pair: self._nvlinks(*pair) for pair in combinations(gpus, 2)}
        if self._are_on_switch(gpus, list(counts.values())):
            computes = min(counts.values()) >= _COMPUTING_NVLINKS
            nvswitch = self._built.add_nvswitch(self._name("NVSwitch"), computes=computes)
            for gpu in gpus:
                most = max(count for pair, count in counts.items() if gpu in pair)
                self._built.gpu_link(self._vertex[gpu], nvswitch, wiring.NVLINK_LATENCY_S / 2, most * speed)
            return
        for (a, b), count in counts.items():
            if count:
                self._built.gpu_link(self._vertex[a], self._vertex[b], wiring.NVLINK_LATENCY_S, count * speed)

    def _are_on_switch(self, gpus: list[str], counts: list[int]) -> bool:
        """Whether GPUs cannot be linked to each other directly: no GPU has that many NVLinks."""
        totals = [sum(self._nvlinks(gpu, other) for other in gpus if other != gpu) for gpu in gpus]
        if max(totals) > MOST_NVLINKS:
            return True
        if len(gpus) < 3 or len(set(counts)) > 1 or counts[0] not in _ALL_NVLINKS:
            return False
        may_be_hopper = (
            counts[0] == _HOPPER_PAIR and self._matrix.says_gpu_numa and len(gpus) <= _HOPPER_BOARD
        )
        return not may_be_hopper

    def _add_nics(self, bandwidth: float) -> dict[str, int]:
        """Put NICs on the network, by the names that the legend below the matrix gives them, else by their columns'.

        Return the vertex of each card, by its first port.
        """
        cards: dict[str, str] = {}
        vertices: dict[str, int] = {}
        for nic in (device for device in self._matrix.devices if device not in self._vertex):
            name = self._matrix.legend.get(nic, nic)
            function = _FUNCTION.fullmatch(name)
            card = cards.setdefault(function[1] if function else name, nic)
            if card not in vertices:
                vertices[card] = self._built.add_switch(self._name(nic_name(name)))
            self._built.nic(name, self._host, vertices[card], wiring.NETWORK_LATENCY_S / 2, bandwidth)
        return vertices
