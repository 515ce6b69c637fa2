"""What a user holds: ranks that can run collectives together, on NumPy arrays."""

from __future__ import annotations

import atexit
import builtins
import os
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hemiola import _core
from hemiola._core import Schedule, Topology
from hemiola.arrivals import Arrivals
from hemiola.communicator_plans import CommunicatorPlans
from hemiola.conditions import Conditions
from hemiola.emulation import Emulation, launched_emulation
from hemiola.errors import ArgumentError, HemiolaError
from hemiola.health import Health
from hemiola.launch_environment import job_of
from hemiola.planner import Plan

Array = NDArray[Any]

#: Seconds that an operation may take unless it says otherwise.
DEFAULT_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class CommunicatorOptions:
    """What `init` was asked for; groups inherit it."""

    timeout_s: float
    keep_inputs: bool
    arbiter: bool = False
    emulation: Emulation | None = None


class Handle:
    """An operation that runs in the background; its arrays must not be touched until it is done."""

    def __init__(self, pending: _core.PendingOperation, result: Array | None) -> None:
        self._pending = pending
        self._result = result

    def wait(self, timeout_s: float | None = None) -> Array | None:
        """Wait for the end and return what the blocking call would have returned.

        Parameters
        ----------
        timeout_s : float, optional; how long to wait here. The operation itself goes on.

        Raises
        ------
        builtins.TimeoutError
            when it is still running after `timeout_s`.
        MismatchError, LostRankError, TimeoutError
            what the operation raised.
        """
        if not self._pending.wait(timeout_s):
            raise builtins.TimeoutError(f"the operation is still running after {timeout_s} s")
        return self._result

    def done(self) -> bool:
        """Say whether the operation is over, one way or the other."""
        return self._pending.done()


