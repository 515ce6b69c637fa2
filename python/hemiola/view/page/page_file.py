# SPDX-License-Identifier: Apache-2.0
"""Writes a page to explore, after everything that could refuse it has been checked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule, Topology
from hemiola.arguments import typed
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.planner import Plan
from hemiola.simulate import Timeline, simulate
from hemiola.view.page.job_page import job_data
from hemiola.view.page.packing import write_page
from hemiola.view.page.schedule_page import refuse_large, schedule_data
from hemiola.view.page.step_page import step_data
from hemiola.view.picture_file import check_place
from hemiola.workload import WhatIf


@typed
def explore(
    x: Schedule | Plan | Timeline | WhatIf | str | os.PathLike[str],
    file: str | os.PathLike[str],
    topology: Topology | None = None,
    nbytes: int | None = None,
    conditions: Conditions | None = None,
    *,
    measured: Sequence[NDArray[np.void]] | None = None,
    title: str = "",
) -> Path:
    """Write a self-contained HTML page to explore, which makes no request.

    Parameters
    ----------
    x : Timeline, Plan or WhatIf; or Schedule with a topology and a size in bytes, which is simulated; or the folder
        where the ranks of a job have written their records (HEMIOLA_RECORD), as text or path.
    file : the page to write, by custom "….html".
    topology : Topology, only with a Schedule.
    nbytes : int >= 1, one rank's buffer in bytes, only with a Schedule.
    conditions : Conditions, only with a Schedule; all ranks are in time and at full speed by default.
    measured : sequence of arrays, optional: what `Communicator.transfers` has returned on each rank. The messages of
        the latest operation of which all are there stand beside the prediction; not for a job or a step.
    title : str, the heading; by default the collective and its algorithm, or the model of a step.

    Returns
    -------
    Path of the page.

    Raises
    ------
    ArgumentError
        There is no folder for the file, nothing moves, or a folder has no records. There are more than 4,096 ranks,
        or 500,000 transfers, measured messages, operations or tasks. Measured messages are of no whole operation.
    FormatError
        A record is damaged.
    OSError
        The file cannot be written.

    Notes
    -----
    Cost: a simulation with everything recorded. A page of 64 ranks with 32,256 transfers has some 150 kB. Keys:
    space plays, arrows step, + and - zoom, 0 shows all.
    """
    path = check_place(Path(file))
    if isinstance(x, str | os.PathLike | WhatIf):
        is_step = isinstance(x, WhatIf)
        if (topology, nbytes, conditions, measured) != (None,) * 4:
            raise ArgumentError(
                "expected a topology, a size, conditions and measured messages of a schedule; a "
                f"{'step' if is_step else 'job'} has its own"
            )
        data = step_data(x, title) if isinstance(x, WhatIf) else job_data(Path(x), title)
        write_page(path, data, ("page.js", "step.js" if is_step else "job.js"))
        return path
    timeline = _timeline(x, topology, nbytes, conditions)
    name = title or (x.name if isinstance(x, Plan) else "")
    write_page(path, schedule_data(timeline, name, measured), ("page.js", "waits.js", "schedule.js"))
    return path


def _timeline(
    x: Schedule | Plan | Timeline,
    topology: Topology | None,
    nbytes: int | None,
    conditions: Conditions | None,
) -> Timeline:
    if not isinstance(x, Schedule):
        if topology is not None or nbytes is not None or conditions is not None:
            raise ArgumentError(
                f"expected a topology, a size and conditions with a Schedule alone; a {type(x).__name__} has its own"
            )
        if isinstance(x, Timeline):
            refuse_large(x.schedule)
            return x
        if x.topology is None:
            raise ArgumentError("this plan has no topology; give its schedule, a topology and a size")
        refuse_large(x.schedule)
        return simulate(x.schedule, x.topology, x.nbytes, x.conditions, x.network)
    if topology is None or nbytes is None:
        raise ArgumentError("a schedule alone has no times: give a topology and a size, or a Timeline")
    refuse_large(x)
    return simulate(x, topology, nbytes, conditions)
