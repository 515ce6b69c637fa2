# SPDX-License-Identifier: Apache-2.0
"""Streams between pairs of ranks, long enough to tell their rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hemiola.calibration.effort import Effort
from hemiola.calibration.fitting import Floats
from hemiola.calibration.rounds import Pair
from hemiola.calibration.stopwatch import Party, Stopwatch
from hemiola.calibration.traffic import stream

_FIRST_VOLUME, _MOST_VOLUME = 16 << 10, 1 << 32
#: A short stream is distorted by its beginning, and by the burst that token buckets let through.
_MOST_GROWTH = 8
#: Into how many messages a stream is cut at least, and how large these are.
_LEAST_STEPS = 16
_LEAST_CHUNK, _MOST_CHUNK = 1 << 10, 1 << 20
#: A stream that takes so long on the slowest rank is long enough, for any time on others.
_LONG_S = 1.0


@dataclass(frozen=True)
class Streamed:
    """How long each rank took to receive so many bytes, and the pairs that it was one of.

    `best_s` is the time at the speed of the short stream before, where that was faster. Only bursts make streams short,
    and every disturbance makes them long, so this is the better one for telling twice from once.
    """

    volume: int
    taken_s: Floats
    best_s: Floats
    pairs: Sequence[Pair]

    def rate(self, ranks: Sequence[int]) -> float:
        """Return the rate at which some ranks received together, in bytes per second, until the last of them had
        everything.

        A rank that began to look at its clock when bytes had already come took too little time; so its sender counts,
        too.
        """
        senders = [src for src, dst in self.pairs if dst in ranks]
        return len(ranks) * self.volume / float(self.taken_s[[*ranks, *senders]].max())


class Streams:
    """Measures streams in parties, as one of the ranks; all of them make the same calls."""

    def __init__(self, watch: Stopwatch, party: Party, effort: Effort) -> None:
        self._watch, self._party, self._effort = watch, party, effort

    def volume(self, pairs: Sequence[Pair]) -> int:
        """Find out how many bytes take as long as a short stream is to take."""
        volume = _FIRST_VOLUME
        while volume < _MOST_VOLUME:
            taken_s = self._seconds(pairs, volume)[[dst for _, dst in pairs]]
            if taken_s.min() >= self._effort.stream_s or taken_s.max() >= _LONG_S:
                break
            wanted = min(_MOST_GROWTH, 1.25 * self._effort.stream_s / taken_s.min())
            volume = int(np.ceil(wanted * volume / _FIRST_VOLUME)) * _FIRST_VOLUME
        return volume

    def measured(self, pairs: Sequence[Pair], volume: int) -> Streamed:
        """Let pairs stream a volume, and then, which counts, several times as much.

        The first makes connections, and empties token buckets, which let through a burst at more than their rate.
        """
        longer = self._effort.longer
        short_s = self._seconds(pairs, volume if longer > 1 else _FIRST_VOLUME)
        taken_s = self._seconds(pairs, longer * volume)
        best_s = np.minimum(taken_s, longer * short_s) if longer > 1 else taken_s
        return Streamed(longer * volume, taken_s, best_s, pairs)

    def _seconds(self, pairs: Sequence[Pair], volume: int) -> Floats:
        """Return how long each rank took to receive its volume."""
        numbers = self._party.numbers
        own = [(numbers[src], numbers[dst]) for src, dst in pairs if src in numbers and dst in numbers]
        chunk_bytes = min(max(volume // _LEAST_STEPS, _LEAST_CHUNK), _MOST_CHUNK)
        made = stream(len(numbers), own, volume // chunk_bytes) if own else None
        taken_s: Floats = self._watch.time(self._party, made, chunk_bytes)[0]
        return taken_s
