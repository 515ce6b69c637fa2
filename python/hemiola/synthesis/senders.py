"""Who reaches a rank without going through another one."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from hemiola._core import Topology


def senders_to(topology: Topology, rank: int) -> list[int]:
    """Return the ranks that reach a rank over one link, or through switches alone."""
    links = np.asarray(topology.links)
    sources: dict[int, list[int]] = defaultdict(list)
    for src, dst in zip(links["src"].tolist(), links["dst"].tolist(), strict=True):
        sources[dst].append(src)
    found: list[int] = []
    todo, seen = [rank], {rank}
    while todo:
        for src in sources[todo.pop()]:
            if src not in seen:
                seen.add(src)
                (found if src < topology.rank_count else todo).append(src)
    return sorted(found)
