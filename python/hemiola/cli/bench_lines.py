# SPDX-License-Identifier: Apache-2.0
"""The output of `hemiola bench`, in the lines of nccl-tests: '#' before all text that is no measurement, a line per
size as soon as it is measured, and fewer columns where a terminal is narrow."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from hemiola.cli.output import counted
from hemiola.measure.pattern import REDUCING, ROOTED, Pattern
from hemiola.measure.sweep import Line
from hemiola.measure.trial import Measured, bus_factor
from hemiola.units import format_bytes

#: Left out one after the other where a line has no room for all, the least important first.
_DROPPED = ("root", "p99", "redop", "count", "type", "algbw")
_WIDTHS = {"type": 10, "redop": 8, "root": 5, "p50": 8, "p99": 8, "algbw": 7, "busbw": 7, "#wrong": 7}
_PATTERN, _MEASURED = ("size", "count", "type", "redop", "root"), ("p50", "p99", "algbw", "busbw", "#wrong")


class BenchLines:
    """The lines of one sweep.

    Parameters
    ----------
    patterns : the measured variants, in this order.
    where : the machine or cluster in words.
    columns : how many characters a line may have.
    remarks : remarks on patterns that differ from the request.
    """

    def __init__(
        self, patterns: Sequence[Pattern], where: str, columns: int, remarks: Sequence[str] = ()
    ) -> None:
        digits = max(len(str(pattern.nbytes)) for pattern in patterns) + 2
        self._first, self._where, self._remarks = patterns[0], where, remarks
        self._widths = {"size": max(digits, 6), "count": max(digits, 7), **_WIDTHS}
        self._shown = set(self._widths)
        for name in _DROPPED:
            if self._length() > columns:
                self._shown.remove(name)

    def header(self) -> str:
        """Return the lines before the first size."""
        left, side = self._length(_PATTERN), self._length(_MEASURED)
        names = self._join({name: name for name in _PATTERN}, {name: name for name in _MEASURED})
        return "\n".join(
            [
                f"# {self._first.kind} over {counted(self._first.rank_count, 'rank')}, {self._where}",
                *(f"# {remark}" for remark in self._remarks),
                "# times in us, bandwidths in GB/s",
                "#",
                f"#{'':{left - 1}}{'out of place':>{side}}{'in place':>{side}}",
                f"#{names[1:]}",
            ]
        )

    def line(self, line: Line) -> str:
        """Return one size's line, and below it one for each peer."""
        pattern = line.pattern
        cells = {
            "size": str(pattern.nbytes),
            "count": str(pattern.count),
            "type": pattern.dtype.name,
            "redop": pattern.op if pattern.kind in REDUCING else "-",
            "root": str(pattern.root) if pattern.kind in ROOTED else "-1",
        }
        peers = (
            f"\n# {name}: {_microseconds(one.p50_s)} us, {one.algbw / 1e9:.2f} GB/s, {one.wrong} wrong"
            for name, one in line.peers.items()
        )
        return self._join(
            cells, _cells(pattern, line.out_of_place), _cells(pattern, line.in_place)
        ) + "".join(peers)

    def footer(self, lines: Sequence[Line], expected: int) -> str:
        """Return the lines after the last size, which may have come before all were measured."""
        wrong = sum(line.out_of_place.wrong + line.in_place.wrong for line in lines)
        verdict = "every element is right" if not wrong else f"{wrong} wrong elements"
        told = [f"# {verdict}; average bus bandwidth {mean_busbw(lines) / 1e9:.3g} GB/s"]
        told += [f"# {span}" for span in spans(lines)]
        if len(lines) < expected:
            told.append(f"# interrupted after {len(lines)} of {expected} sizes")
        return "\n".join(told)

    def _length(self, names: Sequence[str] = (*_PATTERN, *_MEASURED, *_MEASURED)) -> int:
        return sum(self._widths[name] for name in names if name in self._shown)

    def _join(self, pattern: dict[str, str], *measured: dict[str, str]) -> str:
        sides = measured if len(measured) == 2 else measured * 2
        return "".join(
            f"{text:>{self._widths[name]}}"
            for cells in (pattern, *sides)
            for name, text in cells.items()
            if name in self._shown
        )


def spans(lines: Sequence[Line]) -> list[str]:
    """Name the algorithm of each span of sizes."""
    told = []
    for algorithm, same in itertools.groupby(lines, key=lambda line: line.algorithm):
        sizes = [line.pattern.nbytes for line in same]
        span = format_bytes(sizes[0]) + (f" … {format_bytes(sizes[-1])}" if len(sizes) > 1 else "")
        told.append(f"{span}: {algorithm}")
    return told


def mean_busbw(lines: Sequence[Line]) -> float:
    """Return the average bus bandwidth of all lines, out of place and in place; 0 of none."""
    both = [
        measured.algbw * bus_factor(line.pattern.kind, line.pattern.rank_count)
        for line in lines
        for measured in (line.out_of_place, line.in_place)
    ]
    return sum(both) / len(both) if both else 0.0


def _cells(pattern: Pattern, measured: Measured) -> dict[str, str]:
    busbw = measured.algbw * bus_factor(pattern.kind, pattern.rank_count)
    return {
        "p50": _microseconds(measured.p50_s),
        "p99": _microseconds(measured.percentile_s(99)),
        "algbw": f"{measured.algbw / 1e9:.2f}",
        "busbw": f"{busbw / 1e9:.2f}",
        "#wrong": str(measured.wrong),
    }


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.1f}" if seconds < 1e-2 else f"{seconds * 1e6:.0f}"