class Communicator:
    """Ranks that can run collectives together.

    Every rank makes the same calls in the same order. Arrays are NumPy arrays, contiguous in C order, of
    float16, bfloat16 (ml_dtypes), float32, float64, any integer, bool, complex64 or complex128; `op` is one
    of sum, product, min, max, average, and, or, xor, where it makes sense for the type. Results are the
    same, bit for bit, on every rank and in every run with the same schedule.

    All collectives take

    schedule : Schedule or str, optional. A schedule of your own, or an algorithm's name from
        `hemiola.algorithms.names()`. None lets the planner choose, the same on every rank, also for what it has
        noticed since: slow ports (see `health`), late ranks (see `expects_late_rank`).
        "all_reduce_late" finds the late rank itself, anew in every call: the others reduce among themselves
        until it comes. Then the order of adding, and so a float's last bits, depend on who was late.
    out : array, optional. Where the result goes, in any shape of the right size and type. Where it is the
        same memory as the input (for a gather or scatter: the rank's own block of the larger array), the
        operation runs in place.
    wait : bool. With False the operation runs in the background, after those that were started before, and
        a Handle is returned at once.
    timeout_s : float, optional. How long the operation may take.

    and raise

    ArgumentError
        when this rank's arguments are wrong.
    MismatchError
        on every rank, when ranks disagree about shape, dtype, op, root, order or schedule, or one of them
        has raised ArgumentError. Inputs are as they were, and the communicator can be used further.
    LostRankError, TimeoutError
        on every rank, naming the rank that died or did not come in time. Inputs are as they were; the
        communicator cannot be used any more.

    After a MismatchError, LostRankError or TimeoutError, an array that was both input and output holds the
    input again (see `keep_inputs` of hemiola.init). An array that was only to be written, that is, an `out`
    apart from the input, or a broadcast's `x` on another rank than the root, may hold part of a result:
    nobody waits at the door for ranks that are late, so ranks that agree may have exchanged data by then.
    """

    def __init__(
        self, session: _core.LocalSession, ranks: Sequence[int], options: CommunicatorOptions
    ) -> None:
        self._session = session
        self._ranks = tuple(ranks)
        self._options = options
        emulation = options.emulation
        self._plans = CommunicatorPlans(self._ranks, options.emulation)
        self._core = _core.Communicator(
            session,
            list(self._ranks),
            options.timeout_s,
            options.keep_inputs,
            options.arbiter,
            emulation.topology if emulation else None,
            dict(emulation.conditions.late) if emulation else {},
            dict(emulation.conditions.slow) if emulation else {},
            self._plans.choose,
        )
        self._plans.measure(self._core)
        self.rank = self._core.rank
        self.rank_count = self._core.rank_count
        _open.add(self)

    @property
    def topology(self) -> Topology:
        """The emulated network; without one, this machine as measured at start-up: a switch, a port a rank."""
        return self._plans.network()

    def plan(self, kind: str, nbytes: int, root: int = 0) -> Plan:
        """Return the plan that a collective without a `schedule` of its own would run now.

        Parameters
        ----------
        kind : str, a collective such as "all_reduce".
        nbytes : int >= 0, bytes of the whole buffer, or of the larger of input and output.
        root : int, 0 … rank_count-1, for rooted collectives.

        Returns
        -------
        Plan, made for the next power of two of bytes, which all sizes below it share, and for the ranks that
        are known to be slow by now (see `health`). The same on every rank when asked after the same operation.

        Raises
        ------
        ArgumentError
            for a collective, size or root that does not exist.
        """
        return self._plans.plan(kind, nbytes, root, self._core.slow_in_force())

    def all_reduce(
        self,
        x: Array,
        op: str = "sum",
        *,
        schedule: Schedule | str | None = None,
        out: Array | None = None,
        wait: bool = True,
        timeout_s: float | None = None,
    ) -> Any:
        """Combine all ranks' arrays; every rank gets the result, in `x` unless `out` is given.

        Returns
        -------
        The array with the result, or a Handle.
        """
        if out is None:
            out = x
        if wait and schedule is None and timeout_s is None:
            self._core.run("all_reduce", x, out, op, 0, None, 0.0, "")
            return out
        return self._call("all_reduce", x, out, op, 0, schedule, wait, timeout_s)

    def reduce(
        self,
        x: Array,
        op: str = "sum",
        root: int = 0,
        *,
        schedule: Schedule | str | None = None,
        out: Array | None = None,
        wait: bool = True,
        timeout_s: float | None = None,
    ) -> Any:
        """Combine all ranks' arrays; the root gets the result, in its `x` unless `out` is given.

        Returns
        -------
        The array with the result on the root, None elsewhere, or a Handle.
        """
        result = (x if out is None else out) if root == self.rank else None
        return self._call("reduce", x, result, op, root, schedule, wait, timeout_s)

    def reduce_scatter(
        self,
        x: Array,
        op: str = "sum",
        *,
        schedule: Schedule | str | None = None,
        out: Array | None = None,
        wait: bool = True,
        timeout_s: float | None = None,
    ) -> Any:
        """Combine all ranks' arrays; rank r gets the r-th of rank_count equal parts along the first axis.

        Returns
        -------
        A new array with the part (`out` where given), or a Handle.
        """
        result = self._part_of("reduce_scatter", x, out)
        return self._call("reduce_scatter", x, result, op, 0, schedule, wait, timeout_s)

    def all_gather(
        self,
        x: Array,
        *,
        schedule: Schedule | str | None = None,
        out: Array | None = None,
        wait: bool = True,
        timeout_s: float | None = None,
    ) -> Any:
        """Put all ranks' arrays one after the other along the first axis; every rank gets the result.

        Returns
        -------
        A new array, rank_count times as long as `x` (`out` where given), or a Handle.
        """
        result = self._whole_of(x, out)
        return self._call("all_gather", x, result, "sum", 0, schedule, wait, timeout_s)

    def gather(
        self,
        x: Array,
        root: int = 0,
        *,
        schedule: Schedule | str | None = None,
        out: Array | None = None,
        wait: bool = True,
        timeout_s: float | None = None,
    ) -> Any:
        """Put all ranks' arrays one after the other along the first axis; the root gets the result.

        Returns
        -------
        A new array on the root (`out` where given), None elsewhere, or a Handle.
        """
        result = self._whole_of(x, out) if root == self.rank else None
        return self._call("gather", x, result, "sum", root, schedule, wait, timeout_s)

    def scatter(
        self,
        x: Array | None = None,
        root: int = 0,
        *,
        schedule: Schedule | str | None = None,
        out: Array | None = None,
        wait: bool = True,
        timeout_s: float | None = None,
    ) -> Any:
        """Give rank r the r-th of rank_count equal parts of the root's array along the first axis.

        Only the root's `x` is read. Elsewhere it is only asked for its shape and type, where no `out` is
        given.

        Returns
        -------
        A new array with the part (`out` where given), or a Handle.
        """
        result = out if x is None else self._part_of("scatter", x, out)
        brought = x if root == self.rank else None
        return self._call("scatter", brought, result, "sum", root, schedule, wait, timeout_s)

    def broadcast(
        self,
        x: Array | None = None,
        root: int = 0,
        *,
        schedule: Schedule | str | None = None,
        out: Array | None = None,
        wait: bool = True,
        timeout_s: float | None = None,
    ) -> Any:
        """Give every rank the root's array, in `x` unless `out` is given.

        Returns
        -------
        The array with the result, or a Handle.
        """
        result = x if out is None else out
        brought = x if root == self.rank else None
        return self._call("broadcast", brought, result, "sum", root, schedule, wait, timeout_s)

    def all_to_all(
        self,
        x: Array,
        *,
        schedule: Schedule | str | None = None,
        out: Array | None = None,
        wait: bool = True,
        timeout_s: float | None = None,
    ) -> Any:
        """Send the d-th of rank_count equal parts of `x` to rank d, and get one from each in rank order.

        Returns
        -------
        A new array like `x` (`out` where given), or a Handle.
        """
        result = np.empty_like(x) if out is None and isinstance(x, np.ndarray) else out
        return self._call("all_to_all", x, result, "sum", 0, schedule, wait, timeout_s)

    def custom(
        self,
        x: Array,
        op: str = "sum",
        *,
        schedule: Schedule,
        out: Array | None = None,
        wait: bool = True,
        timeout_s: float | None = None,
    ) -> Any:
        """Run a schedule of `Collective.custom` on a buffer, in place unless `out` is given.

        Returns
        -------
        The array with the result, or a Handle.
        """
        result = x if out is None else out
        return self._call("custom", x, result, op, 0, schedule, wait, timeout_s)

    def barrier(self, *, wait: bool = True, timeout_s: float | None = None) -> Any:
        """Return once every rank has called this."""
        return self._call("barrier", None, None, "sum", 0, None, wait, timeout_s)

    def group(self, ranks: Sequence[int]) -> Communicator:
        """Make a communicator of some of the ranks; each of them calls this with the same ones.

        Parameters
        ----------
        ranks : distinct ranks of this communicator, this one among them. They are numbered in the new one
            in increasing order.

        Returns
        -------
        Communicator, independent of this one: operations of different groups may overlap. On an emulated
        network each group has the network for itself: groups that overlap in time do not slow each other down.

        Raises
        ------
        ArgumentError
            for a rank that does not exist or is named twice, and on a rank that is not among them.
        TimeoutError
            when some of them do not come.
        """
        chosen = sorted(ranks)
        if len(set(chosen)) != len(chosen) or not all(0 <= rank < self.rank_count for rank in chosen):
            raise ArgumentError(
                f"group: expected distinct ranks in 0 … {self.rank_count - 1}, found {list(ranks)}"
            )
        if self.rank not in chosen:
            raise ArgumentError(f"group: rank {self.rank} is not among the ranks {chosen}")
        return Communicator(self._session, [self._ranks[rank] for rank in chosen], self._options)

    def recent_arrivals_s(self) -> NDArray[np.float64]:
        """Return when each rank came to the latest operations.

        Returns
        -------
        Array of shape (operations, rank_count), oldest operation first, at most 512: seconds after the
        first rank's arrival at the operation.

        Notes
        -----
        Noted at every operation anyway; costs no communication.
        """
        times_ns = np.array(self._core.arrival_times_ns(), np.int64).reshape(-1, self.rank_count)
        first_ns = times_ns.min(axis=1, keepdims=True, initial=np.iinfo(np.int64).max)
        return np.asarray(times_ns - first_ns) * 1e-9

    def arrivals(self) -> Arrivals:
        """Say of every rank how often it came last to the latest operations, and by how much.

        Returns
        -------
        Arrivals, over at most 512 operations; see `recent_arrivals_s`. The same on every rank that has come as far.
        """
        return Arrivals.of(self.recent_arrivals_s())

    def expects_late_rank(self, nbytes: int) -> bool:
        """Say whether an all_reduce of that size without a `schedule` of its own would look for a late rank now.

        Parameters
        ----------
        nbytes : int >= 0, bytes of the buffer.

        Returns
        -------
        bool, the same on every rank when asked after the same operation. Waits for an operation that is under way.

        Notes
        -----
        True once "all_reduce_late" is predicted to have saved 5 % on average over the latest eight such
        operations of this size (to the next power of two), by the lags that `arrivals` shows; false again once it
        would have saved nothing. All ranks change at the same operation; costs no communication. Only on a
        network whose ports are all healthy, with three ranks or more.
        """
        return self._core.expects_late_rank(_checked_bytes(nbytes))

    def health(self) -> Health:
        """Say which ranks' ports are slow, by what factor and since when.

        Returns
        -------
        Health, the same on every rank when asked after the same operation, but for the seconds. Waits for an
        operation that is under way.

        Notes
        -----
        Noticed from the bytes and busy seconds of the operations' own messages; costs no communication. A rank
        counts as slow once it has been slower than the faster ranks in five operations on end by a factor of
        1.3, or in eight by 1.12; messages of less than a latency's worth of bytes do not count. Collectives
        without a `schedule` of their own are then planned for it, by all ranks from the same operation on; five
        operations on end that show less take it back. Coming late, or having a busy core, makes no port slow.
        Of two ranks alone nobody can say which one it is, and of one that only ever has its share of a busy
        port, nobody can say how fast it is.
        """
        return Health.of(self._core)

    def degrade(self, slow: Mapping[int, float]) -> None:
        """Make ports of the emulated network slower from now on, as a failing NIC would: nobody is told.

        Parameters
        ----------
        slow : mapping of rank to float >= 1, the factor by which its ports are slower than the topology says.
            Ranks that are left out run at full speed again, so {} ends it.

        Raises
        ------
        ArgumentError
            for a rank that does not exist, a factor below 1 or not finite, and where no network is emulated.

        Notes
        -----
        One rank may do it for all of this communicator's ranks; it takes effect at once, in the middle of
        messages. Groups have emulated networks of their own, which are not affected.
        """
        self._core.slow_down(dict(slow))

    def close(self) -> None:
        """End the communicator; operations that still run in the background are aborted."""
        _open.discard(self)
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Communicator: rank {self.rank} of {self.rank_count}>"

    def _call(
        self,
        kind: str,
        brought: Array | None,
        result: Array | None,
        op: str,
        root: int,
        schedule: Schedule | str | None,
        wait: bool,
        timeout_s: float | None,
    ) -> Any:
        """Run or start an operation. What is wrong with the arguments is told to the other ranks, too."""
        complaint = ""
        chosen: Schedule | _core.LateRule | None = None
        try:
            if isinstance(schedule, str):
                sample = brought if brought is not None else result
                chosen = self._plans.named(schedule, kind, getattr(sample, "nbytes", 0), root)
            else:
                chosen = schedule
            timeout_s = _checked_timeout(timeout_s)
        except HemiolaError as error:
            complaint, chosen, timeout_s = str(error), None, 0.0
        arguments = (kind, brought, result, op, root, chosen, timeout_s, complaint)
        if wait:
            self._core.run(*arguments)
            return result
        return Handle(self._core.start(*arguments), result)

    def _whole_of(self, x: Array, out: Array | None) -> Array | None:
        """Return `out`, or a new array that has room for one `x` of each rank."""
        if out is not None or not isinstance(x, np.ndarray):
            return out
        first = x.shape[0] if x.ndim else 1
        return np.empty((self.rank_count * first, *x.shape[1:]), x.dtype)

    def _part_of(self, kind: str, x: Array, out: Array | None) -> Array | None:
        """Return `out`, or a new array for one of rank_count equal parts of `x`."""
        if out is not None or not isinstance(x, np.ndarray):
            return out
        first = x.shape[0] if x.ndim else 1
        if first % self.rank_count != 0:
            text = (
                f"{kind}: the first axis of {x.dtype}{list(x.shape)} does not divide into {self.rank_count} "
                f"equal parts; pass an array that does, or out"
            )
            self._core.run(kind, None, None, "sum", 0, None, 0.0, text)
        return np.empty((first // self.rank_count, *x.shape[1:]), x.dtype)


def init(
    *,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    keep_inputs: bool = True,
    arbiter: bool = False,
    emulate: Topology | str | os.PathLike[str] | None = None,
    conditions: Conditions | None = None,
) -> Communicator:
    """Join the other ranks of this job and return the communicator of all of them.

    Which job this is, and which rank, is read from the variables of hemiola.launch, torchrun, Open MPI's or
    MPICH's mpirun.

    Parameters
    ----------
    timeout_s : float, seconds > 0. How long to wait for the others, here and in each operation.
    keep_inputs : bool. Whether a failure in the middle of an operation in place leaves its input as it was.
        It costs a private copy of what is overwritten; with False a failed operation's buffer is undefined.
    arbiter : bool. How ranks agree on who is late: with True by messages to a thread of rank 0's process, as
        ranks on different hosts must; with False in shared memory, which is faster. The same on all ranks.
    emulate : Topology or the path of its file, optional. A network to behave like: ports and links carry
        real bytes at its latencies and bandwidths, as far as this machine can move that many. The same on all
        ranks; hemiola.launch can set it.
    conditions : Conditions, optional, of the emulated network: slow ranks' ports are slower, and late ranks
        come to every operation that much later.

    Returns
    -------
    Communicator; the same one when called again.

    Raises
    ------
    ArgumentError
        when this process belongs to no job that is known here, or to one on several hosts; and when the
        emulated network does not fit the ranks.
    TimeoutError
        naming the ranks that did not come.
    """
    limit_s = _checked_timeout(timeout_s)
    for communicator in _world:
        if communicator in _open:
            return communicator
    job = job_of()
    emulation = launched_emulation() if emulate is None else Emulation.of(emulate, conditions)
    if emulation is not None:
        emulation.check(job.rank_count)
    session = _core.LocalSession.join(job.rank, job.rank_count, job.name, limit_s)
    options = CommunicatorOptions(limit_s, keep_inputs, bool(arbiter), emulation)
    world = Communicator(session, range(job.rank_count), options)
    _world[:] = [world]
    return world


def _checked_timeout(timeout_s: float | None) -> float:
    """Return a timeout in seconds, 0 for None."""
    if timeout_s is None:
        return 0.0
    if not isinstance(timeout_s, int | float) or not 0 < timeout_s < 1e9:
        raise ArgumentError(f"expected a timeout above 0 seconds, found {timeout_s!r}")
    return float(timeout_s)


def _checked_bytes(nbytes: int) -> int:
    """Return a number of bytes."""
    if not isinstance(nbytes, int) or not 0 <= nbytes < 1 << 62:
        raise ArgumentError(f"expected a number of bytes from 0 on, found {nbytes!r}")
    return nbytes


_open: weakref.WeakSet[Communicator] = weakref.WeakSet()
_world: list[Communicator] = []


@atexit.register
def _close_all() -> None:
    """Stop background threads before the interpreter goes."""
    for communicator in list(_open):
        communicator.close()
