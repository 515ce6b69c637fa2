# SPDX-License-Identifier: Apache-2.0
"""Clusters for tests, each with processes of its own that must be gone in the end."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from hemiola.cluster import Cluster
from permission import where_permitted


@pytest.fixture
def clusters() -> Iterator[Callable[..., Cluster]]:
    """What makes clusters, which end with the test; skips where the kernel does not permit any."""
    with ExitStack() as up:

        def make(hosts: int, **how: Any) -> Cluster:
            with where_permitted():
                return up.enter_context(Cluster(hosts, **how))

        yield make


SSHD = """
Port 2222
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
StrictModes no
UsePAM no
PidFile none
"""


@pytest.fixture
def remote_shell(cluster: Cluster, tmp_path: Path) -> Iterator[str]:
    """The command by which the hosts of a test's cluster reach each other, all but the host and what to run there."""
    if not Path("/usr/sbin/sshd").exists() or os.geteuid() != 0:
        pytest.skip("needs sshd (apt install openssh-server) and root")
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / key], check=True)
    (tmp_path / "sshd_config").write_text(SSHD.format(folder=tmp_path))
    Path("/run/sshd").mkdir(exist_ok=True)
    command = ["/usr/sbin/sshd", "-D", "-e", "-f", str(tmp_path / "sshd_config")]
    servers = [cluster.start(host.number, command, stderr=subprocess.PIPE) for host in cluster.hosts]
    for server in servers:
        assert server.stderr is not None
        assert b"listening" in server.stderr.readline()
    options = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o BatchMode=yes"
    yield f"ssh -i {tmp_path}/user -p 2222 {options}"
    for server in servers:
        server.kill()
        server.wait()
