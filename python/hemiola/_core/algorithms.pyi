# SPDX-License-Identifier: Apache-2.0
"""Published algorithms; import hemiola.algorithms instead."""

from collections.abc import Mapping, Sequence

import numpy
import numpy.typing

import hemiola._core

class Algorithm:
    """
    One entry of the core's registry; hemiola.algorithms.Algorithm documents it.
    """

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def paper(self) -> tuple[str, str]: ...
    @property
    def idea(self) -> str: ...
    @property
    def sizes(self) -> str: ...
    @property
    def chunks_formula(self) -> str: ...
    @property
    def steps_formula(self) -> str: ...
    @property
    def bytes_formula(self) -> str: ...
    @property
    def formula(self) -> str: ...
    @property
    def needs(self) -> str: ...
    @property
    def is_rooted(self) -> bool: ...
    @property
    def is_pipelined(self) -> bool: ...
    @property
    def chunk_count_multiple(self) -> int: ...
    def is_valid(self, rank_count: int) -> bool: ...
    def step_count(self, rank_count: int, *, chunk_count: int | None = None) -> int: ...
    def transfer_count(self, rank_count: int, *, chunk_count: int | None = None) -> int: ...
    def bytes_per_rank(self, rank_count: int, nbytes: int, *, chunk_count: int | None = None) -> int: ...
    def seconds(
        self,
        rank_count: int,
        nbytes: int,
        latency_s: float,
        bandwidth: float,
        *,
        chunk_count: int | None = None,
        message_s: float = 0.0,
    ) -> float: ...
    def best_chunk_count(
        self, rank_count: int, nbytes: int, latency_s: float, bandwidth: float
    ) -> int | None: ...
    def generate(
        self, rank_count: int, root: int = 0, chunk_count: int | None = None
    ) -> hemiola._core.Schedule: ...
    @property
    def parameters(self) -> list[tuple[str, bool]]:
        """The arguments of its function, and whether each must be given."""

    @property
    def functions(self) -> list[tuple[str, str]]:
        """
        The names of its functions, its own first, and the kind of each one's result.
        """

    def why_not(self, task: Task) -> str:
        """
        Explain why it cannot run a task of its kind, from the task's needs; empty where it can.
        """

    def variants(self, task: Task) -> list[Variant]:
        """List the variants worth trying for a task that it can run."""

    def __repr__(self) -> str: ...

def entries() -> list[Algorithm]:
    """List the registry, in the order of docs/reference/algorithms.md."""

def check_kind(name: str) -> None:
    """
    Raise ArgumentError, which lists the collectives, unless there is one of that name.
    """

class Task:
    """An operation to run, its network, and its conditions."""

    def __init__(
        self,
        kind: str,
        rank_count: int,
        nbytes: int,
        *,
        latency_s: float,
        bandwidth: float,
        message_s: float = 0.0,
        late: Mapping[int, float],
        slow: Mapping[int, float],
        root: int,
        topology: hemiola._core.Topology | None,
        most_transfers: int | None = None,
    ) -> None: ...
    @property
    def most_transfers(self) -> int:
        """How many a schedule may have that is simulated."""

    @property
    def group_count(self) -> int:
        """
        How many groups of nodes have a switch of their own; 1 where all are on the same.
        """

    @property
    def nic_count(self) -> int:
        """How many links lead out of a node."""

    @property
    def between_nodes(self) -> tuple[float, float, float]:
        """
        Seconds of latency between nodes of a group, and seconds that a byte and a message keep a NIC while all ranks send; zeros without nodes.
        """

class Variant:
    """
    A choice that is worth trying for a task, and its cost.

    Parameters
    ----------
    formula_s : float, seconds by the cost formula, delays included.
    transfer_count : int, of the whole schedule.
    parameter : str, which parameter of the algorithm's function is chosen, such as "chunk_count"; empty: none is.
    count : int, its value.
    is_simulation : bool, whether formula_s stands for a simulation: one would find it, too, or takes longer than a plan may.

    Raises
    ------
    TypeError
        if an argument is not of its type.
    """

    def __init__(
        self,
        formula_s: float,
        transfer_count: int,
        parameter: str = "",
        count: int = 0,
        *,
        is_simulation: bool = False,
    ) -> None: ...
    @property
    def formula_s(self) -> float: ...
    @property
    def transfer_count(self) -> int: ...
    @property
    def parameter(self) -> str:
        """Which parameter is chosen; empty: none."""

    @property
    def count(self) -> int:
        """Its value."""

    @property
    def is_simulation(self) -> bool:
        """Whether a simulation would find formula_s, too."""

    def __repr__(self) -> str: ...
    def __getstate__(self) -> tuple[float, int, str, int, bool]: ...
    def __setstate__(self, arg: tuple[float, int, str, int, bool], /) -> None: ...
    def __eq__(self, arg: object, /) -> bool: ...
    def __hash__(self) -> int: ...

class LateCut:
    """
    How finely to cut an all-reduce that finds its late rank while it runs.
    """

    @property
    def segments(self) -> int: ...
    @property
    def chunks_per_owner(self) -> int: ...
    @property
    def segment_s(self) -> float:
        """Seconds for the reduce-scatter of one segment."""

    @property
    def finish_s(self) -> list[float]:
        """Seconds after 1, 2 … segments of them."""

def late_cut(rank_count: int, nbytes: int, latency_s: float, bandwidth: float, *, finish: str) -> LateCut:
    """Choose such a cut."""

def best_measurable_segments(
    task: Task, *, load: float, rounds: int, message: float
) -> tuple[int, float] | None:
    """
    Choose the segments of an exchange of many small messages; return them with its seconds.
    """

def best_rail_variant(task: Task, *, load: float, rounds: int, chunks: int) -> Variant:
    """Choose the segments of an exchange over hosts on every rail."""

def nic_bandwidths(topology: hemiola._core.Topology, slow: Mapping[int, float]) -> list[float]:
    """Say how many bytes a second of each rank's NICs are its own."""

def slow_hosts(topology: hemiola._core.Topology, slow: Mapping[int, float]) -> tuple[dict[int, float], int]:
    """
    Say which hosts' NICs are slower than the fastest host's, and how many ranks a host has.
    """

def mesh_trees_cost(
    *,
    wires: Sequence[str],
    dims: Sequence[int],
    latency_s: float | Sequence[float],
    bandwidth: float | Sequence[float],
    message_s: float | Sequence[float],
    nbytes: int,
    chunk_count: int,
    line_count: int | None,
) -> tuple[float, int]:
    """
    Say about how many seconds all_reduce_mesh_trees takes with such arguments, and how many transfers.
    """

def assignment(cost: numpy.typing.NDArray[numpy.float64]) -> list[int] | None:
    """
    Return the column of each row at the least total cost, or None where each assignment has an infinite one.
    """

def all_gather_ring(rank_count: int) -> hemiola._core.Schedule:
    """
    Every rank passes on to rank + 1 the chunk that it received in the step before.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: (n-1)·α + (n-1)/n·N·β.
    Source: Chan, Heimlich, Purkayastha, van de Geijn 2007 [chan2007].
    """

def all_gather_ring_two_way(rank_count: int) -> hemiola._core.Schedule:
    """
    Half of every chunk goes round upwards while the other half goes round downwards.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: (n-1)·α + (n-1)/n·N·β.
    Source: Chan, Heimlich, Purkayastha, van de Geijn 2007 [chan2007].
    """

def reduce_scatter_ring(rank_count: int) -> hemiola._core.Schedule:
    """
    A chunk starts beyond its owner and collects every rank's part on its way round to it.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: (n-1)·α + (n-1)/n·N·β.
    Source: Chan, Heimlich, Purkayastha, van de Geijn 2007 [chan2007].
    """

def reduce_scatter_ring_two_way(rank_count: int) -> hemiola._core.Schedule:
    """
    Half of every chunk collects parts on its way upwards while the other half does so downwards.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: (n-1)·α + (n-1)/n·N·β.
    Source: Chan, Heimlich, Purkayastha, van de Geijn 2007 [chan2007].
    """

