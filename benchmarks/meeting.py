# SPDX-License-Identifier: Apache-2.0
"""Jobs on a cluster's hosts: what tells processes that they are the ranks of one, and a command as all ranks of it."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Sequence

from hemiola.cluster import Cluster

PORT = 29400


def meeting(
    cluster: Cluster, ranks: int, ranks_a_host: int, *, on_host: int = 0, port: int = PORT
) -> dict[str, str]:
    """Return the variables that all ranks of a new job share, which meets at its rank 0's host."""
    return {
        "HEMIOLA_RANK_COUNT": str(ranks),
        "HEMIOLA_LOCAL_RANK_COUNT": str(ranks_a_host),
        "HEMIOLA_JOB": secrets.token_hex(4),
        "HEMIOLA_RENDEZVOUS": f"{cluster.hosts[on_host].ipv4}:{port}",
        "HEMIOLA_TOKEN": secrets.token_hex(32),
    }


def run_job(
    cluster: Cluster,
    hosts: Sequence[int],
    command: Sequence[str],
    per_host: int,
    *,
    limit_s: float | None = None,
) -> list[str]:
    """Run a command as every rank of a job, rank r on host `hosts[r]`; return what each printed.

    Raises RuntimeError where one fails, and TimeoutExpired where one prints for longer than `limit_s`."""
    job = meeting(cluster, len(hosts), per_host, on_host=hosts[0])
    processes = []
    for rank, host in enumerate(hosts):
        own = {"HEMIOLA_RANK": str(rank), "HEMIOLA_LOCAL_RANK": str(list(hosts[:rank]).count(host))}
        processes.append(
            cluster.start(host, command, env=os.environ | job | own, stdout=subprocess.PIPE, text=True)
        )
    said = [process.communicate(timeout=limit_s)[0] for process in processes]
    if any(process.returncode for process in processes):
        raise RuntimeError(f"{command[0]} … ended with {[process.returncode for process in processes]}")
    return said
