# SPDX-License-Identifier: Apache-2.0
"""Commands that run side by side: their output line by line behind a label each, and the end of all when one fails."""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import BinaryIO

#: How often, once a command has failed, it is asked whether the others are to be ended.
_GLANCE_S = 0.1


class Running:
    """A running command: the leader of a process group, with pipes for its output.

    It may take `grace_s` seconds to end when it is asked to, and is killed then.

    Parameters
    ----------
    label : prefix of its lines, in brackets; "" for none.
    process : reaped last, so that the group keeps its number.
    """

    grace_s = 3.0

    def __init__(self, label: str, process: subprocess.Popen[bytes]) -> None:
        self.label = label
        self.process = process
        self.ending = os.pidfd_open(process.pid)
        self._unfinished: dict[int, bytes] = {}

    def take(self, source: int, stream: BinaryIO) -> bool:
        """Print the whole lines that have come from one of its pipes; return whether that is still open."""
        data = os.read(source, 1 << 16)
        *lines, rest = (self._unfinished.get(source, b"") + data).split(b"\n")
        if not data and rest:
            lines.append(rest)
        self._unfinished[source] = rest
        if lines:
            stream.write(b"".join(self.line(line, source) for line in lines))
            stream.flush()
        return bool(data)

    def line(self, line: bytes, source: int) -> bytes:
        """Return the printed form of one of its lines, which came from one of its pipes."""
        prefix = f"[{self.label}] ".encode() if self.label else b""
        return prefix + line + b"\n"

    def glance(self) -> bool:
        """Do the work that is due; return whether there may soon be more."""
        return False

    def exit_code(self) -> int:
        """Return how it has ended, as a shell has it: 128 and the signal's number where it was killed."""
        status = os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        assert status is not None
        return status.si_status if status.si_code == os.CLD_EXITED else 128 + status.si_status

    def signal(self, number: int) -> None:
        """Send a signal to it and to the processes that it has started; nothing where all of them are gone."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def ask_to_end(self) -> None:
        """Ask it to end."""
        self.signal(signal.SIGTERM)

    def end(self) -> None:
        """Kill and reap it."""
        self.signal(signal.SIGKILL)
        self.process.wait()
        os.close(self.ending)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


@contextlib.contextmanager
def ended_in_the_end(commands: Sequence[Running]) -> Iterator[None]:
    """End all that run, however the block ends: ask, then kill. SIGTERM and SIGHUP end the block as Ctrl-C does."""

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number in (*before, signal.SIGINT):
            before.setdefault(number, signal.getsignal(number))
            signal.signal(number, signal.SIG_IGN)
        _end(commands)
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(commands: Sequence[Running]) -> None:
    for command in commands:
        command.ask_to_end()
    began = time.monotonic()
    for command in commands:
        select.select([command.ending], [], [], max(0.0, began + command.grace_s - time.monotonic()))
    for command in commands:
        command.end()


class Attention:
    """The reaction to commands that end; this one lets all of them run to their ends."""

    def heed(self, command: Running, code: int, *, was_asked: bool) -> None:
        """Take in a command's exit code; `was_asked`: all had been asked to end before."""

    def has_seen_enough(self) -> bool:
        """Whether all are to be asked to end. Asked now and then."""
        return False


def attend(
    commands: Sequence[Running],
    attention: Attention,
    *,
    lifeline: int | None = None,
    out: BinaryIO | None = None,
) -> list[int]:
    """Print the commands' output until all have ended, and return their exit codes.

    Parameters
    ----------
    commands : processes that have pipes for standard output and error.
    attention : told of each that ends, and asked when the others are to be ended: asked to, and killed when their time
        is over.
    lifeline : descriptor, optional; SystemExit is raised when its other end is closed.
    out : where to print standard output; to standard output, if None.
    """
    codes: dict[Running, int] = {}
    asked_at: float | None = None
    with selectors.DefaultSelector() as selector:
        _watch(selector, commands, out or sys.stdout.buffer)
        if lifeline is not None:
            selector.register(lifeline, selectors.EVENT_READ)
        while len(codes) < len(commands):
            if asked_at is None and attention.has_seen_enough():
                asked_at = _end_others(commands)
            if asked_at is not None:
                for command in commands:
                    if time.monotonic() > asked_at + command.grace_s:
                        command.signal(signal.SIGKILL)
            is_impatient = any([command.glance() for command in commands]) or any(codes.values())
            for key, _ in selector.select(_GLANCE_S if is_impatient else None):
                if key.data is None:
                    raise SystemExit(128 + signal.SIGHUP)
                ended = _heed(selector, key)
                if ended is not None:
                    codes[ended] = ended.exit_code()
                    attention.heed(ended, codes[ended], was_asked=asked_at is not None)
        if lifeline is not None:
            selector.unregister(lifeline)
        # the output that they have left behind, but nothing that is still being written
        while ready := selector.select(0):
            for key, _ in ready:
                _heed(selector, key)
    return [codes[command] for command in commands]


def _watch(selector: selectors.BaseSelector, commands: Sequence[Running], out: BinaryIO) -> None:
    for command in commands:
        selector.register(command.ending, selectors.EVENT_READ, (command, None))
        for pipe, stream in ((command.process.stdout, out), (command.process.stderr, sys.stderr.buffer)):
            if pipe is not None:
                selector.register(pipe.fileno(), selectors.EVENT_READ, (command, stream))


def _heed(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> Running | None:
    """Take in what has happened; return the command if it has ended."""
    command: Running
    command, stream = key.data
    if stream is None:
        selector.unregister(key.fd)
        return command
    if not command.take(key.fd, stream):
        selector.unregister(key.fd)
    return None


def _end_others(commands: Sequence[Running]) -> float:
    """Ask all to end, and return when they were asked."""
    for command in commands:
        command.ask_to_end()
    return time.monotonic()
