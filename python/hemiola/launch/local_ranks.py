# SPDX-License-Identifier: Apache-2.0
"""Start local ranks from Python: each is a process of its own that calls one function."""

from __future__ import annotations

import multiprocessing.spawn
import os
import pickle
from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

from hemiola._core import Topology
from hemiola.arguments import typed
from hemiola.communicator.emulation import Emulation
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError, FailedRankError, TimeoutError
from hemiola.launch.rank import is_importing_script
from hemiola.launch.rank_processes import RankProcesses
from hemiola.launch.travel import packed_call, script
from hemiola.machine.refusals import check_system, limits_named
from hemiola.machine.standard_descriptors import hold_standard_descriptors
from hemiola.machine.working_folder import working_folder

Result = TypeVar("Result")

_MOST_RANKS = 1024


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
    """Call a function on several local ranks and return their results.

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
    timeout_s : float, seconds, optional; how long all of it may take.
    on_failure : "raise" or "continue". The action when a rank fails: end the others and raise, or let them finish.

    Returns
    -------
    list of the ranks' results, in order; must be picklable. With on_failure="continue" the entry of a rank that
    failed is the FailedRankError, and of one that was not done after `timeout_s` the TimeoutError, that would
    have been raised for it.

    Raises
    ------
    FailedRankError naming the rank whose function raised or whose process died, with its traceback; the rank's own
    exception is the `__cause__`. The other ranks are ended. Not with on_failure="continue". TimeoutError
        naming the ranks that were not done after `timeout_s`. They are ended. Not with on_failure="continue".
    ResourceError where the system refuses resources that ranks need, naming the limit. ArgumentError
        for a number of ranks out of range, a network that does not have that many, another word for on_failure, or
        a function or arguments that cannot be pickled.

    Notes
    -----
    No process is left behind in any case. Ranks, and processes that they have started and not put into a process group
    of their own, are ended with this call, and the kernel ends ranks if this process is killed. Ranks are forked from
    one process without threads, which has loaded Python, NumPy and Hemiola for all of them and ends with this call. A
    rank's own modules, such as the script, are loaded after that. A rank is done when its process has ended, which
    waits for threads that the function has left behind. Ctrl-C interrupts this process only, which then ends the ranks.
    Unless OMP_NUM_THREADS is set, it is set for the ranks so that their numerical libraries share the cores. With a
    thread per core in each rank, threads that wait for each other in a matrix product would take the cores from the
    ranks that work. Ranks that share cores, as many on each, are kept on them (HEMIOLA_PIN).
    """
    if not isinstance(ranks, int) or not 1 <= ranks <= _MOST_RANKS:
        raise ArgumentError(f"launch: expected 1 … {_MOST_RANKS} ranks, found {ranks!r}")
    if is_importing_script():
        raise ArgumentError(
            "launch: called again while a rank imports the script that launched it; put the call under "
            "if __name__ == '__main__':"
        )
    if on_failure not in ("raise", "continue"):
        raise ArgumentError(f"launch: expected on_failure='raise' or 'continue', found {on_failure!r}")
    hold_standard_descriptors()
    working_folder()  # said here where there is none: ranks change into it
    emulation = Emulation.of(emulate, conditions)
    if emulation is not None:
        emulation.check(ranks)
    check_system()
    with limits_named(f"launch: {ranks} ranks"), _Payload(fn, args, emulation) as payload:
        processes = RankProcesses(ranks, payload.descriptor)
        try:
            if on_failure == "continue":
                return processes.outcomes(timeout_s)
            return processes.results(timeout_s)
        except FailedRankError as error:
            error_alone = error.with_traceback(
                None
            )  # the place of the failure says more than the place where it was seen
            raise error_alone from error.__cause__
        finally:
            processes.end()


class _Payload:
    """What the ranks are to call, in an anonymous file that they inherit."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], emulation: Emulation | None) -> None:
        # How to find a script's own functions in another process is multiprocessing's knowledge.
        preparation = multiprocessing.spawn.get_preparation_data("hemiola rank")
        preparation.pop("authkey", None)  # ours have nothing to authenticate
        if script() is None:
            preparation.pop("init_main_from_path", None)  # '<stdin>' is no file
        try:
            call = packed_call(fn, args)
        except Exception as error:  # any error of an object's own reduction
            raise ArgumentError(
                f"launch: the function, its arguments, and all objects that it uses must be picklable, and one of "
                f"them is not: {error}"
            ) from error
        self.descriptor = os.memfd_create("hemiola-launch")
        with os.fdopen(self.descriptor, "wb", closefd=False) as file:
            file.write(pickle.dumps((preparation, emulation, call)))

    def __enter__(self) -> _Payload:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)
