# SPDX-License-Identifier: Apache-2.0
"""`hemiola calibrate`: measures the links between the ranks of a job, as a topology file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import RenderableType
from rich.text import Text

import hemiola
from hemiola import topologies
from hemiola._core import Topology
from hemiola.cli import options
from hemiola.cli.output import answer, counted, printable, table
from hemiola.cli.values import read_output
from hemiola.communicator import init
from hemiola.communicator.launch_environment import job_of
from hemiola.units import format_bandwidth, format_seconds


def calibrate(
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            parser=options.reads(read_output),
            help="Write a topology file (YAML), on rank 0's host.",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Measure the links between the ranks of a running job: latency, bandwidth, cost of a message, shared NICs.

    Every rank of the job runs this. Its file is for 'hemiola.init(topology=FILE)', 'plan', 'simulate' and 'run'.

    Example: hemiola launch --hosts a,b -n 4 -m hemiola calibrate -o cluster.yaml
    """
    # The measured links are not planned for, so ranks skip the shorter measurement at start-up.
    unmeasured = topologies.switch(job_of().rank_count, latency_s=1e-6, bandwidth=1e9)
    with init(topology=unmeasured) as comm:
        begin = time.monotonic()
        topology = hemiola.calibrate(comm)
        took_s = time.monotonic() - begin
        if comm.rank != 0:
            return
    if output is not None:
        topology.save(output)
    found = {"seconds": took_s, "file": None if output is None else printable(str(output)), **_data(topology)}
    answer(as_json, found, _shown(found), _notes(found))


def _data(topology: Topology) -> dict[str, Any]:
    """Return what was measured, as the topology has it; latencies from rank to rank."""
    links = topology.links
    of_nics = {link for _, _, nic in topology.nics for link in nic}
    inside = links[[link for link in range(len(links)) if link not in of_nics]]
    return {
        "rank_count": topology.rank_count,
        "host_count": topology.node_count,
        "inside": _costs(inside[inside["src"] < topology.rank_count]),
        "between": _costs(
            links[[link for link in sorted(of_nics) if links["src"][link] < topology.rank_count]]
        ),
        "nics": [
            {
                "host": host,
                "nic": name,
                "ranks": sorted({int(end) for end in links["src"][nic] if end < topology.rank_count}),
                "bandwidth": float(links["bandwidth"][nic[0]]),
            }
            for name, host, nic in topology.nics
        ],
    }


def _costs(ports: np.ndarray[Any, Any]) -> dict[str, float] | None:
    """Return what a message costs that leaves by one of these links and arrives by another like it."""
    if not len(ports):
        return None
    return {
        "latency_s": float(2 * ports["latency_s"][0]),
        "message_s": float(ports["message_s"][0]),
        "least_bandwidth": float(ports["bandwidth"].min()),
        "most_bandwidth": float(ports["bandwidth"].max()),
    }


def _shown(found: dict[str, Any]) -> RenderableType:
    """Return the NICs as a table."""
    size = f"{counted(found['rank_count'], 'rank')} on {counted(found['host_count'], 'host')}"
    shown = table(
        "host",
        "NIC",
        "ranks",
        "each way",
        title=f"{size}, measured in {format_seconds(found['seconds'])}",
        left=("NIC", "ranks"),
    )
    for nic in found["nics"]:
        ranks = ", ".join(map(str, nic["ranks"]))
        shown.add_row(str(nic["host"]), nic["nic"], ranks, format_bandwidth(nic["bandwidth"]))
    return shown if found["nics"] else Text(str(shown.title))


def _notes(found: dict[str, Any]) -> Text:
    lines = [
        f"{where}: latency {format_seconds(costs['latency_s'])}, {format_seconds(costs['message_s'])} a message, "
        f"{_range(costs)} a rank"
        for where, costs in (("inside a host", found["inside"]), ("between hosts", found["between"]))
        if costs is not None
    ]
    if found["file"] is not None:
        lines.append(f"written: {found['file']}")
    return Text("\n".join(lines))


def _range(costs: dict[str, float]) -> str:
    least, most = format_bandwidth(costs["least_bandwidth"]), format_bandwidth(costs["most_bandwidth"])
    return least if least == most else f"{least} … {most}"
