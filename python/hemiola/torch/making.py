# SPDX-License-Identifier: Apache-2.0
"""How PyTorch makes a group: by the route that its version has."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import distributed as dist
from torch._C import _distributed_c10d as c10d

from hemiola import environment
from hemiola.errors import ArgumentError
from hemiola.torch import builtin_hooks  # noqa: F401  # replaces one of PyTorch's functions
from hemiola.torch.errors import GroupArgumentError
from hemiola.torch.group import (
    HemiolaBackend,
    HemiolaProcessGroup,
    Part,
    Place,
    python_may_derive_from_backend,
)
from hemiola.torch.lookup import group_of
from hemiola.torch.open_groups import OPEN
from hemiola.torch.options import OfCommunicator, Options
from hemiola.torch.prometheus import begin_telling
from hemiola.torch.records import begin_recording


def make(given: Any, options: Any) -> Any:
    """Return a group for `init_process_group` and its kin.

    Parameters
    ----------
    given : torch's DistributedBackendOptions: store, group_rank, group_size, timeout.
    options : Options, or None.

    Raises
    ------
    ArgumentError
        for options of another kind.
    """
    if options is None:
        options = Options()
    if not isinstance(options, Options):
        raise GroupArgumentError(
            f"pg_options: expected hemiola.torch.Options, found {type(options).__name__}; such as "
            f"hemiola.torch.Options(keep_inputs=True)"
        )
    if not hasattr(c10d.ProcessGroup, "shutdown"):
        _close_forgotten()
    begin_recording()
    begin_telling(given.group_rank)
    route = HemiolaBackend if _may_stand_beside_others() else HemiolaProcessGroup
    ranks = list(given.global_ranks_in_group or range(given.group_size))
    known = options.communicator if isinstance(options, OfCommunicator) else None
    place = Place(given.store, given.group_rank, given.group_size, _part_of_job(ranks, given.group_id), known)
    made = route(place, given.timeout, options)
    made.known_as(given.group_id, ranks)
    made.is_pytorchs = True
    if given.group_rank == 0:
        _say_what_is_replaced()
    return made


@cache
def _say_what_is_replaced() -> None:
    """Say once that a name means another backend than its own."""
    replaced = environment.TORCH_REPLACES.value()
    if replaced:
        print(
            f"hemiola: '{replaced}' means Hemiola here ({environment.TORCH_REPLACES.name}={replaced})",
            file=sys.stderr,
        )


def _close_forgotten() -> None:
    """Close the groups that PyTorch has destroyed, where it tells them nothing of it (2.4): the next one made does."""
    known = dist.distributed_c10d._world.pg_map
    for group in [group for group in OPEN if group.is_pytorchs and group not in known]:
        group.shutdown()


def _part_of_job(ranks: Sequence[int], name: str) -> Part | None:
    """Return ranks of the job as a part of its default group, where there is one and it is of this backend."""
    if not dist.is_initialized():
        return None
    try:
        return Part(group_of(), ranks, name)
    except ArgumentError:
        return None


def _may_stand_beside_others() -> bool:
    """Say whether the group may have to share a `ProcessGroup` of PyTorch's, with the backend of another device.

    PyTorch does not tell which backends a group is to have; a `ProcessGroup` of ours has the group for itself.
    """
    return python_may_derive_from_backend() and (torch.cuda.device_count() > 0 or _has_another_accelerator())


def _has_another_accelerator() -> bool:
    """Say whether PyTorch has been built for an accelerator that is none of CUDA's or ROCm's."""
    accelerator = getattr(torch, "accelerator", None)
    device = accelerator.current_accelerator() if accelerator else None
    return device is not None and device.type != "cuda"
