# SPDX-License-Identifier: Apache-2.0
"""How a stream grows until it is long enough, on clocks that are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from hemiola.calibration.effort import BRIEF, THOROUGH
from hemiola.calibration.fitting import Floats
from hemiola.calibration.rounds import Pair
from hemiola.calibration.streams import Streams

PAIRS = [(0, 1), (2, 3)]
FIRST = 16 << 10


class Timed(Streams):
    """Streams over links whose times are a function of the volume."""

    def __init__(self, seconds: Callable[[int], Sequence[float]]) -> None:
        nobody: Any = None
        super().__init__(nobody, nobody, THOROUGH)
        self.seconds, self.volumes = seconds, list[int]()

    def _seconds(self, pairs: Sequence[Pair], volume: int) -> Floats:
        self.volumes.append(volume)
        assert len(self.volumes) < 100, "streams without end"
        return np.array(self.seconds(volume))


def test_a_stream_grows_eightfold_at_most_and_stops_once_it_is_long_enough() -> None:
    # Given 1 GB/s. Derivation: 16 KiB take 16 µs, and 60 ms are wanted; 8 times as much is the most, so four times:
    # 67.1 MB take 67 ms. Expect five streams, and the last one's volume.
    streams = Timed(lambda volume: [0.0, volume / 1e9, 0.0, volume / 1e9])
    assert streams.volume(PAIRS) == FIRST * 8**4
    assert streams.volumes == [FIRST * 8**power for power in range(5)]


def test_the_last_step_is_as_large_as_is_needed_and_a_quarter_more() -> None:
    # Given 16 KiB in 20 ms. Derivation: 1.25 * 60 / 20 = 3.75 times as much, in whole first volumes 4; 80 ms.
    streams = Timed(lambda volume: [0.0, 20e-3 * volume / FIRST] * 2)
    assert streams.volume(PAIRS) == 4 * FIRST
    assert streams.volumes == [FIRST, 4 * FIRST]


def test_the_quickest_link_decides_how_much_a_stream_grows() -> None:
    # Given 16 KiB in 20 ms on one link and 40 ms on the other. Expect what 20 ms ask for: four times as much.
    streams = Timed(lambda volume: [0.0, 20e-3 * volume / FIRST, 0.0, 40e-3 * volume / FIRST])
    assert streams.volume(PAIRS) == 4 * FIRST
    assert streams.volumes == [FIRST, 4 * FIRST]


def test_what_is_long_on_the_slowest_rank_is_long_enough_for_all() -> None:
    streams = Timed(lambda volume: [0.0, 1.0, 0.0, 1e-6])
    assert streams.volume(PAIRS) == FIRST
    assert streams.volumes == [FIRST]


def test_only_receivers_tell_how_long_a_stream_took() -> None:
    streams = Timed(lambda volume: [1e-9, 0.1, 1e-9, 0.1])
    assert streams.volume(PAIRS) == FIRST


def test_a_link_without_end_does_not_make_streams_without_end() -> None:
    streams = Timed(lambda volume: [1e-12] * 4)
    assert streams.volume(PAIRS) >= 1 << 32
    assert max(streams.volumes) < 1 << 32


@pytest.mark.parametrize(("effort", "first", "factor"), [(THOROUGH, 1 << 20, 4), (BRIEF, FIRST, 1)])
def test_the_stream_that_counts_is_some_times_as_long_as_the_one_before(
    effort: Any, first: int, factor: int
) -> None:
    streams = Timed(lambda volume: [0.0, volume / 1e6] * 2)
    streams._effort = effort
    measured = streams.measured(PAIRS, 1 << 20)
    assert streams.volumes == [first, factor << 20]
    assert measured.volume == factor << 20
    assert measured.rate([1, 3]) == pytest.approx(2e6)