def all_reduce_ring(rank_count: int) -> hemiola._core.Schedule:
    """
    Ring reduce-scatter, then ring all-gather.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: 2(n-1)·α + 2(n-1)/n·N·β.
    Source: Patarasuk, Yuan 2009 [patarasuk2009].
    """

def all_reduce_ring_two_way(rank_count: int) -> hemiola._core.Schedule:
    """
    A ring all-reduce upwards for one half of the buffer and downwards for the other, at once.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: 2(n-1)·α + 2(n-1)/n·N·β.
    Source: Patarasuk, Yuan 2009 [patarasuk2009].
    """

def all_gather_direct(rank_count: int) -> hemiola._core.Schedule:
    """
    Every rank sends its chunk to all others in one step.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: α + (n-1)/n·N·β.
    Source: Cowan et al. (MSCCL) 2023, allpairs [cowan2023].
    """

def all_gather_direct_rounds(rank_count: int) -> hemiola._core.Schedule:
    """
    In round t every rank sends its chunk to the rank t places up: one flow a port.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: (n-1)·α + (n-1)/n·N·β.
    Source: Thakur, Rabenseifner, Gropp 2005 [thakur2005].
    """

def reduce_scatter_direct(rank_count: int) -> hemiola._core.Schedule:
    """
    Every rank sends each owner its part in one step.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: α + (n-1)/n·N·β.
    Source: Cowan et al. (MSCCL) 2023, allpairs [cowan2023].
    """

def reduce_scatter_direct_rounds(rank_count: int) -> hemiola._core.Schedule:
    """
    In round t every rank sends its part to the owner t places up: one flow a port.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: (n-1)·α + (n-1)/n·N·β.
    Source: Thakur, Rabenseifner, Gropp 2005 [thakur2005].
    """

def all_reduce_direct(rank_count: int) -> hemiola._core.Schedule:
    """
    Every rank reduces the chunk it owns, then hands it to all others: two steps.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: 2α + 2(n-1)/n·N·β.
    Source: Cowan et al. (MSCCL) 2023, allpairs [cowan2023].
    """

def all_reduce_direct_rounds(rank_count: int) -> hemiola._core.Schedule:
    """
    The direct all-reduce with one flow a port, in 2(n-1) rounds.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: 2(n-1)·α + 2(n-1)/n·N·β.
    Source: Thakur, Rabenseifner, Gropp 2005 [thakur2005].
    """

def all_gather_recursive_doubling(rank_count: int) -> hemiola._core.Schedule:
    """
    In round k ranks at distance 2^k exchange all they have.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: (log2 p + 2[f>0])·α + (p-1 + S + n[f>0])/n·N·β.
    Source: Thakur, Rabenseifner, Gropp 2005 [thakur2005].
    """

def reduce_scatter_recursive_halving(rank_count: int) -> hemiola._core.Schedule:
    """
    Ranks at half the distance of the round before hand each other the half that the other side owns.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: (log2 p + 2[f>0])·α + (p-1 + S + n[f>0])/n·N·β.
    Source: Thakur, Rabenseifner, Gropp 2005 [thakur2005].
    """

def all_reduce_recursive_doubling(rank_count: int) -> hemiola._core.Schedule:
    """
    In round k ranks at distance 2^k exchange and add their whole buffers: fewest steps.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: (log2 p + 2[f>0])·(α + N·β).
    Source: Thakur, Rabenseifner, Gropp 2005 [thakur2005].
    """

def all_reduce_recursive_halving_doubling(rank_count: int) -> hemiola._core.Schedule:
    """
    Recursive halving to reduce-scatter, then recursive doubling to all-gather.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: (2·log2 p + 2[f>0])·α + (2(p-1)/p + 2[f>0])·N·β.
    Source: Rabenseifner 2004 [rabenseifner2004].
    """

def all_gather_bruck(rank_count: int) -> hemiola._core.Schedule:
    """
    In round k every rank sends its chunks to the rank 2^k up, as far as that rank lacks them.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: ⌈log2 n⌉·α + (n-1)/n·N·β.
    Source: Bruck, Ho, Kipnis, Upfal, Weathersby 1997 [bruck1997].
    """

def reduce_scatter_bruck(rank_count: int) -> hemiola._core.Schedule:
    """
    Bruck's all-gather run backwards, adding on the way to the owners.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: ⌈log2 n⌉·α + (n-1)/n·N·β.
    Source: Träff 2024 [traff2024reduce].
    """

def all_reduce_bruck(rank_count: int) -> hemiola._core.Schedule:
    """
    Bruck's all-gather run backwards, then forwards: logarithmic and bandwidth optimal for any rank count.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: 2⌈log2 n⌉·α + 2(n-1)/n·N·β.
    Source: Träff 2024 [traff2024reduce].
    """

def all_to_all_bruck(rank_count: int) -> hemiola._core.Schedule:
    """
    A chunk travels j ranks up in hops of the binary digits of j, many chunks in each message.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: ⌈log2 n⌉·α + B/n·N·β.
    Source: Bruck, Ho, Kipnis, Upfal, Weathersby 1997 [bruck1997].
    """

def broadcast_double_binary_tree(
    rank_count: int, *, root: int = 0, chunk_count: int | None = None
) -> hemiola._core.Schedule:
    """
    Half of the chunks go down each of two binary trees in which inner nodes and leaves swap.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.
    root : int, 0 … rank_count-1.
    chunk_count : int, a multiple of 2; None takes the default for the rank count.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: (2⌈log2 n⌉-2+K)·(α + N/K·β).
    Source: Sanders, Speck, Träff 2009 [sanders2009].
    """

def reduce_double_binary_tree(
    rank_count: int, *, root: int = 0, chunk_count: int | None = None
) -> hemiola._core.Schedule:
    """
    Half of the chunks go up each of two binary trees in which inner nodes and leaves swap.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.
    root : int, 0 … rank_count-1.
    chunk_count : int, a multiple of 2; None takes the default for the rank count.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: (2⌈log2 n⌉-2+K)·(α + N/K·β).
    Source: Sanders, Speck, Träff 2009 [sanders2009].
    """

def all_reduce_double_binary_tree(
    rank_count: int, *, chunk_count: int | None = None
) -> hemiola._core.Schedule:
    """
    Up and down two binary trees in which inner nodes and leaves swap.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.
    chunk_count : int, a multiple of 2; None takes the default for the rank count.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: 2(2⌈log2 n⌉-2+K)·(α + N/K·β).
    Source: Sanders, Speck, Träff 2009 [sanders2009].
    """

def broadcast_binomial(rank_count: int, *, root: int = 0) -> hemiola._core.Schedule:
    """
    Every rank that has the buffer sends it on, in each round to a rank at half the distance.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.
    root : int, 0 … rank_count-1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: ⌈log2 n⌉·(α + N·β).
    Source: Thakur, Rabenseifner, Gropp 2005 [thakur2005].
    """

def reduce_binomial(rank_count: int, *, root: int = 0) -> hemiola._core.Schedule:
    """
    The binomial broadcast run backwards, adding on the way to the root.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.
    root : int, 0 … rank_count-1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: ⌈log2 n⌉·(α + N·β).
    Source: Thakur, Rabenseifner, Gropp 2005 [thakur2005].
    """

def scatter_binomial(rank_count: int, *, root: int = 0) -> hemiola._core.Schedule:
    """
    A rank sends a subtree all that its ranks own; in each round subtrees are half as large.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.
    root : int, 0 … rank_count-1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: ⌈log2 n⌉·α + (n-1)/n·N·β.
    Source: Chan, Heimlich, Purkayastha, van de Geijn 2007 [chan2007].
    """

def gather_binomial(rank_count: int, *, root: int = 0) -> hemiola._core.Schedule:
    """
    The binomial scatter run backwards.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.
    root : int, 0 … rank_count-1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: ⌈log2 n⌉·α + (n-1)/n·N·β.
    Source: Chan, Heimlich, Purkayastha, van de Geijn 2007 [chan2007].
    """

def broadcast_chain(
    rank_count: int, *, root: int = 0, chunk_count: int | None = None
) -> hemiola._core.Schedule:
    """
    K chunks follow each other from the root up the ranks.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.
    root : int, 0 … rank_count-1.
    chunk_count : int, a multiple of 1; None takes the default for the rank count.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: (n-2+K)·(α + N/K·β).
    Source: Watts, van de Geijn 1995 [watts1995].
    """

