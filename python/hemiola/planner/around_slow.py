"""Whether trees around one slow rank of a grid come so near the bound that nothing else need be looked for."""

from __future__ import annotations

from collections.abc import Iterable

from hemiola.algorithms import Candidate, Task

_NAME = "all_reduce_grid_trees"
#: What their formula may be over the bound. Beyond so many ranks, where other trees take a second to pack and are further
#: from it, more.
_NEAR, _FEW_RANKS, _NEAR_WITH_MANY = 1.08, 64, 1.2


def are_enough(found: Iterable[Candidate], task: Task, bound_s: float) -> bool:
    """Say whether one of the candidates is such trees, near the bound by its formula, and nobody is late."""
    near = _NEAR if task.rank_count <= _FEW_RANKS else _NEAR_WITH_MANY
    return not task.late_ranks and any(
        one.name == _NAME and one.formula_s <= near * bound_s for one in found
    )
