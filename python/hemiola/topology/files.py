"""Topology files: which format a file has, reading and writing."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

from hemiola._core import Topology
from hemiola.errors import ArgumentError
from hemiola.topology import nccl_xml, nvidia_smi
from hemiola.topology.place import Place, quote
from hemiola.topology.yaml_reader import from_yaml
from hemiola.topology.yaml_tree import MAX_BYTES
from hemiola.topology.yaml_writer import to_yaml
from hemiola.topology.yaml_written import MAX_WRITTEN_BYTES, starts_as_written
from hemiola.whole_file import write_whole


@dataclass(frozen=True)
class TopologyFile:
    """What a file holds, and whether its last switch may be the network that joins several such hosts.

    lacks_network : only what nvidia-smi prints without a speed for NICs, which then are left out.
    """

    topology: Topology
    lacks_network: bool = False


def load(
    path: str | os.PathLike[str],
    *,
    nvlink_bandwidth: float | None = None,
    nic_bandwidth: float | None = None,
) -> Topology:
    """Return the topology in a file; see `read`."""
    return read(path, nvlink_bandwidth=nvlink_bandwidth, nic_bandwidth=nic_bandwidth).topology


def read(
    path: str | os.PathLike[str],
    *,
    nvlink_bandwidth: float | None = None,
    nic_bandwidth: float | None = None,
) -> TopologyFile:
    """Read a YAML file, NCCL's XML or what `nvidia-smi topo -m` prints; told apart by content.

    The bandwidths are those of one NVLink and one NIC, which nvidia-smi does not print; ArgumentError where they are
    not above 0, or the file is another.
    """
    _check("nvlink_bandwidth", nvlink_bandwidth)
    _check("nic_bandwidth", nic_bandwidth)
    source = quote(os.fspath(path), most=4096)
    with open(path, "rb") as file:
        content = file.read(MAX_BYTES + 1)
        most = MAX_WRITTEN_BYTES if starts_as_written(content) else MAX_BYTES
        content += file.read(most + 1 - len(content))
    if len(content) > most:
        Place(source).fail(f"expected at most {most} bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        Place(source).fail(
            f"expected text in UTF-8, found byte 0x{content[error.start]:02x} at {error.start}"
        )
    if nvidia_smi.is_matrix(text):
        speed = nvidia_smi.NVLINK_BANDWIDTH if nvlink_bandwidth is None else nvlink_bandwidth
        topology = nvidia_smi.from_matrix(text, source, nvlink_bandwidth=speed, nic_bandwidth=nic_bandwidth)
        return TopologyFile(topology, lacks_network=nic_bandwidth is None)
    if nvlink_bandwidth is not None or nic_bandwidth is not None:
        raise ArgumentError(
            f"{source} holds its own speeds; only for what nvidia-smi prints can they be given"
        )
    if text.lstrip().startswith("<"):
        return TopologyFile(nccl_xml.from_xml(text, source))
    return TopologyFile(from_yaml(text, source))


def _check(name: str, bandwidth: float | None) -> None:
    if bandwidth is not None and not 0 < bandwidth < math.inf:
        raise ArgumentError(f"expected a {name} above 0 B/s and finite, found {bandwidth}")


def save(topology: Topology, path: str | os.PathLike[str]) -> None:
    """Write a YAML file; `load` reads back an equal topology."""
    write_whole(path, to_yaml(topology))
