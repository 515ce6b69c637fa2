# SPDX-License-Identifier: Apache-2.0
"""Run a program of JAX with Hemiola's collectives; without a program, print the library for MPITRAMPOLINE_LIB."""

from __future__ import annotations

import runpy
import sys

from hemiola.jax import wrapper


def main() -> None:
    """Run the program that the command line names, or print the library's path."""
    if len(sys.argv) == 1:
        print(wrapper.PATH)
        return
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
