# SPDX-License-Identifier: Apache-2.0
"""One rank of a job of torchrun's on several hosts, which knows Hemiola by the backend's name alone."""

import sys

import torch
import torch.distributed as dist


def main() -> None:
    """Reduce, make a group of ranks of different hosts, and send a message around."""
    dist.init_process_group("hemiola")
    rank, n = dist.get_rank(), dist.get_world_size()
    x = torch.tensor([rank + 1.0])
    dist.all_reduce(x)
    across = dist.new_group([0, n - 1])
    if rank in (0, n - 1):
        dist.all_reduce(x, group=across)
    got = torch.zeros(1)
    sent = dist.isend(torch.tensor([float(rank)]), (rank + 1) % n)
    dist.recv(got, (rank - 1) % n)
    sent.wait()
    sys.stdout.write(f"{rank}: {x.item():g}, {got.item():g} from the left\n")  # at once: ranks share a pipe
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
