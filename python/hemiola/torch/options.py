# SPDX-License-Identifier: Apache-2.0
"""The options that `init_process_group` and `new_group` take as `pg_options`."""

from __future__ import annotations

from dataclasses import dataclass

from hemiola._core import Topology
from hemiola.communicator import Communicator
from hemiola.conditions import Conditions, refuse_density
from hemiola.errors import ArgumentError
from hemiola.torch.errors import GroupArgumentError, for_torch


@dataclass
class Options:
    """Options of a group, the same on all its ranks.

    Parameters
    ----------
    keep_inputs : bool. Whether a failure in the middle of an operation in place leaves its input as it was. It costs a
        private copy of each overwritten tensor; without it a failed operation's tensor is undefined, as elsewhere.
    adapt : str, the conditions that collectives adapt to: "late", "slow", "late,slow" or "none"; None: HEMIOLA_ADAPT
        says, or both.
    device_topology : Topology, for which collectives of tensors on CUDA are planned, a rank each; None: all are joined
        to all by 25 GB/s, and to queue a group of messages takes 10 µs.
    device_conditions : Conditions, the ranks that are late or slow, for which collectives of tensors on CUDA are
        planned; None: nobody is. Slow ranks that the group has noticed on the host count, too.
    device_finds_late : bool. Whether ranks ask in each all-reduce of tensors on CUDA which of them comes last. All but
        one wait on the host until all but one have come.
    device_sparse : bool. Whether messages of tensors on CUDA leave zeros out. In each collective all ranks wait on the
        host for their devices and for each other, to learn how long the messages are.

    Raises
    ------
    ArgumentError
        for `device_conditions` with a density, or with a late rank where `device_finds_late` is asked for, and for
        `device_sparse` together with a late rank.
    """

    keep_inputs: bool = False
    adapt: str | None = None
    device_topology: Topology | None = None
    device_conditions: Conditions | None = None
    device_finds_late: bool = False
    device_sparse: bool = False

    def __post_init__(self) -> None:
        told = self.device_conditions or Conditions()
        try:
            refuse_density(told, "device_conditions")
        except ArgumentError as error:
            raise for_torch(error) from None
        if self.device_finds_late and told.late:
            raise GroupArgumentError(
                f"device_finds_late: expected no late rank in device_conditions, found {dict(told.late)}; leave one of "
                "them out"
            )
        if self.device_sparse and (self.device_finds_late or told.late):
            raise GroupArgumentError(
                "device_sparse: expected nobody late, found device_finds_late or a late rank in device_conditions; all "
                "ranks tell the lengths of their messages first, so the others would wait for the late one"
            )


@dataclass
class OfCommunicator(Options):
    """Options of a group whose ranks have a communicator already, which it takes over.

    Parameters
    ----------
    communicator : Communicator of the group's ranks, in their order.
    """

    communicator: Communicator | None = None
