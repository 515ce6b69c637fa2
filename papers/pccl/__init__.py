# SPDX-License-Identifier: Apache-2.0
"""PCCL's Figures 1 to 4 and 6 to 11 under two columns of constants, the planner's choices, and more ranks.

Figure 5 is a drawing; papers/workloads has Figure 12."""

from __future__ import annotations

from papers.paper import Paper, Section
from papers.pccl import (
    between_nodes,
    claims,
    constants,
    heat_maps,
    interpreted,
    scale,
    scaling,
    traffic,
    training,
)

_SECTIONS: dict[str, Section] = {
    "constants": constants.constants,
    "claims": claims.claims,
    "closed_forms": constants.closed_forms,
    "figure_1": scaling.figure_1,
    "figure_2": training.figure_2,
    "figure_3": traffic.figure_3,
    "figure_4": traffic.figure_4,
    "figure_6_left": between_nodes.figure_6_left,
    "figure_7": scaling.figure_7,
    "figure_8": scaling.figure_8,
    "figure_9": heat_maps.figure_9,
    "figure_10": scaling.figure_10,
    "figure_11": heat_maps.figure_11,
    "scale": scale.scale,
    "figure_6_right": interpreted.figure_6_right,
}

_INTRODUCTION = (
    "Nothing here ran on a supercomputer. p ranks on N nodes of M ranks and K NICs; m bytes of the whole buffer; "
    "X = (N-1)/N·m/(KB) through a node's NICs, Y = (M-1)/M·m/b inside it. A MB of the paper is taken as 2^20 "
    "bytes. Of its plots only the numbers in the text are quoted.",
)

PAPER = Paper("pccl", "PCCL: collectives on many nodes", _SECTIONS, "20 minutes on one core", _INTRODUCTION)
