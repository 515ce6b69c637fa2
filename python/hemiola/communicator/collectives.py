# SPDX-License-Identifier: Apache-2.0
"""The collectives on NumPy arrays: a method each, which returns once the collective is done.

A collective's row of `kinds` says how it uses its arrays; here stand its signature and its promise."""

from __future__ import annotations

from numpy.typing import NDArray

from hemiola._core import PremulSum, Schedule
from hemiola.arguments.names import Op
from hemiola.communicator.calls import Caller, D, remembered
from hemiola.communicator.kinds import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BARRIER,
    BROADCAST,
    CUSTOM,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
)


class Collectives(Caller):
    """The calls that all ranks of a communicator make together."""

    @remembered
    def all_reduce(
        self,
        x: NDArray[D],
        op: Op | PremulSum = "sum",
        *,
        schedule: Schedule | str | None = None,
        sparse: bool | None = None,
        unchecked: bool = False,
        out: NDArray[D] | None = None,
        timeout_s: float | None = None,
    ) -> NDArray[D]:
        """Combine all ranks' arrays; every rank gets the result, in `x` unless `out` is given.

        Parameters
        ----------
        x : array, of the same size and dtype on every rank.
        op : str or PremulSum. How elements combine: sum, product, min, max, average, and, or, xor, as the dtype allows;
            PremulSum(factor) multiplies this rank's before they are added.
        schedule : Schedule or str, optional. The schedule to run, or the name of an algorithm
            (`hemiola.algorithms.names()`); None lets the planner choose, also for slow ports (see `health`) and late
            ranks (see `expects_late_rank`) that it has noticed since. "all_reduce_late" finds the late rank anew in
            every call: the others reduce among themselves until it comes.
        sparse : bool, optional, the same on every rank. True lets messages leave zeros out where ranks see
            that it pays, in a schedule that suits that; of an algorithm or Schedule asked for, they do. None: where it
            pays, between hosts, from 1 MiB on, with the bits of False. False: never.
        unchecked : bool. Run a Schedule as it is; otherwise it is verified, once per digest, before anything moves.
            A named schedule is verified in any case where its algorithm was registered from outside.
        out : array of the size and dtype of `x`, optional. Where the result goes.
        timeout_s : float > 0, seconds, optional. How long it may take; None: as `init` says.

        Returns
        -------
        The array with the result: `out`, or else `x`.

        Raises
        ------
        ArgumentError
            on this rank, when its arguments are wrong, among them a wrong schedule.
        MismatchError
            on every rank, when ranks disagree about the call, or another rank's arguments are wrong.
        LostRankError, TimeoutError
            on every rank, naming the rank that died or did not come in time.

        Notes
        -----
        The same bits on every rank, and in every run with the same schedule. Every operation is commutative to the last
        bit: a NaN that it makes has all bits set, and -0.0 is less than +0.0. A schedule of your own must group the
        additions of a chunk alike on all ranks. A schedule that looks for a late rank adds in an order that depends on
        it, and so do a float's last bits.

        The average of finite values is finite. Each rank's values are multiplied by 1 / p, with p the least power of
        two that is not less than the number of ranks. Then they are summed, and divided by the number of ranks / p.
        Each sum and the division are rounded to nearest. The product is exact but near the least values of a type,
        where bits fall off: there an average is off by up to the least positive value times the number of ranks
        (float16: 6e-8 each). An average passes over the array twice more than a sum: once to multiply, once to divide.
        """
        return self._run(ALL_REDUCE, x, out, op, 0, schedule, unchecked, timeout_s, sparse)

    @remembered
    def reduce(
        self,
        x: NDArray[D],
        op: Op | PremulSum = "sum",
        root: int = 0,
        *,
        schedule: Schedule | str | None = None,
        sparse: bool | None = None,
        unchecked: bool = False,
        out: NDArray[D] | None = None,
        timeout_s: float | None = None,
    ) -> NDArray[D] | None:
        """Combine all ranks' arrays; the root gets the result, in its `x` unless `out` is given.

        Parameters
        ----------
        x : array, of the same size and dtype on every rank.
        op : str or PremulSum. How elements combine: sum, product, min, max, average, and, or, xor, as the dtype allows;
            PremulSum(factor) multiplies this rank's before they are added.
        root : int, 0 … rank_count-1, the rank that gets the result.
        schedule : Schedule or str, optional. The schedule to run, or the name of an algorithm
            (`hemiola.algorithms.names()`); None lets the planner choose.
        sparse : bool, optional, the same on every rank. True lets messages leave zeros out where ranks see that it
            pays, in a schedule that suits that; of an algorithm or Schedule asked for, they do. None: where it pays,
            between hosts, from 1 MiB on, with the bits of False. False: never.
        unchecked : bool. Run a Schedule as it is; otherwise it is verified, once per digest, before anything moves.
            A named schedule is verified in any case where its algorithm was registered from outside.
        out : array of the size and dtype of `x`, optional. Where the result goes; used on the root only.
        timeout_s : float > 0, seconds, optional. How long it may take; None: as `init` says.

        Returns
        -------
        On the root the array with the result: `out`, or else `x`; None elsewhere.

        Raises
        ------
        ArgumentError
            on this rank, when its arguments are wrong, among them a wrong schedule.
        MismatchError
            on every rank, when ranks disagree about the call, or another rank's arguments are wrong.
        LostRankError, TimeoutError
            on every rank, naming the rank that died or did not come in time.

        Notes
        -----
        Each other rank sends at least the bytes of `x`. `plan("reduce", nbytes).explain()` names the schedule and
        its time.
        """
        return self._run(REDUCE, x, out, op, root, schedule, unchecked, timeout_s, sparse)

    @remembered
    def reduce_scatter(
        self,
        x: NDArray[D],
        op: Op | PremulSum = "sum",
        *,
        schedule: Schedule | str | None = None,
        sparse: bool | None = None,
        unchecked: bool = False,
        out: NDArray[D] | None = None,
        timeout_s: float | None = None,
    ) -> NDArray[D]:
        """Combine all ranks' arrays; rank r gets the r-th of rank_count equal parts along the first axis.

        Parameters
        ----------
        x : array, of the same size and dtype on every rank, its first axis a multiple of rank_count.
        op : str or PremulSum. How elements combine: sum, product, min, max, average, and, or, xor, as the dtype allows;
            PremulSum(factor) multiplies this rank's before they are added.
        schedule : Schedule or str, optional. The schedule to run, or the name of an algorithm
            (`hemiola.algorithms.names()`); None lets the planner choose.
        sparse : bool, optional, the same on every rank. True lets messages leave zeros out where ranks see
            that it pays, in a schedule that suits that; of an algorithm or Schedule asked for, they do. None: where it
            pays, between hosts, from 1 MiB on, with the bits of False. False: never.
        unchecked : bool. Run a Schedule as it is; otherwise it is verified, once per digest, before anything moves.
            A named schedule is verified in any case where its algorithm was registered from outside.
        out : array of a part's size and dtype, optional. Where the result goes; in place where it is the rank's own
            part of `x`.
        timeout_s : float > 0, seconds, optional. How long it may take; None: as `init` says.

        Returns
        -------
        The array with the rank's part: `out`, or else a new one.

        Raises
        ------
        ArgumentError
            on this rank, when its arguments are wrong, among them a wrong schedule.
        MismatchError
            on every rank, when ranks disagree about the call, or another rank's arguments are wrong.
        LostRankError, TimeoutError
            on every rank, naming the rank that died or did not come in time.

        Notes
        -----
        Each rank sends at least (rank_count - 1) / rank_count of the bytes of `x`.
        `plan("reduce_scatter", nbytes).explain()` names the schedule and its time.
        """
        return self._run(REDUCE_SCATTER, x, out, op, 0, schedule, unchecked, timeout_s, sparse)

    @remembered
    def all_gather(
        self,
        x: NDArray[D],
        *,
        schedule: Schedule | str | None = None,
        sparse: bool | None = None,
        unchecked: bool = False,
        out: NDArray[D] | None = None,
        timeout_s: float | None = None,
    ) -> NDArray[D]:
        """Put all ranks' arrays one after the other along the first axis; every rank gets the result.

        Parameters
        ----------
        x : array, of the same size and dtype on every rank. A scalar counts as one element.
        schedule : Schedule or str, optional. The schedule to run, or the name of an algorithm
            (`hemiola.algorithms.names()`); None lets the planner choose.
        sparse : bool, optional, the same on every rank. True lets messages leave zeros out where ranks see
            that it pays, in a schedule that suits that; of an algorithm or Schedule asked for, they do. None: where it
            pays, between hosts, from 1 MiB on, with the bits of False. False: never.
        unchecked : bool. Run a Schedule as it is; otherwise it is verified, once per digest, before anything moves.
            A named schedule is verified in any case where its algorithm was registered from outside.
        out : array of rank_count times the size of `x`, optional. Where the result goes; in place where `x` is the
            rank's own part of it.
        timeout_s : float > 0, seconds, optional. How long it may take; None: as `init` says.

        Returns
        -------
        The array with the result: `out`, or else a new one, rank_count times as long as `x`.

        Raises
        ------
        ArgumentError
            on this rank, when its arguments are wrong, among them a wrong schedule.
        MismatchError
            on every rank, when ranks disagree about the call, or another rank's arguments are wrong.
        LostRankError, TimeoutError
            on every rank, naming the rank that died or did not come in time.

        Notes
        -----
        Each rank receives at least (rank_count - 1) / rank_count of the bytes of the result.
        `plan("all_gather", nbytes).explain()` names the schedule and its time.
        """
        return self._run(ALL_GATHER, x, out, "sum", 0, schedule, unchecked, timeout_s, sparse)

    @remembered
    def gather(
        self,
        x: NDArray[D],
        root: int = 0,
        *,
        schedule: Schedule | str | None = None,
        sparse: bool | None = None,
        unchecked: bool = False,
        out: NDArray[D] | None = None,
        timeout_s: float | None = None,
    ) -> NDArray[D] | None:
        """Put all ranks' arrays one after the other along the first axis; the root gets the result.

        Parameters
        ----------
        x : array, of the same size and dtype on every rank. A scalar counts as one element.
        root : int, 0 … rank_count-1, the rank that gets the result.
        schedule : Schedule or str, optional. The schedule to run, or the name of an algorithm
            (`hemiola.algorithms.names()`); None lets the planner choose.
        sparse : bool, optional, the same on every rank. True lets messages leave zeros out where ranks see that it
            pays, in a schedule that suits that; of an algorithm or Schedule asked for, they do. None: where it pays,
            between hosts, from 1 MiB on, with the bits of False. False: never.
        unchecked : bool. Run a Schedule as it is; otherwise it is verified, once per digest, before anything moves.
            A named schedule is verified in any case where its algorithm was registered from outside.
        out : array of rank_count times the size of `x`, optional. Where the result goes, in place where `x` is the
            root's own part of it; used on the root only.
        timeout_s : float > 0, seconds, optional. How long it may take; None: as `init` says.

        Returns
        -------
        On the root the array with the result: `out`, or else a new one, rank_count times as long as `x`; None
        elsewhere.

        Raises
        ------
        ArgumentError
            on this rank, when its arguments are wrong, among them a wrong schedule.
        MismatchError
            on every rank, when ranks disagree about the call, or another rank's arguments are wrong.
        LostRankError, TimeoutError
            on every rank, naming the rank that died or did not come in time.

        Notes
        -----
        The root receives at least (rank_count - 1) / rank_count of the bytes of the result.
        `plan("gather", nbytes).explain()` names the schedule and its time.
        """
        return self._run(GATHER, x, out, "sum", root, schedule, unchecked, timeout_s, sparse)

    @remembered
    def scatter(
        self,
        x: NDArray[D] | None = None,
        root: int = 0,
        *,
        schedule: Schedule | str | None = None,
        sparse: bool | None = None,
        unchecked: bool = False,
        out: NDArray[D] | None = None,
        timeout_s: float | None = None,
    ) -> NDArray[D]:
        """Give rank r the r-th of rank_count equal parts of the root's array along the first axis.

        Parameters
        ----------
        x : array, its first axis a multiple of rank_count. Only the root's is read; elsewhere it tells shape and
            dtype, and is needed only where no `out` is given.
        root : int, 0 … rank_count-1, the rank whose array is scattered.
        schedule : Schedule or str, optional. The schedule to run, or the name of an algorithm
            (`hemiola.algorithms.names()`); None lets the planner choose.
        sparse : bool, optional, the same on every rank. True lets messages leave zeros out where ranks see that it
            pays, in a schedule that suits that; of an algorithm or Schedule asked for, they do. None: where it pays,
            between hosts, from 1 MiB on, with the bits of False. False: never.
        unchecked : bool. Run a Schedule as it is; otherwise it is verified, once per digest, before anything moves.
            A named schedule is verified in any case where its algorithm was registered from outside.
        out : array of a part's size and dtype, optional. Where the result goes; in place where it is the root's own
            part of `x`.
        timeout_s : float > 0, seconds, optional. How long it may take; None: as `init` says.

        Returns
        -------
        The array with the rank's part: `out`, or else a new one.

        Raises
        ------
        ArgumentError
            on this rank, when its arguments are wrong, among them a wrong schedule.
        MismatchError
            on every rank, when ranks disagree about the call, or another rank's arguments are wrong.
        LostRankError, TimeoutError
            on every rank, naming the rank that died or did not come in time.

        Notes
        -----
        The root sends at least (rank_count - 1) / rank_count of the bytes of `x`.
        `plan("scatter", nbytes).explain()` names the schedule and its time.
        """
        return self._run(SCATTER, x, out, "sum", root, schedule, unchecked, timeout_s, sparse)

    @remembered
    def broadcast(
        self,
        x: NDArray[D] | None = None,
        root: int = 0,
        *,
        schedule: Schedule | str | None = None,
        sparse: bool | None = None,
        unchecked: bool = False,
        out: NDArray[D] | None = None,
        timeout_s: float | None = None,
    ) -> NDArray[D]:
        """Give every rank the root's array, in `x` unless `out` is given.

        Parameters
        ----------
        x : array, of the same size and dtype on every rank. Only the root's is read; elsewhere `out` will do.
        root : int, 0 … rank_count-1, the rank whose array all get.
        schedule : Schedule or str, optional. The schedule to run, or the name of an algorithm
            (`hemiola.algorithms.names()`); None lets the planner choose.
        sparse : bool, optional, the same on every rank. True lets messages leave zeros out where ranks see that it
            pays, in a schedule that suits that; of an algorithm or Schedule asked for, they do. None: where it pays,
            between hosts, from 1 MiB on, with the bits of False. False: never.
        unchecked : bool. Run a Schedule as it is; otherwise it is verified, once per digest, before anything moves.
            A named schedule is verified in any case where its algorithm was registered from outside.
        out : array of the shape and dtype of `x`, optional. Where the result goes.
        timeout_s : float > 0, seconds, optional. How long it may take; None: as `init` says.

        Returns
        -------
        The array with the result: `out`, or else `x`.

        Raises
        ------
        ArgumentError
            on this rank, when its arguments are wrong, among them a wrong schedule.
        MismatchError
            on every rank, when ranks disagree about the call, or another rank's arguments are wrong.
        LostRankError, TimeoutError
            on every rank, naming the rank that died or did not come in time.

        Notes
        -----
        Each other rank receives at least the bytes of `x`.
        `plan("broadcast", nbytes).explain()` names the schedule and its time.
        """
        return self._run(BROADCAST, x, out, "sum", root, schedule, unchecked, timeout_s, sparse)

    @remembered
    def all_to_all(
        self,
        x: NDArray[D],
        *,
        schedule: Schedule | str | None = None,
        sparse: bool | None = None,
        unchecked: bool = False,
        out: NDArray[D] | None = None,
        timeout_s: float | None = None,
    ) -> NDArray[D]:
        """Send the d-th of rank_count equal parts of `x` to rank d, and get one from each in rank order.

        Parameters
        ----------
        x : array, of the same size and dtype on every rank, its size a multiple of rank_count.
        schedule : Schedule or str, optional. The schedule to run, or the name of an algorithm
            (`hemiola.algorithms.names()`); None lets the planner choose.
        sparse : bool, optional, the same on every rank. True lets messages leave zeros out where ranks see that it
            pays, in a schedule that suits that; of an algorithm or Schedule asked for, they do. None: where it pays,
            between hosts, from 1 MiB on, with the bits of False. False: never.
        unchecked : bool. Run a Schedule as it is; otherwise it is verified, once per digest, before anything moves.
            A named schedule is verified in any case where its algorithm was registered from outside.
        out : array of the size and dtype of `x`, optional. Where the result goes.
        timeout_s : float > 0, seconds, optional. How long it may take; None: as `init` says.

        Returns
        -------
        The array with the parts: `out`, or else a new one like `x`.

        Raises
        ------
        ArgumentError
            on this rank, when its arguments are wrong, among them a wrong schedule.
        MismatchError
            on every rank, when ranks disagree about the call, or another rank's arguments are wrong.
        LostRankError, TimeoutError
            on every rank, naming the rank that died or did not come in time.

        Notes
        -----
        Each rank sends at least (rank_count - 1) / rank_count of the bytes of `x`.
        `plan("all_to_all", nbytes).explain()` names the schedule and its time.
        """
        return self._run(ALL_TO_ALL, x, out, "sum", 0, schedule, unchecked, timeout_s, sparse)

    def custom(
        self,
        x: NDArray[D],
        op: Op | PremulSum = "sum",
        *,
        schedule: Schedule,
        sparse: bool | None = None,
        unchecked: bool = False,
        out: NDArray[D] | None = None,
        timeout_s: float | None = None,
    ) -> NDArray[D]:
        """Run a schedule of `Collective.custom` on a buffer, in place unless `out` is given.

        Parameters
        ----------
        x : array, the buffer that the schedule's chunks divide; of the same size and dtype on every rank.
        op : str or PremulSum. How elements combine: sum, product, min, max, average, and, or, xor, as the dtype allows;
            PremulSum(factor) multiplies this rank's before they are added.
        schedule : Schedule, of a custom collective of rank_count ranks; the same on every rank.
        sparse : bool, optional, the same on every rank. True lets messages leave zeros out where ranks see that it
            pays, in a schedule that suits that; of an algorithm or Schedule asked for, they do. None: where it pays,
            between hosts, from 1 MiB on, with the bits of False. False: never.
        unchecked : bool. Run a Schedule as it is; otherwise it is verified, once per digest, before anything moves.
            A named schedule is verified in any case where its algorithm was registered from outside.
        out : array of the size and dtype of `x`, optional. Where the result goes.
        timeout_s : float > 0, seconds, optional. How long it may take; None: as `init` says.

        Returns
        -------
        The array with the result: `out`, or else `x`.

        Raises
        ------
        ArgumentError
            on this rank, when its arguments are wrong, among them a wrong schedule.
        MismatchError
            on every rank, when ranks disagree about the call, or another rank's arguments are wrong.
        LostRankError, TimeoutError
            on every rank, naming the rank that died or did not come in time.

        Notes
        -----
        It takes the schedule's time, which `hemiola.simulate` predicts for a topology.
        """
        return self._run(CUSTOM, x, out, op, 0, schedule, unchecked, timeout_s, sparse)

    @remembered
    def barrier(self, *, timeout_s: float | None = None) -> None:
        """Return once every rank has called this.

        Parameters
        ----------
        timeout_s : float > 0, seconds, optional. How long it may take; None: as `init` says.

        Returns
        -------
        None.

        Raises
        ------
        ArgumentError
            on this rank, when its arguments are wrong.
        MismatchError
            on every rank, when ranks disagree about the call, or another rank's arguments are wrong.
        LostRankError, TimeoutError
            on every rank, naming the rank that died or did not come in time.

        Notes
        -----
        Moves no elements: ranks only compare their calls.
        """
        return self._run(BARRIER, None, None, "sum", 0, None, False, timeout_s)
