"""Start local ranks from Python: each is a process of its own that calls one function."""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import selectors
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeVar, overload

from hemiola._core import Topology
from hemiola.arguments import typed
from hemiola.communicator.emulation import Emulation
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError, FailedRankError, TimeoutError
from hemiola.launch.meeting_place import MeetingPlace, Secret
from hemiola.launch.place import Place, thread_limit
from hemiola.launch.report import REPORT_LENGTH
from hemiola.launch.travel import packed_call, script

Result = TypeVar("Result")

#: After a first failure: how long others may take to fail, too, so that the cause can be told from its effects.
_GRACE_S = 1.0
_MOST_RANKS = 1024
#: Whether this process is a rank that is importing the script which launched it.
_importing_script = False


@overload
def launch(
    fn: Callable[..., Result],
    ranks: int,
    *args: Any,
    emulate: Topology | str | os.PathLike[str] | None = None,
    conditions: Conditions | None = None,
    timeout_s: float | None = None,
    on_failure: Literal["raise"] = "raise",
) -> list[Result]: ...


@overload
def launch(
    fn: Callable[..., Result],
    ranks: int,
    *args: Any,
    emulate: Topology | str | os.PathLike[str] | None = None,
    conditions: Conditions | None = None,
    timeout_s: float | None = None,
    on_failure: Literal["continue"],
) -> list[Result | FailedRankError | TimeoutError]: ...


@typed
def launch(
    fn: Callable[..., Any],
    ranks: int,
    *args: Any,
    emulate: Topology | str | os.PathLike[str] | None = None,
    conditions: Conditions | None = None,
    timeout_s: float | None = None,
    on_failure: Literal["raise", "continue"] = "raise",
) -> list[Any]:
    """Call a function on several local ranks and return what each of them returns.

    Parameters
    ----------
    fn : a function of a module, of the script itself (which then needs the usual `if __name__ == "__main__":` around
        the launching part), of a notebook, of `python -c`, or defined where it is used. In it, `hemiola.init()`
        returns the communicator of the ranks.
    ranks : int, 1 … 1024.
    args : passed to fn; must be picklable.
    emulate : Topology or the path of its file, optional; the network that `hemiola.init()` in the ranks
        emulates.
    conditions : Conditions, optional; late and slow ranks of the emulated network.
    timeout_s : float, optional; how long all of it may take.
    on_failure : "raise" or "continue". What to do when a rank fails: end the others and raise, or let them finish.

    Returns
    -------
    list of the ranks' results, in order; must be picklable. With on_failure="continue" the entry of a rank that
    failed is the FailedRankError, and of one that was not done after `timeout_s` the TimeoutError, that would
    have been raised for it.

    Raises
    ------
    FailedRankError
        naming the rank whose function raised or whose process died, with its traceback; what it raised is
        the `__cause__`. The other ranks are ended. Not with on_failure="continue".
    TimeoutError
        naming the ranks that were not done after `timeout_s`. They are ended. Not with on_failure="continue".
    ArgumentError
        for a number of ranks out of range, a network that does not have that many, another word for on_failure, or
        a function or arguments that cannot be pickled.

    Notes
    -----
    No process is left behind, whatever happens: ranks, and what they have started and not put into a process group
    of its own, are ended with this call, and the kernel ends ranks if this process is killed. A rank is done when its
    process has ended, which waits for threads that the function has left behind. Ctrl-C interrupts this process only,
    which then ends the ranks. Unless OMP_NUM_THREADS is set, it is set for the ranks so that their numerical
    libraries share the cores: with a thread per core in each rank, those that wait for each other in a
    matrix product take the cores from the ranks that work.
    """
    if not isinstance(ranks, int) or not 1 <= ranks <= _MOST_RANKS:
        raise ArgumentError(f"launch: expected 1 … {_MOST_RANKS} ranks, found {ranks!r}")
    if _importing_script:
        raise ArgumentError(
            "launch: called again while a rank imports the script that launched it; put the call under "
            "if __name__ == '__main__':"
        )
    if on_failure not in ("raise", "continue"):
        raise ArgumentError(f"launch: expected on_failure='raise' or 'continue', found {on_failure!r}")
    emulation = Emulation.of(emulate, conditions)
    if emulation is not None:
        emulation.check(ranks)
    with _Payload(fn, args, emulation) as payload:
        processes = _RankProcesses(ranks, payload)
        try:
            if on_failure == "continue":
                return processes.outcomes(timeout_s)
            return processes.results(timeout_s)
        finally:
            processes.end()


