# SPDX-License-Identifier: Apache-2.0
"""How collectives that run at the same time share links: progressive filling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: A link that is so little used limits nobody.
_IDLE = 1e-12


def shared_rates(
    uses: Sequence[NDArray[np.float64]], elasticities: Sequence[float] | None = None
) -> list[float]:
    """Return the speed of each job beside the others, 1 being its speed alone.

    All jobs speed up together until a link is full. Those that use it stay there, and the others go on [bertsekas1992].

    Parameters
    ----------
    uses : float64 arrays of one shape, the share of each link's bandwidth that a job uses on its own.
    elasticities : floats in [0, 1], optional, how much of a slower link a job feels; 1: all of it. Others have work
        that they do later.

    Returns
    -------
    list of float in (0, 1].

    Notes
    -----
    At most one round for each job, each O(links × jobs).
    """
    if len(uses) < 2:
        return [1.0] * len(uses)
    loads = np.stack(uses)
    room = np.ones(loads.shape[1])
    rates = np.ones(len(loads))
    growing = np.ones(len(loads), dtype=bool)
    while growing.any():
        total = loads[growing].sum(axis=0)
        used = total > _IDLE
        limits = np.full(len(room), np.inf)
        np.divide(room, total, out=limits, where=used)
        speed = float(limits.min(initial=np.inf))
        if speed >= 1.0:
            break
        full = limits <= speed * (1 + 1e-9)
        stopped = growing & (loads[:, full] > _IDLE).any(axis=1)
        rates[stopped] = speed
        growing &= ~stopped
        room = np.maximum(room - speed * loads[stopped].sum(axis=0), 0.0)
    felt = np.ones(len(rates)) if elasticities is None else np.asarray(elasticities)
    return [float(rate) for rate in 1 / (1 + felt * (1 / rates - 1))]
