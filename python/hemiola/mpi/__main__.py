# SPDX-License-Identifier: Apache-2.0
"""Run a program of mpi4py on Hemiola: `hemiola launch -n 4 python -m hemiola.mpi script.py`."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from hemiola import mpi


class _StandIn:
    """Finds no module below mpi4py but MPI."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.startswith("mpi4py."):
            raise ImportError(
                f"hemiola.mpi stands in for mpi4py.MPI, and has no {name}; run this program with MPI"
            )
        return None


def stand_in() -> None:
    """Have `from mpi4py import MPI` import hemiola.mpi from now on."""
    package = ModuleType("mpi4py")
    package.__path__ = []
    vars(package).update(MPI=mpi, rc=ModuleType("mpi4py.rc"), __version__="4.1")
    sys.modules |= {"mpi4py": package, "mpi4py.MPI": mpi, "mpi4py.rc": vars(package)["rc"]}
    sys.meta_path.insert(0, _StandIn())


def main(words: Sequence[str]) -> None:
    """Run a script, or a module behind -m, with its arguments."""
    if not words or words[0] in ("-h", "--help") or words == ["-m"]:
        raise SystemExit(
            "usage: python -m hemiola.mpi SCRIPT or python -m hemiola.mpi -m MODULE, and their arguments"
        )
    stand_in()
    if words[0] == "-m":
        sys.argv = list(words[1:])
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = list(words)
        sys.path.insert(0, words[0].rpartition("/")[0] or ".")
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
