# SPDX-License-Identifier: Apache-2.0
"""Write src/hemiola/bindings/jax/other_names.inc: what the installed jaxlib's MPItrampoline looks for, but for what
mpi_wrapper.cpp defines itself. Names of other versions stay, so that one library serves them all."""

import re
from pathlib import Path

from hemiola.environment.jaxlib import is_function, names_of_jaxlib

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src/hemiola/bindings/jax/mpi_wrapper.cpp"
TARGET = ROOT / "src/hemiola/bindings/jax/other_names.inc"
HEAD = """\
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/jax_names.py: what MPItrampoline looks for and XLA never calls.
"""


def defined_names() -> set[str]:
    """Return the names that the library's own source defines."""
    return set(re.findall(r"(?:int |CONSTANT\()(MPIABI_\w+)", SOURCE.read_text()))


def listed_names() -> set[str]:
    """Return the names that are in the list already."""
    return set(re.findall(r"OTHER_\w+\((\w+)\)", TARGET.read_text())) if TARGET.exists() else set()


def main() -> None:
    """Rewrite the list."""
    names = sorted((names_of_jaxlib() | listed_names()) - defined_names())
    lines = [f"OTHER_{'FUNCTION' if is_function(name) else 'CONSTANT'}({name})\n" for name in names]
    TARGET.write_text(HEAD + "".join(lines))
    print(f"{TARGET.name}: {len(names)} names")


if __name__ == "__main__":
    main()
