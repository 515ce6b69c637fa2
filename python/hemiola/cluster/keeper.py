# SPDX-License-Identifier: Apache-2.0
"""The process that a cluster lives in; run by its path, it knows the standard library alone and starts in 20 ms.

    keeper        the switch's network namespace
      its parent
        host 0    first process of a pid namespace; network, mount, UTS and IPC namespaces of its own
      ...

The kernel kills the hosts when the keeper ends, and all that runs in a host when the host's first process ends.
Bridge, NICs and mounts have no names outside and vanish with the last process in them. The network is not its work: its
owner builds that from outside (nics.py).

It answers on standard output, and reads standard input: first its order to build, then {"state": …} to write to a file
where others find the cluster, and "detach" to outlive its owner. Otherwise it ends with its owner, with its standard
input, and with SIGTERM."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 0x1000, 0x2000, 0x4000, 0x40000
PR_SET_PDEATHSIG = 1

#: Where a host keeps files until they are bound to their places; its own, and needed anyway.
STAGE = "/dev/shm"
#: How long the hosts may take to end before they are left to the machine's first process.
END_LIMIT_S = 5.0

_libc = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):
    """The request is not possible here; the text says why."""


def _call(what: str, function: Callable[..., int], *arguments: Any) -> None:
    """Call into the kernel; raise OSError that says what was tried."""
    if function(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    words = [word if word is None else word.encode() for word in (source, target, kind, options)]
    _call(f"mount {target}", _libc.mount, *words[:3], ctypes.c_ulong(flags), words[3])


def _write(path: str, content: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.write(descriptor, content.encode())
    finally:
        os.close(descriptor)


# A host.


def _mount_own_files(files: Mapping[str, str]) -> None:
    """Give this mount namespace its own /proc, /sys and /dev/shm, and its own content of files that name a host."""
    _mount("none", "/", None, MS_REC | MS_PRIVATE)
    _mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    _mount("tmpfs", STAGE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
    # /sys must show this host's NICs, and still the machine's control groups.
    groups = f"{STAGE}/cgroup"
    os.mkdir(groups)
    _mount("/sys/fs/cgroup", groups, None, MS_BIND | MS_REC)
    _mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    _mount(groups, "/sys/fs/cgroup", None, MS_MOVE)
    os.rmdir(groups)
    for path, content in files.items():
        if os.path.exists(path):
            staged = f"{STAGE}/staged"
            _write(staged, content)
            _mount(staged, path, None, MS_BIND)
            os.unlink(staged)  # a bound socket keeps the file


def _be_host(host: Mapping[str, Any], settings: Mapping[str, str]) -> None:
    """Make this process, the first of its pid namespace, a host."""
    os.setsid()
    _call("unshare", _libc.unshare, CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC)
    _mount_own_files(host["files"])
    name = host["name"].encode()
    _call("sethostname", _libc.sethostname, name, len(name))
    for path, value in settings.items():
        with contextlib.suppress(FileNotFoundError):  # such as all of IPv6's, where the kernel has none
            _write(path, value)


def _stay() -> NoReturn:
    """Reap what is orphaned in this host, for good. The kernel keeps signals from inside away."""
    while True:
        signal.sigwait([signal.SIGCHLD])
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _end_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent, given as a process descriptor, ends."""
    _call("prctl", _libc.prctl, PR_SET_PDEATHSIG, signal.SIGKILL)
    if select.select([parent], [], [], 0)[0]:
        os._exit(1)


