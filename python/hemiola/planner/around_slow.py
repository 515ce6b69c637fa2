"""Whether trees around one slow rank of a grid come so near the bound that nothing else need be looked for."""

from __future__ import annotations

import math
from collections.abc import Iterable

from hemiola.algorithms import Candidate, Task

_NAME = "all_reduce_grid_trees"
#: How far their formula may be over the bound for up to so many ranks: with many, other trees take a second and more
#: to pack, and are further from it.
_NEAR = ((32, 1.08), (64, 1.15), (128, 1.2), (math.inf, 1.4))


def are_enough(found: Iterable[Candidate], task: Task, bound_s: float) -> bool:
    """Say whether one of the candidates is such trees, near the bound by its formula, and nobody is late."""
    near = next(times for ranks, times in _NEAR if task.rank_count <= ranks)
    return not task.late_ranks and any(one.name == _NAME and one.formula_s <= near * bound_s for one in found)
