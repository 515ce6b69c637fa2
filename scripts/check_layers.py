# SPDX-License-Identifier: Apache-2.0
"""Check who includes whom in the core: only what stands below, no circles, no implementation but one's own; and that
the bindings import no more of the package than conversions. The order is the architecture; see CONTRIBUTING.md. The
package's own order is in pyproject.toml, where import-linter reads it."""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
SOURCES = "src/hemiola"

# From the foundation up; a folder may include itself and what stands before it.
LAYERS = [
    "base",
    "topology",
    "schedule",
    "verify",
    "bounds",
    "trees",
    "algorithms",
    "synthesis",
    "simulate",
    "codec",
    "runtime",
    "bindings",
    "c",
]
# The same inside a folder, level by level. Names of one level must not include each other. A folder's own files are
# named, without their endings, where their place matters; all others are the '.'. Folders that are not in the table are
# free inside.
ORDER: dict[str, list[str]] = {
    "": LAYERS,
    "schedule": [".", "file transform"],
    "algorithms": [
        "index node_network",
        "function task",
        "algorithm layout_argument",
        "papers",
        "published late slow levels topology",
        ".",
    ],
    "synthesis": ["network", "options trials", "flood delivery", ".", "forest", "late"],
    "runtime": [
        "net",
        "session",
        "wire",
        "control",
        "executor",
        "health",
        "adaptation",
        "operation",
        "messages",
        "communicator",
    ],
}
# Below a seam, each folder is an implementation: nobody outside may include it, but for the files that assemble them.
SEAMS = {"runtime/session", "runtime/wire", "runtime/control", "runtime/executor"}
SHARED = {"runtime/executor/program"}  # plain data below a seam, the same for every implementation
ASSEMBLES = {
    "runtime/communicator/connection.cpp",  # control planes and executors, for a communicator
    "runtime/communicator/wire_choice.cpp",  # wires
    "runtime/session/hosts/hosts_session.cpp",  # the local session of those ranks that are on one host
    "runtime/session/hosts/neighbourhood.cpp",  # the same
    "runtime/session/hosts/visitor.cpp",  # the same, of a newcomer
    "c/meeting.cpp",  # the session, for a process that joins a job without Python
    "bindings/session.cpp",  # the session, for a process that joins a job
    "bindings/runtime.cpp",  # the wire, for who asks for an emulated one
    "bindings/mpi.cpp",  # the MPI that has started this process, by which ranks may meet
    "bindings/ucx.cpp",  # UCX, for who asks what would be found
}
# Pairs that the order would allow and the design forbids: no contestant sits beside the judge, and what runs a schedule
# does not care where it comes from; the library for C stands beside Python.
FORBIDDEN = {
    ("simulate", "verify"),
    ("simulate", "algorithms"),
    ("simulate", "synthesis"),
    ("runtime", "algorithms"),
    ("runtime", "synthesis"),
    ("runtime", "verify"),
    ("c", "bindings"),
}
# The modules that the bindings may import: each converts something between Python and the core, and none decides.
CONVERSIONS = {
    "hemiola.algorithms.schedule_text",
    "hemiola.algorithms.transfer_rows",
    "hemiola.arguments.compiled",
    "hemiola.errors",
    "hemiola.simulate",
    "hemiola.interchange.files",
    "hemiola.topology.files",
    "hemiola.topology.graphs",
    "hemiola.topology.notebook",
    "hemiola.topology.yaml_reader",
    "hemiola.topology.yaml_writer",
}
INCLUDE = re.compile(r'^#include [<"](?:hemiola/)?([^">]+)[">]', re.MULTILINE)

Includes = Mapping[str, list[str]]  # of each file, relative to SOURCES


def read_includes(sources: Path) -> dict[str, list[str]]:
    """Return what each file under `sources` includes, the core's own headers relative to `sources`."""
    return {
        path.relative_to(sources).as_posix(): INCLUDE.findall(path.read_text())
        for path in sorted(sources.rglob("*.[ch]pp"))
    }


