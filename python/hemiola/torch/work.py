# SPDX-License-Identifier: Apache-2.0
"""PyTorch's objects for an operation: one that is over, or one that runs in the background.

`wait` raises the operation's error. A future that has failed is the child of a callback that raises: a future whose
exception is set holds it as a value, which DDP takes for gradients."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

import torch
from torch._C._distributed_c10d import Work

from hemiola.communicator.handle import Handle
from hemiola.errors import HemiolaError
from hemiola.torch.callback_order import Refused, Turn
from hemiola.torch.callbacks import CallbackPlace, followed, while_others_run
from hemiola.torch.completion import Completion
from hemiola.torch.errors import GroupTimeoutError, for_torch
from hemiola.torch.loosely import held, loosely
from hemiola.torch.operation_types import UNKNOWN

_UNBOUNDED = timedelta(0)


def _duration_ms(work: Any) -> float:
    """Return how long an operation has run here, as NCCL's Work tells it where it takes times."""
    began_ns, ended_ns = (0, 0) if work.times_ns is None else work.times_ns()
    if ended_ns == 0:
        raise RuntimeError("hemiola: expected an operation that is over and has times, found another")
    return float((ended_ns - began_ns) * 1e-6)


def _op_type(work: Any) -> int:
    """Return PyTorch's number of what it does."""
    return int(work.op_type)


class Finished(Work):
    """An operation that is over, and went well: those that block raise their errors themselves."""

    #: When it began and ended, by time.monotonic_ns, and its kind; set by its maker.
    times_ns: Callable[[], tuple[int, int]] | None = None
    op_type = UNKNOWN
    _get_duration, _get_op_type = _duration_ms, _op_type

    def __init__(self, result: Any) -> None:
        super().__init__()
        self._result = result

    def wait(self, timeout: timedelta = _UNBOUNDED) -> bool:
        """Return at once."""
        return True

    def synchronize(self) -> None:
        """Return at once."""

    def is_completed(self) -> bool:
        """Return True."""
        return True

    def is_success(self) -> bool:
        """Return True."""
        return True

    def exception(self) -> None:
        """Return None."""

    def result(self) -> Any:
        """Return the tensors with the result."""
        return held(self._result)

    told = result

    def hold_loosely(self) -> None:
        """Leave it to the caller to keep the tensors."""
        self._result = loosely(self._result)

    def get_future(self) -> Any:
        """Return a future of the result, which is there."""
        future: Any = torch.futures.Future()
        future.set_result(held(self._result))
        return future


class Running(Work):
    """An operation that runs in the background, made of one or several that come to their end one after the other.

    Parameters
    ----------
    handles : the handle or handles to wait for.
    result : the tensors with the result, once it is there.
    completion : Completion, which ends the futures of the group.
    finish : function to call once when all are over, such as one that spreads a buffer over the tensors of a list.
    """

    #: As of `Finished`.
    times_ns: Callable[[], tuple[int, int]] | None = None
    op_type = UNKNOWN
    _get_duration, _get_op_type = _duration_ms, _op_type
    #: In the order of its communicator's operations, in which they end; and where its future stands.
    number, place = 0, CallbackPlace("")

    def __init__(
        self,
        handles: Sequence[Handle[Any] | Refused | Turn | _Part],
        result: Any,
        completion: Completion | None,
        finish: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self._handles, self._result, self._completion, self._finish = handles, result, completion, finish
        self._ending = threading.Lock()
        self._is_over = self._is_loose = False
        self._error: Exception | None = None
        #: Called once with its error, or None.
        self.on_end: Callable[[Exception | None], None] | None = None

    def wait(self, timeout: timedelta = _UNBOUNDED) -> bool:
        """Return True when it is over.

        Raises
        ------
        HemiolaError of the operation, in every call of `wait`; of several the first, when all are over.
        GroupTimeoutError
            when it is still running after the timeout; it goes on.
        """
        if not self._is_over:
            limit_s = timeout.total_seconds() if timeout > _UNBOUNDED else None
            first: HemiolaError | None = None
            for handle in self._handles:
                try:
                    while_others_run(handle.wait, limit_s)
                except HemiolaError as error:
                    first = first or error
                except builtins.TimeoutError as error:
                    raise GroupTimeoutError(f"hemiola: Timed out waiting: {error}") from None
            self._end(None if first is None else for_torch(first))
        if self._error is not None:
            raise self._error
        return True

    def _end(self, error: Exception | None) -> None:
        with self._ending:
            if self._is_over:
                return
            if error is None and self._finish is not None:
                try:
                    self._finish()
                except Exception as raised:
                    error = raised
            self._error, self._is_over = error, True
            self._handles, self._finish = (), None
            if self._is_loose:
                self._result = loosely(self._result)
        if self.on_end is not None:
            self.on_end(error)

    def hold_loosely(self) -> None:
        """Leave it to the caller to keep the tensors, once it is over."""
        with self._ending:
            self._is_loose = True
            if self._is_over:
                self._result = loosely(self._result)

    def pending(self) -> Sequence[Any]:
        """Return the core's part that runs it."""
        return [handle._pending for handle in self._handles if isinstance(handle, Handle)]

    def synchronize(self) -> None:
        """Wait."""
        self.wait()

    def is_completed(self) -> bool:
        """Say whether it is over, one way or the other."""
        if not self._is_over and all(handle.done() for handle in self._handles):
            with suppress(Exception):  # `wait` raises it
                self.wait()
        return self._is_over

    def is_success(self) -> bool:
        """Say whether it is over and went well."""
        return self.is_completed() and self._error is None

    def exception(self) -> Exception | None:
        """Return its error; None while it runs."""
        return self._error if self.is_completed() else None

    def result(self) -> Any:
        """Return the tensors with the result; waits for it."""
        self.wait()
        return held(self._result)

    def told(self) -> Any:
        """Return the tensors where the result will be."""
        return held(self._result)

    def _value(self, result: Any, _: Any) -> Any:
        if self._error is not None:
            raise self._error
        return result

    def get_future(self) -> Any:
        """Return a future of the result, which raises the operation's error; it keeps the tensors."""
        over: Any = torch.futures.Future()
        result = None if self._error is not None else held(self._result)  # a failed one has none to tell
        told = followed(over.then(partial(self._value, result)), self.place)
        if self._is_over or self._completion is None:
            over.set_result(None)
        else:
            self._completion.when_over(self, over)
        return told


class Message(Running):
    """A message on its way."""

    def __init__(self, handle: Handle[Any], tensors: Any) -> None:
        super().__init__([handle], tensors, None)
        self._handle = handle

    def source_rank(self) -> int:
        """Return the rank from which it has come; waits for it."""
        self.wait()
        source: int = self._handle.wait()
        return source

    _source_rank = source_rank

    def get_future(self) -> Any:
        """Raise NotImplementedError, as gloo does."""
        raise NotImplementedError("hemiola: futures of messages are not supported; use Work.wait()")


class _Part:
    """A Work as something to wait for."""

    def __init__(self, work: Any) -> None:
        self._work = work

    def wait(self, timeout_s: float | None = None) -> None:
        self._work.wait(_UNBOUNDED if timeout_s is None else timedelta(seconds=timeout_s))

    def done(self) -> bool:
        return bool(self._work.is_completed())


def together(works: Sequence[Any], completion: Completion) -> Running:
    """Return the Work of several."""
    result = [tensor for work in works for tensor in work.told()]
    whole = Running([_Part(work) for work in works], result, completion)
    if works:
        whole.number, whole.place = works[-1].number, CallbackPlace(f"{works[-1].place.name}+")
    return whole
