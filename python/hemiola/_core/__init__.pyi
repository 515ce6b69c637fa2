# SPDX-License-Identifier: Apache-2.0
"""Hemiola's C++ core; import hemiola instead."""

from collections.abc import Callable, Mapping, Sequence
import os
from typing import Annotated, Any, NoReturn, SupportsIndex, overload

import networkx
import numpy
import numpy.typing
from numpy.typing import NDArray

from hemiola._core import algorithms as algorithms, codecs as codecs, topologies as topologies, units as units

def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """See hemiola.whole_file.write_whole."""

def check_whole(path: str | os.PathLike[str]) -> None:
    """See hemiola.whole_file.check_whole."""

def refusal(what: str, error: int) -> str:
    """
    Describe a system's refusal: the resource, the reason, its limit and how to lift it.
    """

class Topology:
    """
    The network: ranks, switches, nodes (hosts) and directed links; immutable.

    Vertices are numbered: ranks 0 … rank_count-1, then switches from rank_count up.

    Parameters
    ----------
    rank_count : int, at least 1.
    links : rows (src, dst, latency_s, bandwidth) or (src, dst, latency_s, bandwidth, message_s), or an array such as
        `Topology.links`; times in seconds, bandwidth in bytes per second. A message of n bytes occupies a link for message_s
        + n / bandwidth; the last byte arrives latency_s later. Parallel links are allowed.
    switch_count : int, vertices that are not ranks.
    nodes : the host of each rank, 0 … node_count-1 without gaps; empty when every rank is a host of its own.
    nics : rows (name, host, links): network cards by name, and the links, by their places in `links`, that are a card's: all
        that becomes slower with it. A cable between two cards is in both. Rows of one name and host are one card.
    names : the name of each vertex, such as GPU0, NVSwitch or 1/CPU0 (HOST/NAME); none, or one per vertex, "" for those
        that have none. No two are the same.
    launch_s : float, seconds from an operation's call on a rank until the rank can send: a GPU starts its kernel. Every
        simulated time and every lower bound has it.
    reduces, multicasts : the switches, by their vertices, that add what several ranks send, and that forward one message to
        several ranks, as NVSwitch and SHARP do.
    name : str, of the whole network.

    Raises
    ------
    ArgumentError
        A link with an unknown end, equal ends, a bandwidth that is not finite and above 0, or a latency or message_s below
        0 or above 1000 s. A launch_s below 0 or above 1000 s. A vertex of
        `reduces` or `multicasts` that is no switch. More than 4,194,304 vertices or 16,777,216 links. A NIC of an unknown host, with unknown links
        or none, or with a name that is longer than 64 characters or has spaces, quotes, brackets or one of / , = : #.
        Names of vertices that are none or the same.
    """

    def __init__(
        self,
        rank_count: int,
        links: object,
        *,
        switch_count: int = 0,
        nodes: Sequence[int] = [],
        nics: Sequence[tuple[str, int, Sequence[int]]] = [],
        names: Sequence[str] = [],
        launch_s: float = 0.0,
        reduces: Sequence[int] = [],
        multicasts: Sequence[int] = [],
        name: str = "",
    ) -> None: ...
    @property
    def name(self) -> str:
        """The network's name in reports."""

    @property
    def rank_count(self) -> int:
        """How many ranks there are."""

    @property
    def switch_count(self) -> int:
        """How many vertices are not ranks."""

    @property
    def link_count(self) -> int:
        """How many directed links there are."""

    @property
    def node_count(self) -> int:
        """How many hosts the ranks are spread over."""

    @property
    def links(self) -> numpy.typing.NDArray[numpy.void]:
        """
        Links as a read-only structured array: src, dst (int32), latency_s, bandwidth (float64, B/s), message_s.
        """

    @property
    def nodes(self) -> numpy.typing.NDArray[numpy.int32]:
        """The host of each rank, as a read-only int32 array."""

    @property
    def nics(self) -> list[tuple[str, int, list[int]]]:
        """
        Network cards whose names are known, host by host: (name, host, places of their links).
        """

    @property
    def launch_s(self) -> float:
        """Seconds from an operation's call on a rank until the rank can send."""

    @property
    def reduces(self) -> list[int]:
        """The switches that add what several ranks send, by their vertices."""

    @property
    def multicasts(self) -> list[int]:
        """
        The switches that forward one message to several ranks, by their vertices.
        """

    def host_bandwidths(self, slow: Mapping[int, float] = {}) -> list[float]:
        """
        Return the bandwidth out of each host, in bytes per second.

        Parameters
        ----------
        slow : mapping of rank to factor >= 1 by which its links are slower now.

        Returns
        -------
        list of float, one per host. A rank has its share of a NIC that ranks of its host share. Where every rank has links to other
        hosts, or shares, as many times its weakest rank's as it has ranks; otherwise the sum.

        Raises
        ------
        ArgumentError
            An unknown rank, a factor below 1 or not finite.
        """

    def __eq__(self, arg: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __repr__(self) -> str: ...
    def __getstate__(self) -> tuple: ...
    def __setstate__(self, arg: tuple, /) -> None: ...
    @property
    def names(self) -> list[str]:
        """
        The name of each vertex, "" for one without a name; empty where none has one.
        """

    def called(self, vertex: int) -> str:
        """
        Say in words which vertex a number is: its name, and of a rank its number.

        Parameters
        ----------
        vertex : int.

        Returns
        -------
        str, such as "rank 3", "switch 9" or "NVSwitch".

        Raises
        ------
        ArgumentError
            A number of no vertex.
        """

    def vertex(self, name: str) -> int:
        """
        Find a vertex by its name, or by its number in decimal.

        Parameters
        ----------
        name : str, such as "GPU3", "1/NVSwitch" where several hosts have one, or "12".

        Returns
        -------
        int, its number.

        Raises
        ------
        ArgumentError
            No vertex has the name, which is said with the closest one; or several hosts do.
        """

    def replaced(
        self,
        *,
        links: Any = None,
        launch_s: float | None = None,
        reduces: Sequence[int] | None = None,
        multicasts: Sequence[int] | None = None,
        name: str | None = None,
    ) -> Topology:
        """
        Return a copy with another of these parts; None keeps this one's.

        Parameters
        ----------
        links : rows or an array, as the constructor takes; where NICs have names, as many links as now, since NICs keep their
            places.
        launch_s : float, seconds from an operation's call on a rank until the rank can send.
        reduces, multicasts : the switches that do so, by their vertices.
        name : str, of the whole network.

        Returns
        -------
        Topology

        Raises
        ------
        ArgumentError
            Parts that the constructor refuses, or another number of links where NICs have names.
        """

    def without_links(self, links: Sequence[tuple[int, int]], *, both_ways: bool = True) -> Topology:
        """
        Return a copy without these links.

        Parameters
        ----------
        links : pairs (src, dst) of vertices; all parallel links of a pair go.
        both_ways : bool, whether the links from dst to src go too, as when a cable is cut.

        Returns
        -------
        Topology

        Raises
        ------
        ArgumentError
            There is no link from src to dst (or back, where both go).
        """

    def without_nics(self, nics: Sequence[str]) -> Topology:
        """
        Return a copy without the links of these network cards, as when they are not to be used.

        Parameters
        ----------
        nics : sequence of str, NAME or, where several hosts have it, HOST/NAME.

        Returns
        -------
        Topology

        Raises
        ------
        ArgumentError
            A NIC that the topology has not, or that several of its hosts have.
        """

    def without_ranks(self, ranks: Sequence[int]) -> Topology:
        """
        Return a copy without these ranks and all their links, such as 7 GPUs of 8.

        Parameters
        ----------
        ranks : sequence of int, without repetition or with.

        Returns
        -------
        Topology
            The remaining network, renumbered in order: ranks, switches, nodes.

        Raises
        ------
        ArgumentError
            A rank that does not exist, or none would be left.
        """

    def of_ranks(self, ranks: Sequence[int]) -> Topology:
        """
        Return a copy of these ranks alone, such as a group's, numbered in the order given.

        Parameters
        ----------
        ranks : sequence of int, each once.

        Returns
        -------
        Topology
            Switches and nodes are renumbered in order, as in `without_ranks`.

        Raises
        ------
        ArgumentError
            A rank that does not exist or is named twice, or none.
        """

    def degraded(self, factors: dict[int | tuple[int, int] | str, float]) -> Topology:
        """
        Return a copy in which some links are slower.

        Parameters
        ----------
        factors : rank, (src, dst) or "nic:NAME" -> factor >= 1 by which bandwidth is divided; of a rank and a NIC, that of all
            its links in both directions; "nic:HOST/NAME" where several hosts have that name. Between two slow ranks the slower
            one counts, between two slow NICs too; a NIC's factor and a link's own come on top.

        Returns
        -------
        Topology

        Raises
        ------
        ArgumentError
            An unknown rank, a pair without a link, a NIC that there is not or that several hosts have, a factor below 1 or not
            finite.
        """

    def with_slow_hosts(self, factors: Mapping[int, float]) -> Topology:
        """
        Return a copy in which some hosts' links to others are slower, as when NICs are lost.

        Parameters
        ----------
        factors : mapping of host to factor >= 1 by which the bandwidth of its links to other hosts is divided, in both directions;
            links inside hosts stay as they are. Between two slow hosts the slower one counts.

        Returns
        -------
        Topology

        Raises
        ------
        ArgumentError
            An unknown host, a factor below 1 or not finite.
        """

    def repeated(self, count: int, *, shared: Sequence[int] = []) -> Topology:
        """
        Return `count` copies of this box side by side, joined at the switches they share.

        Parameters
        ----------
        count : int, at least 1.
        shared : switch vertices of this topology that all copies have in common, such as the core that its NICs are on.

        Returns
        -------
        Topology
            Ranks of copy 0, of copy 1, …, then each copy's own switches, then the shared ones.

        Raises
        ------
        ArgumentError
            A count below 1, a shared vertex that is no switch, or a network larger than a Topology may be.
        """

    def unwind_switches(self, degree: int) -> Topology:
        """
        Return a copy in which links between ranks stand for the switches [TACOS, §IV-G].

        Each rank on a switch gets links to the next `degree` ranks on it, of the same latency and 1/degree of its port's
        bandwidth. Switches that are linked to each other count as one; a link's bandwidth is then the smallest share on its
        path, each hop being shared equally by the new links that cross it. The ranks of a switch form a circle by rank number;
        where hosts have several ranks, neighbours in the circle are on different hosts.

        Parameters
        ----------
        degree : int, at least 1; at most one less than the ranks on a switch are used.

        Returns
        -------
        Topology

        Raises
        ------
        ArgumentError
            A degree below 1; ranks that a switch does not link both ways.
        """

    @staticmethod
    def load(
        path: str | os.PathLike[str],
        *,
        nvlink_bandwidth: float | None = None,
        nic_bandwidth: float | None = None,
        pcie_bandwidth: float | None = None,
    ) -> Topology:
        """
        Read a topology from a file.

        Parameters
        ----------
        path : a YAML file (docs/reference/formats/topology.md), NCCL's topology XML (NCCL_TOPO_DUMP_FILE) or log
            (NCCL_DEBUG_SUBSYS=GRAPH), or the output of ``nvidia-smi topo -m``, ``rocm-smi --showtopo`` or ``amd-smi topology``;
            told apart by content.
        nvlink_bandwidth, nic_bandwidth, pcie_bandwidth : float > 0, bytes per second of one NVLink or xGMI link, of one NIC and of
            one PCIe link, which nvidia-smi, rocm-smi and amd-smi do not print: by default 20e9 or 48e9, NICs are left out, and 24e9.

        Returns
        -------
        Topology

        Raises
        ------
        ArgumentError
            A bandwidth that is not above 0, or given for a file that holds its own.
        FormatError
            The file is none of these, malformed or too large; names file, line and the expected content.
        OSError
            The file cannot be read.

        Warns
        -----
        TopologyWarning
            A figure that cannot be; names file, line and the value used instead.
        """

    def save(self, path: str | os.PathLike[str]) -> None:
        """
        Write the topology to a YAML file that `load` reads back as an equal topology.

        Parameters
        ----------
        path : str or os.PathLike.

        Raises
        ------
        OSError
            The file cannot be written.
        """

    @staticmethod
    def from_yaml(text: str) -> Topology:
        """
        Read a topology from YAML text.

        Parameters
        ----------
        text : str (docs/reference/formats/topology.md).

        Returns
        -------
        Topology

        Raises
        ------
        FormatError
            The text is malformed; names line, key and the expected content.
        """

    def to_yaml(self) -> str:
        """
        Write YAML text that `from_yaml` reads back as an equal topology.

        Returns
        -------
        str
        """

    @staticmethod
    def from_networkx(graph: networkx.Graph[Any]) -> Topology:
        """
        Build a topology from a NetworkX graph of any kind.

        Parameters
        ----------
        graph : networkx.Graph. Vertices with a true `switch` attribute are switches, all others ranks, both numbered in the
            graph's order. A `node` attribute (any value) names a rank's host. Edges need `latency_s` and `bandwidth` and
            may have `message_s`; without a direction they become links both ways. An edge's `nic`, "HOST/NAME" or a list of these, says which network cards it
            is part of. The graph's `name` is the topology's.

        Returns
        -------
        Topology

        Raises
        ------
        ArgumentError
            No rank, an edge without these attributes or with bad ones, a NIC of no host.
        """

    def to_networkx(self) -> networkx.MultiDiGraph[int]:
        """
        Return the network as a graph of NetworkX.

        Returns
        -------
        networkx.MultiDiGraph, with the attributes that `from_networkx` reads.
        """

def hops(topology: Topology, rank: int, *, against: bool = False) -> numpy.typing.NDArray[numpy.int32]:
    """
    Return the fewest links from a rank to every vertex, or there with `against`; -1 where there is no way.
    """

def paths(topology: Topology, pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
    """
    The links that messages from src to dst use, by their places in Topology.links.
    """

def with_joined_ways(topology: Topology, message_bytes: float) -> Topology:
    """
    The topology as messages of that size see it: ways side by side are one link. The same where there are none.
    """

def routes(
    topology: Topology, pairs: Sequence[tuple[int, int]], message_bytes: float
) -> list[list[list[tuple[int, float]]]]:
    """
    The links that messages of that size from src to dst use, one after the other; links that share a message stand together, each with its share. Pairs ascend by src.
    """

def kind_meant(name: str) -> str:
    """
    The collective that a name means, such as 'allreduce' or 'bcast'; '' for any other text.
    """

def op_meant(name: str) -> str:
    """
    The operation that a name means, such as 'avg' or 'SUM'; '' for any other text.
    """

class Collective:
    """
    The conditions that must hold before and after: the promise that a schedule keeps.

    Notes
    -----
    | kind               | owner of a chunk        | defined before on    | holds after                        |
    |--------------------|-------------------------|----------------------|------------------------------------|
    | ``all_gather``     | the rank that brings it | its owner            | every rank: the owner's value      |
    | ``reduce_scatter`` | the rank that gets it   | every rank: own part | its owner: all parts, once each    |
    | ``all_reduce``     | the rank that reduces   | every rank: own part | every rank: all parts, once each   |
    | ``broadcast``      | the root                | the root             | every rank: the root's value       |
    | ``reduce``         | the root                | every rank: own part | the root: all parts, once each     |
    | ``all_to_all``     | the rank that sends it  | its owner            | its destination: the owner's value |
    | ``gather``         | the rank that sends it  | its owner            | the root: the owner's value        |
    | ``scatter``        | the rank that gets it   | the root             | its owner: the root's value        |
    | ``custom``         | none                    | ``before``           | ``after``                          |

    In an all_to_all, chunk ``(src * rank_count + dst) * k + j`` is the j-th piece of the data from src to dst.
    """

    @staticmethod
    def make(kind: str, rank_count: int, chunk_count: int, root: int = 0) -> Collective:
        """
        Make a collective whose chunks are owned block-wise.

        Parameters
        ----------
        kind : str, any of the kinds above but custom.
        rank_count : int, 1 … 2^20.
        chunk_count : int, 1 … 2^28; a multiple of rank_count (of its square for all_to_all) except for broadcast and reduce.
        root : int, a rank; ignored by kinds without a root.

        Returns
        -------
        Collective in which chunk c belongs to rank ``c // (chunk_count // rank_count)``, or to the root.

        Raises
        ------
        ArgumentError
            If the kind is unknown or a number is outside its range.
        """

    @staticmethod
    def with_owners(kind: str, rank_count: int, owner: Sequence[int], root: int = 0) -> Collective:
        """
        Make a collective with a stated owner for each chunk.

        Parameters
        ----------
        kind : str, any kind but custom.
        rank_count : int, 1 … 2^20.
        owner : sequence of int, one rank per chunk; all equal to the root for broadcast and reduce.
        root : int, a rank; ignored by kinds without a root.

        Returns
        -------
        Collective

        Raises
        ------
        ArgumentError
            If the kind is unknown or a number is outside its range.
        """

    @staticmethod
    def custom(
        rank_count: int,
        chunk_count: int,
        before: Sequence[tuple[int, int]],
        after: Sequence[tuple[int, int]],
        *,
        reducing: bool = False,
    ) -> Collective:
        """
        Make a collective with any pre- and postcondition.

        Parameters
        ----------
        rank_count : int, 1 … 2^20.
        chunk_count : int, 1 … 2^28.
        before : sequence of (rank, chunk): slots that hold the chunk's value (with `reducing`, the rank's contribution to it).
        after : sequence of (rank, chunk): slots that must hold the value (all contributions, once each) in the end.
        reducing : bool, whether values are added up.

        Returns
        -------
        Collective

        Raises
        ------
        ArgumentError
            If a rank or chunk does not exist, or a chunk is wanted that no rank holds before.
        """

    @property
    def kind(self) -> str:
        """The collective's name, a str."""

    @property
    def rank_count(self) -> int: ...
    @property
    def chunk_count(self) -> int: ...
    @property
    def root(self) -> int | None:
        """
        The root of a broadcast, reduce, gather or scatter; None for the others.
        """

    @property
    def is_reducing(self) -> bool:
        """Whether values are added up."""

    @property
    def owner(self) -> object:
        """One rank per chunk, a read-only NumPy view; empty for custom."""

    @property
    def before(self) -> list[tuple[int, int]]:
        """
        The (rank, chunk) pairs of a custom collective's precondition, sorted; empty for other kinds.
        """

    @property
    def after(self) -> list[tuple[int, int]]:
        """
        The (rank, chunk) pairs of a custom collective's postcondition, sorted; empty for other kinds.
        """

    def __eq__(self, arg: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getstate__(
        self,
    ) -> tuple[str, int, int, int, list[int], list[tuple[int, int]], list[tuple[int, int]], bool]: ...
    def __setstate__(
        self,
        arg: tuple[
            str, int, int, int, Sequence[int], Sequence[tuple[int, int]], Sequence[tuple[int, int]], bool
        ],
        /,
    ) -> None: ...
    def __repr__(self) -> str: ...

class Schedule:
    """
    A collective plus its transfers, ordered by step. Immutable.

    Notes
    -----
    Within one step every read happens before every write. ``copy`` overwrites the destination's slot, ``reduce`` adds the
    source's slot into it. In one step a slot may be the target of one copy or of any number of reduces, which are applied
    in order of (step, src). Steps are not barriers. Transfers are kept in the order (step, src, dst, chunk, reduce).

    Beside the buffer's slot a rank may have scratch slots for each chunk, numbered from 1, that hold nothing before and are
    forgotten after. A transfer then also says which slot of the chunk it reads and which it writes; it may join two slots
    of one rank, which takes no message.
    """

    @staticmethod
    def from_transfers(
        collective: Collective, rows: object, chunk_weights: Sequence[int] | None = None
    ) -> Schedule:
        """
        Make a schedule of one's own transfers.

        Parameters
        ----------
        collective : Collective
        rows : transfers in any order: a structured array with the fields of `transfers`, an integer array of shape (n, 4) or
            (n, 5), or an iterable of tuples ``(step, src, dst, chunk[, reduce])``. Steps are 0 … 2^24-1; reduce defaults to
            False. With scratch slots: shape (n, 7), or tuples ``(step, src, dst, chunk, reduce, src_slot, dst_slot)``, where 0
            is the buffer's slot; at most 65,535, and 2^22 of a chunk on all ranks together.
        chunk_weights : sequence of int >= 0, one per chunk, relative chunk sizes; None when all are equal.

        Returns
        -------
        Schedule, not yet verified: see `verify`.

        Raises
        ------
        ArgumentError
            If a row has another shape, names a rank, chunk, step or slot that does not exist, or leads from a slot to itself.

        Notes
        -----
        Costs O(n log n) time.
        """

    @property
    def collective(self) -> Collective: ...
    @property
    def rank_count(self) -> int: ...
    @property
    def chunk_count(self) -> int: ...
    @property
    def scratch_count(self) -> int:
        """
        How many scratch slots a rank has for each chunk: the highest that a transfer names.
        """

    @property
    def step_count(self) -> int:
        """The last used step plus one."""

    @property
    def transfer_count(self) -> int: ...
    @property
    def chunk_weights(self) -> object:
        """Relative chunk sizes, int64, one per chunk; all 1 when equal."""

    @property
    def digest(self) -> str:
        """
        32 hexadecimal digits that are equal exactly when schedules are equal, on every rank and machine.
        """

    @property
    def transfers(self) -> object:
        """
        All transfers as a new structured array: step, src, dst, chunk (int32), reduce (bool); where scratch_count is above 0 also src_slot and dst_slot (int32).
        """

    @property
    def step_offset(self) -> object:
        """
        int64, step_count + 1: transfers of step t are [step_offset[t], step_offset[t+1]). A view, not a copy.
        """

    @property
    def link(self) -> object:
        """uint32 per transfer: its row in `pairs`. A view, not a copy."""

    @property
    def chunk(self) -> object:
        """uint32 per transfer: its chunk. A view, not a copy."""

    @property
    def reduce_words(self) -> object:
        """
        uint64: bit i % 64 of word i // 64 says whether transfer i reduces. A view, not a copy.
        """

    @property
    def pairs(self) -> object:
        """
        int32, shape (k, 2): the (src, dst) pairs that occur, sorted, once for each two slots that they join. A view, not a copy.
        """

    @property
    def pair_slots(self) -> object:
        """
        int32, shape (k, 2): which slots of a chunk the pair reads and writes; 0 is the buffer's. A view, not a copy.
        """

    def __eq__(self, arg: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __repr__(self) -> str: ...
    def to_text(self) -> str:
        """
        Return the readable form, which `from_text` turns back into an equal schedule.

        Returns
        -------
        str

        Raises
        ------
        ArgumentError
            If the schedule has more than 4,194,304 chunks or 1,048,576 steps that are nearly all unused.
        """

    @staticmethod
    def from_text(text: str) -> Schedule:
        """
        Read the text form (docs/reference/formats/schedule.md).

        Parameters
        ----------
        text : str.

        Returns
        -------
        Schedule

        Raises
        ------
        FormatError
            If the text is malformed; names the line, the expected and the found content.

        Notes
        -----
        Memory stays within a small multiple of the text's size.
        """

    def save(self, path: str | os.PathLike[str]) -> None:
        """
        Write the schedule to a file: the binary form where the name ends in ``.schedb``, else the text form.

        Parameters
        ----------
        path : str or os.PathLike; a pipe or a device is written to directly.

        Raises
        ------
        OSError
            If the file cannot be written; its old content then stays.

        Notes
        -----
        The schedule is written beside the file and takes its name in the end.
        """

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Schedule:
        """
        Read a schedule from a file of either form, or of another program; told apart by its first bytes.

        Parameters
        ----------
        path : str or os.PathLike. docs/reference/formats/published.md lists the formats of other programs.

        Returns
        -------
        Schedule

        Raises
        ------
        OSError
            If the file cannot be read.
        FormatError
            If it is malformed; names the line or the offset, the expected and the found content. Another program's file is
            refused, too, where its own run stops or ends wrong.
        ArgumentError
            If it is not a regular file.
        """

    def to_bytes(self) -> bytes:
        """
        Return the binary form. Equal schedules give equal bytes.

        Returns
        -------
        bytes
        """

    @staticmethod
    def from_bytes(data: bytes) -> Schedule:
        """
        Read the binary form.

        Parameters
        ----------
        data : bytes.

        Returns
        -------
        Schedule

        Raises
        ------
        FormatError
            If they are malformed; names the offset, the expected and the found content.
        """

    def __getstate__(self) -> bytes: ...
    def __setstate__(self, arg: bytes, /) -> None: ...
    def reverse(self) -> Schedule:
        """
        Return the schedule that runs backwards.

        Returns
        -------
        Schedule: a reduce_scatter of an all_gather, a reduce of a broadcast, a scatter of a gather, an all_to_all of an
            all_to_all, each the other way round too; of a custom collective, before and after change places. Transfers of
            values that are there already, and those that no wanted slot depends on, are left out.

        Raises
        ------
        ArgumentError
            For an all_reduce, and for a schedule with scratch slots. For a custom collective in which a chunk starts (when
            reducing: ends) on several ranks. Where a transfer reads a slot that holds nothing, and where a rank that
            contributes nothing to a sum would receive two parts of it in one step.

        Notes
        -----
        The reverse of a right schedule is right. Costs O(n log n) time.
        """

    def concatenate(self, second: Schedule) -> Schedule:
        """
        Return this schedule, then a second one.

        Parameters
        ----------
        second : Schedule that only copies, of the same ranks, chunks and weights, and starts with this one's results.

        Returns
        -------
        Schedule: reduce_scatter and all_gather, or reduce and broadcast, make an all_reduce; reduce_scatter and gather a reduce;
            scatter and all_gather a broadcast; gather and broadcast an all_gather; reduce and scatter a reduce_scatter; others a
            custom collective. The second's steps follow the first's.

        Raises
        ------
        ArgumentError
            If the two do not match; names the difference.
        """

    def one_shot_all_reduce(self) -> Schedule:
        """
        Return an all-reduce that uses this all-gather: every rank's buffer goes to every rank, and each adds up
                  all.

        Returns
        -------
        Schedule: an all_reduce of as many chunks as each rank has here, with a scratch slot for every rank. All ranks add up in
            the order of the ranks, and so get the same bits.

        Raises
        ------
        ArgumentError
            If this is no all_gather of chunks of one weight, equally many of each rank, without scratch, of at most 2047 ranks.

        Notes
        -----
        One all-gather's latency instead of a reduce-scatter's and an all-gather's. Every rank receives n-1 whole buffers and
        keeps n in scratch, so it is for small ones. Costs O(n log n) time.
        """

    def relabel(self, *, ranks: Sequence[int] | None = None, chunks: Sequence[int] | None = None) -> Schedule:
        """
        Return the schedule with ranks or chunks called by other numbers.

        Parameters
        ----------
        ranks : permutation of the ranks; rank r becomes ranks[r]. Chunks keep their numbers and follow their owners, except in an
            all_to_all, where chunks are named after their ranks.
        chunks : permutation of the chunks, applied after `ranks`; chunk c becomes chunks[c].

        Returns
        -------
        Schedule

        Raises
        ------
        ArgumentError
            If either is not a permutation, or moves a chunk of an all_to_all between other ranks.
        """

    def repeat_per_slice(self, slice_count: int, *, stagger: int = 0) -> Schedule:
        """
        Return the schedule with every chunk cut into slices that run it one by one.

        Parameters
        ----------
        slice_count : int >= 1; chunk c becomes the chunks c * slice_count … c * slice_count + slice_count - 1.
        stagger : int >= 0; slice i runs that many steps later than slice i - 1. 1 makes a pipeline.

        Returns
        -------
        Schedule

        Raises
        ------
        ArgumentError
            If there would be more than 2^28 chunks or 2^24 steps.
        """

class ScheduleParts:
    """
    A schedule that is known rank by rank: each makes its own transfers, and nobody holds all of them.
    """

    @property
    def rank_count(self) -> int: ...
    def part(self, rank: int) -> object:
        """
        Return the schedule's rows in which a rank is src or dst, in its order.

        Parameters
        ----------
        rank : int, 0 … rank_count-1.

        Returns
        -------
        structured array like Schedule.transfers.

        Raises
        ------
        ArgumentError
            if the rank does not exist.
        """

    def task_count(self, rank: int, element_count: int) -> int:
        """
        Compile a rank's program and return how many tasks it has.

        Parameters
        ----------
        rank : int, 0 … rank_count-1.
        element_count : int, 0 … 2^48, of a float32 buffer that is reduced in place.

        Returns
        -------
        int: messages to send and to receive, slices counted one by one. Beside a clock it shows a rank's cost for a new
        schedule before it can run it.

        Raises
        ------
        ArgumentError
            if an argument is out of range.
        """

def instructions_of(
    schedule: Schedule,
    rank: int,
    *,
    element_count: int,
    element_bytes: int,
    in_place: bool = False,
    average: bool = False,
) -> tuple:
    """
    Return a rank's work in a schedule, one instruction after the other, for executors that launch work ahead.

    Parameters
    ----------
    schedule : Schedule
    rank : int, 0 … rank_count-1.
    element_count : int, 0 … 2^48, of a block: a rank's input of an all-gather or gather, its output of a reduce-scatter or
        scatter, its part for each rank in an all-to-all; the whole buffer of all others.
    element_bytes : int, 1 … 16.
    in_place : bool. The output is the input's memory.
    average : bool. Instructions to divide the results come last.

    Returns
    -------
    int64 array, shape (n, 10): kind (0 copy, 1 send, 2 receive, 3 combine, 4 scale); step and peer of a message, else -1; region
    and offset in bytes of the source, of the left operand, and of the destination; bytes. And the bytes that each region
    must hold: input, output, scratch, pool, staging, saved, coded.

    Raises
    ------
    ArgumentError
        if an argument is out of range, or the rank's part cannot be run: see `verify`.

    Notes
    -----
    Messages that follow one another and have the same step are a group, which both ends of each of its messages have.
    """

class ScheduleFile:
    """
    A binary schedule on disk that is read in blocks, for schedules that do not fit in memory.

    Parameters
    ----------
    path : str or os.PathLike, a file that `Schedule.save` wrote as ``.schedb``.

    Raises
    ------
    OSError
        If the file cannot be read.
    FormatError
        If it is malformed; names the offset, the expected and the found content.

    Notes
    -----
    Opening reads the collective, the pairs of ranks and the index. Blocks are checked as they are read.
    Pickled, it is its path: unpickling opens the file there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None: ...
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
    def load(self) -> Schedule:
        """
        Read all of it into memory.

        Returns
        -------
        Schedule

        Raises
        ------
        FormatError
            If a block is malformed; names the offset, the expected and the found content.
        """

    def __repr__(self) -> str: ...
    def __getstate__(self) -> tuple[str]: ...
    def __setstate__(self, arg: tuple[str], /) -> None: ...
    def __eq__(self, arg: object, /) -> bool: ...
    def __hash__(self) -> int: ...

class Violation:
    """One rule that a schedule breaks, where, and a sentence about it."""

    @property
    def rule(self) -> str:
        """The rule's name, see `verify`."""

    @property
    def step(self) -> int:
        """
        The offending transfer's step, or the schedule's step count for a violation of the end.
        """

    @property
    def rank(self) -> int: ...
    @property
    def chunk(self) -> int: ...
    @property
    def message(self) -> str: ...
    def __repr__(self) -> str: ...
    def __getstate__(self) -> tuple[int, int, int, int, str]: ...
    def __setstate__(self, arg: tuple[int, int, int, int, str], /) -> None: ...
    def __eq__(self, arg: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@overload
def verify(
    schedule: Schedule,
    *,
    max_violations: int = 100,
    report_redundant: bool = False,
    topology: Topology | None = None,
    link_capacity: int | None = None,
    port_capacity: int | None = None,
    threads: int | None = None,
    progress: object | None = None,
) -> list[Violation]: ...
@overload
def verify(
    schedule: ScheduleFile,
    *,
    max_violations: int = 100,
    report_redundant: bool = False,
    topology: Topology | None = None,
    link_capacity: int | None = None,
    port_capacity: int | None = None,
    threads: int | None = None,
    progress: object | None = None,
) -> list[Violation]:
    """See hemiola.verify."""

class Timeline:
    """The result of the core's simulation; see hemiola.Timeline."""

    @property
    def seconds(self) -> float: ...
    @property
    def finish_s(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def link_busy_s(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def landed_s(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def spans(self) -> object: ...

def simulate(
    schedule: Schedule,
    topology: Topology,
    nbytes: int,
    *,
    late: Mapping[int, float],
    slow: Mapping[int, float],
    density: float,
    codecs: tuple[float, float, float, float, float],
    network: str,
    noise: float,
    seed: int,
    keep_spans: bool,
    progress: object | None,
) -> Timeline:
    """See hemiola.simulate."""

def simulate_file(
    file: ScheduleFile,
    topology: Topology,
    nbytes: int,
    *,
    late: Mapping[int, float],
    slow: Mapping[int, float],
    progress: object | None,
) -> Timeline:
    """See hemiola.simulate."""

def busiest_link_s(schedule: Schedule, topology: Topology, nbytes: int, slow: Mapping[int, float]) -> float:
    """
    Return the time that the busiest link needs for all bytes that a schedule sends over it; no simulation ends
        before.

    Parameters
    ----------
    schedule : Schedule for as many ranks as the topology has.
    topology : Topology that connects every two ranks that exchange a chunk.
    nbytes : int >= 0, one rank's buffer in bytes.
    slow : mapping of rank to factor >= 1.

    Returns
    -------
    float, seconds.

    Raises
    ------
    ArgumentError
        as hemiola.simulate.

    Notes
    -----
    O(1) per transfer, and per pair of ranks and link between them.
    """

def estimate_by_steps_s(
    schedule: Schedule, topology: Topology, nbytes: int, late: Mapping[int, float], slow: Mapping[int, float]
) -> tuple[float, float]:
    """
    Return about the time of a schedule, and the cost of simulating it.

    Parameters
    ----------
    schedule : Schedule for as many ranks as the topology has.
    topology : Topology that connects every two ranks that exchange a chunk.
    nbytes : int >= 0, one rank's buffer in bytes.
    late : mapping of rank to seconds.
    slow : mapping of rank to factor >= 1.

    Returns
    -------
    (float, float): seconds, the least of these: if every step waited for the one before, for its busiest link and its
    longest latency; if each transfer had its way for itself, in the schedule's order; and, where nobody is late and no
    transfer waits for an earlier one, if links served one step after the other. And the cost of a fluid simulation, in
    transfers that have links for themselves.

    Raises
    ------
    ArgumentError
        as hemiola.simulate.

    Notes
    -----
    O(links on its way) per transfer.
    """

def estimate_exchange_s(
    topology: Topology, nbytes: int, late: Mapping[int, float], slow: Mapping[int, float]
) -> tuple[float, float]:
    """
    Return about the time of a direct all-to-all, and the cost of simulating it, without its schedule.

    Parameters
    ----------
    topology : Topology that connects all ranks.
    nbytes : int >= 0, one rank's buffer in bytes.
    late : mapping of rank to seconds.
    slow : mapping of rank to factor >= 1.

    Returns
    -------
    (float, float): seconds, of the busiest link and the longest latency; and the cost of a fluid simulation, in transfers
    that have links for themselves.

    Raises
    ------
    ArgumentError
        as hemiola.simulate.

    Notes
    -----
    O(1) per pair of ranks and link between them.
    """

def write_trace(
    schedule: Schedule, topology: Topology, nbytes: int, timeline: Timeline, path: str | os.PathLike
) -> None:
    """See hemiola.Timeline.save_trace."""

class PackedAround:
    def __init__(self, topology: Topology, late_rank: int, *, nbytes: int) -> None: ...
    def schedule(self, *, pieces: int, nbytes: int) -> Schedule: ...

def matched_around(topology: Topology, late_rank: int, *, chunks: int, nbytes: int) -> Synthesis: ...
def stars_around(topology: Topology, late_rank: int, *, pieces: int, nbytes: int) -> Schedule: ...
def rails_around(topology: Topology, late_rank: int, *, ranks_per_host: int, pieces: int) -> Schedule: ...

class Synthesis:
    @property
    def schedule(self) -> Schedule: ...
    @property
    def seconds(self) -> float: ...
    @property
    def bound_s(self) -> float: ...
    @property
    def trials(self) -> int: ...
    @property
    def stopped(self) -> bool: ...

def synthesize(
    topology: Topology,
    collective: Collective,
    *,
    nbytes: int,
    latency: str,
    seed: int,
    trials: int,
    threads: int,
    timed: bool,
    operations: int | None = None,
    progress: object | None,
) -> Synthesis: ...

class StreamedSynthesis:
    @property
    def transfer_count(self) -> int: ...
    @property
    def step_count(self) -> int: ...
    @property
    def seconds_at_most(self) -> float: ...
    @property
    def streamed(self) -> bool: ...

def synthesize_to_file(
    topology: Topology,
    collective: Collective,
    path: str,
    *,
    nbytes: int,
    latency: str,
    seed: int,
    trials: int,
    threads: int,
    progress: object | None,
) -> StreamedSynthesis: ...
def synthesize_forest(
    topology: Topology,
    kind: str,
    *,
    trees: int,
    pieces: int,
    nbytes: int,
    root: int = 0,
    up_and_down_only: bool = False,
) -> Synthesis: ...
def broadcast_through_hosts(host_count: int, ranks_per_host: int, *, root: int, pieces: int) -> Schedule: ...
def reduce_through_hosts(host_count: int, ranks_per_host: int, *, root: int, pieces: int) -> Schedule: ...
def broadcast_through_all(rank_count: int, *, root: int, pieces: int, lag: int) -> Schedule: ...
def reduce_through_all(rank_count: int, *, root: int, pieces: int, lag: int) -> Schedule: ...
def far_first_exchange(topology: Topology) -> Schedule: ...

class Bound:
    """One lower bound: its name, its time, and its proof."""

    @property
    def name(self) -> str:
        """
        The limiting cause: ports, traffic, hosts, relays, cut, distance, arrival or one_port.
        """

    @property
    def seconds(self) -> float: ...
    @property
    def witness(self) -> str:
        """The proof of the bound, in words."""

    @property
    def assumes(self) -> str:
        """
        What the proof takes for granted beside the topology's figures, in words.
        """

    def after_launch(self, launch_s: float) -> Bound:
        """
        The same where every rank launches the operation before it sends, for so long.
        """

    def __repr__(self) -> str: ...
    def __getstate__(self) -> tuple[str, int, str, str]: ...
    def __setstate__(self, arg: tuple[str, int, str, str], /) -> None: ...
    def __eq__(self, arg: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def lower_bounds(
    topology: Topology,
    kind: str,
    nbytes: int,
    late: Mapping[int, float],
    slow: Mapping[int, float],
    root: int,
    ports: str,
) -> list[Bound]:
    """Every lower bound, largest first; see hemiola.lower_bound."""

def exchange_lower_bounds(
    topology: Topology, blocks: Sequence[int], late: Mapping[int, float], slow: Mapping[int, float]
) -> list[Bound]:
    """
    Every lower bound of an all_to_all whose blocks differ, largest first; see hemiola.lower_bound.
    """

def digests_of(
    memory: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    part_bytes: int,
) -> bytes:
    """
    A digest of 16 bytes of each part of some memory, one behind the other.
    """

def bytes_of_array(array: object) -> tuple[NDArray[numpy.uint8], int, str]:
    """
    The bytes of a collective's array, where they lie; the number of elements, and their dtype's name.
    """

class RawMemory:
    """
    Memory of this process by its address; passed as an array.

    Parameters
    ----------
    address : int. Where the first element lies, in the host's memory.
    dtype : str. By NumPy's or ml_dtypes' name, such as "float32" or "bfloat16".
    shape : sequence of int, at least 0 each. The elements lie side by side in C order.

    Raises
    ------
    ArgumentError
        for a dtype that is not reduced, a negative extent, and elements at address 0.

    Notes
    -----
    For callers whose memory is no Python object's. The address is not checked: its maker keeps the memory there, and
    writable, until the operations on it are over.

    Examples
    --------
    >>> import hemiola as hm, numpy as np
    >>> x = np.arange(6.0)
    >>> hm.RawMemory(x.ctypes.data, "float64", [2, 3]).shape
    [2, 3]
    """

    def __init__(self, address: int, dtype: str, shape: Sequence[int]) -> None: ...
    @property
    def address(self) -> int:
        """Where the first element lies."""

    @property
    def dtype(self) -> str:
        """The name of its type."""

    @property
    def shape(self) -> list[int]:
        """The extents of its axes."""

    def __repr__(self) -> str: ...
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn: ...

class PremulSum:
    """
    A sum in which each rank multiplies its own elements first; passed as `op`.

    Parameters
    ----------
    factor : float. This rank's factor; each rank has its own, so that sums can be weighted.

    Raises
    ------
    ArgumentTypeError : a factor that is no number.

    Notes
    -----
    For floating and complex dtypes; NCCL and PyTorch call it PREMUL_SUM. A product is rounded to the dtype before it is
    added; those of 16 and 8 bits are multiplied as float32. Inputs stay as they were: the products lie in memory of the
    communicator's, as large as the input. Nobody looks for late ranks or for zeros.

    Examples
    --------
    >>> import hemiola as hm
    >>> hm.PremulSum(0.25)
    PremulSum(0.25)
    >>> comm.all_reduce(x, hm.PremulSum(own_samples / all_samples))  # doctest: +SKIP
    """

    def __init__(self, factor: float) -> None: ...
    @property
    def factor(self) -> float:
        """This rank's factor."""

    def __repr__(self) -> str: ...
    def __getstate__(self) -> tuple[float]: ...
    def __setstate__(self, arg: tuple[float], /) -> None: ...
    def __eq__(self, arg: object, /) -> bool: ...
    def __hash__(self) -> int: ...

class Budget:
    """
    How many small operations of the core, of about 3 ns, the work within its context may take. Beyond, BudgetSpentError is raised. Contexts nest, and each counts for all around it.
    """

    def __init__(self, limit: int | None = None) -> None: ...
    @property
    def limit(self) -> int | None:
        """None: no limit."""

    @property
    def spent(self) -> int:
        """Operations so far."""

    def __enter__(self) -> object: ...
    def __exit__(self, *error: object) -> None: ...

def spend(operations: int) -> None:
    """
    Count small operations that were done in Python: the budgets of this thread pay.
    """

def watch_long_calls(watcher: object | None) -> object:
    """
    From now on call `watcher` in this thread with the share of a long call that is behind, where that is known; None: nobody. Return who was before.
    """

class Session:
    """The processes of a job that have found each other."""

    def exchange(self, members: Sequence[int], key: str, own: bytes, timeout_s: float) -> list[bytes]:
        """The bytes of all members, each of which calls this."""

    def next_members(
        self, members: Sequence[int], name: str, *, leaves: bool, admits: bool, timeout_s: float
    ) -> list[int]:
        """Those that go on, as all of them agree."""

    def host_of(self, rank: int) -> int: ...
    def living(self, members: Sequence[int]) -> list[int]:
        """Those that are not lost, as far as is known here."""

    def has_taken_leave(self, rank: int) -> bool:
        """Whether a rank that is no member any more has said that it leaves."""

    def losses(self) -> dict[int, object]:
        """Why ranks are lost, as far as is known here."""

    @property
    def misses_somebody(self) -> bool:
        """Whether a rank has been lost that did not leave in good order."""

    def tell_cause(self, reason: str) -> None:
        """Say why this rank ends: others that find it gone learn the cause."""

    @property
    def told_cause(self) -> object:
        """Why this rank has given up, or ends; None where it has not."""

    @property
    def rank(self) -> int: ...
    def open_lobby(
        self, members: Sequence[int], version: str, invitation: str, refusal: str, status: str
    ) -> None:
        """
        Let newcomers come to the first of these, and tell the status; again: it has changed.
        """

    def process_of(self, rank: int) -> int:
        """The number of a rank's process in the system; 0 where it is not known."""

    def close_lobby(self) -> None: ...
    @property
    def rank_count(self) -> int: ...

class LocalSession(Session):
    """The ranks of one machine."""

    @staticmethod
    def join(rank: int, rank_count: int, name: str, timeout_s: float = 60.0) -> LocalSession: ...
    @staticmethod
    def enter(name: str, version: str, timeout_s: float) -> LocalSession:
        """A newcomer's part of a running session."""

    @property
    def invitation(self) -> str:
        """What members have told this newcomer."""

    def await_seat(self, timeout_s: float) -> tuple[str, list[int]]:
        """The name and the answer of the agreement that lets this newcomer in."""

    @staticmethod
    def status_of(name: str, version: str, timeout_s: float) -> str | None:
        """The status of a job; None where none of that name tells it now."""

class Listener:
    """Where a rank is found by those of other hosts."""

    def __init__(self, at: str, first_port: int = 0, last_port: int = 0) -> None: ...
    @property
    def port(self) -> int: ...

class HostsIdentity:
    """The words by which a process of several hosts is known."""

    def __init__(
        self,
        *,
        name: str,
        incarnation: int,
        token: bytes,
        version: str,
        addresses: Sequence[str],
        nics: Sequence[tuple[int, Sequence[str]]],
        silence_s: float,
        tls: tuple[str, str, str] | None = None,
    ) -> None: ...

class HostsVisitor:
    """A newcomer on its way into a job on several hosts."""

    def __init__(
        self,
        listener: Listener,
        identity: HostsIdentity,
        members: Sequence[str],
        welcome_s: float,
        timeout_s: float,
    ) -> None:
        """
        Knock at the members' lobby, of whom at least one is found at `members`.
        """

    @property
    def invitation(self) -> str:
        """What members have told this newcomer."""

    def await_seat(self, timeout_s: float) -> tuple[HostsSession, str, list[int]]:
        """
        The session, and the name and the answer of the agreement that lets this newcomer in.
        """

class HostsSession(Session):
    """The ranks of several hosts."""

    @staticmethod
    def join(
        listener: Listener,
        *,
        rank: int,
        rank_count: int,
        identity: HostsIdentity,
        rank_zero: Sequence[str],
        timeout_s: float,
    ) -> HostsSession: ...
    def leave(self) -> None: ...
    @property
    def remarks(self) -> list[str]:
        """Remarks for a user on how the ranks came together, a sentence each."""

def announce_mpi(*, rank: int, rank_count: int, libraries: Sequence[str]) -> None:
    """
    An MPI has started this process; its library is one of these, unless one is loaded.
    """

def find_mpi(libraries: Sequence[str]) -> dict:
    """
    The MPI that ranks would use here, opened but not initialized: version and path.
    """

def broadcast_by_mpi(own: bytes, timeout_s: float) -> bytes:
    """Rank 0's bytes, on all ranks of the job, each of which calls this."""

def leave_mpi(*, all_is_well: bool, timeout_s: float) -> None:
    """
    Finalize MPI where it was initialized by us. After a time-out call again to go on waiting.
    """

class PendingOperation:
    """An operation that runs in the background."""

    def wait(self, timeout_s: float | None = None) -> bool: ...
    def done(self) -> bool: ...
    @property
    def times_ns(self) -> tuple[int, int]:
        """
        When its turn came and when it was over, by time.monotonic_ns; 0 where that is still to come.
        """

class LateForecast:
    """The predicted time of an all-reduce from the last rank's arrival on."""

    def __init__(self, *, plain_s: float, segment_s: float, finish_s: Sequence[float]) -> None: ...
    @property
    def plain_s(self) -> float: ...
    @property
    def segment_s(self) -> float: ...
    @property
    def finish_s(self) -> list[float]: ...

class LateRule:
    """How an all-reduce finds its late rank."""

    def __init__(
        self,
        plain: Schedule,
        *,
        segments: int,
        chunks_per_owner: int,
        forecast: LateForecast | None = None,
        node_of_rank: Sequence[int] = [],
        finish: str = "doubling",
    ) -> None: ...
    @staticmethod
    def around(plain: Schedule, around: Sequence[Schedule]) -> LateRule:
        """One that runs the schedule around whichever rank comes last."""

    @property
    def node_of_rank(self) -> list[int]: ...
    @property
    def direct_finish(self) -> bool: ...
    @property
    def segments(self) -> int: ...
    @property
    def chunks_per_owner(self) -> int: ...
    @property
    def forecast(self) -> LateForecast: ...

class LateOutlook:
    """
    The prediction for a schedule that is planned around the rank that keeps coming last.
    """

    def __init__(self, *, plain_s: float, delay_s: float, finish_s: float) -> None: ...
    @property
    def plain_s(self) -> float: ...
    @property
    def delay_s(self) -> float: ...
    @property
    def finish_s(self) -> float: ...

class SparseRule:
    """When messages leave zeros out, and by which schedule."""

    def __init__(
        self,
        *,
        coded_below: float,
        without_fill_in: Schedule | ScheduleParts | None = None,
        without_fill_in_below: float = 0,
        exchange: Schedule | ScheduleParts,
        pause: int,
        costs: tuple[tuple[float, float, float], tuple[float, float, float]],
    ) -> None: ...

class Selection:
    """
    A schedule to run, and when it looks for a late rank, leaves zeros out, or is planned around the rank that keeps coming last.
    """

    def __init__(
        self,
        chosen: Schedule | ScheduleParts,
        *,
        late: LateRule | None = None,
        sparse: SparseRule | None = None,
        outlook: LateOutlook | None = None,
    ) -> None: ...
    @property
    def late(self) -> LateRule | None: ...
    @property
    def outlook(self) -> LateOutlook | None: ...

class Complaint:
    """
    The error in an argument; passed in its place, so that the other ranks learn of it.
    """

    def __init__(self, text: str) -> None: ...
    @property
    def text(self) -> str: ...

class BlockTable:
    """
    The bytes of an all-to-all's blocks, by giver, then taker; in place of a call's `schedule`, which is then the planner's choice.
    """

    def __init__(self, sizes: NDArray[numpy.int64]) -> None: ...

def wire_names() -> list[str]:
    """The kinds of wire that HEMIOLA_WIRE may ask for."""

class EightBitMessages:
    """Messages of eight bits an element; in place of a call's `sparse`."""

    def __init__(self, residual: object, rounds_to: Sequence[bool]) -> None: ...

class PendingMessage:
    """A message that is sent or received in the background."""

    def wait(self, timeout_s: float | None = None) -> bool: ...
    def done(self) -> bool: ...
    @property
    def source(self) -> int: ...

class CommunicatorOptions:
    """The options of hemiola.init; groups inherit them."""

    def __init__(
        self,
        *,
        timeout_s: float,
        keep_inputs: bool,
        wires: str,
        ucx_libraries: Sequence[str],
        control: str,
        recorded_transfers: int,
        emulate: Topology | None,
        late: Mapping[int, float],
        slow: Mapping[int, float],
    ) -> None: ...
    @property
    def timeout_s(self) -> float: ...

class SlowPort:
    """A rank whose ports are slower than the others'."""

    @property
    def rank(self) -> int: ...
    @property
    def measured_factor(self) -> float: ...
    @property
    def planned_factor(self) -> float: ...
    @property
    def since_number(self) -> int: ...
    @property
    def since_ns(self) -> int: ...

class HealthChange:
    """From which operation on schedules are planned for which factors."""

    @property
    def number(self) -> int: ...
    @property
    def slow(self) -> dict[int, float]: ...

class Health:
    """The core of hemiola.Health."""

    @property
    def is_watching(self) -> bool: ...
    @property
    def operation_count(self) -> int: ...
    @property
    def complaints(self) -> list[str]: ...
    @property
    def slow(self) -> list[SlowPort]: ...
    @property
    def changes(self) -> list[HealthChange]: ...

class Communicator:
    """The core of hemiola.Communicator."""

    def __init__(
        self,
        session: Session,
        members: Sequence[int],
        options: CommunicatorOptions,
        decide: Callable[
            [str, int, int, Mapping[int, float], str, bool | None, tuple[int, int] | None], bytes
        ],
        follow: Callable[[bytes, int], Selection],
        parent: Communicator | None,
        terms: str,
    ) -> None: ...
    @property
    def rank(self) -> int: ...
    @property
    def rank_count(self) -> int: ...
    def run(
        self,
        kind: str,
        input: object | None,
        output: object | None,
        op: object,
        root: object,
        schedule: object | None,
        timeout_s: object | None,
        sparse: object | None = None,
    ) -> None: ...
    def start(
        self,
        kind: str,
        input: object | None,
        output: object | None,
        op: object,
        root: object,
        schedule: object | None,
        timeout_s: object | None,
        sparse: object | None = None,
    ) -> PendingOperation: ...
    def send(
        self, array: object | None, dst: object | None, tag: object | None, timeout_s: object | None
    ) -> int: ...
    def recv(
        self, array: object | None, src: object | None, tag: object | None, timeout_s: object | None
    ) -> int: ...
    def start_send(
        self, array: object | None, dst: object | None, tag: object | None, timeout_s: object | None
    ) -> PendingMessage: ...
    def start_recv(
        self, array: object | None, src: object | None, tag: object | None, timeout_s: object | None
    ) -> PendingMessage: ...
    def recipe(self, kind: str, byte_count: int, root: int) -> bytes: ...
    def health(self) -> Health: ...
    def slow_in_force(self) -> dict[int, float]: ...
    def watch_ports(self, port: Sequence[int], healthy: Sequence[float]) -> bool: ...
    def adopt_ports(self, slow: Mapping[int, float]) -> None: ...
    def expects_late_rank(self, bytes: int) -> bool: ...
    def slow_down(self, slow: Mapping[int, float], links: Mapping[tuple[int, int], float]) -> None: ...
    def arrivals_ns(self) -> bytes: ...
    def own_arrivals_ns(self) -> bytes: ...
    def forget_arrivals(self) -> None: ...
    def operations(self) -> list[tuple[str, int]]: ...
    def pair_shares(self) -> list[tuple[float, float]]: ...
    def payloads(self) -> list[tuple[int, int]]: ...
    def sent_forms(self) -> tuple[dict[str, int], dict[str, int]]: ...
    def recorded_transfers(self) -> bytes: ...
    def carriers(self) -> list[str]: ...
    def check_open(self) -> None: ...
    def check_process(self) -> None: ...
    @property
    def is_called(self) -> bool:
        """Whether a rank has called for the next members."""

    @property
    def is_whole(self) -> bool:
        """Whether this rank has not given it up."""

    def call(self) -> None:
        """
        Call for the next members in the next operation; nothing where it is closed.
        """

    def close(self) -> None: ...
    def abort(self, reason: str) -> None: ...

def remember_calls(method: object) -> object:
    """
    Return the method of a communicator's class, named as a collective, with a memory of its latest call in each communicator. The same call again, on the same memory, takes a short way.
    """

def find_ucx(packaged: Sequence[str]) -> dict:
    """
    The UCX that a job would use here, loaded: version, path, transports, and those between ranks of this host.
    """