@contextlib.contextmanager
def importing_script() -> Iterator[None]:
    """Mark the time in which a rank imports the launching script, whose top level must not launch again."""
    global _importing_script
    _importing_script = True
    try:
        yield
    finally:
        _importing_script = False


class _Payload:
    """What the ranks are to call, in an anonymous file that they inherit."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], emulation: Emulation | None) -> None:
        # How to find a script's own functions in another process is multiprocessing's knowledge. Imported
        # here, because every rank imports this module and hardly any launches.
        import multiprocessing.spawn

        preparation = multiprocessing.spawn.get_preparation_data("hemiola rank")
        preparation.pop("authkey", None)  # ours have nothing to authenticate
        if script() is None:
            preparation.pop("init_main_from_path", None)  # '<stdin>' is no file
        try:
            call = packed_call(fn, args)
        except Exception as error:  # whatever an object's own reduction raises
            raise ArgumentError(
                f"launch: the function and its arguments, and what the function uses, must be picklable, and one of "
                f"them is not: {error}"
            ) from error
        self.descriptor = os.memfd_create("hemiola-launch")
        with os.fdopen(self.descriptor, "wb", closefd=False) as file:
            file.write(pickle.dumps((preparation, emulation, call)))

    def __enter__(self) -> _Payload:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)


class _Rank:
    """One process, and what it has reported.

    The process leads a group of its own, in which is what it starts, and is reaped last, so that the group keeps its
    number. That it has ended is read from a process descriptor: a child of its own may hold its end of the pipe.
    """

    def __init__(self, process: subprocess.Popen[bytes], pipe: int) -> None:
        self.process = process
        self.pipe = pipe
        self.ending = os.pidfd_open(process.pid)
        self.report = bytearray()
        self.has_ended = False
        self.has_hung_up = False
        #: When it reported how its function ended, or ended without a report.
        self.finished_at: float | None = None

    def look(self) -> None:
        """Take in what it has written, and whether it has ended."""
        self.has_ended = self.has_ended or bool(select.select([self.ending], [], [], 0)[0])
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self.pipe, 1 << 20):
                self.report += data
            self.has_hung_up = True
        if self.finished_at is None and (self.has_ended or self._has_reported()):
            self.finished_at = time.monotonic()

    def _has_reported(self) -> bool:
        length_bytes = REPORT_LENGTH.size
        if len(self.report) < length_bytes:
            return False
        expected_bytes: int = REPORT_LENGTH.unpack_from(self.report)[0]
        return len(self.report) >= length_bytes + expected_bytes

    def _exit_code(self) -> int:
        """Return how its process ended, as subprocess has it; 0 while it has not."""
        if not self.has_ended:
            return 0
        status = os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        assert status is not None
        return status.si_status if status.si_code == os.CLD_EXITED else -status.si_status

    def outcome(self) -> tuple[str, Any]:
        """Return ("result", value) or ("error", (exception or None, text)); only when it has finished."""
        code = self._exit_code()
        if self._has_reported() and code >= 0:
            with contextlib.suppress(Exception):
                kind, value = pickle.loads(memoryview(self.report)[REPORT_LENGTH.size :])
                return kind, pickle.loads(value) if kind == "result" else value
        if code < 0:
            return "error", (None, f"killed by signal {-code} ({signal.Signals(-code).name})")
        return "error", (None, f"its process ended with exit code {code} before the function returned")

    def unfinished(self) -> str:
        """Say what keeps it from being done."""
        return (
            " (its function has returned; a thread that it has left behind runs on)"
            if self.finished_at
            else ""
        )

    def end(self) -> None:
        """Kill it and what it has started, and reap it."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except PermissionError:  # something in the group has become another user's
            self.process.kill()
        self.process.wait()
        os.close(self.pipe)
        os.close(self.ending)


def _failure(rank: int, cause: BaseException | None, text: str) -> FailedRankError:
    """Return the error that tells of a rank's failure."""
    error = FailedRankError(f"rank {rank}: {text}", rank=rank)
    error.__cause__ = cause
    return error


