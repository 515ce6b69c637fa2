"""Published algorithms; import hemiola.algorithms instead."""

import hemiola._core

class Paper:
    """Where an algorithm was published."""

    @property
    def key(self) -> str:
        """Key in docs/references.bib."""

    @property
    def citation(self) -> str:
        """Authors and year."""

    def __repr__(self) -> str: ...

class Algorithm:
    """One entry of the registry; get() returns it."""

    @property
    def name(self) -> str:
        """The function's name in hemiola.algorithms."""

    @property
    def kind(self) -> str:
        """The collective's name."""

    @property
    def paper(self) -> Paper: ...
    @property
    def idea(self) -> str:
        """One sentence."""

    @property
    def sizes(self) -> str:
        """Valid rank counts, in words."""

    @property
    def formula(self) -> str:
        """Cost for n ranks, a buffer of N bytes, latency α, 1/bandwidth β."""

    @property
    def needs(self) -> str:
        """The condition it is made for: '' (none), 'late' or 'slow'."""

    @property
    def is_rooted(self) -> bool: ...
    @property
    def is_pipelined(self) -> bool:
        """Whether it takes a chunk_count."""

    def is_valid(self, rank_count: int) -> bool:
        """
        Say whether there is a schedule for that many ranks, of at most 2**28 transfers.
        """

    def step_count(self, rank_count: int, *, chunk_count: int | None = None) -> int:
        """
        Count the steps of the schedule for that many ranks.

        Parameters
        ----------
        rank_count : int, valid for this algorithm.
        chunk_count : int or None, for pipelined algorithms; None takes the default.

        Raises
        ------
        ArgumentError
            if the rank count or chunk count is not valid.
        """

    def bytes_per_rank(self, rank_count: int, nbytes: int, *, chunk_count: int | None = None) -> int:
        """
        Return the bytes that the busiest rank sends.

        Parameters
        ----------
        rank_count : int, valid for this algorithm.
        nbytes : int, bytes of one rank's buffer (the gathered one of a gather), >= 0.
        chunk_count : int or None, for pipelined algorithms; None takes the default.

        Returns
        -------
        int, rounded up where the buffer does not divide into the chunks.

        Raises
        ------
        ArgumentError
            if the rank count, chunk count or nbytes is not valid.
        """

    def seconds(
        self,
        rank_count: int,
        nbytes: int,
        latency_s: float,
        bandwidth: float,
        *,
        chunk_count: int | None = None,
    ) -> float:
        """
        Evaluate the cost formula on a one-port network.

        Every step costs one latency and the time of the busiest port, which sends and receives at once. This is the
        classical model that `formula` states; hemiola.simulate, where steps are no barriers, may take less.

        Parameters
        ----------
        rank_count : int, valid for this algorithm.
        nbytes : int, bytes of one rank's buffer (the gathered one of a gather), >= 0.
        latency_s : float, seconds >= 0.
        bandwidth : float, bytes per second > 0.
        chunk_count : int or None, for pipelined algorithms; None takes the default.

        Returns
        -------
        float, seconds.

        Raises
        ------
        ArgumentError
            if an argument is not valid.
        """

    def best_chunk_count(
        self, rank_count: int, nbytes: int, latency_s: float, bandwidth: float
    ) -> int | None:
        """
        Choose the chunk count, up to 4096, at which the cost formula is smallest.

        Parameters
        ----------
        rank_count, nbytes, latency_s, bandwidth : as in `seconds`.

        Returns
        -------
        int, or None if the algorithm is not pipelined.

        Raises
        ------
        ArgumentError
            if an argument is not valid.
        """

    def generate(
        self, rank_count: int, root: int = 0, chunk_count: int | None = None
    ) -> hemiola._core.Schedule:
        """
        Make the schedule.

        Parameters
        ----------
        rank_count : int, valid for this algorithm.
        root : int, 0 … rank_count-1; 0 unless the collective is rooted.
        chunk_count : int or None, for pipelined algorithms; None takes the default.

        Returns
        -------
        Schedule

        Raises
        ------
        ArgumentError
            if an argument is not valid, or the schedule would have more than 2**28 transfers.
        """

    def __repr__(self) -> str: ...

def names(kind: str | None = None) -> list[str]:
    """
    List the names of all algorithms, or of those for one collective.

    Parameters
    ----------
    kind : str or None, a collective such as 'all_reduce'.

    Returns
    -------
    list of str, in the order of docs/algorithms.md.

    Raises
    ------
    ArgumentError
        if no collective has that name.
    """

def get(name: str) -> Algorithm:
    """
    Look up an algorithm by name.

    Parameters
    ----------
    name : str, one of names().

    Returns
    -------
    Algorithm

    Raises
    ------
    ArgumentError
        if there is none of that name; the message lists those there are.
    """

def all_gather_ring(rank_count: int) -> hemiola._core.Schedule:
    """
    Every rank passes on to rank + 1 what it received in the step before.

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
    Cost: (n-1)·α + (n-1)/n·N·β.
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
    Cost: (n-1)·α + (n-1)/n·N·β.
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
    Cost: (n-1)·α + (n-1)/n·N·β.
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
    Cost: (n-1)·α + (n-1)/n·N·β.
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
    Cost: 2(n-1)·α + 2(n-1)/n·N·β.
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
    Cost: 2(n-1)·α + 2(n-1)/n·N·β.
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
    Cost: α + (n-1)/n·N·β.
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
    Cost: (n-1)·α + (n-1)/n·N·β.
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
    Cost: α + (n-1)/n·N·β.
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
    Cost: (n-1)·α + (n-1)/n·N·β.
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
    Cost: 2α + 2(n-1)/n·N·β.
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
    Cost: 2(n-1)·α + 2(n-1)/n·N·β.
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
    Cost: log2 n·α + (n-1)/n·N·β; no power of two, with p = 2^⌊log2 n⌋ and f = n-p: (log2 p + 2)·α + (p + n-1 + Σ_k min(2^k, f))/n·N·β, k = 0 … log2 p - 1.
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
    Cost: log2 n·α + (n-1)/n·N·β; no power of two, with p = 2^⌊log2 n⌋ and f = n-p: (log2 p + 2)·α + (p + n-1 + Σ_k min(2^k, f))/n·N·β, k = 0 … log2 p - 1.
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
    Cost: log2 n·(α + N·β); no power of two: (⌊log2 n⌋ + 2)·(α + N·β).
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
    Cost: 2·log2 n·α + 2(n-1)/n·N·β; no power of two, with p = 2^⌊log2 n⌋: (2·log2 p + 2)·α + (2 + 2(p-1)/p)·N·β.
    Source: Rabenseifner 2004 [rabenseifner2004].
    """
