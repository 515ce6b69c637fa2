# SPDX-License-Identifier: Apache-2.0
"""Collective communication for clusters that don't keep time.

The root has the words that people use, and packages are the rooms behind them. Each imports only rooms below it
(pyproject.toml has the order). `dir(hemiola)` lists the public names. A room is imported when one of its names is first
used. So `import hemiola` costs next to nothing. `simulate`, `sweep`, `verify` and `launch` are functions here. Import
from the modules of these names to reach them."""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hemiola import algorithms, codecs, errors, export, interchange, synthesis, topologies, units
    from hemiola._core import Collective, PremulSum, RawMemory, Schedule, ScheduleFile, Topology, Violation
    from hemiola.arguments.names import Kind, Op
    from hemiola.bounds import LowerBound, lower_bound
    from hemiola.communicator import Communicator, Handle
    from hemiola.communicator.calibrate import calibrate
    from hemiola.communicator.init import init
    from hemiola.communicator.newcomer import join
    from hemiola.conditions import Conditions
    from hemiola.errors import (
        ArgumentError,
        ArgumentTypeError,
        BudgetSpentError,
        Cause,
        ClusterError,
        EncryptionError,
        FailedRankError,
        FormatError,
        HemiolaError,
        InternalError,
        LostRankError,
        MinorityError,
        MismatchError,
        MissingPackageError,
        NotExecutableError,
        ResourceError,
        TimeoutError,
        TopologyWarning,
    )
    from hemiola.launch import launch
    from hemiola.planner import Plan, plan
    from hemiola.pruning import Pruner
    from hemiola.quantization import Quantizer
    from hemiola.simulate import Timeline, simulate
    from hemiola.sweep import Sweep, sweep
    from hemiola.synthesis import Synthesis, synthesize
    from hemiola.verify import verify
    from hemiola.view.drawing import draw
    from hemiola.view.page import explore
    from hemiola.workload import Parallel, WhatIf, whatif

__version__ = "0.1.0"  # the build reads it here

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "BudgetSpentError",
    "Cause",
    "ClusterError",
    "Collective",
    "Communicator",
    "Conditions",
    "EncryptionError",
    "FailedRankError",
    "FormatError",
    "Handle",
    "HemiolaError",
    "InternalError",
    "Kind",
    "LostRankError",
    "LowerBound",
    "MinorityError",
    "MismatchError",
    "MissingPackageError",
    "NotExecutableError",
    "Op",
    "Parallel",
    "Plan",
    "PremulSum",
    "Pruner",
    "Quantizer",
    "RawMemory",
    "ResourceError",
    "Schedule",
    "ScheduleFile",
    "Sweep",
    "Synthesis",
    "Timeline",
    "TimeoutError",
    "Topology",
    "TopologyWarning",
    "Violation",
    "WhatIf",
    "__version__",
    "algorithms",
    "calibrate",
    "codecs",
    "draw",
    "errors",
    "explore",
    "export",
    "init",
    "interchange",
    "join",
    "launch",
    "lower_bound",
    "plan",
    "simulate",
    "sweep",
    "synthesis",
    "synthesize",
    "topologies",
    "units",
    "verify",
    "whatif",
]


#: The place of each public name; every other name is in a room of its own.
_HOME = {
    name: room
    for room, names in {
        "hemiola._core": (
            "Collective",
            "PremulSum",
            "RawMemory",
            "Schedule",
            "ScheduleFile",
            "Topology",
            "Violation",
        ),
        "hemiola.arguments.names": ("Kind", "Op"),
        "hemiola.bounds": ("LowerBound", "lower_bound"),
        "hemiola.communicator": ("Communicator", "Handle", "calibrate", "init", "join"),
        "hemiola.conditions": ("Conditions",),
        "hemiola.errors": (
            "ArgumentError",
            "ArgumentTypeError",
            "BudgetSpentError",
            "Cause",
            "ClusterError",
            "EncryptionError",
            "FailedRankError",
            "FormatError",
            "HemiolaError",
            "InternalError",
            "LostRankError",
            "MinorityError",
            "MismatchError",
            "MissingPackageError",
            "NotExecutableError",
            "ResourceError",
            "TimeoutError",
            "TopologyWarning",
        ),
        "hemiola.launch": ("launch",),
        "hemiola.planner": ("Plan", "plan"),
        "hemiola.pruning": ("Pruner",),
        "hemiola.quantization": ("Quantizer",),
        "hemiola.simulate": ("Timeline", "simulate"),
        "hemiola.sweep": ("Sweep", "sweep"),
        "hemiola.synthesis": ("Synthesis", "synthesize"),
        "hemiola.verify": ("verify",),
        "hemiola.workload": ("Parallel", "WhatIf", "whatif"),
        "hemiola.view.page": ("explore",),
        "hemiola.view.drawing": ("draw",),
    }.items()
    for name in names
}


class _Root(ModuleType):
    """This package: the import system may not put a module where a function of its name belongs."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in _HOME):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel by name, as any module does with a function that uses it."""
        return importlib.import_module, (self.__name__,)


sys.modules[__name__].__class__ = _Root


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'hemiola' has no attribute '{name}'")
    if name not in _HOME:
        return importlib.import_module(f"hemiola.{name}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
