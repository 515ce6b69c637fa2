# SPDX-License-Identifier: Apache-2.0
"""The options that `init_process_group` and `new_group` take as `pg_options`."""

from __future__ import annotations

from dataclasses import dataclass

from hemiola._core import Topology


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
    """

    keep_inputs: bool = False
    adapt: str | None = None
    device_topology: Topology | None = None
