# SPDX-License-Identifier: Apache-2.0
"""Runs functions of a module on ranks of torch.distributed that are forked from one process that has imported PyTorch:
forked.py RANKS BACKEND MODULE FUNCTION... prints, by function, what each rank has returned, as a pickle in hexadecimal.

Every function runs in the same process group, one after the other; a rank that raises leaves the others to their
limits."""

from __future__ import annotations

import atexit
import importlib
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

LIMIT_S = 120
GROUP_LIMIT_S = 30


def run(module: str, functions: list[str], rank_count: int, backend: str = "hemiola") -> dict[str, list[Any]]:
    """Run them, and return by function what each rank has returned. Raises AssertionError with what one has raised.

    With several backends, "hemiola,gloo", a rank returns a list with what it has returned on each. "beside" is Hemiola
    as it is where a group may have a backend for another device, too: inside a group of PyTorch's.
    """
    command = [sys.executable, __file__, str(rank_count), backend, module, *functions]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, env=environment)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    found: dict[str, list[Any]] = pickle.loads(bytes.fromhex(done.stdout.splitlines()[-1]))
    return found


def make_beside(given: Any, options: Any) -> Any:
    """Make a group as `hemiola.torch.making` does where there is another device."""
    from hemiola.torch import making

    making._may_stand_beside_others = lambda: True
    return making.make(given, options)


def be_rank(
    rank: int, rank_count: int, backend: str, module: Any, functions: list[str], at: str
) -> list[Any]:
    """Join the others and call the functions."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    if backend == "beside":
        dist.Backend.register_backend(backend, make_beside, extended_api=True, devices=["cpu"])
    dist.init_process_group(
        backend,
        init_method=f"file://{at}",
        rank=rank,
        world_size=rank_count,
        timeout=timedelta(seconds=GROUP_LIMIT_S),
    )
    found = [getattr(module, function)() for function in functions]
    dist.destroy_process_group()
    return found


def main() -> int:
    """Fork the ranks and gather what they return."""
    rank_count, backend, name, *functions = sys.argv[1:]
    import torch.distributed  # noqa: F401  # once, for all ranks

    assert not any(module.partition(".")[0] == "hemiola" for module in sys.modules), (
        "import torch brings Hemiola"
    )
    module = importlib.import_module(name)
    importlib.import_module("hemiola.torch.making")  # once, for all ranks
    folder = Path(tempfile.mkdtemp(prefix="forked"))
    atexit.register(shutil.rmtree, folder)  # the ranks end by os._exit
    children = []
    for rank in range(int(rank_count)):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                at = str(folder / "store")
                every = [
                    be_rank(rank, int(rank_count), each, module, functions, f"{at}-{each}")
                    for each in backend.split(",")
                ]
                found = every[0] if len(every) == 1 else list(zip(*every, strict=True))
                (folder / str(rank)).write_bytes(pickle.dumps(found))
                status = 0
            except BaseException:
                print(f"rank {rank}:\n{traceback.format_exc()}", file=sys.stderr, flush=True)
            sys.stderr.flush()
            os._exit(status)
        children.append(child)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    if any(statuses):
        print(f"statuses of the ranks: {statuses}", file=sys.stderr)
        return 1
    by_rank = [pickle.loads((folder / str(rank)).read_bytes()) for rank in range(int(rank_count))]
    told = {function: [row[place] for row in by_rank] for place, function in enumerate(functions)}
    print(pickle.dumps(told).hex())
    return 0


if __name__ == "__main__":
    sys.exit(main())