def reduce_chain(rank_count: int, *, root: int = 0, chunk_count: int | None = None) -> hemiola._core.Schedule:
    """
    K chunks follow each other up the ranks to the root; each rank adds its part.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.
    root : int, 0 … rank_count-1.
    chunk_count : int, a multiple of 1; None takes the default for the rank count.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: (n-2+K)·(α + N/K·β).
    Source: Watts, van de Geijn 1995 [watts1995].
    """

def broadcast_circulant(
    rank_count: int, *, root: int = 0, chunk_count: int | None = None
) -> hemiola._core.Schedule:
    """
    K chunks reach everybody in the fewest possible steps; distances repeat every ⌈log2 n⌉ steps.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.
    root : int, 0 … rank_count-1.
    chunk_count : int, a multiple of 1; None takes the default for the rank count.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: (⌈log2 n⌉-1+K)·(α + N/K·β).
    Source: Träff 2024 [traff2024broadcast].
    """

def reduce_circulant(
    rank_count: int, *, root: int = 0, chunk_count: int | None = None
) -> hemiola._core.Schedule:
    """
    The round-optimal broadcast backwards.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.
    root : int, 0 … rank_count-1.
    chunk_count : int, a multiple of 1; None takes the default for the rank count.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: (⌈log2 n⌉-1+K)·(α + N/K·β).
    Source: Träff 2024 [traff2024broadcast].
    """

def broadcast_scatter_all_gather(rank_count: int, *, root: int = 0) -> hemiola._core.Schedule:
    """
    Binomial scatter, then ring all-gather.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.
    root : int, 0 … rank_count-1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: (⌈log2 n⌉+n-1)·α + 2(n-1)/n·N·β.
    Source: Barnett, Gupta, Payne, Shuler, van de Geijn, Watts 1994 [barnett1994].
    """

def broadcast_direct(rank_count: int, *, root: int = 0) -> hemiola._core.Schedule:
    """
    The root sends the buffer to every other rank itself.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.
    root : int, 0 … rank_count-1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: α + (n-1)·N·β.
    Source: Chan, Heimlich, Purkayastha, van de Geijn 2007 [chan2007].
    """

def reduce_direct(rank_count: int, *, root: int = 0) -> hemiola._core.Schedule:
    """
    Every rank sends its buffer to the root, which adds them in the order of the ranks.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.
    root : int, 0 … rank_count-1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: α + (n-1)·N·β.
    Source: Chan, Heimlich, Purkayastha, van de Geijn 2007 [chan2007].
    """

def scatter_direct(rank_count: int, *, root: int = 0) -> hemiola._core.Schedule:
    """
    The root sends every rank its part.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.
    root : int, 0 … rank_count-1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: α + (n-1)/n·N·β.
    Source: Chan, Heimlich, Purkayastha, van de Geijn 2007 [chan2007].
    """

def gather_direct(rank_count: int, *, root: int = 0) -> hemiola._core.Schedule:
    """
    Every rank sends its part to the root.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.
    root : int, 0 … rank_count-1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: α + (n-1)/n·N·β.
    Source: Chan, Heimlich, Purkayastha, van de Geijn 2007 [chan2007].
    """

def all_to_all_direct(rank_count: int) -> hemiola._core.Schedule:
    """
    Every rank sends each other rank its part in one step.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: α + (n-1)/n·N·β.
    Source: Cowan et al. (MSCCL) 2023 [cowan2023].
    """

def all_to_all_pairwise(rank_count: int) -> hemiola._core.Schedule:
    """
    In each round every rank exchanges with one other: one flow a port.

    Parameters
    ----------
    rank_count : int, any n ≥ 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is not valid.

    Notes
    -----
    Cost, in the symbols of docs/reference/algorithms.md: (n-1)·α + (n-1)/n·N·β.
    Source: Thakur, Rabenseifner, Gropp 2005 [thakur2005].
    """

def all_reduce_late(
    rank_count: int,
    late_rank: int,
    chunk_count: int | None = None,
    *,
    nbytes: int | None = None,
    latency_s: float | None = None,
    bandwidth: float | None = None,
) -> hemiola._core.Schedule:
    """
    All-reduce with one late rank, at the lower bound of rounds after its arrival.

    The early ranks reduce-scatter among themselves while they wait (rank_count - 2 steps, one more where there are fewer
    chunks than early ranks). Then the late rank sends
    one raw chunk a round, each to the chunk's owner, which adds it; finished chunks double behind it.

    Parameters
    ----------
    rank_count : int >= 3, odd counts too.
    late_rank : int, 0 … rank_count-1.
    chunk_count : int >= 1; None for the best count where the next three are given, else for one chunk per early rank.
    nbytes : int >= 0, bytes of the buffer.
    latency_s : float > 0, seconds of a message.
    bandwidth : float > 0, bytes per second of a port.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is outside its range, or some of nbytes, latency_s and bandwidth are given and not all.

    Notes
    -----
    The best chunk count is M* = sqrt((ceil(log2 n) - 1)·nbytes/(bandwidth·latency_s)), in multiples of n - 1 from there on,
    at most 4096. It takes chunk_count + ceil(log2 n) - 1 rounds after arrival, and owners are balanced. The late rank's
    part is added exactly once per chunk, and all other messages are copies, so results are bitwise equal on all ranks.
    Lower bound: [StragglAR, §4]; the construction is ours, on the circulant broadcast of [traff2024broadcast].
    """

def all_reduce_late_segmented(
    rank_count: int,
    late_rank: int,
    *,
    segments: int,
    reduced: int,
    chunks_per_owner: int = 1,
    finish: str = "doubling",
) -> hemiola._core.Schedule:
    """
    All-reduce with one late rank that arrives while the early ranks are still reducing.

    The buffer goes in segments. Those that the early ranks have reduced by then get the short finish,
    together; the others a plain ring all-reduce of all ranks. So there is no critical delay: with no segment reduced this is
    the ring, with all of them the all-reduce that waits for its late rank.

    Parameters
    ----------
    rank_count : int >= 3.
    late_rank : int, 0 … rank_count-1.
    segments : int >= 1, equal parts of the buffer.
    reduced : int, 0 … segments, how many the early ranks reduce before the late rank joins.
    chunks_per_owner : int >= 1, chunks into which each early rank's block of a segment is cut.
    finish : "doubling", the fewest rounds; or "direct", in which the holder of a chunk sends it to all ranks itself.

    Returns
    -------
    Schedule, with chunk_weights when both kinds of segment occur.

    Raises
    ------
    ArgumentError
        if an argument is outside its range.

    Notes
    -----
    reduced·(n-2) steps before arrival, then reduced·(n-1)·chunks_per_owner + ceil(log2 n) - 1 rounds, or + n - 1 if direct,
    then 2(n-1) ring steps over the rest. A direct finish waits for no relays; over TCP it is the faster one. Exposed time,
    bandwidth only: [x + (1-x)·2(n-1)/n]·Nβ for a share x reduced, which is the traffic bound. The construction is ours.
    """

def all_reduce_late_hierarchical(
    nodes: int,
    ranks_per_node: int | Sequence[int],
    late_rank: int,
    *,
    segments: int,
    reduced: int,
    chunks_per_owner: int = 1,
    node_of_rank: Sequence[int] | None = None,
    finish: str = "doubling",
) -> hemiola._core.Schedule:
    """
    All-reduce with one late rank on nodes of several ranks, which share the links between nodes.

    Ranks of a node add up their shares; ranks of the same place on different nodes do the rest: as in
    ``all_reduce_late_segmented``, with nodes in place of ranks. The late rank's node is the late one; its early ranks have
    added up their own parts by then. A NIC carries every byte of a reduced segment once each way after the arrival, however
    many ranks share it.

    Parameters
    ----------
    nodes : int >= 3.
    ranks_per_node : int >= 2, the same on all nodes.
    late_rank : int, 0 … rank_count-1.
    segments : int >= 1, equal parts of the buffer.
    reduced : int, 0 … segments, how many the early ranks reduce before the late rank joins.
    chunks_per_owner : int >= 1, chunks into which an early node's block of a segment is cut, at each place.
    node_of_rank : sequence of int, the node of each rank; None where they are numbered node by node.
    finish : "doubling", the fewest rounds; or "direct", in which the holder of a chunk sends it to all nodes itself.

    Returns
    -------
    Schedule, with chunk_weights when both kinds of segment occur.

    Raises
    ------
    ArgumentError
        if an argument is outside its range, or nodes differ in their ranks.

    Notes
    -----
    For N nodes reduced·(N-1) steps before arrival. Then reduced·(N-1)·chunks_per_owner + ceil(log2 N) + 1 rounds, or + N + 1
    if direct; the first and the last are inside nodes. Then 2(N-1) steps of rings over the rest, and two more inside. The
    construction is ours.
    """