class _RankProcesses:
    """The processes of one launch."""

    def __init__(self, count: int, payload: _Payload) -> None:
        self._ranks: list[_Rank] = []
        self._selector = selectors.DefaultSelector()
        job = uuid.uuid4().hex
        meeting = MeetingPlace.on_this_host()
        try:
            with Secret(meeting.token) as secret:
                for rank in range(count):
                    place = Place(rank, count, rank, count, job, meeting.rendezvous, secret.text)
                    variables = meeting.variables | thread_limit(count) | os.environ | place.variables()
                    self._start(variables, secret, payload)
        except BaseException:
            self.end()
            raise

    def _start(self, environment: Mapping[str, str], secret: Secret, payload: _Payload) -> None:
        read_end, write_end = os.pipe()
        command = [sys.executable, "-m", "hemiola.launch.rank"]
        numbers = [str(payload.descriptor), str(write_end), str(os.getpid())]
        try:
            process = subprocess.Popen(
                command + numbers,
                env=environment,
                pass_fds=(payload.descriptor, write_end, *secret.descriptors),
                stdin=subprocess.DEVNULL,
                process_group=0,
            )
        finally:
            os.close(write_end)
        os.set_blocking(read_end, False)
        self._ranks.append(_Rank(process, read_end))
        for source in (read_end, self._ranks[-1].ending):
            self._selector.register(source, selectors.EVENT_READ, self._ranks[-1])

    def results(self, timeout_s: float | None) -> list[Any]:
        """Wait for all ranks; raise for the first that failed."""
        self._wait(timeout_s, until_failure=True)
        return self._conclude(timeout_s)

    def outcomes(self, timeout_s: float | None) -> list[Any]:
        """Wait for all ranks, whatever happens to some; return what each returned, or the error of one that did not."""
        self._wait(timeout_s, until_failure=False)
        return [self._outcome_of(number, timeout_s) for number in range(len(self._ranks))]

    def _wait(self, timeout_s: float | None, *, until_failure: bool) -> None:
        """Read reports until all ranks are done, time is up, or others have had time to fail after a first one."""
        deadline = time.monotonic() + timeout_s if timeout_s is not None else None
        failed_at: float | None = None
        while self._selector.get_map():
            limits = [limit for limit in (deadline, failed_at and failed_at + _GRACE_S) if limit is not None]
            left_s = min(limits) - time.monotonic() if limits else None
            if left_s is not None and left_s <= 0:
                break
            for key, _ in self._selector.select(left_s):
                finished = self._has_finished(key.data)
                if finished and until_failure and failed_at is None and key.data.outcome()[0] == "error":
                    failed_at = time.monotonic()

    def _has_finished(self, rank: _Rank) -> bool:
        """Take in what a rank has written, and listen no longer to what can say nothing new."""
        rank.look()
        has_finished = rank.finished_at is not None
        for source, is_over in ((rank.pipe, has_finished or rank.has_hung_up), (rank.ending, rank.has_ended)):
            if is_over and source in self._selector.get_map():
                self._selector.unregister(source)
        return has_finished

    def _outcome_of(self, number: int, timeout_s: float | None) -> Any:
        """Return a rank's result, or the error that says why there is none."""
        rank = self._ranks[number]
        if rank.finished_at is None or not rank.has_ended:
            return TimeoutError(f"launch: not done after {timeout_s:g} s: rank {number}{rank.unfinished()}")
        kind, value = rank.outcome()
        return _failure(number, *value) if kind == "error" else value

    def _conclude(self, timeout_s: float | None) -> list[Any]:
        finished = [
            (rank.finished_at, number, *rank.outcome())
            for number, rank in enumerate(self._ranks)
            if rank.finished_at is not None
        ]
        errors = [(time_, number, value) for time_, number, kind, value in finished if kind == "error"]
        if errors:
            # A process that died explains what the others raise; then whoever raised first.
            _, number, (error, text) = min(errors, key=lambda e: (e[2][0] is not None, e[0]))
            raise _failure(number, error, text)
        if not all(rank.has_ended for rank in self._ranks):
            missing = [f"{n}{rank.unfinished()}" for n, rank in enumerate(self._ranks) if not rank.has_ended]
            raise TimeoutError(f"launch: not done after {timeout_s:g} s: rank {', '.join(missing)}")
        return [value for _, _, _, value in finished]

    def end(self) -> None:
        """Kill what still runs, and reap all."""
        for rank in self._ranks:
            rank.end()
        self._ranks.clear()
        self._selector.close()
