# SPDX-License-Identifier: Apache-2.0
"""Topology files: which format a file has, reading and writing."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

from hemiola._core import Topology
from hemiola.errors import ArgumentError
from hemiola.topology.foreign import READ_FORMATS, kind_of
from hemiola.topology.place import Place, quote, text_of
from hemiola.topology.wiring import NO_SPEEDS, Speeds, TopologyFile
from hemiola.topology.yaml_reader import from_yaml
from hemiola.topology.yaml_tree import MAX_BYTES
from hemiola.topology.yaml_writer import to_yaml
from hemiola.topology.yaml_written import MAX_WRITTEN_BYTES, starts_as_written
from hemiola.whole_file import write_whole


def load(
    path: str | os.PathLike[str],
    *,
    nvlink_bandwidth: float | None = None,
    nic_bandwidth: float | None = None,
    pcie_bandwidth: float | None = None,
) -> Topology:
    """Return the topology in a file; see `read`."""
    return read(path, Speeds(nvlink_bandwidth, nic_bandwidth, pcie_bandwidth)).topology


def read(path: str | os.PathLike[str], speeds: Speeds = NO_SPEEDS) -> TopologyFile:
    """Read a topology file of any format; told apart by content.

    `speeds` are those of links of which the file does not say them; ArgumentError where they are not above 0, or the
    file says them. Warns with TopologyWarning of figures that cannot be, and names the value used instead.
    """
    _check("nvlink_bandwidth", speeds.gpu_link)
    _check("nic_bandwidth", speeds.nic)
    _check("pcie_bandwidth", speeds.pcie)
    source = quote(os.fspath(path), most=4096)
    text = _text_of(path, source)
    is_written = starts_as_written(text)
    if not is_written and (printed := _printed(text)) is not None:
        return printed(text, source, speeds)
    if speeds.are_given:
        raise ArgumentError(
            f"{source} holds its own speeds; they can be given for the output of nvidia-smi, rocm-smi and amd-smi"
        )
    return TopologyFile(from_yaml(text, source)) if is_written else _of_other_format(text, source)


def _printed(text: str) -> Callable[[str, str, Speeds], TopologyFile] | None:
    """Return what reads a text that a tool has printed without the speeds of links; None for any other text."""
    from hemiola.topology import amd_matrices, nccl_log, nvidia_smi, nvidia_smi_text

    if amd_matrices.is_matrix(text):
        return amd_matrices.read
    if not nccl_log.is_log(text) and nvidia_smi_text.is_matrix(text):
        return nvidia_smi.read
    return None


def _of_other_format(text: str, source: str) -> TopologyFile:
    from hemiola.topology import nccl_log, nccl_xml

    if (kind := kind_of(text)) is not None:
        Place(source).fail(f"found {kind}, which is not read; {READ_FORMATS}")
    if nccl_log.is_log(text):
        return nccl_log.read(text, source)
    if text.lstrip().startswith("<"):
        return nccl_xml.read(text, source)
    return TopologyFile(from_yaml(text, source))


def _text_of(path: str | os.PathLike[str], source: str) -> str:
    with open(path, "rb") as file:
        content = file.read(MAX_BYTES + 1)
        most = MAX_WRITTEN_BYTES if starts_as_written(content) else MAX_BYTES
        content += file.read(most + 1 - len(content))
    return text_of(content, most, source)


def _check(name: str, bandwidth: float | None) -> None:
    if bandwidth is not None and not 0 < bandwidth < math.inf:
        raise ArgumentError(f"expected a {name} above 0 B/s and finite, found {bandwidth}")


def save(topology: Topology, path: str | os.PathLike[str]) -> None:
    """Write a YAML file; `load` reads back an equal topology."""
    write_whole(path, to_yaml(topology))
