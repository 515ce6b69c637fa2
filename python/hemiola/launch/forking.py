# SPDX-License-Identifier: Apache-2.0
"""The fork server of one launch, seen from the launching process."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from hemiola.launch.fork_messages import Message

#: How long it may take to end the ranks, before the kernel has to.
_END_LIMIT_S = 5.0


class Forking:
    """A running fork server.

    Parameters
    ----------
    count : int >= 1, ranks.
    environment : variables of all ranks.
    payload : descriptor of the file with the ranks' function and arguments.
    inherited : further descriptors that they have.
    """

    def __init__(
        self, count: int, environment: Mapping[str, str], payload: int, inherited: Sequence[int]
    ) -> None:
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection.setblocking(False)
        command = [sys.executable, "-m", "hemiola.launch.fork_server"]
        numbers = [count, theirs.fileno(), payload, os.getpid()]
        try:
            with theirs:
                self._process = subprocess.Popen(
                    command + [str(number) for number in numbers],
                    env=environment,
                    pass_fds=(theirs.fileno(), payload, *inherited),
                    stdin=subprocess.DEVNULL,
                    process_group=0,
                )
        except BaseException:
            self._connection.close()
            raise
        self._ending = os.pidfd_open(self._process.pid)
        #: Becomes readable when there is news.
        self.sources = (self._connection.fileno(), self._ending)

    def messages(self) -> Iterator[tuple[Message, list[int]]]:
        """Read its messages, with the descriptors that came along."""
        while received := Message.receive(self._connection):
            yield received

    def has_ended(self) -> bool:
        """Return whether its process has ended, which it does not do by itself."""
        return bool(select.select([self._ending], [], [], 0)[0])

    def how_it_ended(self) -> str:
        """Say how; only when it has ended."""
        code = self._process.wait()
        return (
            f"was killed by signal {-code} ({signal.Signals(-code).name})"
            if code < 0
            else f"ended with exit code {code}"
        )

    def end(self, groups: Sequence[int]) -> None:
        """Have it end the ranks and the processes that they have started, and end.

        Parameters
        ----------
        groups : process groups of the ranks that are known to have started; needed where it cannot end them any more.
        """
        self._connection.shutdown(
            socket.SHUT_RDWR
        )  # heard also where a forked child holds a copy of this end
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_LIMIT_S)
        self._process.kill()
        if self._process.wait() != 0:
            # The kernel has killed the ranks with it, but not the processes that they have started. Their numbers are
            # free, and not given to others so soon.
            for group in groups:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGKILL)
        self._connection.close()
        os.close(self._ending)
