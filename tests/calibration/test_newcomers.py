# SPDX-License-Identifier: Apache-2.0
"""Measured figures serve the next members: survivors keep theirs, newcomers count as median ranks."""

from __future__ import annotations

import numpy as np

from hemiola.calibration import Figures
from hemiola.calibration.network import NO_LIMIT


def figures(inside: list[float], nic: list[int], bandwidth: list[float]) -> Figures:
    return Figures(
        1e-6, 2e-6, np.array(inside), 3e-6, 4e-6, 5e-6, np.array(nic, np.int64), np.array(bandwidth)
    )


def test_survivors_keep_their_figures_whatever_number_their_node_has() -> None:
    before = figures([1.0, 1.0, 9.0, 9.0], [0, 1, 0, 1], [5.0, 6.0, 7.0, 8.0])
    after = before.among([1, 2, 3], [4, 9, 9], [0, 0, 1, 1])
    assert after is not None
    assert after.inside_bandwidth.tolist() == [1.0, 9.0, 9.0]
    assert after.nic.tolist() == [1, 0, 1]
    assert after.nic_bandwidth.tolist() == [6.0, 7.0, 8.0]


def test_a_newcomer_takes_the_nic_with_the_fewest_ranks_or_a_median_one_of_its_own() -> None:
    before = figures([2.0, 4.0, NO_LIMIT], [0, 1, 0], [5.0, 6.0, 9.0])
    after = before.among([0, 1, 2, None, None, None], [0, 0, 1, 0, 1, 7], [0, 0, 1])
    assert after is not None
    assert after.nic.tolist() == [0, 1, 0, 0, 0, 0]
    assert after.nic_bandwidth.tolist() == [5.0, 6.0, 9.0, 5.0, 9.0, 6.0]
    assert after.inside_bandwidth[3:].tolist() == [3.0, 3.0, 3.0], "only ranks with a limit count"


def test_a_kind_of_link_that_nobody_has_measured_is_measured() -> None:
    alone = figures([NO_LIMIT, NO_LIMIT], [0, 0], [5.0, 6.0])
    assert alone.among([0, 1, None], [0, 1, 1], [0, 1]) is None
    together = figures([1.0, 1.0], [0, 0], [NO_LIMIT, NO_LIMIT])
    assert together.among([0, 1, None], [0, 0, 1], [0, 0]) is None
