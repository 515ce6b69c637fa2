# SPDX-License-Identifier: Apache-2.0
"""Run a program of mpi4py on Hemiola: `hemiola launch -n 4 python -m hemiola.mpi script.py`."""

from __future__ import annotations

import os
import runpy
import sys
from types import ModuleType
from typing import Any

from hemiola import mpi


class _StandIn:
    """Finds no module below mpi4py but MPI."""

    def find_spec(self, name: str, *_: Any) -> None:
        if name.startswith("mpi4py."):
            raise ImportError(
                f"expected mpi4py.MPI, found {name}, which hemiola.mpi has not; run this program with MPI"
            )


def stand_in() -> None:
    """Have `from mpi4py import MPI` import hemiola.mpi from now on."""
    package = ModuleType("mpi4py")
    package.__path__ = []
    vars(package).update(MPI=mpi, rc=ModuleType("mpi4py.rc"), __version__="4.1")
    sys.modules |= {"mpi4py": package, "mpi4py.MPI": mpi, "mpi4py.rc": vars(package)["rc"]}
    sys.meta_path.insert(0, _StandIn())


def main() -> None:
    """Run the script, or the module behind -m, that the command line names."""
    if sys.argv[1:] in ([], ["-h"], ["--help"], ["-m"]):
        raise SystemExit(
            "usage: python -m hemiola.mpi SCRIPT or python -m hemiola.mpi -m MODULE, and their arguments"
        )
    stand_in()
    del sys.argv[0]
    if sys.argv[0] == "-m":
        del sys.argv[0]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(sys.argv[0]) or ".")
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
