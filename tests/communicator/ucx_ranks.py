# SPDX-License-Identifier: Apache-2.0
"""What ranks do that UCX joins; each returns plain data for the test to judge."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
from rank_cases import Case, run_cases

import hemiola as hm
from hemiola._core import find_ucx
from hemiola.errors import HemiolaError


def cases_with_the_packaged_ucx(cases: list[Case]) -> tuple[str, list[str]]:
    """Load PyPI's UCX as another package would, then run the cases; return which UCX is used, and the failures."""
    import libucx

    libucx.load_library()
    failures = run_cases(cases)
    return str(find_ucx([])["path"]), failures


def error_of_init() -> tuple[str, str]:
    """Return the type and text of what init raises where there is no UCX in any package."""
    sys.modules["libucx"] = None  # type: ignore[assignment]  # which is how Python says that it is not there
    try:
        hm.init(timeout_s=60)
    except HemiolaError as error:
        return type(error).__name__, str(error)
    return "", ""


def mistake_and_afterwards() -> tuple[str, str, float]:
    """Rank 1 brings another dtype; then all agree again."""
    comm = hm.init(timeout_s=60)
    name = text = ""
    try:
        comm.all_reduce(np.ones(100_000, np.float64 if comm.rank == 1 else np.float32))
    except HemiolaError as error:
        name, text = type(error).__name__, str(error)
    x = np.ones(300_000, np.float32)
    comm.all_reduce(x)
    return name, text, float(x[-1])


def killed_in_the_middle(victim: int, at: str) -> tuple[str, str, bool, float]:
    """All-reduce until the victim kills itself; return the error, whether the input is intact, and the time it took."""
    comm = hm.init(timeout_s=60)
    death = Path(at)
    for turn in range(100_000):
        x = np.arange(1 << 18, dtype=np.float32) % 100 + comm.rank
        if comm.rank == victim and turn == 20:
            death.write_text(repr(time.time()))
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            comm.all_reduce(x)
        except HemiolaError as error:
            intact = bool(np.array_equal(x, np.arange(1 << 18, dtype=np.float32) % 100 + comm.rank))
            return type(error).__name__, str(error), intact, time.time() - float(death.read_text())
    return "", "", False, 0.0
