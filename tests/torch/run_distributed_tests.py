# SPDX-License-Identifier: Apache-2.0
"""Runs tests of PyTorch's own DistributedTest on "hemiola" or "gloo": run_distributed_tests.py RANKS BACKEND TEST...
prints a line of JSON for each: its name, "passed", "skipped", "failed" or, where this PyTorch has no such test,
"absent", and why.

The module decides by the backend's name, when it is imported and when a test runs, what it lets a backend do; so it is
imported as for gloo, and told the name afterwards. Ranks are forked, so that PyTorch is imported once."""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
import time
import unittest
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any
from unittest import mock

LIMIT_S = 60
#: Their bodies compare the module's name of the backend with those that they know.
COMPARE_THE_MODULES_NAME = "accumulate_gradients_no_sync"
#: What they call asks the group for its name, and refuses all but one.
COMPARE_THE_GROUPS_NAME = "monitored_barrier"
#: How often `Barrier.sync` looks for the other ranks.
POLL_S, THEIRS_S = 0.004, 0.1


class QuickTime:
    """The module `time`, for those who wait for each other 25 times as often."""

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def sleep(self, seconds: float) -> None:
        """Sleep, but not for as long as they mean to between two looks."""
        time.sleep(POLL_S if seconds == THEIRS_S else seconds)


def suite(rank_count: int, backend: str) -> Any:
    """Import DistributedTest and return it with ranks that are forked and run on a backend."""
    os.environ |= {
        "BACKEND": "gloo",
        "WORLD_SIZE": str(rank_count),
        "INIT_METHOD": "file://" + tempfile.mkstemp()[1],
        "TEMP_DIR": tempfile.mkdtemp(),
        "MASTER_ADDR": "127.0.0.1",
        "OMP_NUM_THREADS": "1",
    }
    import torch
    from torch.testing._internal import common_distributed
    from torch.testing._internal.distributed import distributed_test

    import hemiola.torch.making  # noqa: F401  # once, for all ranks

    torch.set_num_threads(1)
    for feature in ("ddp", "subgroup", "plugin"):
        common_distributed.DistTestCases.backend_feature[feature].add("hemiola")
    common_distributed.get_timeout = lambda test: LIMIT_S
    distributed_test.time = QuickTime()
    distributed_test.BACKEND = backend
    # From fewer than 8 ranks on, tests of groups run for this name alone.
    os.environ["BACKEND"] = "mpi"

    class OnBackend(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):  # type: ignore[misc]
        def setUp(self) -> None:
            super().setUp()
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    return OnBackend


@contextmanager
def named_as_it_compares(test: str, used: str) -> Iterator[None]:
    """Have a test that compares names find gloo's, and the group be of the other backend nevertheless."""
    import torch.distributed as dist
    from torch.testing._internal.distributed import distributed_test

    real = dist.init_process_group

    def init(*, backend: str, **how: Any) -> None:
        real(backend=used, **how)

    with ExitStack() as patched:
        if COMPARE_THE_MODULES_NAME in test:
            patched.enter_context(mock.patch.object(distributed_test, "BACKEND", "gloo"))
            patched.enter_context(mock.patch.object(dist, "init_process_group", init))
        if COMPARE_THE_GROUPS_NAME in test:
            for place in (dist, dist.distributed_c10d):
                patched.enter_context(mock.patch.object(place, "get_backend", return_value="gloo"))
        yield


def run(suite_class: Any, backend: str, test: str) -> dict[str, str]:
    """Run one test in ranks of its own."""
    if not hasattr(suite_class, test):
        return {"test": test, "outcome": "absent", "why": "", "seconds": "0"}
    result = unittest.TestResult()
    began = time.monotonic()
    with named_as_it_compares(test, backend), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        suite_class(test).run(result)
    wrong = [*result.failures, *result.errors]
    outcome = "skipped" if result.skipped else "failed" if wrong else "passed"
    why = result.skipped[0][1] if result.skipped else wrong[0][1] if wrong else ""
    return {
        "test": test,
        "outcome": outcome,
        "why": why[-3000:],
        "seconds": f"{time.monotonic() - began:.2f}",
    }


def main() -> None:
    """Run the tests."""
    rank_count, backend, *tests = sys.argv[1:]
    suite_class = suite(int(rank_count), backend)
    for test in tests:
        print(json.dumps(run(suite_class, backend, test)), flush=True)


if __name__ == "__main__":
    main()