def all_reduce_late_several(
    rank_count: int, late_ranks: Sequence[int], chunk_count: int | None = None
) -> hemiola._core.Schedule:
    """
    All-reduce with several late ranks, folded in as they arrive.

    The ranks in time reduce-scatter among themselves at once. Each late rank but the last sends its part of every chunk,
    one a round, to the chunk's holder, and takes over the chunks it is to own. The last one's arrival starts the finish
    that a single late rank has.

    Parameters
    ----------
    rank_count : int >= 3.
    late_ranks : list of distinct ranks in order of arrival, 1 … rank_count-2 of them.
    chunk_count : int >= 1, or None for one chunk per rank that comes before the last.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is outside its range.

    Notes
    -----
    chunk_count + ceil(log2 n) - 1 rounds after the last arrival, once the others are folded in, which takes each
    chunk_count·(n-2)/(n-1) rounds from its arrival on. Late ranks that arrive together are folded in one after the other:
    two at once take longer than a ring. The construction is ours.
    """

def all_reduce_late_broadcast(rank_count: int, late_rank: int) -> hemiola._core.Schedule:
    """
    All-reduce with one late rank by StragglAR's late-aware baseline.

    The early ranks all-reduce among themselves; then the late rank exchanges the whole buffer with one of them, and both
    spread the result along a binomial tree.

    Parameters
    ----------
    rank_count : int >= 3.
    late_rank : int, 0 … rank_count-1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is outside its range.

    Notes
    -----
    2(n-2) steps before arrival, ceil(log2 n) rounds of the whole buffer after it [StragglAR, §4.1].
    """

def all_reduce_stragglar(rank_count: int, late_rank: int) -> hemiola._core.Schedule:
    """
    StragglAR's published all-reduce with one late rank.

    Parameters
    ----------
    rank_count : int, a power of two >= 4.
    late_rank : int, 0 … rank_count-1.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is outside its range.

    Notes
    -----
    n + log2 n - 2 rounds after arrival, one chunk per early rank [StragglAR, Algorithm 1]. The printed pseudo-code is
    resolved where it is wrong. The loop ends at n + log2 n - 3 (line 3). Round 0 belongs to neither phase (6, 9). The late
    rank and matched ranks are no free receivers (8). The critical window ends at r + log2 n - 1 (13). A window rank takes
    the oldest chunk c <= rank - log2 n that some free holder outside the window has (14); it sends its own active chunk and
    receives the selected one (15). Both sides are recomputed after the window's picks (10-11). An expired chunk is removed
    (19). The late rank joins the holders of the last chunk from round n - 1 on.
    """

def all_reduce_weighted_exchange(
    rank_count: int,
    slow: Mapping[int, float],
    segments: int | None = None,
    *,
    relative_latency: float = 0.0001,
) -> hemiola._core.Schedule:
    """
    All-reduce with slow ranks, in which a slow rank owns less of the buffer.

    A shifted direct exchange in segments: the reduce-scatter of one segment shares its messages with the all-gather of
    the segment before. A rank of factor l owns max(0, (2 - l) / l) of a healthy rank's share.

    Parameters
    ----------
    rank_count : int >= 2.
    slow : mapping of rank to float >= 1, the factors by which ports are slower; relative to the fastest rank.
    segments : int >= 1, pieces the buffer is pipelined in; None for best_segment_count of the next argument.
    relative_latency : float > 0, latency · bandwidth / bytes; the default is 4 µs at 25 GB/s for 1 GB.

    Returns
    -------
    Schedule, with chunk_weights in proportion to ownership.

    Raises
    ------
    ArgumentError
        if a rank does not exist, a factor is below 1 or not finite, segments < 1, or relative_latency is not
        finite and > 0.

    Notes
    -----
    One slow rank of factor l, k segments, bandwidth only: l(k+1)/k · Nβ for l >= 2, and
    2(n-1)l/((n-2)l+2) · (k+l-1)/k · Nβ below, the closed forms of [OptCC, Theorems 1 and 6]. (k+1)(n-1) steps.
    """

def all_reduce_weighted_exchange_parts(
    rank_count: int,
    slow: Mapping[int, float],
    segments: int | None = None,
    *,
    relative_latency: float = 0.0001,
) -> hemiola._core.ScheduleParts:
    """
    The same transfers as all_reduce_weighted_exchange, rank by rank, without making the whole schedule.

    Parameters
    ----------
    rank_count : int >= 2.
    slow : mapping of rank to float >= 1, the factors by which ports are slower; relative to the fastest rank.
    segments : int >= 1, pieces the buffer is pipelined in; None for best_segment_count of the next argument.
    relative_latency : float > 0, latency · bandwidth / bytes; the default is 4 µs at 25 GB/s for 1 GB.

    Returns
    -------
    ScheduleParts

    Raises
    ------
    ArgumentError
        if a rank does not exist, a factor is below 1 or not finite, segments < 1, or relative_latency is not
        finite and > 0.

    Notes
    -----
    A part has at most 4(k+1)(n-1) rows and takes time in proportion; the schedule has n/2 times as many.
    """

def best_segment_count(rank_count: int, slow: Mapping[int, float], relative_latency: float) -> int:
    """
    Choose how many segments a slow-rank exchange is pipelined in.

    Parameters
    ----------
    rank_count : int >= 2.
    slow : mapping of rank to float >= 1, the factors by which ports are slower; relative to the fastest rank.
    relative_latency : float > 0, latency · bandwidth / bytes.

    Returns
    -------
    int, 1 … 4096: sqrt(bound·c / ((n-1)·relative_latency)) with c = min(1, l - 1) for the largest factor l, where the
    bound is max(l, 2(n-1) / Σ max(0, (2 - l_i) / l_i)).

    Raises
    ------
    ArgumentError
        if a rank does not exist, a factor is below 1 or not finite, or relative_latency is not finite and > 0.

    Notes
    -----
    The minimum of bound·(k + c)/k + (k + 1)(n - 1)·relative_latency, which charges a latency for every message.
    """

def reduce_scatter_weighted_exchange(rank_count: int, slow: Mapping[int, float]) -> hemiola._core.Schedule:
    """
    Reduce-scatter with slow ranks, which own less: the first half of the weighted exchange.

    Parameters
    ----------
    rank_count : int >= 2.
    slow : mapping of rank to float >= 1, the factors by which ports are slower; relative to the fastest rank.

    Returns
    -------
    Schedule, with chunk_weights in proportion to ownership: max(0, (2 - l) / l) for factor l. A rank without a share gets
    nothing.

    Raises
    ------
    ArgumentError
        if a rank does not exist or a factor is below 1 or not finite.

    Notes
    -----
    n - 1 steps, one message each way per rank in each. For shards that a later all_gather_weighted_exchange collects,
    such as those of an optimizer. One slow rank of factor l that owns a share f, bandwidth only: l(1 - f) · Nβ, which
    its port must carry. Where every rank must own as much, reduce_scatter_direct_rounds is at the bound already.
    """

def all_gather_weighted_exchange(rank_count: int, slow: Mapping[int, float]) -> hemiola._core.Schedule:
    """
    All-gather with slow ranks, which own less: the second half of the weighted exchange.

    Parameters
    ----------
    rank_count : int >= 2.
    slow : mapping of rank to float >= 1, the factors by which ports are slower; relative to the fastest rank.

    Returns
    -------
    Schedule, with chunk_weights in proportion to ownership: max(0, (2 - l) / l) for factor l.

    Raises
    ------
    ArgumentError
        if a rank does not exist or a factor is below 1 or not finite.

    Notes
    -----
    n - 1 steps, one message each way per rank in each. One slow rank of factor l that owns a share f, bandwidth only:
    l(1 - f) · Nβ, which its port must carry.
    """

