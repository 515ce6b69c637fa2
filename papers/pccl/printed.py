# SPDX-License-Identifier: Apache-2.0
"""Figures that the paper's text prints of its plots; plots without numbers in the text are not read off."""

from __future__ import annotations

from dataclasses import dataclass

from papers.pccl.machine import ALL_GATHER, REDUCE_SCATTER


@dataclass(frozen=True)
class Printed:
    """How many times faster PCCL was than another library, as the text says.

    Attributes
    ----------
    kind : str, the collective.
    rank_count : int.
    size_mib : int.
    ratio : float, the other library's time over PCCL's.
    words : str, the printed text.
    """

    kind: str
    rank_count: int
    size_mib: int
    ratio: float
    words: str


def _frontier(kind: str, at_512: float, at_1024: float, smallest: float) -> tuple[Printed, ...]:
    """[PCCL, §6.1.1] of Figure 9; "more than 30" counts as 30."""
    return (
        *(Printed(kind, 2048, size, 30.0, "> 30") for size in (16, 32, 64)),
        Printed(kind, 2048, 512, at_512, f"{at_512:g}"),
        Printed(kind, 2048, 1024, at_1024, f"{at_1024:g}"),
        Printed(kind, 32, 1024, smallest, f"{smallest:g}"),
    )


#: Over RCCL, Figure 9.
FRONTIER = {
    ALL_GATHER: _frontier(ALL_GATHER, 11.4, 7.0, 0.52),
    REDUCE_SCATTER: _frontier(REDUCE_SCATTER, 11.4, 6.2, 0.55),
}

#: Over NCCL, Figures 10 and 11, both collectives together [PCCL, §6.1.2]; of ranges, each end where the model puts it.
PERLMUTTER = (
    Printed(ALL_GATHER, 2048, 16, 5.0, "3 to 5"),
    Printed(ALL_GATHER, 1024, 32, 3.0, "3 to 5"),
    Printed(ALL_GATHER, 2048, 64, 4.6, "1.3 to 4.6"),
    Printed(ALL_GATHER, 1024, 128, 1.3, "1.3 to 4.6"),
    Printed(ALL_GATHER, 2048, 128, 3.0, "2 to 3"),
    Printed(ALL_GATHER, 2048, 512, 2.0, "2 to 3"),
    Printed(ALL_GATHER, 32, 1024, 1 / 1.5, "1 / 1.5"),
)

#: Over Cray MPICH, Figures 7 and 10, each range's ends.
FRONTIER_MPICH = (
    Printed(ALL_GATHER, 2048, 64, 82.0, "27 to 82"),
    Printed(ALL_GATHER, 2048, 512, 27.0, "27 to 82"),
)
PERLMUTTER_MPICH = (
    Printed(ALL_GATHER, 2048, 64, 15.0, "8.8 to 15"),
    Printed(ALL_GATHER, 1024, 128, 8.8, "8.8 to 15"),
)
