# SPDX-License-Identifier: Apache-2.0
"""A communicator as LightGBM's network, and how an error gets past functions that cannot fail."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import numpy as np
from lightgbm.basic import _LIB, LightGBMError

from hemiola.arguments import typed
from hemiola.communicator import Communicator, init
from hemiola.errors import HemiolaError
from hemiola.lightgbm import functions
from hemiola.lightgbm.functions import ALL_GATHER, REDUCE_SCATTER, reducer_at, shown

#: LightGBM's functions that may communicate.
_COMMUNICATING = (
    "LGBM_BoosterCreate",
    "LGBM_BoosterRefit",
    "LGBM_BoosterResetTrainingData",
    "LGBM_BoosterUpdateOneIter",
    "LGBM_BoosterUpdateOneIterCustom",
    "LGBM_DatasetCreateByReference",
    "LGBM_DatasetCreateFromCSC",
    "LGBM_DatasetCreateFromCSR",
    "LGBM_DatasetCreateFromFile",
    "LGBM_DatasetCreateFromMat",
    "LGBM_DatasetCreateFromMats",
    "LGBM_DatasetCreateFromSampledColumn",
)
EXIT_CODE = 3
#: How long LightGBM may take from an error on until it returns; then the process ends.
_GRACE_S = 10.0


class NetworkError(LightGBMError, RuntimeError):
    """Ranks lost each other while LightGBM trained; `__cause__` is Hemiola's error, such as LostRankError."""


@typed
class Network:
    """LightGBM's network while a `with` block lasts, in the thread that enters it.

    LightGBM calls functions for its communication that have no way to say that they failed. Where one fails, it and all
    later ones leave zeros for the other ranks' parts and return at once. LightGBM's call then returns to Python, where
    NetworkError is raised, and the model of this call is lost. The `with` block raises it at the latest. A call that
    has not returned after 10 seconds, or that trips over the zeros, ends the process with exit code 3: nothing else can
    stop it.

    Parameters
    ----------
    comm : Communicator, optional; None means that of `hemiola.init`.

    Raises
    ------
    TypeError
        where `comm` is something else.
    NetworkError
        where this process has such a network already, and where ranks lose each other.
    """

    _in_force: Network | None = None

    def __init__(self, comm: Communicator | None = None) -> None:
        self._comm = init() if comm is None else comm
        self._error: BaseException | None = None
        self._callbacks = (REDUCE_SCATTER(self._reduce_scatter), ALL_GATHER(self._all_gather))
        self._watchdog: threading.Timer | None = None
        self._room = np.empty(0, np.uint8)  # kept, because the system's new memory is slow

    def __enter__(self) -> Self:
        if Network._in_force is not None:
            raise NetworkError(
                "Network: expected a process whose LightGBM has no network, found one with a network of Hemiola. Leave "
                "its with block first"
            )
        n, me = self._comm.rank_count, self._comm.rank
        addresses = (ctypes.cast(callback, ctypes.c_void_p) for callback in self._callbacks)
        if _LIB.LGBM_NetworkInitWithFunctions(n, me, *addresses) != 0:
            raise NetworkError("LightGBM takes no functions for its network")
        Network._in_force = self
        for name in _COMMUNICATING:
            if hasattr(_LIB, name):
                getattr(_LIB, name).errcheck = self._after_call
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        Network._in_force = None
        for name in _COMMUNICATING:
            if hasattr(_LIB, name):
                del getattr(_LIB, name).errcheck
        _LIB.LGBM_NetworkFree()
        if kind is None:
            self._raise()

    @property
    def parameters(self) -> dict[str, Any]:
        """What LightGBM must be told beside the kind of its tree learner."""
        return {"num_machines": self._comm.rank_count, "pre_partition": True}

    def _after_call(self, result: int, function: Any, arguments: Any) -> int:
        """Return the result of one of LightGBM's functions, unless ranks have lost each other in it."""
        if self._watchdog is not None:
            self._watchdog.cancel()
        self._raise()
        return result

    def _raise(self) -> None:
        error = self._error
        if isinstance(error, HemiolaError):
            raise NetworkError(str(error)) from error
        if error is not None:
            raise error

    def _guarded(self, call: Callable[[], None], give_up: Callable[[], None]) -> None:
        """Run a collective for LightGBM; leave zeros where one has failed."""
        if self._error is not None:
            return give_up()
        try:
            call()
        except BaseException as error:  # LightGBM has nobody to catch it
            self._error = error
            print(f"hemiola.lightgbm: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            self._watchdog = threading.Timer(_GRACE_S, os._exit, (EXIT_CODE,))
            self._watchdog.daemon = True
            self._watchdog.start()
            give_up()

    def _reduce_scatter(
        self,
        given: int,
        nbytes: int,
        element_bytes: int,
        begins: Any,
        sizes: Any,
        _: int,
        out: int,
        __: int,
        reducer: int,
    ) -> None:
        x, mine = shown(given, nbytes), shown(out, sizes[self._comm.rank])
        reduce = reducer_at(reducer, element_bytes)
        n = self._comm.rank_count
        if self._room.nbytes < (needed := 2 * n * max(sizes[:n])):
            self._room = np.empty(needed, np.uint8)

        def call() -> None:
            functions.reduce_scatter(self._comm, x, begins, sizes, mine, reduce, self._room)

        self._guarded(call, lambda: mine.fill(0))

    def _all_gather(
        self, given: int, nbytes: int, begins: Any, sizes: Any, _: int, out: int, room: int
    ) -> None:
        x, every = shown(given, nbytes), shown(out, room)

        def give_up() -> None:
            own = x.copy()
            every.fill(0)
            every[begins[self._comm.rank] :][:nbytes] = own

        self._guarded(lambda: functions.all_gather(self._comm, x, begins, sizes, every), give_up)
