# SPDX-License-Identifier: Apache-2.0
"""A remote shell for mpirun and mpiexec on the hosts of a cluster on one machine, instead of ssh.

Hosts there run no sshd, and cannot see each other's processes; but they share files, so a Unix socket leads from all of
them to the program that has made the cluster, which starts what is asked for."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

from hemiola.cluster import Cluster
from hemiola.whole_file import write_whole

CALL = Path(__file__).resolve().parent / "remote_shell_call.py"
_ORDER_BYTES = 1 << 16


class RemoteShell:
    """Starts on a cluster's hosts what launchers that run on other hosts ask for.

    `script` is what a launcher calls instead of ssh; `processes` are those that were started for it. `environment` has
    a folder for temporary files that no other cluster's processes have, whose hosts bear the same names.
    """

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self._cluster = cluster
        self._numbers = {host.name: host.number for host in cluster.hosts}
        self.environment = os.environ | {"TMPDIR": str(folder)}
        self.processes: list[subprocess.Popen[bytes]] = []
        path = folder / "shell"
        self.script = folder / "remote_shell"
        write_whole(self.script, f'#!/bin/sh\nexec {sys.executable} -I -S {CALL} {path} "$@"\n')
        self.script.chmod(0o755)
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen(64)
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Start nothing more, and kill what was started."""
        self._server.shutdown(socket.SHUT_RDWR)
        for process in self.processes:
            process.kill()
            process.wait()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                self._server.close()
                return
            self._start(connection)

    def _start(self, connection: socket.socket) -> None:
        """Start one command with its caller's standard input and output; a thread waits for its end."""
        order, streams, _, _ = socket.recv_fds(connection, _ORDER_BYTES, 3)
        host, command = json.loads(order)
        stdin, stdout, stderr = streams
        try:
            process = self._cluster.start(
                self._numbers[host],
                ["/bin/sh", "-c", command],
                env=self.environment,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
            )
        finally:
            for descriptor in streams:
                os.close(descriptor)
        self.processes.append(process)
        threading.Thread(target=_tell_end, args=(process, connection), daemon=True).start()


def _tell_end(process: subprocess.Popen[bytes], connection: socket.socket) -> None:
    with connection:
        code = process.wait()
        try:
            connection.sendall(str(code if code >= 0 else 128 - code).encode())
        except BrokenPipeError:  # the launcher has ended before
            return
