# SPDX-License-Identifier: Apache-2.0
"""Where a process of a cluster runs: the namespaces of another process, in which commands are started from outside."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, NoReturn

from hemiola.environment.kernel import end_with_parent
from hemiola.errors import ClusterError
from hemiola.machine.working_folder import working_folder

#: Namespaces and their flags, in the order in which they are entered: the user's first, because it permits the rest.
_ENTERED = {"user": 0x10000000, "net": 0x40000000, "uts": 0x4000000, "ipc": 0x8000000, "mnt": 0x20000}
_CLONE_NEWPID = 0x20000000
_HANDED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)

_libc = ctypes.CDLL(None, use_errno=True)


def _enter(descriptor: int, kind: int) -> None:
    if _libc.setns(descriptor, kind) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"setns: {os.strerror(code)}")


class Place:
    """The namespaces of a running process.

    Parameters
    ----------
    process : process with these namespaces, by its number here.
    kinds : the ones to enter; "pid" makes the command end with the first process in there.
    """

    def __init__(self, process: int, *kinds: str) -> None:
        self._process = process
        self._kinds = kinds

    def exists(self) -> bool:
        """Return whether the process still runs."""
        return os.path.exists(f"/proc/{self._process}/ns/net")

    def start(self, command: Sequence[str], **how: Any) -> subprocess.Popen[Any]:
        """Start a command here; `how` goes to subprocess.Popen.

        It returns the command's own process, or, in a user namespace, one that hands on signals (but for SIGKILL, which
        ends both, and SIGSTOP) and the exit code. It ends with this process if this is its main thread.
        """
        with ExitStack() as opened:
            spaces = {
                kind: self._open(kind, opened) for kind in ("user", *_ENTERED, "pid") if kind in self._kinds
            }
            pids = spaces.pop("pid", None)
            ends_with_caller = threading.current_thread() is threading.main_thread()
            folder = how.pop("cwd", None) or working_folder()

            def enter() -> None:
                for kind, descriptor in spaces.items():
                    _enter(descriptor, _ENTERED[kind])
                os.chdir(folder)
                if pids is not None and "user" in spaces:
                    _enter(pids, _CLONE_NEWPID)
                    _fork_behind()
                if ends_with_caller:
                    end_with_parent()
                    if (
                        pids is not None and os.getppid() == 1
                    ):  # the caller, who is not in there, has just ended
                        os._exit(1)

            if pids is None or "user" in spaces:
                return subprocess.Popen(command, preexec_fn=enter, **how)
            return _born_in(pids, lambda: subprocess.Popen(command, preexec_fn=enter, **how))

    def _open(self, kind: str, opened: ExitStack) -> int:
        try:
            descriptor = os.open(f"/proc/{self._process}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise ClusterError(
                f"cluster: process {self._process}, in whose namespaces this was to run, has ended; make the "
                f"cluster anew"
            ) from None
        opened.callback(os.close, descriptor)
        return descriptor

    def output_of(self, command: Sequence[str], given: str = "") -> str:
        """Run a command here to its end and return its output; CalledProcessError with its error text if it fails."""
        process = self.start(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        out, complaint = process.communicate(given)
        if process.returncode != 0:
            raise subprocess.CalledProcessError(process.returncode, list(command), out, complaint)
        return str(out)


def _born_in(pids: int, start: Callable[[], subprocess.Popen[Any]]) -> subprocess.Popen[Any]:
    """Start a process with this thread's children in another pid namespace."""
    own = os.open("/proc/thread-self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _enter(pids, _CLONE_NEWPID)
        try:
            return start()
        finally:
            _enter(own, _CLONE_NEWPID)
    finally:
        os.close(own)


def _fork_behind() -> None:
    """Go on as a child, which is in the pid namespace; the process itself waits for it and ends as it does."""
    end_with_parent()
    child = os.fork()
    if child != 0:
        _end_as(child)
    end_with_parent()


def _end_as(child: int) -> NoReturn:
    os.closerange(0, os.sysconf("SC_OPEN_MAX"))
    for number in _HANDED_ON:
        signal.signal(number, lambda number, _: os.kill(child, number))
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL) if os.WTERMSIG(status) != signal.SIGKILL else None
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))
