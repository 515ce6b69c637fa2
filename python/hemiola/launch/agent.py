# SPDX-License-Identifier: Apache-2.0
"""The agent on each host of a launched program: python -m hemiola.launch.agent starts the host's ranks and ends with
them, and they with it.

It reads a line of JSON on standard input (an Order), answers with one (a Readiness, or an error), reads where rank 0
listens, and starts the ranks. When standard input is closed, because the launcher has ended or its connection is cut,
it ends them. The job's token comes that way and goes on in an anonymous file, never in arguments or the environment."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import hemiola
from hemiola._core import refusal
from hemiola.environment import INTERFACE, IP_FAMILY, PIN, reachable_addresses
from hemiola.environment.kernel import adopt_orphans, end_with_parent
from hemiola.errors import ArgumentError
from hemiola.launch.cores import keep_on_its_cores
from hemiola.launch.culprit import Failure, Outcome, culprit_of
from hemiola.launch.held_traceback import HeldTraceback
from hemiola.launch.last_words import LastWords
from hemiola.launch.meeting_place import MeetingPlace, Secret, free_port
from hemiola.launch.place import Place, thread_limit
from hemiola.launch.side_by_side import Attention, Running, attend, ended_in_the_end
from hemiola.machine.refusals import is_limit

#: After a first failure: how long others may take to fail, too; and the rank to blame, once it has said that it ends.
GRACE_S = 1.0
_ENDING_LIMIT_S = 10.0
#: Begins the line on standard error by which an agent tells its launcher how its ranks ended.
OUTCOME_MARK = "\x1ehemiola outcome "


@dataclass(frozen=True)
class Order:
    """An agent's order: its ranks are `first_rank` and those after it."""

    command: list[str]
    folder: str
    environment: dict[str, str]
    first_rank: int
    local_rank_count: int
    rank_count: int
    job: str
    token: str
    labels: bool
    verbose: bool


@dataclass(frozen=True)
class Readiness:
    """An agent's answer before anything runs.

    `address` is one at which other hosts reach this one, `port` one that is free at this moment; "" and 0 where the job
    has no other hosts.
    """

    version: str
    address: str
    port: int


def main() -> int:
    """Be an agent; see the module's docstring."""
    adopt_orphans()  # orphans of the ranks become ours, and end with us
    order = Order(**json.loads(sys.stdin.readline()))
    try:
        os.chdir(order.folder)
    except OSError as error:
        _answer({"error": f"folder '{order.folder}': {error.strerror}"})
        return 2
    os.environ.update(order.environment)
    try:
        meeting = None if order.token else MeetingPlace.on_this_host()
        _answer(asdict(_readiness(order)))
    except ArgumentError as error:
        _answer({"error": str(error)})
        return 2
    line = sys.stdin.readline()
    if not line:
        return 1
    try:
        told = json.loads(line)["rendezvous"]
        return _run(order, meeting or MeetingPlace(told, bytes.fromhex(order.token)))
    except BrokenPipeError:  # the ranks' output has no reader: the launcher has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGHUP
    finally:
        _end_orphans()


class _Rank(Running):
    """A rank, whose traceback is held back: what ends it is told once for all ranks."""

    def __init__(self, label: str, process: subprocess.Popen[bytes], *, is_shown: bool) -> None:
        super().__init__(label, process)
        self._held = HeldTraceback(is_shown=is_shown)
        #: Whether its job is failing, so that its held lines belong to that.
        self.keeps = False

    def line(self, line: bytes, source: int) -> bytes:
        """Hold it back from a traceback on."""
        assert self.process.stderr is not None
        lines = self._held.take(line) if source == self.process.stderr.fileno() else [line]
        return self._labelled(lines, source)

    def glance(self) -> bool:
        """Print what was held of a rank that goes on."""
        if self._held.is_overdue() and not self.keeps:
            self.give_back()
        return self._held.holds

    def give_back(self) -> None:
        """Print what is held after all."""
        sys.stderr.buffer.write(self._labelled(self._held.given_back(), -1))
        sys.stderr.buffer.flush()

    def last_text(self) -> str:
        """Return what is held."""
        return self._held.text()

    def _labelled(self, lines: Sequence[bytes], source: int) -> bytes:
        return b"".join(super(_Rank, self).line(line, source) for line in lines)


