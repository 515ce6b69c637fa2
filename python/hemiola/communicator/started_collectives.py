# SPDX-License-Identifier: Apache-2.0
"""The collectives in the background: a method for each of `Collectives`, which returns a Handle at once."""

from __future__ import annotations

from typing import Unpack

from numpy.typing import NDArray

from hemiola._core import PremulSum
from hemiola.arguments.names import Op
from hemiola.communicator.calls import Caller, CallOptions, CustomOptions, D
from hemiola.communicator.handle import Handle
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


class StartedCollectives(Caller):
    """The calls that start a collective. It runs after those that were started before."""

    def start_all_reduce(
        self, x: NDArray[D], op: Op | PremulSum = "sum", **options: Unpack[CallOptions[D]]
    ) -> Handle[NDArray[D]]:
        """Start an all-reduce in the background.

        Parameters, exceptions and notes are those of `all_reduce`.

        Returns
        -------
        Handle of the array with the result. Leave the arrays alone until it is done.
        """
        return self._start(ALL_REDUCE, x, op, 0, **options)

    def start_reduce(
        self, x: NDArray[D], op: Op | PremulSum = "sum", root: int = 0, **options: Unpack[CallOptions[D]]
    ) -> Handle[NDArray[D] | None]:
        """Start a reduce in the background.

        Parameters, exceptions and notes are those of `reduce`.

        Returns
        -------
        Handle of the array with the result, or of None where the rank is not the root. Leave the arrays
        alone until it is done.
        """
        return self._start(REDUCE, x, op, root, **options)

    def start_reduce_scatter(
        self, x: NDArray[D], op: Op | PremulSum = "sum", **options: Unpack[CallOptions[D]]
    ) -> Handle[NDArray[D]]:
        """Start a reduce-scatter in the background.

        Parameters, exceptions and notes are those of `reduce_scatter`.

        Returns
        -------
        Handle of the array with the rank's part. Leave the arrays alone until it is done.
        """
        return self._start(REDUCE_SCATTER, x, op, 0, **options)

    def start_all_gather(self, x: NDArray[D], **options: Unpack[CallOptions[D]]) -> Handle[NDArray[D]]:
        """Start an all-gather in the background.

        Parameters, exceptions and notes are those of `all_gather`.

        Returns
        -------
        Handle of the array with the result. Leave the arrays alone until it is done.
        """
        return self._start(ALL_GATHER, x, "sum", 0, **options)

    def start_gather(
        self, x: NDArray[D], root: int = 0, **options: Unpack[CallOptions[D]]
    ) -> Handle[NDArray[D] | None]:
        """Start a gather in the background.

        Parameters, exceptions and notes are those of `gather`.

        Returns
        -------
        Handle of the array with the result, or of None where the rank is not the root. Leave the arrays
        alone until it is done.
        """
        return self._start(GATHER, x, "sum", root, **options)

    def start_scatter(
        self, x: NDArray[D] | None = None, root: int = 0, **options: Unpack[CallOptions[D]]
    ) -> Handle[NDArray[D]]:
        """Start a scatter in the background.

        Parameters, exceptions and notes are those of `scatter`.

        Returns
        -------
        Handle of the array with the rank's part. Leave the arrays alone until it is done.
        """
        return self._start(SCATTER, x, "sum", root, **options)

    def start_broadcast(
        self, x: NDArray[D] | None = None, root: int = 0, **options: Unpack[CallOptions[D]]
    ) -> Handle[NDArray[D]]:
        """Start a broadcast in the background.

        Parameters, exceptions and notes are those of `broadcast`.

        Returns
        -------
        Handle of the array with the result. Leave the arrays alone until it is done.
        """
        return self._start(BROADCAST, x, "sum", root, **options)

    def start_all_to_all(self, x: NDArray[D], **options: Unpack[CallOptions[D]]) -> Handle[NDArray[D]]:
        """Start an all-to-all in the background.

        Parameters, exceptions and notes are those of `all_to_all`.

        Returns
        -------
        Handle of the array with the result. Leave the arrays alone until it is done.
        """
        return self._start(ALL_TO_ALL, x, "sum", 0, **options)

    def start_custom(
        self, x: NDArray[D], op: Op | PremulSum = "sum", **options: Unpack[CustomOptions[D]]
    ) -> Handle[NDArray[D]]:
        """Start a custom collective in the background.

        Parameters, exceptions and notes are those of `custom`.

        Returns
        -------
        Handle of the array with the result. Leave the arrays alone until it is done.
        """
        return self._start(CUSTOM, x, op, 0, **options)

    def start_barrier(self, *, timeout_s: float | None = None) -> Handle[None]:
        """Start a barrier in the background.

        Parameters, exceptions and notes are those of `barrier`.

        Returns
        -------
        Handle of the end.
        """
        return self._start(BARRIER, None, "sum", 0, timeout_s=timeout_s)
