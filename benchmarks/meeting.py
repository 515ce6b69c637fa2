"""What tells processes on a cluster's hosts that they are the ranks of one job."""

from __future__ import annotations

import secrets

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