class _RanksOfThisHost(Attention):
    """Which of this host's ranks have failed by themselves.

    The others may fail, too, before they are ended, so that the cause can be told from its effects.
    """

    def __init__(self, order: Order, words: LastWords) -> None:
        self.ranks: list[_Rank] = []
        self.failures: list[Failure] = []
        self._first_rank, self._words = order.first_rank, words

    def heed(self, command: Running, code: int, *, was_asked: bool) -> None:
        """Note a rank that has failed."""
        assert isinstance(command, _Rank)
        rank = self._first_rank + self.ranks.index(command)
        if code != 0 and not was_asked:
            for each in self.ranks:
                each.keeps = True
            self.failures.append(Failure(rank, time.monotonic(), self._words.said().get(rank), code))

    def has_seen_enough(self) -> bool:
        """Whether the culprit has ended, if it is about to, and the others have had time to fail."""
        if not self.failures:
            return False
        culprit = culprit_of(self.failures)
        is_ending = culprit in self._words.said() and culprit not in (each.rank for each in self.failures)
        return time.monotonic() > self.failures[0].ended_s + (_ENDING_LIMIT_S if is_ending else GRACE_S)

    def outcome(self) -> Outcome:
        """Return how all have ended; only once they have been reaped."""
        codes = {
            self._first_rank + i: _as_a_shell(rank.process.returncode) for i, rank in enumerate(self.ranks)
        }
        made = Outcome(self.failures, codes, dict.fromkeys(codes, socket.gethostname()))
        by_itself = {failure.rank for failure in self.failures}
        for number, rank in enumerate(self.ranks, self._first_rank):
            if codes[number] == 0:
                rank.give_back()
            elif text := rank.last_text():
                made.texts[number] = text
                if number not in by_itself:
                    cause = self._words.said().get(number)
                    made.late.append(Failure(number, time.monotonic(), cause, codes[number]))
        return made


def _run(order: Order, meeting: MeetingPlace) -> int:
    """Run the ranks, and tell the launcher how they ended; return the exit code of the one to blame, or 0."""
    with LastWords() as words:
        host = _RanksOfThisHost(order, words)
        try:
            with ended_in_the_end(host.ranks):
                try:
                    for rank in _started(order, meeting, words):
                        host.ranks.append(rank)
                except OSError as error:
                    what = f"'{order.command[0]}', rank {order.first_rank + len(host.ranks)}"
                    is_ours = is_limit(error)
                    line = (
                        refusal(what, error.errno or 0)
                        if is_ours
                        else f"'{order.command[0]}': {error.strerror}"
                    )
                    print(f"hemiola: {line}", file=sys.stderr)
                    return 125 if is_ours else 127
                attend(host.ranks, host, lifeline=0)
        finally:
            outcome = host.outcome()
            print(OUTCOME_MARK + outcome.packed(), file=sys.stderr, flush=True)
    return outcome.exit_code


def _as_a_shell(code: int) -> int:
    return code if code >= 0 else 128 - code


def _started(order: Order, meeting: MeetingPlace, words: LastWords) -> Iterator[_Rank]:
    """Start the ranks one after the other."""
    agent = os.getpid()
    with Secret(meeting.token) as secret:
        for local_rank in range(order.local_rank_count):
            rank = order.first_rank + local_rank
            place = Place(
                rank,
                order.rank_count,
                local_rank,
                order.local_rank_count,
                order.job,
                meeting.rendezvous,
                secret.text,
            )
            defaults = meeting.variables | thread_limit(order.local_rank_count) | {"PYTHONUNBUFFERED": "1"}
            told = place.variables() | words.variables
            process = subprocess.Popen(
                order.command,
                env=defaults | os.environ | told,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                process_group=0,
                pass_fds=(*secret.descriptors, words.descriptor),
                preexec_fn=partial(_before_it_runs, agent, local_rank, order.local_rank_count),
            )
            yield _Rank(str(rank) if order.labels else "", process, is_shown=order.verbose)


def _before_it_runs(agent: int, local_rank: int, local_rank_count: int) -> None:
    end_with_parent(agent)
    keep_on_its_cores(local_rank, local_rank_count)


def _readiness(order: Order) -> Readiness:
    PIN.value()  # told before anything runs where it cannot be read
    if order.local_rank_count == order.rank_count:
        return Readiness(hemiola.__version__, "", 0)
    address = reachable_addresses(INTERFACE.value(), IP_FAMILY.value())[0].address
    return Readiness(hemiola.__version__, str(address), free_port())


def _answer(words: dict[str, object]) -> None:
    print(json.dumps(words), flush=True)


def _end_orphans() -> None:
    """Kill what ranks have left behind in groups of its own."""
    children = f"/proc/self/task/{os.getpid()}/children"
    with suppress(ChildProcessError, FileNotFoundError):
        while orphans := Path(children).read_text().split():
            for orphan in map(int, orphans):
                os.kill(orphan, signal.SIGKILL)
                os.waitpid(orphan, 0)


if __name__ == "__main__":
    sys.exit(main())
