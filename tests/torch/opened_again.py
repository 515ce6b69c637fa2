# SPDX-License-Identifier: Apache-2.0
"""One rank of a job that makes its process group again and again: opened_again.py TIMES; prints what it holds of the
system early and in the end. Started by torchrun, whose store outlives the groups."""

import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist

if not hasattr(torch, "_import_device_backends"):  # a PyTorch that loads no backend unasked
    import hemiola.torch  # noqa: F401


def held() -> dict[str, int]:
    """Count what this process holds of the system."""
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "mappings": len(Path("/proc/self/maps").read_text().splitlines()),
        "KiB": int(Path("/proc/self/statm").read_text().split()[1]) * 4,
    }


def main() -> None:
    """Open, use and close."""
    early = {}
    for number in range(int(sys.argv[1])):
        dist.init_process_group("hemiola")
        group = dist.new_group([0, 1])
        x = torch.ones(1000)
        dist.all_reduce(x, group=group)
        future = dist.all_reduce(x, async_op=True).get_future()
        assert future.wait()[0][0] == 4
        del future
        dist.destroy_process_group()
        if number == 9:
            early = held()
    sys.stdout.write(json.dumps([early, held()]) + "\n")  # at once: ranks share a pipe


if __name__ == "__main__":
    main()
