"""Published algorithms, as functions that return a schedule, and the registry of their costs.

A function is named ``<collective>_<pattern>[_<variant>]``. `names` lists them; `get` returns an `Algorithm`
with its paper, valid sizes, cost formulas and exact costs; `register` adds one of your own.
docs/reference/algorithms.md is made from these. The registry lists the functions; type checkers read them in the
generated __init__.pyi.
"""

from hemiola.algorithms.algorithm import Algorithm, Paper, Variant
from hemiola.algorithms.registry import candidates, functions, get, names, register
from hemiola.algorithms.task import Candidate, Task

_functions = functions()
globals().update(_functions)

__all__ = [
    "Algorithm",
    "Candidate",
    "Paper",
    "Task",
    "Variant",
    "candidates",
    "get",
    "names",
    "register",
    *sorted(_functions),
]
