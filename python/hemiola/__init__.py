"""Collective communication for clusters that don't keep time.

At the root stand the words people use, in packages the rooms behind them, each of which imports only rooms below it
(pyproject.toml has the order). `dir(hemiola)` lists the public names; `simulate`, `verify` and `launch` are functions
here, and the modules of these names are reached by importing from them."""

from hemiola import algorithms, codecs, errors, synthesis, topologies, units
from hemiola._core import Collective, Schedule, ScheduleFile, Topology, Violation
from hemiola.bounds import LowerBound, lower_bound
from hemiola.communicator import Communicator, Handle, calibrate, init
from hemiola.conditions import Conditions
from hemiola.errors import (
    ArgumentError,
    ArgumentTypeError,
    ClusterError,
    FailedRankError,
    FormatError,
    HemiolaError,
    InternalError,
    LostRankError,
    MismatchError,
    TimeoutError,
)
from hemiola.launch import launch
from hemiola.planner import Plan, plan
from hemiola.pruning import Pruner
from hemiola.simulate import Timeline, simulate
from hemiola.synthesis import Synthesis, synthesize
from hemiola.verify import verify

__version__ = "0.1.0"  # the build reads it here

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "ClusterError",
    "Collective",
    "Communicator",
    "Conditions",
    "FailedRankError",
    "FormatError",
    "Handle",
    "HemiolaError",
    "InternalError",
    "LostRankError",
    "LowerBound",
    "MismatchError",
    "Plan",
    "Pruner",
    "Schedule",
    "ScheduleFile",
    "Synthesis",
    "Timeline",
    "TimeoutError",
    "Topology",
    "Violation",
    "__version__",
    "algorithms",
    "calibrate",
    "codecs",
    "errors",
    "init",
    "launch",
    "lower_bound",
    "plan",
    "simulate",
    "synthesis",
    "synthesize",
    "topologies",
    "units",
    "verify",
]


def __dir__() -> list[str]:
    return sorted(__all__)
