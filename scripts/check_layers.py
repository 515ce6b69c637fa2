"""Check that each folder of the core includes only folders above it, and that the engine knows no particular wire.
The order is the architecture; see CONTRIBUTING.md."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# From the foundation up; a folder may include itself and what stands before it.
LAYERS = [
    "base",
    "topology",
    "schedule",
    "verify",
    "bounds",
    "algorithms",
    "synthesis",
    "simulate",
    "codec",
    "runtime",
    "bindings",
]
# Pairs that the order would allow and the design forbids: no contestant sits beside the judge, nothing but the engine's
# callers knows a wire.
FORBIDDEN = {
    ("simulate", "verify"),
    ("simulate", "algorithms"),
    ("simulate", "synthesis"),
    ("runtime", "algorithms"),
    ("runtime", "synthesis"),
    ("runtime", "verify"),
}
INCLUDE = re.compile(r'#include "hemiola/([a-z_]+)/')


def layer_violations() -> list[str]:
    """Return one line per include that points upwards."""
    found = []
    for path in sorted((ROOT / "src" / "hemiola").rglob("*.[ch]pp")):
        layer = path.relative_to(ROOT / "src" / "hemiola").parts[0]
        if layer not in LAYERS:
            found.append(
                f"{path.relative_to(ROOT)}: folder '{layer}' is in no layer; add it to {Path(__file__).name}"
            )
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            other = match.group(1)
            if (
                other not in LAYERS
                or LAYERS.index(other) > LAYERS.index(layer)
                or (layer, other) in FORBIDDEN
            ):
                found.append(f"{path.relative_to(ROOT)}:{number}: '{layer}' must not include '{other}'")
            if layer != "bindings" and ("nanobind" in line or "Python.h" in line):
                found.append(f"{path.relative_to(ROOT)}:{number}: the core knows no Python")
    return found


def engine_violations() -> list[str]:
    """Return one line per include by which the engine would know a particular wire."""
    found = []
    for path in sorted((ROOT / "src" / "hemiola" / "runtime" / "engine").rglob("*.[ch]pp")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.match(r'#include "hemiola/runtime/wire/(?!wire\.hpp)', line):
                found.append(f"{path.relative_to(ROOT)}:{number}: the engine must know no wire but wire.hpp")
    return found


def main() -> int:
    """Print every violation; exit status 1 if there is one."""
    violations = layer_violations() + engine_violations()
    for line in violations:
        print(line)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
