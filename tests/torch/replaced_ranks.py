# SPDX-License-Identifier: Apache-2.0
"""A program that asks PyTorch for gloo in every way; started by a launcher that sets RANK and WORLD_SIZE. Prints what
carries each group."""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


def carrier(group: Any) -> str:
    """Return what a group is, having reduced a tensor in it."""
    tensor = torch.ones(3)
    dist.all_reduce(tensor, group=group)
    assert tensor[0] == dist.get_world_size(group)
    return type(group).__name__


def main() -> None:
    """Make the groups."""
    asked = sys.argv[1]
    dist.init_process_group(None if asked == "nothing" else asked)
    world = dist.group.WORLD
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    found = [
        carrier(world),
        carrier(dist.new_group(backend="gloo")),
        carrier(dist.new_group()),
        carrier(mesh.get_group()),
    ]
    objects: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(objects, dist.get_rank())
    assert objects == list(range(dist.get_world_size()))
    if asked == "gloo":
        assert dist.get_backend() == "gloo"
        dist.monitored_barrier()
    print(" ".join(found) + "\n", end="", flush=True)  # in one piece, beside those of other ranks
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
