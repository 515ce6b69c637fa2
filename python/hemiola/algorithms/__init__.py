# SPDX-License-Identifier: Apache-2.0
"""Published algorithms, as functions that return a schedule, and the registry of their costs.

A function is named ``<collective>_<pattern>[_<variant>]``. `names` lists them; `get` returns an `Algorithm`
with its paper, valid sizes, cost formulas and exact costs; `register` adds one of your own.
docs/reference/algorithms.md is made from these. The registry lists the functions; type checkers read them in the
generated __init__.pyi.
"""

from hemiola.algorithms.algorithm import Algorithm, Paper, Variant
from hemiola.algorithms.in_switch import (
    InSwitch,
    all_gather_in_switch,
    all_reduce_in_switch,
    broadcast_in_switch,
    reduce_scatter_in_switch,
)
from hemiola.algorithms.registry import candidates, functions, get, names, register
from hemiola.algorithms.task import Candidate, Task

_functions = functions()
globals().update(_functions)

__all__ = [
    "Algorithm",
    "Candidate",
    "InSwitch",
    "Paper",
    "Task",
    "Variant",
    "all_gather_in_switch",
    "all_reduce_in_switch",
    "broadcast_in_switch",
    "candidates",
    "get",
    "names",
    "reduce_scatter_in_switch",
    "register",
    *sorted(_functions),
]