def broadcast_weighted_exchange(
    rank_count: int,
    slow: Mapping[int, float],
    segments: int | None = None,
    *,
    root: int = 0,
    relative_latency: float = 0.0001,
) -> hemiola._core.Schedule:
    """
    Broadcast with slow ranks, which hand on less.

    The root sends every other rank a section, in segments; all hand theirs on to everybody while the next segment comes. A
    rank of factor l has max(0, (2 - l) / l) of a healthy rank's share; the root itself has none.

    Parameters
    ----------
    rank_count : int >= 2.
    slow : mapping of rank to float >= 1, the factors by which ports are slower; relative to the fastest rank.
    segments : int >= 1, pieces the buffer is pipelined in; None for best_segment_count of the next argument.
    root : int, 0 … rank_count-1.
    relative_latency : float > 0, latency · bandwidth / bytes.

    Returns
    -------
    Schedule, with chunk_weights in proportion to the sections.

    Raises
    ------
    ArgumentError
        if a rank does not exist, a factor is below 1 or not finite, segments < 1, or relative_latency is not
        finite and > 0.

    Notes
    -----
    (k+1)(n-1) steps. One slow rank of factor l, bandwidth only: at most l(k+1)/k · Nβ, where l · Nβ is the bound.
    """

def all_reduce_rail_exchange(
    host_count: int, ranks_per_host: int, slow_hosts: Mapping[int, float], segments: int
) -> hemiola._core.Schedule:
    """
    All-reduce for hosts with several ranks and one NIC each, some of them slow.

    The weighted exchange over the hosts on every rail (ranks of equal place), with the reduce-scatter and all-gather inside
    the hosts one segment ahead and one behind.

    Parameters
    ----------
    host_count : int >= 2.
    ranks_per_host : int >= 1; rank = host * ranks_per_host + rail.
    slow_hosts : mapping of host to float >= 1, the factors by which its ranks' NICs are slower.
    segments : int >= 1, pieces the buffer is pipelined in.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if a host does not exist, a factor is below 1 or not finite, or a count is out of range.

    Notes
    -----
    With g ranks a host, links inside that carry g - 1 times a NIC, and one host of factor l >= 2, bandwidth only:
    [l(k+1) + 2]/(gk) · Nβ for k segments, less (h-2)/((h-1)(g-1)) · Nβ/(gk) that the last phase does ahead. [OptCC,
    §4.4] states l(k+5.5)/(gk) and leaves several slow hosts open.
    """

def all_reduce_optcc(
    rank_count: int,
    slow: int | Mapping[int, float],
    segments: int | None = None,
    *,
    relative_latency: float = 0.0001,
) -> hemiola._core.Schedule:
    """
    OptCC's four stages on a ring of the healthy ranks.

    Parameters
    ----------
    rank_count : int >= 3.
    slow : mapping of one rank to its factor, a float >= 1 by which its port is slower; or the rank alone, an int in 0 …
        rank_count-1, for a factor of 2 or more, or one that is not known.
    segments : int >= 1, pieces the buffer is pipelined in; None for best_optcc_segment_count of the next argument.
    relative_latency : float > 0, latency · bandwidth / bytes; the default is 4 µs at 25 GB/s for 1 GB.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if an argument is outside its range, or `slow` does not name exactly one rank.

    Notes
    -----
    The slow rank's raw part goes to a section's owner, as do the others' parts round the healthy ring, adding; the
    result goes back to the slow rank and round the ring [OptCC, §4.1]. Below a factor l of 2 the slow rank owns (2 - l)/l
    of a healthy rank's share [OptCC, Appendix C]. One rotating pattern instead of the paper's four. Bandwidth only, k
    segments: at most (k + 1.5 - 1/(n-1))/k of the bound, which an even rank count n takes at l = 2 and k >= 3. Healthy
    ranks send to the next one and the slow one only: for networks in which only neighbours are near;
    all_reduce_weighted_exchange is faster where all pairs are.
    """

def best_optcc_segment_count(
    rank_count: int, slow: int | Mapping[int, float], relative_latency: float
) -> int:
    """
    Choose how many segments all_reduce_optcc is pipelined in.

    Parameters
    ----------
    rank_count : int >= 3.
    slow : mapping of one rank to its factor, a float >= 1; or the rank alone, for a factor of 2.
    relative_latency : float > 0, latency · bandwidth / bytes.

    Returns
    -------
    int, 1 … 4096: sqrt(1.5·bound/relative_latency), but no more than (max(l, 2) - 1) / (s·relative_latency) for s
    sections a segment, n - 1 + max(0, (2 - l)/l).

    Raises
    ------
    ArgumentError
        if an argument is outside its range, or `slow` does not name exactly one rank.

    Notes
    -----
    A section makes one hop in a window of max(l, 2) hops: up to the second term its latency passes meanwhile, beyond
    every hop waits for it. Latencies are then paid while the pipeline fills and empties, for any count. The first term
    weighs the 1.5/k for that against one latency a segment (a ring of two healthy ranks pays it) for other costs of a
    message.
    """

def all_gather_hierarchical(
    nodes: int,
    ranks_per_node: int | Sequence[int],
    slices: int | None = None,
    groups: int | None = None,
    *,
    node_of_rank: Sequence[int] | None = None,
) -> hemiola._core.Schedule:
    """
    All-gather on nodes with several ranks, and on groups of them: farthest level first, all levels at once.

    Parameters
    ----------
    nodes : int >= 1.
    ranks_per_node : int >= 1, or one for each node.
    slices : int >= 1, pieces of each rank's chunk, which follow each other; None for 4.
    groups : int that divides `nodes`, how many groups of consecutive nodes have a switch of their own; None for 1.
    node_of_rank : sequence of int, the node of each rank; None where they are numbered node by node.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if a count is out of range, groups do not divide the nodes, node_of_rank says something else than the counts, or a
        schedule would have more than 2**28 transfers.

    Notes
    -----
    n(n-1)·slices transfers, twice that for an all-reduce. On N nodes with K NICs every NIC sends and receives (N-1)/N·m/K bytes,
    twice that for an all-reduce, and nothing is moved in memory at the end. Let X = (N-1)/N·m/(KB) be the NICs' time, and Y
    = (M-1)/M·m/b that of one of M ranks inside its node. It takes about ⌈log2 N⌉·α + α inside + max(X, Y). [PCCL, §4.1]
    runs its phases one after the other, X + Y, and needs a shuffle for want of places to receive into. Unequal nodes: their
    ranks take turns with the chunks of those that they lack.
    """

def all_gather_hierarchical_parts(
    nodes: int,
    ranks_per_node: int | Sequence[int],
    slices: int | None = None,
    groups: int | None = None,
    *,
    node_of_rank: Sequence[int] | None = None,
) -> hemiola._core.ScheduleParts:
    """
    All-gather on nodes with several ranks, and on groups of them: farthest level first, all levels at once.

    Parameters
    ----------
    nodes : int >= 1.
    ranks_per_node : int >= 1, or one for each node.
    slices : int >= 1, pieces of each rank's chunk, which follow each other; None for 4.
    groups : int that divides `nodes`, how many groups of consecutive nodes have a switch of their own; None for 1.
    node_of_rank : sequence of int, the node of each rank; None where they are numbered node by node.

    Returns
    -------
    ScheduleParts, of the same transfers, rank by rank, without making the whole schedule.

    Raises
    ------
    ArgumentError
        if a count is out of range, groups do not divide the nodes, node_of_rank says something else than the counts, or a
        schedule would have more than 2**28 transfers.

    Notes
    -----
    n(n-1)·slices transfers, twice that for an all-reduce. On N nodes with K NICs every NIC sends and receives (N-1)/N·m/K bytes,
    twice that for an all-reduce, and nothing is moved in memory at the end. Let X = (N-1)/N·m/(KB) be the NICs' time, and Y
    = (M-1)/M·m/b that of one of M ranks inside its node. It takes about ⌈log2 N⌉·α + α inside + max(X, Y). [PCCL, §4.1]
    runs its phases one after the other, X + Y, and needs a shuffle for want of places to receive into. Unequal nodes: their
    ranks take turns with the chunks of those that they lack.
    """

