# SPDX-License-Identifier: Apache-2.0
"""`hemiola.whatif`: a training step on a network, predicted, and its gain over other libraries' schedules."""

from __future__ import annotations

import os
from collections.abc import Mapping

from hemiola._core import Topology
from hemiola.arguments import typed
from hemiola.conditions import Conditions
from hemiola.workload.model import Model
from hemiola.workload.parallel import Parallel
from hemiola.workload.prediction import WhatIf
from hemiola.workload.task import Step
from hemiola.workload.training import Training


@typed
def whatif(
    trace_or_model: Model | Step | str | os.PathLike[str],
    topology: Topology,
    conditions: Conditions | None = None,
    *,
    parallel: Parallel | None = None,
    buckets: Mapping[int | str, float | str] | None = None,
    overlap_loss: float = 0.0,
    cores: int = 0,
    untraced_s: float = 0.0,
    software_s: Mapping[str, float] | None = None,
) -> WhatIf:
    """Predict a training step on a network, and the gain of Hemiola's schedules.

    Parameters
    ----------
    trace_or_model : a model, such as `hemiola.workload.models.transformer` makes; the text of one, such as "gpt-7b" or
        "transformer:layers=24,width=2048,batch=4"; or the path of a trace.
    topology : Topology, whose ranks take part, all of them.
    conditions : Conditions, optional. Late ranks begin the step so many seconds late; slow ranks and NICs have slow
        links; the density is that of gradients.
    parallel : Parallel, optional; by default every rank has a replica (DDP).
    buckets : mapping, optional; single buckets of gradients and how they travel: a density, "8bit" or "whole". A key is
        a bucket's number, counted from 0 in the order in which a stage sends them, or a class of groups: "dp", "edp"
        (experts) or "world". Without one the conditions' density and `Parallel.quantized` hold.
    overlap_loss : float in [0, 1), the share of its speed that computation loses beside communication.
    cores : int >= 0, processor cores that all ranks share, as on one machine or on the hosts of `hemiola cluster`. The
        times of computation are those while all ranks compute. 0: each rank has its own.
    untraced_s : float >= 0, seconds of a trace's step on the same ranks without the profiler, which takes time for each
        operator; 0: as recorded.
    software_s : mapping of library to float >= 0, optional; the measured seconds of software of one call, in which it
        uses no link: "hemiola", "ring", "nccl-like", "pccl-like" or "gloo-like". Without one a library has none. The
        lower bound never has any.

    Returns
    -------
    WhatIf

    Raises
    ------
    ArgumentError
        The degrees of parallelism do not multiply to the topology's ranks, there are fewer layers than stages, a text
        names no model, a library is not known, or a number is out of its range.
    FormatError
        A trace is malformed; the message names file and place.
    OSError
        A trace cannot be read.

    Notes
    -----
    A collective costs the simulated time of its plan, all groups of its class at once. Ranks that do the same are one
    role, so that the number of tasks does not grow with ranks. Costs of the latest collectives are remembered. Model:
    docs/decisions/0069-workloads.md.
    """
    asked = Training(
        trace_or_model,
        parallel or Parallel(),
        buckets or {},
        overlap_loss,
        cores,
        untraced_s,
        software_s or {},
    )
    return asked.on(topology, conditions)
