# SPDX-License-Identifier: Apache-2.0
"""Takes the output of `nvidia-smi topo -m` apart: one matrix per host."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hemiola.topology.matrix_text import Line, Matrix, add_row, check_complete, lines_of
from hemiola.topology.place import Place, quote

#: Relations through PCIe, nearest first, and the part in which two devices meet that way.
LEVELS = {"PIX": "PCIe", "PXB": "PCIe", "PHB": "CPU", "NODE": "socket", "SYS": "host"}
_OLD_NAMES = {"SOC": "SYS"}
#: No GPU has more NVLinks than this.
MOST_NVLINKS = 18
_MAX_DEVICES = 256

_CELL = r"(?:X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC)"
_DEVICE = r"(?:GPU|NIC)\d+"
_GPU = re.compile(r"GPU\d+")
#: A device's name, by which a line of only such is known to be the columns'.
_NAME = re.compile(r"[A-Za-z][\w.\-]*\d[\w.\-]*")
_WORD_OF_A_CELL = re.compile(r"[A-Z][A-Z0-9/]*")
#: Where two columns stand against each other.
_GLUED_NAMES = re.compile(r"(?<=\d)(?=(?:GPU|NIC)\d|mlx\d|CPU\b|NUMA\b)")
#: A device, cells and its CPU, as far as they stand against each other.
_GLUED_CELLS = re.compile(rf"({_DEVICE})?((?:{_CELL})*)((?<=[A-Z])\d.*)?")
_GLUED_COUNT = re.compile(r"NV\d+[-,]\d.*")
_YAML = re.compile(r"^(ranks|topology|links)\s*:", re.MULTILINE)


def is_matrix(text: str) -> bool:
    """Whether the text holds such a matrix."""
    if _GPU.search(text) is None or text.lstrip().startswith("<") or _YAML.search(text):
        return False
    return any(_row_of(line, None) for line in lines_of(text, ""))


def matrices_of(text: str, source: str) -> list[Matrix]:
    """Read the matrices of a text; raise FormatError that names source and line."""
    matrices: list[Matrix] = []
    for line in lines_of(text, source):
        if columns := _columns(line):
            says_gpu_numa = "GPU NUMA" in " ".join(line.words)
            matrices.append(Matrix(line.place, columns, says_gpu_numa=says_gpu_numa))
        elif found := _row_of(line, matrices[-1] if matrices else None):
            if not matrices:
                line.place.fail("expected a line with the names of the columns above the first row")
            _add(matrices[-1], *found, line.place)
        elif matrices and len(line.words) == 2 and re.fullmatch(rf"{_DEVICE}:", line.words[0]):
            matrices[-1].legend[line.words[0][:-1]] = line.words[1]
    matrices = [matrix for matrix in matrices if matrix.cells]
    if not matrices:
        Place(source).fail("expected what 'nvidia-smi topo -m' prints, found no row such as 'GPU0 X …'")
    for matrix in matrices:
        check_complete(matrix)
        matrix.check_symmetry()
        matrix.devices.sort(key=_order)
    return matrices


def _order(device: str) -> tuple[bool, int]:
    """Put GPUs first, by their numbers; the others stay as they come."""
    is_gpu = _GPU.fullmatch(device) is not None
    return not is_gpu, int(device[3:]) if is_gpu else 0


def _columns(line: Line) -> list[str]:
    """Return the names of the columns where the line holds nothing else, from the first GPU on; else nothing."""
    names = list(_until_affinity(_GLUED_NAMES.sub(" ", " ".join(line.words)).split()))
    if not names or not _GPU.fullmatch(names[0]) or not all(map(_NAME.fullmatch, names)):
        return []
    if any(re.fullmatch(_CELL, name) for name in names):
        return []
    if len(names) > _MAX_DEVICES or len(set(names)) != len(names):
        line.place.fail(f"expected at most {_MAX_DEVICES} columns of different names")
    return names


def _until_affinity(words: list[str]) -> Iterator[str]:
    """Yield words from the first GPU up to the columns that say near which CPU it is."""
    first = next((i for i, word in enumerate(words) if _GPU.fullmatch(word)), len(words))
    for i, word in enumerate(words[first:], first):
        if word in ("CPU", "NUMA") or (word == "GPU" and words[i + 1 : i + 2] == ["NUMA"]):
            return
        yield word


def _row_of(line: Line, matrix: Matrix | None) -> tuple[str, list[str]] | None:
    """Return a row's device and what follows it, behind whatever a program put before it; None for other lines."""
    words = [part for word in line.words for part in _parted(word)]
    for i, word in enumerate(words[:-1]):
        is_known = matrix is not None and word in matrix.devices
        if is_known and _WORD_OF_A_CELL.fullmatch(words[i + 1]):
            return word, words[i + 1 :]
        if re.fullmatch(_DEVICE, word) and re.fullmatch(_CELL, words[i + 1]):
            return word, words[i + 1 :]
    return None


def _parted(word: str) -> list[str]:
    """Part a device from its first cell, and cells from each other, where no blank does."""
    found = _GLUED_CELLS.fullmatch(word)
    if found is None:
        return [word]
    return [part for part in (found[1], *re.findall(_CELL, found[2]), found[3]) if part]


def _add(matrix: Matrix, row: str, cells: list[str], place: Place) -> None:
    if row not in matrix.devices:
        place.fail(f"found a row of {quote(row)}, which is none of the columns in line {matrix.place.line}")
    relations = []
    for column, cell in zip(matrix.devices, cells, strict=False):
        relations.append(_relation(cell, place, is_self=row == column))
    add_row(matrix, row, relations, place)


def _relation(cell: str, place: Place, *, is_self: bool) -> str:
    relation = _OLD_NAMES.get(cell, cell)
    if is_self:
        if relation != "X":
            place.fail(f"expected X where a device meets itself, found {quote(cell)}")
    elif _GLUED_COUNT.fullmatch(relation):
        place.fail(f"columns are glued in {quote(cell)}: separate NV<count> from what follows it")
    elif relation not in LEVELS and not re.fullmatch(r"NV[1-9][0-9]?", relation):
        place.fail(f"expected NV<count>, {', '.join(LEVELS)}, found {quote(cell)}")
    return relation
