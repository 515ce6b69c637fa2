# SPDX-License-Identifier: Apache-2.0
"""A paper whose tables and figures are made again: its sections, and the report that they make together."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hemiola.environment.packages import require
from hemiola.errors import ArgumentError
from hemiola.progress import ProgressBar
from papers.report import Report

#: Adds a section to a report; the second argument is the command that makes this section alone.
Section = Callable[[Report, str], None]
#: For the introduction of a report that has older sections.
EARLIER_FLUID_NETWORK = (
    "Sections made before 2026-11-22 are of an earlier fluid network: flows that met before a link at more than it "
    "carries did not wait there (docs/decisions/0002-simulation.md). Later sections, the fifo network, the bounds and "
    "all measurements do not depend on this."
)


@dataclass(frozen=True)
class Paper:
    """The sections that `python -m papers` can make again.

    Attributes
    ----------
    name : str, on the command line and of the report's file.
    title : str, the report's first heading.
    sections : mapping of key to section, in the report's order.
    takes : str, the duration of all sections, and the machine.
    introduction : tuple of str, paragraphs.
    packages : tuple of str, packages that some section needs beside Hemiola's own dependencies.
    """

    name: str
    title: str
    sections: Mapping[str, Section]
    takes: str
    introduction: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    def reproduce(self, folder: str | Path, *, only: str = "") -> Report:
        """Run all sections, or one, saying on stderr which, and write the report after each.

        Parameters
        ----------
        folder : path, made if missing; the report is `<folder>/<name>.md`.
        only : str, key of a section, which is put into the report that is there; empty for all.

        Raises
        ------
        ArgumentError
            There is no such section.
        MissingPackageError
            A package is not installed that all sections together need.
        """
        if only and only not in self.sections:
            raise ArgumentError(f"expected a section out of {', '.join(self.sections)}, found '{only}'")
        for package in () if only else self.packages:
            require(package)
        report = Report(self.name, self.title, folder, part=bool(only))
        report.text(*self.introduction)
        keys = [only] if only else list(self.sections)
        began = time.monotonic()
        with ProgressBar(f"reproducing {self.name}") as bar:
            for index, key in enumerate(bar.each(keys), start=1):
                self._announce(key, index, len(keys), None if only else time.monotonic() - began)
                self.sections[key](report, f"python -m papers {self.name} --only {key}")
                report.write()
        return report

    def _announce(self, key: str, index: int, count: int, elapsed_s: float | None) -> None:
        """Say on stderr which section begins; `elapsed_s` is None where it is the only one that was asked for."""
        so_far = f", after {elapsed_s:.0f} s" if elapsed_s is not None and index > 1 else ""
        in_all = "" if elapsed_s is None else f"; all take {self.takes}"
        print(f"{self.name}: {key}, section {index} of {count}{so_far}{in_all}", file=sys.stderr, flush=True)