def reduce_scatter_hierarchical(
    nodes: int,
    ranks_per_node: int | Sequence[int],
    slices: int | None = None,
    groups: int | None = None,
    *,
    node_of_rank: Sequence[int] | None = None,
) -> hemiola._core.Schedule:
    """
    Reduce-scatter on nodes with several ranks, and on groups of them: nearest level first, all levels at once.

    Parameters
    ----------
    nodes : int >= 1.
    ranks_per_node : int >= 1, or one for each node.
    slices : int >= 1, pieces of each rank's chunk, which follow each other; None for 4.
    groups : int that divides `nodes`, how many groups of consecutive nodes have a switch of their own; None for 1.
    node_of_rank : sequence of int, the node of each rank; None where they are numbered node by node.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if a count is out of range, groups do not divide the nodes, node_of_rank says something else than the counts, or a
        schedule would have more than 2**28 transfers.

    Notes
    -----
    n(n-1)·slices transfers, twice that for an all-reduce. On N nodes with K NICs every NIC sends and receives (N-1)/N·m/K bytes,
    twice that for an all-reduce, and nothing is moved in memory at the end. Let X = (N-1)/N·m/(KB) be the NICs' time, and Y
    = (M-1)/M·m/b that of one of M ranks inside its node. It takes about ⌈log2 N⌉·α + α inside + max(X, Y). [PCCL, §4.1]
    runs its phases one after the other, X + Y, and needs a shuffle for want of places to receive into. Unequal nodes: their
    ranks take turns with the chunks of those that they lack.
    """

def reduce_scatter_hierarchical_parts(
    nodes: int,
    ranks_per_node: int | Sequence[int],
    slices: int | None = None,
    groups: int | None = None,
    *,
    node_of_rank: Sequence[int] | None = None,
) -> hemiola._core.ScheduleParts:
    """
    Reduce-scatter on nodes with several ranks, and on groups of them: nearest level first, all levels at once.

    Parameters
    ----------
    nodes : int >= 1.
    ranks_per_node : int >= 1, or one for each node.
    slices : int >= 1, pieces of each rank's chunk, which follow each other; None for 4.
    groups : int that divides `nodes`, how many groups of consecutive nodes have a switch of their own; None for 1.
    node_of_rank : sequence of int, the node of each rank; None where they are numbered node by node.

    Returns
    -------
    ScheduleParts, of the same transfers, rank by rank, without making the whole schedule.

    Raises
    ------
    ArgumentError
        if a count is out of range, groups do not divide the nodes, node_of_rank says something else than the counts, or a
        schedule would have more than 2**28 transfers.

    Notes
    -----
    n(n-1)·slices transfers, twice that for an all-reduce. On N nodes with K NICs every NIC sends and receives (N-1)/N·m/K bytes,
    twice that for an all-reduce, and nothing is moved in memory at the end. Let X = (N-1)/N·m/(KB) be the NICs' time, and Y
    = (M-1)/M·m/b that of one of M ranks inside its node. It takes about ⌈log2 N⌉·α + α inside + max(X, Y). [PCCL, §4.1]
    runs its phases one after the other, X + Y, and needs a shuffle for want of places to receive into. Unequal nodes: their
    ranks take turns with the chunks of those that they lack.
    """

def all_reduce_hierarchical(
    nodes: int,
    ranks_per_node: int | Sequence[int],
    slices: int | None = None,
    groups: int | None = None,
    *,
    node_of_rank: Sequence[int] | None = None,
) -> hemiola._core.Schedule:
    """
    All-reduce on nodes with several ranks: the hierarchical reduce-scatter, then the all-gather.

    Parameters
    ----------
    nodes : int >= 1.
    ranks_per_node : int >= 1, or one for each node.
    slices : int >= 1, pieces of each rank's chunk, which follow each other; None for 4.
    groups : int that divides `nodes`, how many groups of consecutive nodes have a switch of their own; None for 1.
    node_of_rank : sequence of int, the node of each rank; None where they are numbered node by node.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if a count is out of range, groups do not divide the nodes, node_of_rank says something else than the counts, or a
        schedule would have more than 2**28 transfers.

    Notes
    -----
    n(n-1)·slices transfers, twice that for an all-reduce. On N nodes with K NICs every NIC sends and receives (N-1)/N·m/K bytes,
    twice that for an all-reduce, and nothing is moved in memory at the end. Let X = (N-1)/N·m/(KB) be the NICs' time, and Y
    = (M-1)/M·m/b that of one of M ranks inside its node. It takes about ⌈log2 N⌉·α + α inside + max(X, Y). [PCCL, §4.1]
    runs its phases one after the other, X + Y, and needs a shuffle for want of places to receive into. Unequal nodes: their
    ranks take turns with the chunks of those that they lack.
    """

def all_reduce_hierarchical_parts(
    nodes: int,
    ranks_per_node: int | Sequence[int],
    slices: int | None = None,
    groups: int | None = None,
    *,
    node_of_rank: Sequence[int] | None = None,
) -> hemiola._core.ScheduleParts:
    """
    All-reduce on nodes with several ranks: the hierarchical reduce-scatter, then the all-gather.

    Parameters
    ----------
    nodes : int >= 1.
    ranks_per_node : int >= 1, or one for each node.
    slices : int >= 1, pieces of each rank's chunk, which follow each other; None for 4.
    groups : int that divides `nodes`, how many groups of consecutive nodes have a switch of their own; None for 1.
    node_of_rank : sequence of int, the node of each rank; None where they are numbered node by node.

    Returns
    -------
    ScheduleParts, of the same transfers, rank by rank, without making the whole schedule.

    Raises
    ------
    ArgumentError
        if a count is out of range, groups do not divide the nodes, node_of_rank says something else than the counts, or a
        schedule would have more than 2**28 transfers.

    Notes
    -----
    n(n-1)·slices transfers, twice that for an all-reduce. On N nodes with K NICs every NIC sends and receives (N-1)/N·m/K bytes,
    twice that for an all-reduce, and nothing is moved in memory at the end. Let X = (N-1)/N·m/(KB) be the NICs' time, and Y
    = (M-1)/M·m/b that of one of M ranks inside its node. It takes about ⌈log2 N⌉·α + α inside + max(X, Y). [PCCL, §4.1]
    runs its phases one after the other, X + Y, and needs a shuffle for want of places to receive into. Unequal nodes: their
    ranks take turns with the chunks of those that they lack.
    """

def all_gather_multi_ring(
    nodes: int, ranks_per_node: int | Sequence[int], nics: int, *, node_of_rank: Sequence[int] | None = None
) -> hemiola._core.Schedule:
    """
    All-gather along as many rings as a node has NICs.

    Each ring leaves a node through another NIC than the others, which is how NCCL and RCCL use all of them.

    Parameters
    ----------
    nodes : int >= 1.
    ranks_per_node : int >= 1, or one for each node.
    nics : int >= 1, NICs of a node, each of which serves as many ranks of consecutive numbers.
    node_of_rank : sequence of int, the node of each rank; None where they are numbered node by node.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if a count is out of range, node_of_rank says something else than the counts, or the schedule would have more than
        2**28 transfers.

    Notes
    -----
    n - 1 steps, twice that for an all-reduce. With N nodes of M ranks, c = m/(nK) for K NICs: the larger of N(M-1)(α inside +
    c/b) + (N-1)(α + c/B) and (n-1)/n·m/(KB). A ring through ranks in order, with one NIC a node busy in each direction, is
    [PCCL, Fig. 3]'s measurement of MPICH, taken there for a fault of its routing.
    """

