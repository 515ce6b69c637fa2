# SPDX-License-Identifier: Apache-2.0
"""The ranks of a job and the collectives that they run together on real buffers.

A rank comes in by `init`, which reads from its launcher's variables who it is, or by `join`, into a job that runs
already, and holds a `Communicator`. The ranks notice on the way which of them come late (`arrivals`), which have slow
ports (`health`), and who comes and goes (`epochs`)."""

from hemiola.communicator.arrivals import Arrivals, RankArrivals
from hemiola.communicator.calibrate import calibrate
from hemiola.communicator.communicator import Communicator
from hemiola.communicator.epochs import Epoch
from hemiola.communicator.handle import Handle
from hemiola.communicator.health import Health, HealthChange, SlowRank
from hemiola.communicator.init import init
from hemiola.communicator.newcomer import join
from hemiola.communicator.traffic import Traffic

__all__ = [
    "Arrivals",
    "Communicator",
    "Epoch",
    "Handle",
    "Health",
    "HealthChange",
    "RankArrivals",
    "SlowRank",
    "Traffic",
    "calibrate",
    "init",
    "join",
]