def level_of(folder: str, path: PurePosixPath) -> tuple[int, str] | None:
    """Return the level in `folder` of what is or contains `path`, and its name; None if it is in no level."""
    inside = path.relative_to(folder or ".")
    names = [inside.stem, "."] if len(inside.parts) == 1 else [inside.parts[0]]
    places = [
        (level, name) for name in names for level, named in enumerate(ORDER[folder]) if name in named.split()
    ]
    return places[0] if places else None


def meeting_folder(a: PurePosixPath, b: PurePosixPath) -> str:
    """Return the innermost folder that holds both files."""
    shared = next(folder for folder in a.parents if folder in b.parents)
    return "" if shared == PurePosixPath(".") else shared.as_posix()


def order_violation(file: str, header: str) -> str | None:
    """Return what is wrong with the direction of an include, or None."""
    above, below = PurePosixPath(file), PurePosixPath(header)
    folder = meeting_folder(above, below)
    if folder not in ORDER:
        return None
    upper, lower = level_of(folder, above), level_of(folder, below)
    for path, found in ((file, upper), (header, lower)):
        if found is None:
            return f"{path} is in no level of '{folder}'; give it one in {Path(__file__).name}"
    assert upper
    assert lower
    if lower[0] > upper[0] or (lower[0] == upper[0] and lower[1] != upper[1]):
        return f"'{upper[1]}' must not include '{lower[1]}' ({header})"
    if (upper[1], lower[1]) in FORBIDDEN:
        return f"'{upper[1]}' must know nothing of '{lower[1]}' ({header})"
    return None


def implementation_of(path: str) -> str | None:
    """Return the implementation's folder that `path` is in, or None."""
    folders = [folder.as_posix() for folder in PurePosixPath(path).parents]
    return next((f for f in folders if PurePosixPath(f).parent.as_posix() in SEAMS and f not in SHARED), None)


def include_violations(includes: Includes) -> Iterator[str]:
    """Yield a line per include that points the wrong way, or at an implementation."""
    for file, headers in includes.items():
        for header in headers:
            if header not in includes:
                if re.match("nanobind/|Python.h", header) and not file.startswith("bindings/"):
                    yield f"{file}: the core knows no Python"
                continue
            if wrong := order_violation(file, header):
                yield f"{file}: {wrong}"
            kind = implementation_of(header)
            if kind and kind != implementation_of(file) and file not in ASSEMBLES:
                yield f"{file}: {header} is an implementation, for {kind}/ alone; include the interface at the door"


def circles(includes: Includes) -> Iterator[str]:
    """Yield a line per circle of headers that include each other: depth first, one line for each way back."""
    state: dict[str, str] = {}
    trail: list[str] = []

    def visit(file: str) -> Iterator[str]:
        state[file] = "open"
        trail.append(file)
        for header in includes[file]:
            if state.get(header) == "open":
                yield "circle: " + " > ".join([*trail[trail.index(header) :], header])
            elif header in includes and header not in state:
                yield from visit(header)
        state[file] = "done"
        trail.pop()

    for file in includes:
        if file not in state:
            yield from visit(file)


def violations(includes: Includes) -> list[str]:
    """Return one line per violation of the order."""
    return [*include_violations(includes), *circles(includes)]


def conversion_violations(bindings: Path) -> Iterator[str]:
    """Yield a line per module that the bindings import and that is no listed conversion."""
    for path in sorted(bindings.rglob("*.[ch]pp")):
        for module in re.findall(r'"(hemiola\.[a-z_.]+)"', path.read_text()):
            if module not in CONVERSIONS:
                yield f"bindings/{path.name}: the bindings must not import '{module}'"


def main() -> int:
    """Print every violation; exit status 1 if there is one."""
    found = [*violations(read_includes(ROOT / SOURCES)), *conversion_violations(ROOT / SOURCES / "bindings")]
    for line in found:
        print(f"{SOURCES}/{line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