def reduce_scatter_multi_ring(
    nodes: int, ranks_per_node: int | Sequence[int], nics: int, *, node_of_rank: Sequence[int] | None = None
) -> hemiola._core.Schedule:
    """
    Reduce-scatter along as many rings as a node has NICs.

    Each ring leaves a node through another NIC than the others, which is how NCCL and RCCL use all of them.

    Parameters
    ----------
    nodes : int >= 1.
    ranks_per_node : int >= 1, or one for each node.
    nics : int >= 1, NICs of a node, each of which serves as many ranks of consecutive numbers.
    node_of_rank : sequence of int, the node of each rank; None where they are numbered node by node.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if a count is out of range, node_of_rank says something else than the counts, or the schedule would have more than
        2**28 transfers.

    Notes
    -----
    n - 1 steps, twice that for an all-reduce. With N nodes of M ranks, c = m/(nK) for K NICs: the larger of N(M-1)(α inside +
    c/b) + (N-1)(α + c/B) and (n-1)/n·m/(KB). A ring through ranks in order, with one NIC a node busy in each direction, is
    [PCCL, Fig. 3]'s measurement of MPICH, taken there for a fault of its routing.
    """

def all_reduce_multi_ring(
    nodes: int, ranks_per_node: int | Sequence[int], nics: int, *, node_of_rank: Sequence[int] | None = None
) -> hemiola._core.Schedule:
    """
    All-reduce along as many rings as a node has NICs.

    Each ring leaves a node through another NIC than the others, which is how NCCL and RCCL use all of them.

    Parameters
    ----------
    nodes : int >= 1.
    ranks_per_node : int >= 1, or one for each node.
    nics : int >= 1, NICs of a node, each of which serves as many ranks of consecutive numbers.
    node_of_rank : sequence of int, the node of each rank; None where they are numbered node by node.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if a count is out of range, node_of_rank says something else than the counts, or the schedule would have more than
        2**28 transfers.

    Notes
    -----
    n - 1 steps, twice that for an all-reduce. With N nodes of M ranks, c = m/(nK) for K NICs: the larger of N(M-1)(α inside +
    c/b) + (N-1)(α + c/B) and (n-1)/n·m/(KB). A ring through ranks in order, with one NIC a node busy in each direction, is
    [PCCL, Fig. 3]'s measurement of MPICH, taken there for a fault of its routing.
    """

def all_gather_pccl(
    nodes: int,
    ranks_per_node: int | Sequence[int],
    between: str = "ring",
    *,
    node_of_rank: Sequence[int] | None = None,
) -> hemiola._core.Schedule:
    """
    An all-gather between nodes for each local rank, then a ring inside the nodes.

    The phases follow each other: between the nodes, ranks of equal place in a ring or by recursive doubling; then a ring inside
    each node. A reduce-scatter runs them backwards, an all-reduce does both. As it was published, to compare with.

    Parameters
    ----------
    nodes : int >= 1; a power of two for 'recursive'.
    ranks_per_node : int >= 1, or one for each node, all alike.
    between : 'ring' or 'recursive'.
    node_of_rank : sequence of int, the node of each rank; None where they are numbered node by node.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if a count is out of range, nodes differ, they are no power of two where they must be, `between` is another word,
        node_of_rank says something else than the counts, or the schedule would have more than 2**28 transfers.

    Notes
    -----
    On N nodes of M ranks: (N-1)·α or log2 N·α, + (N-1)/N·m/(KB) + (M-1)(α inside) + (M-1)/M·m/b. [PCCL, eqs. 1 and 2] have
    the same bandwidth term, so that by them the ring never wins, as it does in its Figure 6. Distances that double send up
    to a group's size times the needed bytes over the uplinks of groups of nodes, where a ring sends them once. [PCCL, §2.2]
    exchanges halving and doubling, which §4.3 has right. The final shuffle of [PCCL, Fig. 5] is a local copy, which
    schedules do not know.
    """

def reduce_scatter_pccl(
    nodes: int,
    ranks_per_node: int | Sequence[int],
    between: str = "ring",
    *,
    node_of_rank: Sequence[int] | None = None,
) -> hemiola._core.Schedule:
    """
    A ring inside the nodes, then a reduce-scatter between nodes for each local rank.

    The phases follow each other: between the nodes, ranks of equal place in a ring or by recursive doubling; then a ring inside
    each node. A reduce-scatter runs them backwards, an all-reduce does both. As it was published, to compare with.

    Parameters
    ----------
    nodes : int >= 1; a power of two for 'recursive'.
    ranks_per_node : int >= 1, or one for each node, all alike.
    between : 'ring' or 'recursive'.
    node_of_rank : sequence of int, the node of each rank; None where they are numbered node by node.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if a count is out of range, nodes differ, they are no power of two where they must be, `between` is another word,
        node_of_rank says something else than the counts, or the schedule would have more than 2**28 transfers.

    Notes
    -----
    On N nodes of M ranks: (N-1)·α or log2 N·α, + (N-1)/N·m/(KB) + (M-1)(α inside) + (M-1)/M·m/b. [PCCL, eqs. 1 and 2] have
    the same bandwidth term, so that by them the ring never wins, as it does in its Figure 6. Distances that double send up
    to a group's size times the needed bytes over the uplinks of groups of nodes, where a ring sends them once. [PCCL, §2.2]
    exchanges halving and doubling, which §4.3 has right. The final shuffle of [PCCL, Fig. 5] is a local copy, which
    schedules do not know.
    """

def all_reduce_pccl(
    nodes: int,
    ranks_per_node: int | Sequence[int],
    between: str = "ring",
    *,
    node_of_rank: Sequence[int] | None = None,
) -> hemiola._core.Schedule:
    """
    PCCL's reduce-scatter, then its all-gather.

    The phases follow each other: between the nodes, ranks of equal place in a ring or by recursive doubling; then a ring inside
    each node. A reduce-scatter runs them backwards, an all-reduce does both. As it was published, to compare with.

    Parameters
    ----------
    nodes : int >= 1; a power of two for 'recursive'.
    ranks_per_node : int >= 1, or one for each node, all alike.
    between : 'ring' or 'recursive'.
    node_of_rank : sequence of int, the node of each rank; None where they are numbered node by node.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if a count is out of range, nodes differ, they are no power of two where they must be, `between` is another word,
        node_of_rank says something else than the counts, or the schedule would have more than 2**28 transfers.

    Notes
    -----
    On N nodes of M ranks: (N-1)·α or log2 N·α, + (N-1)/N·m/(KB) + (M-1)(α inside) + (M-1)/M·m/b. [PCCL, eqs. 1 and 2] have
    the same bandwidth term, so that by them the ring never wins, as it does in its Figure 6. Distances that double send up
    to a group's size times the needed bytes over the uplinks of groups of nodes, where a ring sends them once. [PCCL, §2.2]
    exchanges halving and doubling, which §4.3 has right. The final shuffle of [PCCL, Fig. 5] is a local copy, which
    schedules do not know.
    """

def all_gather_multitree(topology: hemiola._core.Topology) -> hemiola._core.Schedule:
    """
    Grow one tree per rank, all at once, so that no link is used twice in a step.

    Parameters
    ----------
    topology : Topology without switches, in which all ranks reach each other. Links count as alike.

    Returns
    -------
    Schedule, one chunk per rank.

    Raises
    ------
    ArgumentError
        if the topology has switches, or some rank cannot reach another.

    Notes
    -----
    Deterministic. At most one chunk a link and step; steps are close to (n-1) / smallest degree on meshes and tori. About
    0.7 s for a 32 x 32 torus. Trees take turns and add one edge a turn [huang2021]; the reduce-scatter is the all-gather
    over the reversed links, backwards, and the all-reduce is one after the other.
    """

def reduce_scatter_multitree(topology: hemiola._core.Topology) -> hemiola._core.Schedule:
    """
    Grow one tree per rank, all at once, so that no link is used twice in a step.

    Parameters
    ----------
    topology : Topology without switches, in which all ranks reach each other. Links count as alike.

    Returns
    -------
    Schedule, one chunk per rank.

    Raises
    ------
    ArgumentError
        if the topology has switches, or some rank cannot reach another.

    Notes
    -----
    Deterministic. At most one chunk a link and step; steps are close to (n-1) / smallest degree on meshes and tori. About
    0.7 s for a 32 x 32 torus. Trees take turns and add one edge a turn [huang2021]; the reduce-scatter is the all-gather
    over the reversed links, backwards, and the all-reduce is one after the other.
    """

