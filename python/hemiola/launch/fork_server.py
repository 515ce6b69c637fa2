# SPDX-License-Identifier: Apache-2.0
"""The process from which local ranks are forked: python -m hemiola.launch.fork_server <ranks> <connection> <payload>
<launcher>.

It loads once the modules that all ranks need, alone in its process and without threads, and is their parent. It tells
the launcher how each of them ended, keeps the numbers of their process groups taken until the end, and then ends and
reaps them. A rank goes on from here as if it had loaded everything itself, and ends as any Python does."""

from __future__ import annotations

import gc
import os
import resource
import selectors
import signal
import socket
import sys
from contextlib import suppress

from hemiola.environment.kernel import end_with_parent
from hemiola.launch.cores import keep_on_its_cores
from hemiola.launch.fork_messages import Kind, Message
from hemiola.launch.place import own_variables


def _load() -> None:
    """Import what every rank needs. Objects made here live as long as the process, so that nobody looks for garbage
    among them: neither now nor in a rank, which would copy all the pages that it looks at."""
    gc.disable()
    import hemiola.algorithms.transfer_rows  # which a first plan needs
    import hemiola.communicator.init
    import hemiola.launch.rank  # noqa: F401

    gc.freeze()
    gc.enable()


class _ForkServer:
    """The ranks, by their processes, and the connection to the launcher."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._processes: list[int] = []

    def fork_all(self, count: int) -> tuple[int, int] | None:
        """Fork the ranks; return None here, and in a rank its number and where its report goes."""
        server = os.getpid()
        for rank in range(count):
            try:
                read_end, write_end = os.pipe()
                process = os.fork()
            except OSError as error:
                Message(Kind.REFUSED, rank, error.errno or 0).send(self._connection)
                return None
            if process == 0:
                end_with_parent(server)
                os.setpgid(0, 0)
                os.close(read_end)
                self._connection.close()
                return rank, write_end
            self._processes.append(process)
            with suppress(ProcessLookupError, PermissionError):  # it has done so itself, and gone on
                os.setpgid(process, process)
            os.close(write_end)
            Message(Kind.STARTED, rank, process).send(self._connection, read_end)
            os.close(read_end)
        return None

    def attend(self) -> None:
        """Tell how ranks end, until the launcher closes its connection."""
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a descriptor for each of up to 1,024 ranks
        with selectors.DefaultSelector() as selector:
            selector.register(self._connection, selectors.EVENT_READ)
            for rank, process in enumerate(self._processes):
                selector.register(os.pidfd_open(process), selectors.EVENT_READ, rank)
            while True:
                for key, _ in selector.select():
                    if key.data is None:
                        return
                    selector.unregister(key.fd)
                    Message(Kind.ENDED, key.data, self._code_of(key.data)).send(self._connection)

    def _code_of(self, rank: int) -> int:
        status = os.waitid(os.P_PID, self._processes[rank], os.WEXITED | os.WNOWAIT)
        assert status is not None
        return status.si_status if status.si_code == os.CLD_EXITED else -status.si_status

    def end_all(self) -> None:
        """Kill the ranks and what they have started, and reap them: the last ones to keep their groups' numbers."""
        for process in self._processes:
            try:
                os.killpg(process, signal.SIGKILL)
            except PermissionError:  # something in the group has become another user's
                os.kill(process, signal.SIGKILL)
        for process in self._processes:
            os.waitpid(process, 0)


def main() -> None:
    """Be a fork server, and each of its ranks; see the module's docstring."""
    count, connection, payload, launcher = (int(number) for number in sys.argv[1:5])
    end_with_parent(launcher)
    os.set_inheritable(connection, False)
    server = _ForkServer(socket.socket(fileno=connection))
    _load()
    try:
        place = server.fork_all(count)
        if place is None:
            server.attend()
    except (BrokenPipeError, ConnectionResetError):  # the launcher has had enough
        place = None
    if place is not None:
        _be_rank(*place, count, payload)
        return
    server.end_all()
    os._exit(0)  # the ranks run their own exit handlers


def _be_rank(rank: int, report: int, count: int, payload: int) -> None:
    from hemiola.launch.rank import run

    os.environ.update(own_variables(rank))
    keep_on_its_cores(rank, count)
    run(payload, report)


if __name__ == "__main__":
    main()
