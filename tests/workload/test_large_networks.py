# SPDX-License-Identifier: Apache-2.0
"""Gradients of the papers' steps on large grids: the planner's schedule beside the baselines that the project has."""

from __future__ import annotations

import pytest

from papers.workloads.grid_plans import GRIDS, SIZES, Grid, beside


@pytest.mark.long
@pytest.mark.parametrize("nbytes", SIZES[:1])
@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: grid.name)
def test_a_plan_is_at_most_a_fiftieth_slower_than_ring_themis_and_synthesis(grid: Grid, nbytes: int) -> None:
    """Given: all four simulated alike. Expect: the plan within 2 % of the best; prints the others' times over it."""
    found = beside(grid, nbytes)
    others = {
        name: getattr(found, f"{name}_s") / found.plan_s for name in ("ring", "themis", "synthesis", "bound")
    }
    told = ", ".join(f"{name} {ratio:.3f}" for name, ratio in others.items())
    print(f"\n{grid.name}, {nbytes} bytes: {1e3 * found.plan_s:.4f} ms, {found.label}; {told}")
    assert found.bound_s <= found.plan_s * (1 + 1e-9)
    assert found.over_best <= 1.02
