# SPDX-License-Identifier: Apache-2.0
"""A user's handle on ranks that can run collectives together, on NumPy arrays."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import NoReturn, Self, SupportsIndex

from hemiola import environment
from hemiola._core import Communicator as CoreCommunicator
from hemiola._core import Session, Topology
from hemiola.arguments import typed
from hemiola.arguments.names import Kind
from hemiola.communicator import open_communicators
from hemiola.communicator.block_collectives import BlockCollectives
from hemiola.communicator.epochs import Past
from hemiola.communicator.healing import Healing
from hemiola.communicator.init_options import InitOptions
from hemiola.communicator.log import begin_logging, log_carriers
from hemiola.communicator.membership import FOUNDED, Membership, descended
from hemiola.communicator.monitored_barrier import MonitoredBarrier
from hemiola.communicator.noticing import Noticing, checked_bytes
from hemiola.communicator.observation import Observer
from hemiola.communicator.store_meeting import Doorplate, Store, join_at
from hemiola.conditions import Conditions
from hemiola.diagnosis import Diagnosis
from hemiola.errors import ArgumentError, LostRankError
from hemiola.machine.standard_descriptors import hold_standard_descriptors
from hemiola.planner import Plan
from hemiola.planner.communicator_plans import CommunicatorPlans
from hemiola.topology.named_nics import slow_links


class Communicator(BlockCollectives, MonitoredBarrier, Noticing, Membership, Healing):
    """Ranks that can run collectives together.

    Every rank makes the same calls in the same order. Arrays are NumPy arrays, or other memory of the host by
    DLPack, the buffer protocol or a RawMemory, contiguous in C order, of
    float16, bfloat16 (ml_dtypes), float32, float64, any integer, bool, complex64, complex128, or ml_dtypes'
    float8_e4m3fn, float8_e5m2, float8_e4m3fnuz or float8_e5m2fnuz. Two floats of 16 or 8 bits are combined as float32
    and rounded to nearest even; a value too large for a float8 without infinity becomes NaN.

    Where a collective has a block for each rank, a list with an array for each may stand for the array, all of one size
    and dtype. That holds for `x` of reduce_scatter, scatter and all_to_all, and for `out` of all_gather, gather and
    all_to_all. Each is used where it lies, apart from all others; ranks that pass lists and ranks that pass an array go
    together.

    An error in a call's arguments on one rank raises ArgumentError there and MismatchError on all others, in that very
    operation. A disagreement about the number of elements, dtype, op, root, order or schedule raises MismatchError
    everywhere. Ranks may cut as many elements into other shapes. Inputs are as they were, and the communicator can be
    used further. After a LostRankError or a TimeoutError inputs are as they were, too, but the communicator cannot be
    used any more.

    After any of these an array that was both input and output holds the input again (see `keep_inputs` of
    hemiola.init). An array that was only to be written may hold part of a result: an `out` apart from the input, or a
    broadcast's `x` on another rank than the root. Operations do not wait at the door for late ranks, so ranks that
    agree may have exchanged data by then.
    """

    def __init__(
        self,
        session: Session,
        ranks: Sequence[int],
        options: InitOptions,
        parent: CoreCommunicator | None = None,
        lineage: str = FOUNDED,
        *,
        terms: str = "",
        measured: CommunicatorPlans | None = None,
        is_job: bool = False,
        past: Past | None = None,
        doorplate: Doorplate | None = None,
    ) -> None:
        self._session = session
        self._doorplate = doorplate
        self._ranks = tuple(ranks)
        self._lineage, self._is_job = lineage, is_job
        self._groups: Counter[tuple[int, ...]] = Counter()
        self._options = options
        self._emulation = emulation = options.emulation
        self._plans = CommunicatorPlans(
            self._ranks,
            self._hosts(),
            options.network,
            emulation.topology if emulation else None,
            emulation.conditions if emulation else Conditions(),
            options.adapt,
        )
        plans = self._plans
        super().__init__(
            CoreCommunicator(
                session, list(self._ranks), options.for_core, plans.decide, plans.follow, parent, terms
            )
        )
        self._limit_s = options.timeout_s
        if not self._inherits(measured):
            plans.measure(self._core, self._core_among)
        plans.watch(self._core)
        self._core.forget_arrivals()  # those of the measured network
        self._observer = Observer(session, self._ranks, self._core, options.timeout_s)
        log_carriers(self._core, self._ranks)
        self._history = self._history_after(past)
        open_communicators.add(self)
        self._open_lobby()

    @classmethod
    @typed
    def join(
        cls,
        rank: int,
        rank_count: int,
        meet_at: Store | str,
        *,
        timeout_s: float | None = None,
        keep_inputs: bool | None = None,
        topology: Topology | str | os.PathLike[str] | None = None,
        adapt: str | None = None,
    ) -> Communicator:
        """Make a communicator of processes that have nothing in common yet but a store or a name; each calls this.

        Where `init` reads from the environment who this process is and returns one communicator for all callers, here
        the caller says so, and gets a communicator of its own each time. All pass the same options.

        Parameters
        ----------
        rank : int, this process's number, 0 … rank_count-1; each is taken once.
        rank_count : int, how many there are.
        meet_at : where they meet. A store, such as a torch.distributed.TCPStore, for ranks on one host or several; it
            serves any number of meetings, one after the other. Or a name, for ranks of one host: the same on all of
            them, and of no other job of this user that meets at the same time.
        timeout_s : float, seconds > 0; None means HEMIOLA_TIMEOUT, or 300. How long to wait for the others, here and in
            each operation.
        keep_inputs, topology, adapt : as of `hemiola.init`.

        Returns
        -------
        Communicator. Its threads, sockets and shared memory are released when it and its groups are closed and no
        longer referred to.

        Raises
        ------
        ArgumentError for a rank or number of ranks outside its range, and for a topology with another number of ranks.
        Also for a misspelt `adapt` or variable of the environment, and for a name where HEMIOLA_WIRE asks for a wire
        that needs addresses. FormatError, OSError
            for a file that cannot be read.
        MismatchError
            on every rank, when ranks pass different options or numbers of ranks.
        TimeoutError, LostRankError
            naming the ranks that did not come.

        Notes
        -----
        Ranks on one host share memory. Those of several meet at rank 0's address, which it tells the others, with a
        secret, through the store; everybody that can read the store can join.
        """
        environment.check()
        hold_standard_descriptors()
        begin_logging(environment.LOG.value())
        options = InitOptions.of(timeout_s, keep_inputs, topology, adapt)
        session, doorplate = join_at(meet_at, rank, rank_count, options.timeout_s)
        options.agree(session, "join")
        options.check_topology(rank_count)
        return cls(session, range(rank_count), options, is_job=True, doorplate=doorplate)

    @property
    def topology(self) -> Topology:
        """The network that collectives are planned for: the one that `init` was given, or is to emulate. Without one,
        the network measured at start-up: between hosts as `hemiola.calibrate` measures at more length, on one host a
        switch with a port a rank."""
        return self._plans.network()

    @property
    def fastest_topology(self) -> Topology:
        """The network that lower bounds hold for: the `topology`, but where ranks share memory. There any number of
        them may copy from one at once, and one alone is faster than when all do: a switch out of which nobody copies
        faster than a core in its own cache."""
        return self._plans.fastest_network()

    @typed
    def plan(self, kind: Kind, nbytes: int, root: int = 0) -> Plan:
        """Return the plan that a collective without a `schedule` of its own would run now.

        Parameters
        ----------
        kind : str, a collective such as "all_reduce".
        nbytes : int >= 0, bytes of the whole buffer, or of the larger of input and output.
        root : int, 0 … rank_count-1, for rooted collectives.

        Returns
        -------
        Plan, made for the next power of two of bytes, which all sizes below it share, and for the ranks that
        are known to be slow by now (see `health`). The same on every rank when asked after the same operation.
        Over an emulated network its times count the time that messages cost this machine's cores, too.

        Raises
        ------
        ArgumentError
            for a collective, size or root that does not exist.
        """
        words = self._core.recipe(kind, checked_bytes(nbytes), root)
        return self._plans.plan(words, kind, nbytes, root, self._core.slow_in_force())

    @typed
    def group(self, ranks: Sequence[int]) -> Communicator:
        """Make a communicator of some of the ranks; each of them calls this with the same ones, in the same order.

        Parameters
        ----------
        ranks : distinct ranks of this communicator, this one among them. Rank i of the new one is ranks[i].

        Returns
        -------
        Communicator, independent of this one: operations of different groups may overlap. It plans for that part of the
        topology that `init` was given, or has measured among all ranks at once, which joins these ranks, or, where
        others are needed to join them, for a switch with ports as fast. On an emulated network each group has the
        network for itself: groups that overlap in time do not slow each other down.

        Raises
        ------
        ArgumentError
            for a rank that does not exist or is named twice, on a rank that is not among them, and of a communicator
            that is closed.
        MismatchError
            on each of them, naming two, where they give different orders.
        LostRankError
            where one of them has died or closed this communicator, or has given it up after an operation that this
            rank took for finished; `rank` is its number in this communicator.
        TimeoutError
            when some of them do not come.

        Notes
        -----
        Nothing is measured, and no new connection is made: the ranks talk over those of their job. A group's resources
        of the system are released with it.
        """
        self._core.check_open()
        chosen = list(ranks)
        if len(set(chosen)) != len(chosen) or not all(0 <= rank < self.rank_count for rank in chosen):
            raise ArgumentError(
                f"group: expected distinct ranks in 0 … {self.rank_count - 1}, found {list(ranks)}"
            )
        if self.rank not in chosen:
            raise ArgumentError(f"group: rank {self.rank} is not among the ranks {chosen}")
        members = tuple(self._ranks[rank] for rank in chosen)
        name = f"group {self._groups[members]}"
        lineage = descended(self._lineage, name, members)
        try:
            group = Communicator(
                self._session,
                members,
                self._options,
                self._core,
                lineage,
                terms=f"group={name}",
                measured=self._plans,
            )
        except LostRankError as error:
            if error.world_rank is not None:  # the number in a group that there will not be says nothing
                error.rank = self._ranks.index(error.world_rank) if error.world_rank in self._ranks else None
            raise
        self._groups[members] += 1
        return group

    def _apart(self, ranks: Sequence[int], options: InitOptions, name: str) -> Communicator:
        """Make a communicator of some of the ranks as `group` does, but with options of its own, and whether or not
        this one is still open: it is the job's processes that are needed. Ranks that call it by other names, or have
        other options, raise MismatchError."""
        terms = {"group": name, **options.words()}
        members = tuple(self._ranks[rank] for rank in ranks)
        return Communicator(
            self._session,
            members,
            options,
            lineage=descended(self._lineage, name, members),
            terms="\n".join(f"{term}={value}" for term, value in terms.items()),
            measured=self._plans,
        )

    def _made_of(self, ranks: Sequence[int], lineage: str, past: Past) -> Communicator:
        """Make the communicator of the next members."""
        return Communicator(
            self._session,
            ranks,
            self._options,
            lineage=lineage,
            measured=self._plans,
            is_job=self._is_job,
            past=past,
            doorplate=self._doorplate,
        )

    def diagnose(self) -> Diagnosis:
        """Find the causes that slow this communicator's latest operations, their cost, and remedies.

        All ranks call this together, and judge at most the latest 128 operations: those since the last diagnosis, where
        these are 8 or more. Ranks of several hosts also survey the network: every couple of NICs sends both ways for
        30 ms or more, and again where that looks slow.

        Returns
        -------
        Diagnosis, the same on every rank: ranks that come late of their own doing, hosts of which all ranks do, NICs
        and links that are slower than the others, and a machine that has too few cores, each with evidence, its cost
        per step, and the share of it that a schedule planned for it would save.

        Raises
        ------
        LostRankError, TimeoutError
            naming the rank that died or did not call this.

        Notes
        -----
        Takes some milliseconds on one host, and a plan or two on rank 0 for each finding; between hosts a tenth of a
        second for each of them, several times that where one is slow or cores are busy. A rank's time between
        operations is its own; time that it takes longer to leave an operation is the network's. `health` reports the
        same NICs from then on. On an emulated network, ports and links are judged by the rates that messages between
        pairs of ranks have certainly reached in the latest 16 operations. So only links in use are judged: an
        all_to_all uses all of them, a ring each rank's to one neighbour. Over shared memory there are none.
        """
        grouping = None if self._emulation is not None else self._core_among
        network, is_given = self._plans.network(), self._options.network is not None
        return self._observer.diagnose(network, self._hosts(), grouping, is_given=is_given)

    def _core_among(self, ranks: Sequence[int]) -> CoreCommunicator:
        """Make what a communicator of some of the ranks has in the core; each of them calls this."""
        members, plans = [self._ranks[rank] for rank in ranks], self._plans
        return CoreCommunicator(
            self._session,
            members,
            self._options.for_core,
            plans.decide,
            plans.follow,
            self._core,
            "",
        )

    def _hosts(self) -> list[int]:
        """Return the host of each rank: the emulated one, or the real one."""
        if self._emulation is None:
            return [self._session.host_of(rank) for rank in self._ranks]
        return [int(self._emulation.topology.nodes[rank]) for rank in self._ranks]

    @typed
    def degrade(self, slow: Mapping[int | tuple[int, int] | str, float]) -> None:
        """Make ports or links of the emulated network slower from now on, as a failing NIC would: nobody is told.

        Parameters
        ----------
        slow : mapping of rank, of a link (src, dst), or of a NIC such as "nic:mlx5_1" to float >= 1, the factor by
            which the rank's ports, the link, or the NIC's links are slower than the topology says. Anything left out
            runs at full speed again, so {} ends it. A link is one-way; switches have their numbers in the topology.

        Raises
        ------
        ArgumentError
            for a rank, link or NIC that does not exist, a factor below 1 or not finite, and where no network is
            emulated.

        Notes
        -----
        One rank may do it for all of this communicator's ranks; it takes effect at once, in the middle of
        messages. Groups have emulated networks of their own, which are not affected.
        """
        ports = {rank: factor for rank, factor in slow.items() if not isinstance(rank, (tuple, str))}
        links = slow_links(
            self.topology, {nic: factor for nic, factor in slow.items() if isinstance(nic, str)}
        )
        links |= {link: factor for link, factor in slow.items() if isinstance(link, tuple)}
        self._core.slow_down(ports, links)

    def close(self) -> None:
        """End the communicator, from any thread and as often as one likes.

        Notes
        -----
        Calls that are under way in other threads, or in the background, raise a LostRankError that says so; this
        waits until they have. A signal handler may close it, too: the call that it interrupts raises once the
        handler returns. Other ranks that still wait for this one are told at once that it has closed its
        communicator.
        """
        open_communicators.discard(self)
        self._close_lobby()
        self._core.close()

    @typed
    def abort(self, reason: str = "") -> None:
        """End the communicator here and on all other ranks, from any thread and as often as one likes.

        Parameters
        ----------
        reason : str, for the errors of those that it ends; cut short on its way to the other ranks.

        Notes
        -----
        Calls that are under way in other threads, or in the background, raise a LostRankError that names this rank and
        the reason; this waits until they have. So do the other ranks' calls, at once, whether they wait for this rank
        or not, and their later ones: they too can go on with `shrink`. `close` ends only operations that need this
        rank. Messages that have not left are dropped. Without effect once the communicator is closed.
        """
        open_communicators.discard(self)
        self._core.abort(reason)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            "a Communicator belongs to this process, which is one of its ranks; another process calls hemiola.init() "
            "for one of its own"
        )

    def __repr__(self) -> str:
        return f"<Communicator: rank {self.rank} of {self.rank_count}>"
