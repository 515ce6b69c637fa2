"""Start local ranks from Python: each is a process of its own that calls one function."""

from __future__ import annotations

import contextlib
import multiprocessing.spawn
import os
import pickle
import selectors
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from hemiola._core import Topology
from hemiola.conditions import Conditions
from hemiola.emulation import Emulation
from hemiola.errors import ArgumentError, FailedRankError, TimeoutError
from hemiola.launch_environment import JOB, RANK, RANK_COUNT

Result = TypeVar("Result")

#: After a first failure: how long others may take to fail, too, so that the cause can be told from its effects.
_GRACE_S = 1.0
_MOST_RANKS = 1024
#: Whether this process is a rank that is importing the script which launched it.
_importing_script = False


def launch(
    fn: Callable[..., Result],
    ranks: int,
    *args: Any,
    emulate: Topology | str | os.PathLike[str] | None = None,
    conditions: Conditions | None = None,
    timeout_s: float | None = None,
) -> list[Result]:
    """Call a function on several local ranks and return what each of them returns.

    Parameters
    ----------
    fn : a function that can be imported by name: of a module, or of the script itself (which then needs the
        usual `if __name__ == "__main__":` around the launching part). In it, `hemiola.init()` returns the
        communicator of the ranks.
    ranks : int, 1 … 1024.
    args : passed to fn; must be picklable.
    emulate : Topology or the path of its file, optional; the network that `hemiola.init()` in the ranks
        emulates.
    conditions : Conditions, optional; late and slow ranks of the emulated network.
    timeout_s : float, optional; how long all of it may take.

    Returns
    -------
    list of the ranks' results, in order; must be picklable.

    Raises
    ------
    FailedRankError
        naming the rank whose function raised or whose process died, with its traceback; what it raised is
        the `__cause__`. The other ranks are ended.
    TimeoutError
        naming the ranks that were not done after `timeout_s`. They are ended.
    ArgumentError
        for a number of ranks out of range, a network that does not have that many, or a function or
        arguments that cannot be pickled.

    Notes
    -----
    No process is left behind, whatever happens: ranks are ended with this call, and the kernel ends them
    if this process is killed. Unless OMP_NUM_THREADS is set, it is set for the ranks so that their numerical
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
    emulation = Emulation.of(emulate, conditions)
    if emulation is not None:
        emulation.check(ranks)
    with _Payload(fn, args, emulation) as payload:
        processes = _RankProcesses(ranks, payload)
        try:
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


def _thread_limit(ranks: int) -> dict[str, str]:
    """Return the variable that gives every rank's numerical libraries an equal share of the cores."""
    return {"OMP_NUM_THREADS": str(max(1, len(os.sched_getaffinity(0)) // ranks))}


class _Payload:
    """What the ranks are to call, in an anonymous file that they inherit."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], emulation: Emulation | None) -> None:
        # How to find a script's own functions in another process is multiprocessing's knowledge.
        preparation = multiprocessing.spawn.get_preparation_data("hemiola rank")
        preparation.pop("authkey", None)  # ours have nothing to authenticate
        try:
            call = pickle.dumps((fn, args))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ArgumentError(
                f"launch: the function and its arguments must be picklable, so no lambdas and no functions "
                f"within functions: {error}"
            ) from error
        self.descriptor = os.memfd_create("hemiola-launch")
        with os.fdopen(self.descriptor, "wb", closefd=False) as file:
            file.write(pickle.dumps((preparation, emulation, call)))

    def __enter__(self) -> _Payload:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)


class _Rank:
    """One process, and what it has reported."""

    def __init__(self, process: subprocess.Popen[bytes], pipe: int) -> None:
        self.process = process
        self.pipe = pipe
        self.report = bytearray()
        self.finished_at: float | None = None

    def outcome(self) -> tuple[str, Any]:
        """Return ("result", value) or ("error", (exception or None, text)); only when it has finished."""
        code = self.process.wait()
        if self.report and code >= 0:
            with contextlib.suppress(Exception):
                kind, value = pickle.loads(bytes(self.report))
                return kind, pickle.loads(value) if kind == "result" else value
        if code < 0:
            return "error", (None, f"killed by signal {-code} ({signal.Signals(-code).name})")
        return "error", (None, f"its process ended with exit code {code} before the function returned")


class _RankProcesses:
    """The processes of one launch."""

    def __init__(self, count: int, payload: _Payload) -> None:
        self._ranks: list[_Rank] = []
        self._selector = selectors.DefaultSelector()
        job = uuid.uuid4().hex
        try:
            for rank in range(count):
                self._start(rank, count, job, payload)
        except BaseException:
            self.end()
            raise

    def _start(self, rank: int, count: int, job: str, payload: _Payload) -> None:
        read_end, write_end = os.pipe()
        environment = _thread_limit(count) | os.environ | {RANK: str(rank), RANK_COUNT: str(count), JOB: job}
        command = [sys.executable, "-m", "hemiola.launch_rank"]
        numbers = [str(payload.descriptor), str(write_end), str(os.getpid())]
        try:
            process = subprocess.Popen(
                command + numbers,
                env=environment,
                pass_fds=(payload.descriptor, write_end),
                stdin=subprocess.DEVNULL,
            )
        finally:
            os.close(write_end)
        os.set_blocking(read_end, False)
        self._ranks.append(_Rank(process, read_end))
        self._selector.register(read_end, selectors.EVENT_READ, self._ranks[-1])

    def results(self, timeout_s: float | None) -> list[Any]:
        """Wait for all ranks; raise for the first that failed."""
        deadline = time.monotonic() + timeout_s if timeout_s is not None else None
        failed_at: float | None = None
        while self._selector.get_map():
            limits = [limit for limit in (deadline, failed_at and failed_at + _GRACE_S) if limit is not None]
            left_s = min(limits) - time.monotonic() if limits else None
            if left_s is not None and left_s <= 0:
                break
            for key, _ in self._selector.select(left_s):
                if self._read(key.data) and key.data.outcome()[0] == "error" and failed_at is None:
                    failed_at = time.monotonic()
        return self._conclude(timeout_s)

    def _read(self, rank: _Rank) -> bool:
        """Take in what a rank has written; True once it has closed its end."""
        data = os.read(rank.pipe, 1 << 20)
        rank.report += data
        if data:
            return False
        self._selector.unregister(rank.pipe)
        rank.finished_at = time.monotonic()
        return True

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
            raise FailedRankError(f"rank {number}: {text}", rank=number) from error
        if len(finished) < len(self._ranks):
            missing = [str(n) for n, rank in enumerate(self._ranks) if rank.finished_at is None]
            raise TimeoutError(f"launch: not done after {timeout_s:g} s: rank {', '.join(missing)}")
        return [value for _, _, _, value in finished]

    def end(self) -> None:
        """Kill what still runs, and reap all."""
        for rank in self._ranks:
            if rank.process.poll() is None:
                rank.process.kill()
        for rank in self._ranks:
            rank.process.wait()
            os.close(rank.pipe)
        self._ranks.clear()
        self._selector.close()
