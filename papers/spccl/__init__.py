# SPDX-License-Identifier: Apache-2.0
"""SpCCL's Figures 2 to 11, and its competitors: bytes counted on data, times measured between hosts on this machine and
modelled for more ranks.

Figure 1 is a drawing."""

from __future__ import annotations

from functools import partial

from papers.paper import Paper, Section
from papers.spccl import compared, figures, measured, simulated, sizes, speeds, training

_SECTIONS: dict[str, Section] = {
    "bytes": sizes.sizes,
    "union": compared.allowed,
    "competitors": compared.competitors,
    "speeds": speeds.speeds,
    "links": figures.links,
    "figure_2": figures.figure_2,
    "figure_3": figures.figure_3,
    "figure_4": figures.figure_4,
    "figure_5": figures.figure_5,
    "figure_6": partial(figures.heat_map, figure="figure_6"),
    "figure_7": partial(figures.heat_map, figure="figure_7"),
    "figure_8": partial(figures.heat_map, figure="figure_8"),
    "figure_9": figures.figure_9,
    "simulated": simulated.simulated,
    "digits": training.digits,
    "figures_10_and_11": training.figures_10_and_11,
    "measured": measured.measured,
    "measured_sparsities": measured.measured_sparsities,
    "measured_training": measured.measured_training,
}

_INTRODUCTION = (
    "Nothing here ran on a GPU or on the paper's machine. p ranks, density d the share of elements that are "
    "not zero. Three kinds of figures stand here, and each section names its kind. **Bytes** are counted by "
    "running systems on data. **Measured** times are between hosts made of network namespaces on this machine. "
    "Times **by a model** have one port and one core a rank, and codec speeds measured here. Of the paper's plots "
    "only the numbers in its text are quoted.",
    "The model's ranks have a port of 10 Gbit/s where no other stands, a core, and 10 µs a message; the paper's have a "
    "GPU and NICs of 200 Gbit/s. So sparse messages gain more here than there. A rank takes the longer time of port "
    "and core, and one slice of 1 MiB. Places are independent.",
    "SpCCL's own code did not run, and Hemiola's engine does not run its scheme. Its ring, format, thresholds and "
    "equation 7 are followed on data in one process, where messages are counted, or in the model. The measured "
    "sections run Hemiola's sparse collectives alone; `ring` there is Hemiola's choice of formats on the paper's "
    "schedule.",
)

PAPER = Paper(
    "spccl",
    "SpCCL: sparse collectives",
    _SECTIONS,
    "30 minutes on two cores, as root",
    _INTRODUCTION,
    packages=("sklearn", "threadpoolctl"),
)
