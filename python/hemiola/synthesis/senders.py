"""The ranks that reach a rank without going through another one, and paths over such hops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

import numpy as np

from hemiola._core import Topology


class Senders:
    """Finds the ranks that reach a rank over one link, or through switches alone; each once."""

    def __init__(self, topology: Topology) -> None:
        links = np.asarray(topology.links)
        self._rank_count = topology.rank_count
        self._sources: dict[int, list[int]] = defaultdict(list)
        for src, dst in zip(links["src"].tolist(), links["dst"].tolist(), strict=True):
            self._sources[dst].append(src)
        self._found: dict[int, list[int]] = {}

    def to(self, rank: int) -> list[int]:
        """Return them in ascending order."""
        if rank not in self._found:
            self._found[rank] = self._look(rank)
        return self._found[rank]

    def way(self, sources: Collection[int], rank: int) -> list[tuple[int, int]]:
        """Return the fewest hops to a rank from one of the sources, of which one must reach it."""
        follows = {rank: rank}
        todo = [rank]
        for dst in todo:
            if dst in sources:
                hops = []
                while dst != rank:
                    hops.append((dst, follows[dst]))
                    dst = follows[dst]
                return hops
            for src in self.to(dst):
                if src not in follows:
                    follows[src] = dst
                    todo.append(src)
        raise AssertionError("a rank is reached from a source")

    def _look(self, rank: int) -> list[int]:
        found: list[int] = []
        todo, seen = [rank], {rank}
        while todo:
            for src in self._sources[todo.pop()]:
                if src not in seen:
                    seen.add(src)
                    (found if src < self._rank_count else todo).append(src)
        return sorted(found)
