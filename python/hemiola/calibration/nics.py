# SPDX-License-Identifier: Apache-2.0
"""Finds out which ranks of a node share a NIC, and the rate of each NIC.

Nodes meet in couples, both ways at once: they have as much as the slower one's NICs carry."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hemiola.calibration.effort import Effort
from hemiola.calibration.fitting import Floats, NodeRates, levelled, nic_groups, unknown_pair
from hemiola.calibration.rounds import Nodes, matchings
from hemiola.calibration.stopwatch import Stopwatch
from hemiola.calibration.streams import Streamed, Streams

_Couples = Sequence[tuple[int, int]]

#: Fewer ranks than this share of all slow each other down: not all of them share one NIC.
_ALL_SHARE = 0.75
_MOST_FURTHER_ROUNDS = 4
#: Values that differ by more than so many times differ by more than noise.
_MUCH_MORE = 1.5


class NicSearch:
    """The measurements of one job's NICs, as one of its ranks."""

    def __init__(self, watch: Stopwatch, places: Nodes, effort: Effort) -> None:
        self._watch, self._places, self._effort = watch, places, effort
        self._rounds = matchings(places.count)
        self._volume = 0
        self._nics: list[list[list[int]]] = [[] for _ in places.ranks]
        self._rates = NodeRates(places.count)
        self._best = np.zeros(places.rank_count)

    def found(self) -> tuple[NDArray[np.int64], Floats]:
        """Measure.

        Returns
        -------
        Two arrays with an entry for each rank: the number of its NIC among those of its node, and bytes per second that
        this NIC carries.
        """
        self._meet(self._rounds[0])
        for couples in self._rounds[1 : max(self._effort.meetings, 1 + self._places.count % 2)]:
            self._meet(couples)
        if self._effort.is_thorough:
            for _ in range(_MOST_FURTHER_ROUNDS):
                if couples := self._rates.unsettled():
                    self._meet(couples)
        return self._numbers(), levelled(filled(self._best, self._places), NodeRates.TOLERANCE)

    def _meet(self, couples: _Couples) -> None:
        """Let nodes measure in couples; where it is not known yet, which of their ranks share a NIC."""
        ranks = self._places.ranks
        with self._watch.parties([[*ranks[a], *ranks[b]] for a, b in couples]) as party:
            streams = Streams(self._watch, party, self._effort)
            streamed = self._together(streams, couples)
            new = [couple for couple in couples if not all(self._nics[node] for node in couple)]
            if new:
                found = self._grouped(streams, new, streamed.taken_s)
                for node in found:
                    self._nics[node] = self._nics[node] or found[node]
            self._note(couples, streamed)

    def _together(self, streams: Streams, couples: _Couples) -> Streamed:
        """Let all ranks stream at once; the first time find out how much.

        Where that took long for what one rank alone does in no time, all may have waited for cores that they share with
        others, not for NICs. So they stream as much as takes one a while, too, which NICs would carry no faster.
        """
        pairs = self._places.both_ways(couples)
        if self._volume:
            return streams.measured(pairs, self._volume)
        self._volume = streams.volume(pairs)
        streamed = streams.measured(pairs, self._volume)
        if self._effort.is_thorough and self._places.most_ranks > 1:
            volume = streams.volume(self._places.both_ways(couples, [0]))
            if volume > _MUCH_MORE * self._volume:
                longer = streams.measured(pairs, volume)
                users = [dst for _, dst in pairs]
                if longer.rate(users) > _MUCH_MORE * streamed.rate(users):
                    self._volume, streamed = volume, longer
        return streamed

    def _note(self, couples: _Couples, streamed: Streamed) -> None:
        """Take in what NICs, and nodes altogether, had in a meeting."""
        for a, b in couples:
            for node, other in ((a, b), (b, a)):
                met = min(len(self._places.ranks[node]), len(self._places.ranks[other]))
                rate = 0.0
                for nic in self._nics[node]:
                    ranks = [self._places.ranks[node][place] for place in nic if place < met]
                    if ranks:
                        own = streamed.rate(ranks)
                        rate += own
                        users = [self._places.ranks[node][place] for place in nic]
                        self._best[users] = np.maximum(self._best[users], own)
                self._rates.note(node, other, rate)

    def _numbers(self) -> NDArray[np.int64]:
        numbers = np.zeros(len(self._best), np.int64)
        for ranks, nics in zip(self._places.ranks, self._nics, strict=True):
            for number, nic in enumerate(nics):
                numbers[[ranks[place] for place in nic]] = number
        return numbers

    # ---- which ranks share one ----

    def _grouped(self, streams: Streams, couples: _Couples, together_s: Floats) -> dict[int, list[list[int]]]:
        """Return, by node, the places of each NIC's ranks."""
        nodes = [node for couple in couples for node in couple]
        if self._effort.is_thorough:
            return self._searched(streams, couples, nodes, together_s)
        sharing = 1
        if self._places.most_ranks > 1:
            firsts = [self._places.ranks[node][0] for node in nodes]
            ratio = (together_s / self._alone_s(streams, couples, [0]))[firsts]
            sharing = max(1, round(float(np.median(ratio))))
        return {node: neighbours(len(self._places.ranks[node]), sharing) for node in nodes}

    def _searched(
        self, streams: Streams, couples: _Couples, nodes: Sequence[int], together_s: Floats
    ) -> dict[int, list[list[int]]]:
        """Compare what ranks have together, alone, and two by two where that is not enough."""
        alone_s = np.ones_like(together_s)
        for place in range(self._places.most_ranks):
            taken_s = self._alone_s(streams, couples, [place])
            here = [
                self._places.ranks[node][place] for node in nodes if place < len(self._places.ranks[node])
            ]
            alone_s[here] = taken_s[here]
        slowdown = {
            node: first_slowdowns((together_s / alone_s)[list(self._places.ranks[node])]) for node in nodes
        }
        while pair := next((pair for node in nodes if (pair := unknown_pair(slowdown[node]))), None):
            ratio = self._alone_s(streams, couples, pair) / alone_s
            for node in nodes:
                ranks = self._places.ranks[node]
                if pair[1] < len(ranks) and np.isnan(slowdown[node][pair]):
                    slowdown[node][pair] = max(ratio[ranks[place]] for place in pair)
        return {node: nic_groups(slowdown[node]) for node in nodes}

    def _alone_s(self, streams: Streams, couples: _Couples, places: Sequence[int]) -> Floats:
        """Return how long a stream takes while only some places of each node work."""
        return streams.measured(self._places.both_ways(couples, places), self._volume).best_s


def filled(best: Floats, places: Nodes) -> Floats:
    """Return the NICs' rates; one that met no other NIC has that of the others of its node. Nodes with fewer ranks
    leave some without a partner."""
    known = best.copy()
    for ranks in map(list, places.ranks):
        known[ranks] = np.where(best[ranks] > 0, best[ranks], best[ranks].max())
    return known


def neighbours(count: int, sharing: int) -> list[list[int]]:
    """Return `count` places of which so many neighbours share a NIC."""
    return [list(range(first, min(first + sharing, count))) for first in range(0, count, sharing)]


def first_slowdowns(ratio: Floats) -> Floats:
    """Return the factor by which pairs of a node's ranks slow each other down, as far as all of them together tell.

    Parameters
    ----------
    ratio : array, the factor by which each rank is slower among all than alone.

    Returns
    -------
    Array of shape (ranks, ranks); NaN where only these two alone would tell.
    """
    count = len(ratio)
    if count == 2:
        return np.full((2, 2), ratio.max())
    slowest = float(ratio.max())
    if slowest <= 1.5:
        return np.ones((count, count))
    if float(np.median(ratio)) >= _ALL_SHARE * count:
        return np.full((count, count), float(np.median(ratio)))
    return np.full((count, count), np.nan)
