# SPDX-License-Identifier: Apache-2.0
"""Jobs on the hosts of a cluster, of `collective_rank.py` unless another program is named."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hemiola.cluster import Cluster

PROGRAM = str(Path(__file__).with_name("collective_rank.py"))
LIMIT_S = 120.0


@contextmanager
def running(
    cluster: Cluster,
    words: str | Sequence[str],
    per_host: int = 1,
    family: int = 4,
    *,
    program: str = PROGRAM,
    **more: str,
) -> Iterator[list[subprocess.Popen[str]]]:
    """Start a program as the ranks of a job, so many on each host; they end with this. `words`: its arguments."""
    ranks: list[subprocess.Popen[str]] = []
    command = [sys.executable, program, *([words] if isinstance(words, str) else words)]
    try:
        ranks += _started(cluster, command, per_host, family, more)
        yield ranks
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()


def _started(
    cluster: Cluster, command: list[str], per_host: int, family: int, more: dict[str, str]
) -> Iterator[subprocess.Popen[str]]:
    hosts = range(len(cluster.hosts))
    zero = cluster.hosts[0]
    at = f"{zero.ipv4}:29400" if family == 4 else f"[{zero.ipv6}]:29400"
    environment = os.environ | {
        "HEMIOLA_RANK_COUNT": str(per_host * len(hosts)),
        "HEMIOLA_LOCAL_RANK_COUNT": str(per_host),
        "HEMIOLA_JOB": secrets.token_hex(4),
        "HEMIOLA_RENDEZVOUS": at,
        "HEMIOLA_IP_FAMILY": str(family),
        "HEMIOLA_TOKEN": secrets.token_hex(32),
        **more,
    }
    for host in hosts:
        for local in range(per_host):
            own = {"HEMIOLA_RANK": str(host * per_host + local), "HEMIOLA_LOCAL_RANK": str(local)}
            yield cluster.start(
                host,
                command,
                env=environment | own,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )


def outputs(processes: list[subprocess.Popen[str]], limit_s: float = LIMIT_S) -> list[str]:
    """Return what each rank prints; all must end well, or each one's end is told: the first is seldom the cause."""
    found = [process.communicate(timeout=limit_s) for process in processes]
    ends = [
        f"rank {rank} ended with {process.returncode}: {out[-1000:]}{err[-3000:]}"
        for rank, (process, (out, err)) in enumerate(zip(processes, found, strict=True))
    ]
    assert not any(process.returncode for process in processes), "\n".join(ends)
    return [out for out, _ in found]


def said(processes: list[subprocess.Popen[str]], limit_s: float = LIMIT_S) -> list[str]:
    """Return the last line of each rank; all must end well."""
    return [out.splitlines()[-1] for out in outputs(processes, limit_s)]
