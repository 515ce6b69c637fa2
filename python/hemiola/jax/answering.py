# SPDX-License-Identifier: Apache-2.0
"""Answers to the calls that XLA makes in place of MPI's: each is a call of a communicator."""

from __future__ import annotations

import _thread
import atexit
import ctypes
import itertools
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax._src import distributed

import hemiola as hm
from hemiola.jax import wrapper
from hemiola.jax.call import UNDEFINED, WORLD, Call
from hemiola.jax.coordinator import Coordinator

_ANSWER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Call))
#: Errors have numbers from here on; the library has those below.
_FIRST_ERROR = 2
_CONFIG: Any = jax.config  # says nothing about its types


class Answers:
    """The communicators of this process, by the numbers that XLA knows them by."""

    def __init__(self) -> None:
        self._numbers = itertools.count(WORLD)
        self._communicators: dict[int, hm.Communicator] = {}
        self._lost: dict[int, BaseException] = {}  # communicators that could not be made
        self._requests: dict[int, hm.Handle[Any]] = {}
        self._errors: list[str] = []
        self._operations = 0  # of all ranks or of groups, which are as many on every rank

    def __call__(self, pointer: Any) -> int:
        """Answer one call; return 0, or the number of an error."""
        call = pointer.contents
        answer: Callable[[Call], None] = getattr(self, f"_{call.function.decode()}")
        try:
            answer(call)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                _thread.interrupt_main()  # none passes through XLA
            return self._noted(f"{type(error).__name__}: {error}")
        return 0

    def _noted(self, text: str) -> int:
        if text not in self._errors:
            self._errors.append(text)
        return _FIRST_ERROR + self._errors.index(text)

    def _error_string(self, call: Call) -> None:
        assert call.output is not None
        text = self._errors[call.tag - _FIRST_ERROR].encode()[: call.count - 1]
        ctypes.memmove(call.output, text + b"\0", len(text) + 1)
        call.result = len(text)

    def _init(self, call: Call) -> None:
        """Meet the other processes. XLA does not hear of a failure here, so the first operation raises it."""
        self._make(join_processes)

    def _finalize(self, call: Call) -> None:
        for communicator in reversed(self._communicators.values()):
            communicator.close()
        self._communicators.clear()

    def _make(self, made: Callable[[], hm.Communicator]) -> int:
        number = next(self._numbers)
        try:
            self._communicators[number] = made()
        except Exception as error:
            self._lost[number] = error
        return number

    def _communicator(self, call: Call) -> hm.Communicator:
        if call.communicator in self._lost:
            raise self._lost[call.communicator]
        return self._communicators[call.communicator]

    def _rank(self, call: Call) -> None:
        call.result = 0 if call.communicator in self._lost else self._communicator(call).rank

    def _size(self, call: Call) -> None:
        call.result = 1 if call.communicator in self._lost else self._communicator(call).rank_count

    def _split(self, call: Call) -> None:
        """Make the part of the ranks that pass the same color, in the order of their keys."""
        color, key = call.tag, call.source

        def part() -> hm.Communicator:
            whole = self._communicator(call)
            row = np.array([color, key, self._operations], np.int64)
            table = whole.all_gather(row).reshape(-1, 3)
            check_same_operation(table[:, 2].tolist())
            ranks = [rank for rank in range(whole.rank_count) if table[rank, 0] == color]
            return whole.group(sorted(ranks, key=lambda rank: int(table[rank, 1])))

        call.result = self._make(part) if color != UNDEFINED else 0

    def _free(self, call: Call) -> None:
        if call.communicator not in self._lost:
            self._communicators.pop(call.communicator).close()

    def _all_reduce(self, call: Call) -> None:
        self._operations += 1
        if call.input == call.output:
            self._communicator(call).all_reduce(call.written(), op=call.op)
        else:
            self._communicator(call).all_reduce(call.read(), op=call.op, out=call.written())

    def _all_gather(self, call: Call) -> None:
        self._operations += 1
        communicator = self._communicator(call)
        communicator.all_gather(call.read(), out=call.written(communicator.rank_count))

    def _reduce_scatter(self, call: Call) -> None:
        self._operations += 1
        communicator = self._communicator(call)
        communicator.reduce_scatter(call.read(communicator.rank_count), op=call.op, out=call.written())

    def _start_send(self, call: Call) -> None:
        self._start(call, self._communicator(call).start_send(call.read(), call.destination, call.tag))

    def _start_recv(self, call: Call) -> None:
        self._start(call, self._communicator(call).start_recv(call.written(), call.source, call.tag))

    def _start(self, call: Call, handle: hm.Handle[Any]) -> None:
        call.result = next(self._numbers)
        self._requests[call.result] = handle

    def _wait(self, call: Call) -> None:
        self._requests.pop(call.request).wait()

    def _exchange(self, call: Call) -> None:
        communicator = self._communicator(call)
        if call.destination == (communicator.rank + 1) % communicator.rank_count:
            self._operations += 1  # the first exchange of an all-to-all
        sent = communicator.start_send(call.read(), call.destination, call.tag)
        communicator.recv(call.written(), call.source, call.tag)
        sent.wait()


def check_same_operation(operations: Sequence[int]) -> None:
    """Raise MismatchError unless all ranks make their groups for the same operation.

    XLA keeps a group, and asks for new ones only. Of an operation's groups some may be new and others not. Then a rank
    whose group is known would take part in the next operation's groups, and sums would lack ranks.
    """
    if len(set(operations)) > 1:
        other = next(rank for rank, count in enumerate(operations) if count != operations[0])
        raise hm.MismatchError(
            f"XLA makes groups for different operations: rank 0 has run {operations[0]} collectives and rank {other} "
            f"{operations[other]}. All processes must run the same programs. Use all groups of a collective before, or "
            f"none"
        )


def join_processes() -> hm.Communicator:
    """Meet the processes that JAX knows, at its coordinator.

    Raises
    ------
    ArgumentError
        where this process has several devices, which XLA gives one communicator each.
    """
    _check_devices()
    state = distributed.global_state
    store = Coordinator(state.client)
    timeout_s = collective_timeout_s(os.environ.get("XLA_FLAGS", ""))
    return hm.Communicator.join(
        state.process_id, state.num_processes, store, timeout_s=timeout_s, keep_inputs=False
    )


def _check_devices() -> None:
    forced = re.search(r"--xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", ""))
    count = max(int(_CONFIG.jax_num_cpu_devices), int(forced.group(1)) if forced else 1)
    if count > 1:
        raise hm.ArgumentError(
            f"hemiola.jax takes one CPU device a process, and this process has {count}. Start a process for each "
            f"device. Leave out jax_num_cpu_devices and --xla_force_host_platform_device_count"
        )


def collective_timeout_s(flags: str) -> float | None:
    """Return the time limit of collectives in XLA_FLAGS, in seconds; None where it names none."""
    found = re.search(r"--xla_cpu_collective_timeout_seconds=(\d+)", flags)
    return float(found.group(1)) if found else None


def begin_answering() -> None:
    """Have the library ask this process' Answers, and JAX use the library."""
    answer = _ANSWER(Answers())
    library = ctypes.CDLL(str(wrapper.PATH))
    library.hemiola_answer(answer)
    atexit.register(lambda: (library.hemiola_answer(None), answer))
    _CONFIG.update("jax_cpu_collectives_implementation", "mpi")
