# SPDX-License-Identifier: Apache-2.0
"""Ranks of torch.distributed that wait for orders: lines of JSON on their standard input, each answered by one on their
standard output. They sleep between orders, so that jobs which take turns do not disturb each other."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from hemiola.cluster import Cluster

#: Of what a rank has said before its end.
_SHOWN_CHARACTERS = 2000


class OrderedRanks:
    """The ranks of one job, and what they print to their error output. `ready`: each one's answer to its start."""

    def __init__(
        self, name: str, processes: Sequence[subprocess.Popen[str]], said: Sequence[IO[str]]
    ) -> None:
        self.name, self._processes, self._said = name, processes, said
        self.ready = self._answers()

    def ask(self, **order: Any) -> list[dict[str, Any]]:
        """Give all ranks an order, and return their answers."""
        for process in self._processes:
            assert process.stdin is not None
            print(json.dumps(order), file=process.stdin, flush=True)
        return self._answers()

    def _answers(self) -> list[dict[str, Any]]:
        lines = [process.stdout.readline() for process in self._processes if process.stdout is not None]
        if not all(lines):
            rank = lines.index("")
            self._said[rank].seek(0)
            last = self._said[rank].read().strip()[-_SHOWN_CHARACTERS:] or "nothing"
            raise RuntimeError(f"{self.name}: rank {rank} has ended without an answer; it said last: {last}")
        return [json.loads(line) for line in lines]


@contextmanager
def ordered_ranks(
    name: str,
    command: Sequence[str],
    cluster: Cluster | None,
    ranks: int,
    per_host: int,
    variables: Mapping[str, str],
) -> Iterator[OrderedRanks]:
    """Start a Python program as the ranks of a job, here or so many on each host; end them with the block.

    `variables`: of all ranks, beside those by which torch.distributed meets."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    shared = {
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(per_host),
        "MASTER_ADDR": cluster.hosts[0].ipv4 if cluster else "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
        **({"GLOO_SOCKET_IFNAME": "eth0"} if cluster else {}),
        **variables,
    }
    processes: list[subprocess.Popen[str]] = []
    with ExitStack() as files:
        said = [files.enter_context(tempfile.TemporaryFile("w+")) for _ in range(ranks)]
        try:
            for rank, errors in enumerate(said):
                own = {"RANK": str(rank), "LOCAL_RANK": str(rank % per_host)}
                how: dict[str, Any] = {"env": os.environ | shared | own, "text": True, "stderr": errors}
                how |= {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
                words, host = [sys.executable, *command], rank // per_host
                processes.append(
                    cluster.start(host, words, **how) if cluster else subprocess.Popen(words, **how)
                )
            yield OrderedRanks(name, processes, said)
        finally:
            for process in processes:
                process.kill()
                process.wait()


def answers_output() -> TextIO:
    """Return a rank's output for answers; what libraries print goes to the error output from here on."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers
