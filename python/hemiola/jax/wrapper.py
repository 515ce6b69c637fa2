# SPDX-License-Identifier: Apache-2.0
"""The library that jaxlib loads in place of an MPI: where it is, and whether it fits the installed jaxlib."""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
from importlib.metadata import version
from pathlib import Path

from hemiola.environment.jaxlib import names_of_jaxlib

#: MPItrampoline reads it once, when jaxlib is loaded.
VARIABLE = "MPITRAMPOLINE_LIB"
PATH = Path(importlib.import_module("hemiola._core").__file__ or "").with_name("mpi_wrapper.so")
#: Versions of jaxlib whose names have been looked up: others cost half a second at the import.
KNOWN = {"0.10.2"}


def announce() -> None:
    """Have jaxlib load the library, or see that it has.

    Raises
    ------
    ImportError
        where jaxlib was loaded first, and where it looks for a name that the library does not have.
    """
    if "jaxlib" not in sys.modules:
        _check_names()
        os.environ[VARIABLE] = str(PATH)
    elif str(PATH) not in Path("/proc/self/maps").read_text():
        raise ImportError(
            "hemiola.jax: expected to come before jax, which chooses its collectives at its import; found that jax is "
            "imported already. Import hemiola.jax before jax, or run `python -m hemiola.jax program.py`"
        )


def _check_names() -> None:
    """Raise ImportError where MPItrampoline would end the process for a name that is missing."""
    installed = version("jaxlib")
    if installed in KNOWN:
        return
    library = ctypes.CDLL(str(PATH))
    missing = sorted(name for name in names_of_jaxlib() if not hasattr(library, name))
    if missing:
        raise ImportError(
            f"hemiola.jax: jaxlib {installed} needs {len(missing)} functions that this Hemiola lacks. The first is "
            f"{missing[0]}. Install a newer Hemiola, or jaxlib {max(KNOWN)}"
        )
