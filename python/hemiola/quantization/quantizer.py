# SPDX-License-Identifier: Apache-2.0
"""The all-reduce of NumPy arrays with eight bits an element, and the residual that belongs to it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Complaint
from hemiola.arguments import typed
from hemiola.arguments.names import Op
from hemiola.communicator import Communicator
from hemiola.communicator.kinds import ALL_REDUCE
from hemiola.pruning.residual import unlike
from hemiola.quantization.choice import Way, next_choice


@typed
class Quantizer:
    """Sum or average arrays by messages of eight bits an element, and add each rounding error to the next call.

    Each rank has a quantizer for each buffer, such as a bucket of gradients. Where the network is fast, calls run
    `comm.all_reduce` and round nothing.

    Attributes
    ----------
    residual : float32 array of the last array's shape, this rank's debt to the sum; None before the first call
        that rounds. A checkpoint keeps a copy and a restart sets it.

    Notes
    -----
    Blocks of 256 elements share a scale, their largest magnitude / 127. Each rank owns a part of the array. It gets all
    other ranks' parts rounded once, adds them to its own as float32, rounds the result once, and sends it to all. Where
    hosts have as many ranks each, these add up first, and sums between hosts are rounded. So an element's error is at
    most a 254th of its block's largest magnitude for each sender of a rounded part, and as much for the owner; the
    residual takes it. All ranks get the same bits. An infinity or a NaN makes its block NaN, on all ranks, and leaves
    no residual. Blocks of magnitudes below 127 times the least normal float32 wait
    in the residual. -0.0 arrives as 0.0.

    For each size the first rank compares: eight bits are tried where the short messages and the measured time of the
    codec take at most 2/3 of the plain plan's time. Then three calls of each form are timed, and the faster form goes
    on. The other one is tried again from time to time, for at most a hundredth of all time; plain calls pay the
    residual. So two runs may round differently. A link whose plain bytes take less time than the codec gets plain sums.
    Messages are slices, which are rounded, sent and added at the same time. Bytes per rank: 0.254 of a ring's. Memory:
    one array and a half, a copy of the residual for a failure among them. Error feedback is that of [1-bit SGD, §2];
    feedback for the owner's rounding is ours.

    Examples
    --------
    >>> import hemiola as hm
    >>> quantizer = hm.Quantizer()
    >>> gradient = quantizer.all_reduce(comm, gradient, op="average")  # doctest: +SKIP
    """

    def __init__(self) -> None:
        self.residual: NDArray[np.float32] | None = None
        #: The residual that this left, and how: only elements that the same way rounds are owed.
        self._left: tuple[Way | None, NDArray[np.float32] | None] = None, None

    def all_reduce(
        self,
        comm: Communicator,
        x: NDArray[np.float32],
        op: Op = "sum",
        *,
        out: NDArray[np.float32] | None = None,
        timeout_s: float | None = None,
    ) -> NDArray[np.float32]:
        """Combine all ranks' arrays; every rank gets the result, in `x` unless `out` is given.

        Parameters
        ----------
        comm : Communicator, whose ranks all make this call.
        x : float32 array in C order, of the same size on every rank, and of the shape of all calls before.
        op : str, "sum" or "average".
        out : writable float32 array in C order, of the shape of `x`, optional. Where the result goes.
        timeout_s : float > 0, seconds, optional. How long it may take; None: as `init` says.

        Returns
        -------
        The array with the result: `out`, or else `x`.

        Raises
        ------
        ArgumentError
            on this rank, for another dtype, such as integers, for another op, for a shape that is not that of the
            residual or of `out`, and for an array that is read-only or has gaps. Nothing has changed then.
        MismatchError
            on every rank, when ranks disagree about the call, or another rank's arguments are wrong.
        LostRankError, TimeoutError
            on every rank, naming the rank that died or did not come in time. The residual is as before the call,
            and so is `x` (`keep_inputs` of `init`).
        """
        to = x if out is None else out
        if (wrong := self._wrong(x, op, to)) is not None:
            refused: Any = Complaint(wrong)
            comm.all_reduce(refused, timeout_s=timeout_s)
        way, note = next_choice(
            comm, x.size, lambda times: comm.all_reduce(times, "min", timeout_s=timeout_s)
        )
        debt, terms, result = self.residual, x, to
        is_known = way is self._left[0] and debt is self._left[1]
        rest = None if way is None else debt if is_known else np.zeros_like(x)
        if rest is not debt and debt is not None:
            terms = result = x + debt  # the whole of it: parts may be of elements that others round now
        schedule, messages = (None, None) if way is None else (way.schedule, way.messages(rest))
        began_ns = time.monotonic_ns()
        comm._run(ALL_REDUCE, terms, result, op, 0, schedule, False, timeout_s, messages)
        ended_ns = time.monotonic_ns()
        note(lambda: (began_ns, ended_ns))
        if result is not to:
            to[...] = result
        self.residual, self._left = rest, (way, rest)
        return to

    def _wrong(self, x: Any, op: str, to: Any) -> str | None:
        """Return the first error of the arguments."""
        if op not in ("sum", "average"):
            return f"op: expected 'sum' or 'average' of a quantized all-reduce, found '{op}'"
        for name, array in (("x", x), ("out", to)):
            if array.dtype != np.float32:
                return f"{name}: expected float32 to quantize, found {array.dtype}; call comm.all_reduce for others"
            if not array.flags.c_contiguous:
                return f"{name}: expected an array in C order, found one with gaps or another order"
        if not to.flags.writeable:
            return "out: expected an array that can be written, found a read-only one"
        wrong = unlike(x, self.residual, to)
        return None if wrong is None else f"{wrong}; each buffer needs a Quantizer of its own"
