"""Hemiola's C++ core; import hemiola instead."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray

from hemiola._core import algorithms as algorithms, units as units

class Topology:
    def __init__(
        self,
        rank_count: int,
        links: Sequence[tuple[int, int, float, float]],
        *,
        switch_count: int = 0,
        nodes: Sequence[int] = [],
        name: str = "",
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def rank_count(self) -> int: ...
    @property
    def switch_count(self) -> int: ...
    @property
    def link_count(self) -> int: ...
    @property
    def node_count(self) -> int: ...

class Collective:
    @property
    def kind(self) -> str: ...
    @property
    def rank_count(self) -> int: ...
    @property
    def chunk_count(self) -> int: ...

class Schedule:
    @property
    def collective(self) -> Collective: ...
    @property
    def rank_count(self) -> int: ...
    @property
    def chunk_count(self) -> int: ...
    @property
    def step_count(self) -> int: ...
    @property
    def transfer_count(self) -> int: ...

class Timeline:
    @property
    def seconds(self) -> float: ...
    @property
    def finish_s(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def link_busy_s(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

def simulate(
    schedule: Schedule,
    topology: Topology,
    nbytes: int,
    late: Mapping[int, float],
    slow: Mapping[int, float],
    network: str,
    keep_spans: bool,
    progress: object | None,
) -> Timeline: ...