def all_reduce_multitree(topology: hemiola._core.Topology) -> hemiola._core.Schedule:
    """
    Grow one tree per rank, all at once, so that no link is used twice in a step.

    Parameters
    ----------
    topology : Topology without switches, in which all ranks reach each other. Links count as alike.

    Returns
    -------
    Schedule, one chunk per rank.

    Raises
    ------
    ArgumentError
        if the topology has switches, or some rank cannot reach another.

    Notes
    -----
    Deterministic. At most one chunk a link and step; steps are close to (n-1) / smallest degree on meshes and tori. About
    0.7 s for a 32 x 32 torus. Trees take turns and add one edge a turn [huang2021]; the reduce-scatter is the all-gather
    over the reversed links, backwards, and the all-reduce is one after the other.
    """

def all_reduce_blueconnect(
    dims: Sequence[int],
    wires: Sequence[str],
    *,
    latency_s: float | Sequence[float],
    bandwidth: float | Sequence[float],
    nbytes: int,
    chunk_count: int = 1,
) -> hemiola._core.Schedule:
    """
    Reduce-scatter along each dimension of a grid in turn, then all-gather along them in reverse.

    Parameters
    ----------
    dims, wires, latency_s, bandwidth : as hemiola.topologies.grid takes them.
    nbytes : int >= 0, bytes of one rank's buffer; with the links' costs it decides each part's place at a time.
    chunk_count : int >= 1, parts that the buffer is cut into.

    Returns
    -------
    Schedule, of chunk_count parts of one chunk per rank, or two per rank where there are rings or lines.

    Raises
    ------
    ArgumentError
        if the dimensions make no grid, an argument is out of range, or there would be more than 2**28 transfers.

    Notes
    -----
    Deterministic. Rings and lines use the ring algorithm, half of a part each way round; fully connected and switched
    dimensions exchange directly. A dimension serves one exchange at a time: the one that can begin first, the
    lowest part's of several. Source: [cho2019].
    """

def all_reduce_themis(
    dims: Sequence[int],
    wires: Sequence[str],
    *,
    latency_s: float | Sequence[float],
    bandwidth: float | Sequence[float],
    nbytes: int,
    chunk_count: int = 64,
) -> hemiola._core.Schedule:
    """
    All-reduce on a grid, each part beginning in the dimension that has least to do so far.

    Parameters
    ----------
    dims, wires, latency_s, bandwidth : as hemiola.topologies.grid takes them.
    nbytes : int >= 0, bytes of one rank's buffer; with the links' costs it decides each part's place at a time.
    chunk_count : int >= 1, parts that the buffer is cut into.

    Returns
    -------
    Schedule, of chunk_count parts of one chunk per rank, or two per rank where there are rings or lines.

    Raises
    ------
    ArgumentError
        if the dimensions make no grid, an argument is out of range, or there would be more than 2**28 transfers.

    Notes
    -----
    Deterministic. Rings and lines use the ring algorithm, half of a part each way round; fully connected and switched
    dimensions exchange directly. A dimension serves one exchange at a time: the one that can begin first, the
    lowest part's of several. Source: [rashidi2022].
    """

def all_reduce_recursive_multiplying(
    dims: Sequence[int], wires: Sequence[str], *, scattered: int = 0, parts: int = 1
) -> hemiola._core.Schedule:
    """
    Along each dimension in turn, all ranks of a row exchange their sums and add them.

    Parameters
    ----------
    dims, wires : as hemiola.topologies.grid takes them. The product of the sizes is the rank count; a dimension behind one
        switch may stand as several factors of its size, each of them a "switch".
    scattered : int, 0 … dimensions, how many of its dimensions a part is reduce-scattered along before, and all-gathered
        along after.
    parts : int, 1 … dimensions; part p of the buffer begins in dimension p, so that all links are busy.

    Returns
    -------
    Schedule, with scratch slots where a row has more than two ranks.

    Raises
    ------
    ArgumentError
        if the dimensions make no grid, a count is out of range, or there would be more than 2**22 slots or 2**28 transfers.

    Notes
    -----
    Behind switches of n = d1·d2·… ranks: Σ (α + (di - 1)·N·β) seconds, and (di - 1) messages a step. Two ranks a dimension are
    recursive doubling; one dimension is an exchange of all buffers in one step. A ring of d ranks takes ⌊d/2⌋ steps, each with a
    buffer in either direction; a line takes d - 1. All ranks add in the order of coordinates, so that they get the same bits.
    Deterministic. Source: [ruefenacht2017]; rings, parts, and dimensions to scatter along are additions.
    """

def all_reduce_recursive_multiplying_transfers(
    dims: Sequence[int], wires: Sequence[str], *, scattered: int = 0, parts: int = 1
) -> int:
    """
    Count the transfers of all_reduce_recursive_multiplying, those within ranks included.

    Parameters
    ----------
    dims, wires, scattered, parts : as all_reduce_recursive_multiplying takes them.

    Returns
    -------
    int

    Raises
    ------
    ArgumentError
        if the dimensions make no grid, a count is out of range, or there would be more than 2**22 slots.
    """

def all_reduce_swing(dims: Sequence[int], *, parts: int = 1) -> hemiola._core.Schedule:
    """
    In every step ranks exchange and add whole parts with a peer that is up by turns, then down.

    Parameters
    ----------
    dims : the sides of a torus, each a power of two.
    parts : int, 1 … twice the dimensions; part p of the buffer begins in dimension p modulo their number, and the second
        half of the parts swings the other way.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if the sides make no grid, one is no power of two, or there are too many parts.

    Notes
    -----
    log2 n steps of a whole part each. Peers are 1, 1, 3, 5, 11, … apart, two thirds as far as with recursive doubling, so
    that fewer messages share a link. All ranks get the same bits. Deterministic. Source: [desensi2024], the latency-optimal
    form.
    """

def all_reduce_mesh_trees(
    dims: Sequence[int],
    wires: Sequence[str],
    *,
    latency_s: float | Sequence[float],
    bandwidth: float | Sequence[float],
    nbytes: int,
    chunk_count: int = 16,
    line_count: int | None = None,
) -> hemiola._core.Schedule:
    """
    All-reduce on a mesh along spanning trees that load all its links alike.

    Each tree reduces its share of the buffer, chunk after chunk, into its root in the middle of a spine along one dimension,
    and broadcasts it down again; lines along the next dimension leave the spine, and so on. Every line across a
    mesh of two dimensions is the spine of one tree.

    Parameters
    ----------
    dims, wires, latency_s, bandwidth : as hemiola.topologies.grid takes them; wires of more than two ranks are lines.
    nbytes : int >= 0, bytes of one rank's buffer; with the links' costs it decides which chunk takes a link first.
    chunk_count : int >= 1, chunks of the largest tree's share; smaller ones have as many as make theirs about as large.
    line_count : int >= 1, optional; at most so many coordinates of each dimension lead trees, those in its middle, which
        makes ways shorter and the busiest links busier. Default: all.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        if the dimensions make no mesh, an argument is out of range, or there would be more than 2**28 transfers.

    Notes
    -----
    Deterministic. Of n ranks, with as many lines as there are and links alike, each link carries (n - 1)/m of the buffer
    each way, m being the number of cables. That is the least of any all-reduce along trees [nashwilliams1961]. With L lines
    of a mesh of two dimensions it is (1 + 1/L)/2. All is over about one longest way of one chunk after that. Per transfer
    some 0.15 µs; on lines of thousands of ranks that send next to nothing up to 0.1 ms.
    """

def all_reduce_c_cube(*, chunk_count: int = 16) -> hemiola._core.Schedule:
    """
    All-reduce along two binary trees of a DGX-1, reduce and broadcast overlapped.

    Parameters
    ----------
    chunk_count : int, even, >= 2; half of the chunks take each tree.

    Returns
    -------
    Schedule for 8 ranks, numbered as the GPUs of a DGX-1 (V100).

    Raises
    ------
    ArgumentError
        if chunk_count is odd or below 2.

    Notes
    -----
    chunk_count / 2 + 5 steps, in each of which a link carries at most one chunk. Source: [cho2023]. The paper routes
    edges that its trees lack over a third rank; these trees lack none.
    """