def _bear_host(host: Mapping[str, Any], settings: Mapping[str, str], keeper: int, tell: int) -> NoReturn:
    """Start a host in a pid namespace that only its parent, this process, may make; end with it, and it with this."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _end_with_parent(keeper)
    self = os.pidfd_open(os.getpid())
    _call("unshare", _libc.unshare, CLONE_NEWPID)
    first = os.fork()
    if first != 0:
        os.write(tell, f"{first}\n".encode())
        os.close(tell)
        os.waitpid(first, 0)
        os._exit(0)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    _end_with_parent(self)
    _be_host(host, settings)
    _let_go_of_streams()
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    _stay()


def _start_host(host: Mapping[str, Any], settings: Mapping[str, str]) -> int:
    """Start a host and return its first process, by the number that it has out here."""
    keeper = os.pidfd_open(os.getpid())
    outcome, tell = os.pipe()
    if os.fork() == 0:
        try:
            _bear_host(host, settings, keeper, tell)
        except OSError as error:
            os.write(tell, f"!{error}".encode())
        finally:  # a child must never go on as the keeper
            os._exit(1)
    os.close(tell)
    os.close(keeper)
    with open(outcome) as told:
        first, _, complaint = told.read().partition("!")
    if complaint or not first:
        raise Refused(f"{host['name']}: {complaint or 'ended at once'}")
    return int(first)


# The keeper.


def _leave_machine() -> bool:
    """Enter namespaces in which this process may do what follows; return whether one of them is a user namespace."""
    try:
        _call("unshare", _libc.unshare, CLONE_NEWNET)
        return False
    except OSError as error:
        if error.errno != errno.EPERM:
            raise
    user, group = os.geteuid(), os.getegid()
    try:
        _call("unshare", _libc.unshare, CLONE_NEWUSER | CLONE_NEWNET)
    except OSError as error:
        raise Refused(
            f"may not create network namespaces, neither as this user nor in a user namespace ({error.strerror}). "
            f"Run as root, with CAP_SYS_ADMIN in a container, or allow user namespaces "
            f"(sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone=1, "
            f"kernel.apparmor_restrict_unprivileged_userns=0)"
        ) from None
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"0 {user} 1")
    _write("/proc/self/gid_map", f"0 {group} 1")
    return True


def _locked(path: str, name: str) -> int:
    """Open the file under which the cluster is known, and lock it as long as this process lives."""
    # a process that looks whether a cluster still lives holds the lock for a moment
    until = time.monotonic() + 1.0
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.exists(path) and os.path.samestat(os.fstat(descriptor), os.stat(path)):
                os.ftruncate(descriptor, 0)
                return descriptor
        except BlockingIOError:
            if time.monotonic() > until:
                raise Refused(
                    f"a cluster named '{name}' exists. End it with 'hemiola cluster down --name {name}', or choose "
                    f"another name"
                ) from None
        os.close(descriptor)
        time.sleep(0.01)


def _obey(commands: Any, state: int, owner: int) -> None:
    """Do as told until it is time to end."""
    while owner not in select.select([commands, owner], [], [])[0]:
        line = commands.readline()
        if not line:
            return
        told = json.loads(line)
        if told == "detach":
            _let_go_of_streams()
            while True:
                signal.pause()
        os.pwrite(state, json.dumps(told["state"]).encode(), 0)
        _answer({})


def _let_go_of_streams() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)


def _answer(words: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def _end(hosts: list[int]) -> None:
    """Kill the hosts, and wait for them: a host has ended when all in it has been reaped by its parents."""
    for host in hosts:
        with contextlib.suppress(ProcessLookupError):
            os.kill(host, signal.SIGKILL)
    until = time.monotonic() + END_LIMIT_S
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < until:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.005)


def main() -> int:
    """Keep one cluster; see the module's docstring."""
    commands = open(0, "rb", buffering=0)  # noqa: SIM115
    spec = json.loads(commands.readline())
    owner = os.pidfd_open(spec["owner"])
    if os.getppid() != spec["owner"]:
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    os.chdir("/")  # holds nobody's folder
    hosts: list[int] = []
    try:
        state = _locked(spec["path"], spec["name"])
        try:
            own_user = _leave_machine()
            for host in spec["hosts"]:
                hosts.append(_start_host(host, spec["settings"]))
            _answer({"keeper": os.getpid(), "hosts": hosts, "own_user": own_user})
            _obey(commands, state, owner)
        finally:
            _end(hosts)
            os.unlink(spec["path"])
    except (Refused, OSError) as error:
        _answer({"error": str(error)})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
