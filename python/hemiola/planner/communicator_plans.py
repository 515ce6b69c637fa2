# SPDX-License-Identifier: Apache-2.0
"""Which schedule a communicator runs. A plan of its network decides, for the links as they were given or measured at
start-up and for the state of ports noticed since.

One rank decides, the first that needs to know, and says so in words (see Recipe); all follow the words. So nothing
depends on two ranks computing the same floats."""

from __future__ import annotations

import dataclasses
import json
import math
import threading
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from hemiola import algorithms, codecs, topologies
from hemiola._core import Communicator as CoreCommunicator
from hemiola._core import LateRule, Schedule, ScheduleParts, Selection, SparseRule, Topology
from hemiola.algorithms import Task
from hemiola.algorithms.block_sizes import BlockSizes
from hemiola.arguments.names import as_kind
from hemiola.bounds import lower_bound
from hemiola.calibration import BRIEF, Figures, Grouping, Nodes, measured_figures, network_of
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.machine.capacity import machine_cores
from hemiola.planner.blocks_of_call import schedule_of_blocks
from hemiola.planner.budget import Searches
from hemiola.planner.core_rates import core_rates
from hemiola.planner.crowding import BETWEEN_HOSTS
from hemiola.planner.distinct import distinct_messages
from hemiola.planner.late_habit_plans import planned_for_habit
from hemiola.planner.late_rule import late_rule
from hemiola.planner.machine_model import EngineCosts, memory_network
from hemiola.planner.memory_speeds import MemorySpeeds, agreed, speeds_of_processes
from hemiola.planner.on_cores import MOST_ON_CORES, plan_on_cores
from hemiola.planner.outcome import Plan
from hemiola.planner.planning import plan
from hemiola.planner.recipe import LateHabit, LateSearch, Recipe, SparseWords
from hemiola.planner.sparse_rule import coded_below, link_bandwidth, message_costs, pause_of
from hemiola.planner.spread import segments_of, spread
from hemiola.planner.suited import suited
from hemiola.planner.synthesized import ONE_SHOT
from hemiola.progress import ProgressBar
from hemiola.simulate import simulate
from hemiola.synthesis.full_mesh import is_lone_switch
from hemiola.topology.host_ports import ports_between_hosts, speed_between_hosts
from hemiola.topology.port_speed import PortSpeed, port_speed
from hemiola.topology.slow_ports import slow_ports

#: Fewer ranks have nobody to reduce with while they wait.
_LEAST_LATE_RANKS = 3
#: Of fewer bytes nobody looks for zeros unasked.
_LEAST_UNASKED = 1 << 20
#: Operations from look to look where nobody asked for them.
_UNASKED_PAUSE = 64
#: Collectives in which all ranks get one whole, or give the parts of one.
_OF_ONE_WHOLE = ("broadcast", "reduce")
#: The least saving at best of finding a late rank, as a share of the time without.
_LEAST_GAIN = 0.1
#: All-reduces between hosts that take less are not told of, nobody is looked for in them.
_LEAST_TOLD_S = 0.02
#: All-reduces within a host that take less are not worth a plan for a late rank.
_LEAST_PLANNED_S = 0.001
#: Seconds of a core that a message over an emulated network takes, of which that knows nothing (docs/decisions/0024).
#: A figure, and no measurement at start-up: ranks may emulate seconds of latency, and plans are the same every time.
_CORE_S_OF_MESSAGE = 20e-6
#: An operation that takes so much longer than its NICs waits for something else, which the forecast does not know.
_MOST_OVER_NICS = 1.25
#: Choices, and followed recipes, that are kept.
_MOST_FOLLOWED = 256
_remembering = threading.Lock()


class CommunicatorPlans:
    """Decides which schedules one communicator runs, and follows earlier decisions.

    Parameters
    ----------
    ranks : of all ranks of the job, those of the communicator, in its order.
    hosts : the host of each of them.
    given : Topology, optional, of all ranks of the job, as `init` took it.
    emulated : Topology, optional, that ranks behave like.
    conditions : Conditions of the emulated network.
    adapt : the noticed conditions that plans adapt to, of "late" and "slow".
    """

    def __init__(
        self,
        ranks: Sequence[int],
        hosts: Sequence[int],
        given: Topology | None,
        emulated: Topology | None,
        conditions: Conditions,
        adapt: Collection[str],
    ) -> None:
        self._ranks = tuple(ranks)
        self._rank_count = len(self._ranks)
        self._hosts = tuple(hosts)
        self._crowding = BETWEEN_HOSTS if emulated is None and len(set(hosts)) > 1 else 0.0
        self._shares_memory = emulated is None and len(set(hosts)) == 1
        self._given = given
        self._emulated = emulated
        self._conditions = conditions
        self._adapt = tuple(adapt)
        self._followed: dict[tuple[int, bytes], tuple[Recipe, Schedule | ScheduleParts]] = {}
        #: All ranks' programs of a schedule that is made rank by rank.
        self._wholes: dict[tuple[int, bytes], Schedule] = {}
        #: The choices made so far, by everything that they depend on; with the groups that plan for parts of this
        #: network.
        self._decided: dict[tuple[object, ...], bytes] = {}
        self.speed = PortSpeed(1e-6, 5e9)
        self._combine_bandwidth = self._copy_bandwidth = math.inf
        self._network = _switch(self._rank_count, self.speed)
        #: The measurement between ranks that share memory; None where they do not, or where a network was given.
        self.memory: MemorySpeeds | None = None
        #: The measurement between hosts; None where there was none.
        self._figures: Figures | None = None
        #: By rank, the NIC that it shares, as conditions call it; empty where ranks have ports of their own.
        self._nics: Sequence[str] = ()
        #: Whether all ranks see when bytes come from other hosts; None where nobody has asked.
        self._all_see_arrivals: bool | None = None

    def measure(self, core: CoreCommunicator, grouping: Grouping) -> None:
        """Measure the links between the ranks, all of them active; collective. `grouping` makes communicators of some
        of them."""
        if self._emulated is not None:
            self._take_emulated(self._emulated)
            return
        if self._rank_count == 1:
            return
        if self._given is None and self._shares_memory:
            self.take_memory(speeds_of_processes(core))
            return
        self._combine_bandwidth, self._copy_bandwidth = agreed(core, core_rates())
        if self._given is None:
            self._take_figures(measured_figures(core, self._hosts, grouping, BRIEF))
        else:
            self._network = _among(self._given, self._ranks)
            self.speed = port_speed(self._network)

    def _take_figures(self, figures: Figures) -> None:
        self._figures = figures
        self._network = network_of(Nodes.of(self._hosts), figures)
        self.speed = port_speed(self._network)

    def _take_emulated(self, emulated: Topology) -> None:
        self.speed = port_speed(emulated)
        is_of_all = emulated.rank_count == self._rank_count
        self._network = _among(emulated, self._ranks) if is_of_all else _switch(self._rank_count, self.speed)

    def take_part_of(self, measured: CommunicatorPlans) -> None:
        """Plan with the measurements of another communicator of this job, of which this one is a group or the rest;
        `measured` has these ranks among its own, and all of them were active."""
        if self._emulated is not None:
            self._take_emulated(self._emulated)
            return
        self._combine_bandwidth, self._copy_bandwidth = measured._combine_bandwidth, measured._copy_bandwidth
        self.memory = measured.memory
        self._all_see_arrivals = measured._all_see_arrivals
        self.remember_with(measured)
        if self._rank_count == 1:
            return
        if measured._given is None and measured._shares_memory:
            self._network = _switch(self._rank_count, measured.speed)
        else:
            among = [measured._ranks.index(rank) for rank in self._ranks]
            self._network = _among(measured._network, among)
            if measured._figures is not None:
                self._figures = measured._figures.among(among, self._hosts, measured._hosts)
        self.speed = port_speed(self._network)

    def take_memory(self, memory: MemorySpeeds) -> None:
        """Plan with a measurement between ranks of this host."""
        self.memory = memory
        self._combine_bandwidth, self._copy_bandwidth = memory.combined, memory.copied
        self._network = _switch(self._rank_count, memory.port)
        self.speed = port_speed(self._network)

    def past(self) -> str:
        """Return the measurements as text, for ranks that have none; empty where there was none."""
        if self.memory is None and self._figures is None:
            return ""
        memory = None if self.memory is None else dataclasses.asdict(self.memory)
        figures = None if self._figures is None else self._figures.to_numbers().tolist()
        return json.dumps(
            {
                "ranks": self._ranks,
                "hosts": self._hosts,
                "memory": memory,
                "figures": figures,
                "rates": [self._combine_bandwidth, self._copy_bandwidth],
                "all_see_arrivals": self._all_see_arrivals,
            }
        )

    def take_past(self, told: str) -> bool:
        """Plan with the measurements of an earlier communicator of all ranks of the job, as `past` has told them. False
        where they say nothing of a kind of link that there is now; the same on all ranks."""
        past = json.loads(told)
        if self._rank_count == 1:
            return True
        if self._shares_memory:
            if past["memory"] is not None:
                self.take_memory(MemorySpeeds(**past["memory"]))
            return past["memory"] is not None
        if past["figures"] is None:
            return False
        known = [past["ranks"].index(rank) if rank in past["ranks"] else None for rank in self._ranks]
        before = Figures.from_numbers(np.array(past["figures"]))
        figures = before.among(known, self._hosts, past["hosts"])
        if figures is None:
            return False
        self._take_figures(figures)
        self._combine_bandwidth, self._copy_bandwidth = past["rates"]
        self._all_see_arrivals = None if None in known else past["all_see_arrivals"]
        return True

    def remember_with(self, other: CommunicatorPlans) -> None:
        """Share the other's choices, each of which is noted with its network."""
        self._decided, self._followed, self._wholes = other._decided, other._followed, other._wholes

    def watch(self, core: CoreCommunicator) -> None:
        """Have slow ports noticed where all bytes between hosts come by TCP; collective.

        Of the bytes that come by other wires nobody knows when they came.
        """
        if self._emulated is not None or len(set(self._hosts)) == 1:
            return
        if self._all_see_arrivals is None:
            can_watch = np.array([self._sees_arrivals(core.carriers(), core.rank)], np.int32)
            schedule = algorithms.get("all_reduce_ring").generate(self._rank_count)
            core.run("all_reduce", can_watch, can_watch, "min", 0, schedule, None)
            self._all_see_arrivals = bool(can_watch[0])
        ports = ports_between_hosts(self._network)
        if self._all_see_arrivals and ports is not None and self._are_on_one_host(ports.sharing):
            self._nics = ports.nics
            core.watch_ports(ports.sharing, ports.bandwidths)

    def _sees_arrivals(self, carriers: Sequence[str], own: int) -> bool:
        """Say whether what comes to a rank from other hosts comes by TCP."""
        here = self._hosts[own]
        return all(
            carrier == "tcp" for carrier, host in zip(carriers, self._hosts, strict=True) if host != here
        )

    def _are_on_one_host(self, sharing: Sequence[int]) -> bool:
        """Say whether ranks that share a port by the network do share a host."""
        return all(host == self._hosts[first] for host, first in zip(self._hosts, sharing, strict=True))

    def network(self) -> Topology:
        """Return the network to plan for: the one that is emulated or was given; else the measured one, on one host a
        switch with one port a rank."""
        return self._network

    @property
    def shares_memory(self) -> bool:
        """Whether messages go through the memory of one host."""
        return self._shares_memory

    def seconds_of(self, schedule: Schedule, nbytes: int) -> float:
        """Return the seconds of a schedule on the network with nobody late, the cost of messages included."""
        taken_s = simulate(schedule, self.network(), nbytes, unchecked=True).seconds
        return taken_s + self._shared_message_s * len(distinct_messages(schedule))

    def schedule_of_blocks(self, sizes: BlockSizes) -> Schedule | None:
        """Return a schedule for these very sizes, the same on all ranks; None: that of blocks of one size serves."""
        return None if self._shares_memory else schedule_of_blocks(self.network(), sizes)

    def fastest_network(self) -> Topology:
        """Return a network on which the lower bound holds for every schedule. Ranks that share memory are planned for
        as if each had one port, which is about how they come off together; but several may copy from one rank at once,
        and one alone is faster."""
        if self._given is None and self._shares_memory and math.isfinite(self._copy_bandwidth):
            return memory_network(self._rank_count, self._copy_bandwidth)
        return self.network()

    def decide(
        self,
        kind: str,
        nbytes: int,
        root: int,
        slow: Mapping[int, float],
        algorithm: str,
        sparse: bool | None,
        late: tuple[int | None, int] | None = None,
    ) -> bytes:
        """Choose for all ranks the schedule of a collective while those ranks' ports are slow.

        Parameters
        ----------
        kind : str, the collective.
        nbytes : int >= 0, the size up to which the choice holds.
        root : int.
        slow : mapping of rank to factor.
        algorithm : str, the name of the one that was asked for; empty where the planner is to choose.
        sparse : bool or None, as of a call: with True messages may leave zeros out where that pays, in a
            schedule that suits them; with None in the one that runs without, too. Those of an algorithm that was asked
            for do.
        late : the rank that keeps coming last, None where it is another one each time; and by how many quarters of the
            time that it takes with nobody late. None where nobody does.

        Returns
        -------
        bytes, a Recipe.

        Raises
        ------
        ArgumentError
            where nothing is known that runs this.
        """
        asked = (
            *(hash(self.network()), self._hosts, tuple(self._nics), self._adapt),
            *(kind, nbytes, root, tuple(sorted(slow.items())), algorithm, sparse, late),
        )
        decided = self._decided.get(asked)
        if decided is None:
            decided = self._decide(kind, nbytes, root, slow, algorithm, sparse, late).to_bytes()
            _remember(self._decided, asked, decided)
        return decided

    def _decide(
        self,
        kind: str,
        nbytes: int,
        root: int,
        slow: Mapping[int, float],
        algorithm: str,
        sparse: bool | None,
        late: tuple[int | None, int] | None,
    ) -> Recipe:
        if algorithm:
            return self._named(algorithm, kind, nbytes, root)
        # An exchange in which all ranks send to all shows that a port is well again.
        is_watched = bool(slow) and "slow" in self._adapt and kind == "all_reduce"
        counted = False if is_watched else None
        found = self._planned(kind, nbytes, self._conditions_with(slow), root, counts_messages=counted)
        lateness = None if sparse else self._lateness(found)
        if late is not None and isinstance(lateness, LateHabit):
            rank, quarters = late
            habit = dataclasses.replace(lateness, delay_s=quarters / 4 * lateness.plain_s)
            planned = partial(self._planned, kind, nbytes, counts_messages=True)
            found, lateness = planned_for_habit(planned, self._network_s, found, habit, rank)
        recipe = Recipe.of(found, lateness)
        if sparse is not False:
            recipe = dataclasses.replace(recipe, sparse=self._sparse_words(found, sparse is True))
        return recipe

    def follow(self, words: bytes, nbytes: int) -> Selection:
        """Return a recipe's choices for a collective of `nbytes`.

        They are the schedule, where possible rank by rank. For an all-reduce, how to find a late rank where that may
        pay, or the plan around an expected one. Where messages may leave zeros out, when they do.
        """
        recipe, made = self._read(words)
        late = outlook = sparse = None
        if isinstance(recipe.late, LateHabit):
            outlook = recipe.late.outlook(nbytes)
            if recipe.late.around and (whole := self._whole(words, recipe, made)) is not None:
                late = LateRule.around(whole, [one or whole for one in recipe.late.around])
        elif recipe.late is not None and (whole := self._whole(words, recipe, made)) is not None:
            late = self._late_rule(recipe.late, whole, nbytes)
            made = made if late is None else whole
        if recipe.sparse is not None:
            sparse = self._sparse_rule(recipe.sparse)
        return Selection(made, late=late, sparse=sparse, outlook=outlook)

    def plan(self, words: bytes, kind: str, nbytes: int, root: int, slow: Mapping[int, float]) -> Plan:
        """Return the plan that a recipe came from, with this rank's own bound."""
        recipe, _ = self._read(words)
        network, conditions = self.network(), self._conditions_with(slow)
        if isinstance(recipe.late, LateHabit) and recipe.late.rank is not None:
            conditions = Conditions(late={recipe.late.rank: recipe.late.delay_s}, slow=conditions.slow)
        size = _bucket(nbytes)
        return Plan(
            as_kind(kind),
            size,
            self._rank_count,
            network.name,
            conditions,
            "fluid",
            lower_bound(self.fastest_network(), as_kind(kind), size, conditions=conditions, root=root),
            port_speed(network, conditions),
            recipe.alternatives,
            recipe.candidate_on(network),
            is_on_cores=self._engine_costs(kind, size, conditions) is not None,
        )

    def _read(self, words: bytes) -> tuple[Recipe, Schedule | ScheduleParts]:
        """Return a recipe and what it makes; the latest are remembered, so that coming back to one is cheap."""
        key = hash(self.network()), words
        followed = self._followed.get(key)
        if followed is None:
            recipe = Recipe.from_bytes(words)
            followed = recipe, recipe.made_on(self.network())
            _remember(self._followed, key, followed)
        return followed

    def _planned(
        self,
        kind: str,
        nbytes: int,
        conditions: Conditions,
        root: int = 0,
        *,
        effort: float = 1.0,
        counts_messages: bool | None = None,
    ) -> Plan:
        """Ask the planner, with all that is known about this network.

        `effort`: as `hm.plan` has it.
        `counts_messages`: what they cost ranks that emulate a network; None: unless somebody is known to be late, since
        what is sent before the last has come takes cores that wait.
        """
        counted = not conditions.late if counts_messages is None else counts_messages
        with ProgressBar("planning", quiet=True):
            if (costs := self._engine_costs(kind, nbytes, conditions)) is not None:
                task = Task(
                    as_kind(kind), self._rank_count, nbytes, self.speed, conditions, root, self.network()
                )
                return plan_on_cores(task, costs, self.fastest_network())
            return plan(
                self.network(),
                as_kind(kind),
                nbytes,
                conditions,
                root=root,
                combine_bandwidth=self._combine_bandwidth,
                crowding=self._crowding,
                effort=effort,
                watches_ports=True,
                shared_message_s=self._shared_message_s if counted else 0.0,
            )

    @property
    def _shared_message_s(self) -> float:
        """What every message costs ranks that emulate a network on the cores of this machine; else links know."""
        if self._emulated is None:
            return 0.0
        return _CORE_S_OF_MESSAGE / min(self._rank_count, machine_cores())

    def _network_s(self, found: Plan) -> float:
        """Return what a plan takes on its network, whatever messages cost beside."""
        if self._emulated is None:
            return found.seconds
        return simulate(
            found.schedule, self.network(), found.nbytes, found.conditions, unchecked=True
        ).seconds

    def _engine_costs(self, kind: str, nbytes: int, conditions: Conditions) -> EngineCosts | None:
        """Return what decides where ranks of one memory have to share cores: not ports, but what the cores have to do.

        Of one whole that passes all caches ports decide: relaying it through a cache is faster than reading it anew.
        """
        if self.memory is None or conditions != Conditions():
            return None
        if kind in _OF_ONE_WHOLE and nbytes * self._rank_count > MOST_ON_CORES:
            return None
        return self.memory.engine_costs(self._rank_count)

    def _lateness(self, found: Plan) -> LateSearch | LateHabit | None:
        """Say how to look for a late rank, or whether to plan for one that keeps coming last, where that may pay.

        Links must be what takes time, nobody slow, and nobody known to be late. Ranks look for each other where one
        switch joins them or their hosts. They plan on any other network that is emulated or was given; a measured
        network is one switch.
        """
        if "late" not in self._adapt:
            return None
        may_pay = found.kind == "all_reduce" and self._rank_count >= _LEAST_LATE_RANKS and found.nbytes > 0
        if not may_pay or found.conditions.slow or found.conditions.late or slow_ports(self.network()):
            return None
        least_s = _LEAST_PLANNED_S
        if self._emulated is not None:
            if is_lone_switch(self.network()):
                return LateSearch(self.speed, self._network_s(found), found.nbytes)
        else:
            speed = self._speed_of_hosts()
            if speed is not None and self._nics_take_time(found, speed):
                return LateSearch(speed, found.seconds, found.nbytes, self._host_count < self._rank_count)
            if self._given is None:
                return None
            if self._host_count > 1:  # the notes on late ranks go over the same network
                least_s = _LEAST_TOLD_S
        network_s = self._network_s(found)
        return LateHabit(network_s, found.nbytes) if network_s >= least_s else None

    @property
    def _host_count(self) -> int:
        return len(set(self._hosts))

    def _speed_of_hosts(self) -> PortSpeed | None:
        """Return what the NICs of a host do, on three hosts or more of equally many ranks; nothing of others."""
        if self._host_count < _LEAST_LATE_RANKS:
            return None
        if self._host_count == self._rank_count:
            return self.speed
        network = self.network()
        if len(set(zip(self._hosts, network.nodes.tolist(), strict=True))) != network.node_count:
            return None  # a network that knows no hosts, or other ones
        return speed_between_hosts(network) if network.node_count == self._host_count else None

    def _nics_take_time(self, found: Plan, speed: PortSpeed) -> bool:
        """Say whether an all-reduce between hosts takes what their NICs need for it, and so long that words about who
        has come, which go by the same NICs, cost nothing beside it."""
        nic_s = 2 * (self._host_count - 1) / self._host_count * found.nbytes / speed.bandwidth
        return _LEAST_TOLD_S <= found.seconds <= _MOST_OVER_NICS * nic_s

    def _whole(self, words: bytes, recipe: Recipe, made: Schedule | ScheduleParts) -> Schedule | None:
        """Return the whole of a schedule, which has to be known where a late rank is looked for; nothing if long."""
        if isinstance(made, Schedule):
            return made
        if not recipe.alternatives or _is_long(recipe.alternatives[0].transfer_count):
            return None
        key = hash(self.network()), words
        whole = self._wholes.get(key)
        if whole is None:
            whole = recipe.schedule_on(self.network())
            _remember(self._wholes, key, whole)
        return whole

    def _late_rule(self, search: LateSearch, plain: Schedule, nbytes: int) -> LateRule | None:
        """Say how a late rank is found in an all-reduce of so many bytes; nothing where that saves little."""
        plain_s = None if search.plain_s is None else search.plain_s * nbytes / search.nbytes
        numbers = {host: number for number, host in enumerate(dict.fromkeys(self._hosts))}
        hosts = [numbers[host] for host in self._hosts] if search.by_host else []
        over_tcp = self._emulated is None and self._host_count > 1
        rule = late_rule(self._rank_count, nbytes, search.speed, plain, plain_s, hosts, over_tcp=over_tcp)
        if plain_s is None or plain_s - rule.forecast.finish_s[-1] > _LEAST_GAIN * plain_s:
            return rule
        return None

    def _sparse_words(self, found: Plan, asked: bool) -> SparseWords:
        """Say when messages leave zeros out. Between cores that share memory never: what a codec gains, it takes away
        from the same core. Unasked not on emulated networks, whose ranks share the cores of one machine."""
        unasked = not asked and (self._emulated is not None or found.nbytes < _LEAST_UNASKED)
        has_scratch = found.name == ONE_SHOT  # which no coded program has
        if self._shares_memory or unasked or has_scratch:
            return SparseWords(0.0)
        bandwidth = min(link_bandwidth(self.network()), found.speed.bandwidth)
        below = coded_below(found.kind, self._rank_count, found.nbytes, bandwidth, codecs.speeds())
        if below == 0:
            return SparseWords(0.0)
        pause = pause_of(self._rank_count, found.seconds, found.speed.latency_s) if asked else _UNASKED_PAUSE
        other = suited(self.network(), found, codecs.speeds()) if asked else None
        costs = message_costs(found.kind, self._rank_count, bandwidth, codecs.speeds())
        if other is None:
            return SparseWords(below, pause=pause, costs=costs)
        # A custom collective's receivers are not ours to choose; a reduce-scatter in fewer messages is not cut into
        # more.
        is_spread = found.kind == "all_reduce" and other.has_rounds
        segments = segments_of(found.nbytes, self._rank_count) if is_spread else 1
        return SparseWords(below, other.name, other.arguments, other.below, segments, pause, costs)

    def _sparse_rule(self, words: SparseWords) -> SparseRule:
        other = None
        if words.algorithm_below > 0:
            other = self._sparse_relative(Recipe(words.algorithm, words.arguments), words.segments)
        return SparseRule(
            coded_below=words.coded_below,
            without_fill_in=other,
            without_fill_in_below=words.algorithm_below,
            pause=words.pause,
            costs=words.costs,
            exchange=algorithms.get("all_reduce_recursive_doubling").generate(self._rank_count),
        )

    def _sparse_relative(self, recipe: Recipe, segments: int) -> Schedule | ScheduleParts:
        """Make the schedule without fill-in; in segments only as a whole, where that is not too much for every rank."""
        transfers = 2 * self._rank_count * (self._rank_count - 1)
        if segments == 1 or _is_long(segments * transfers):
            return recipe.made_on(self.network())
        return spread(recipe.schedule_on(self.network()), segments)

    def _conditions_with(self, slow: Mapping[int, float]) -> Conditions:
        """Return what is known from the start about who is late, and who is slow by now: ranks, or the NICs that they
        share. Where nothing adapts to these, who was slow from the start."""
        known = self._known()
        if "slow" not in self._adapt:
            return known
        by_port = {self._nics[rank] if self._nics else rank: factor for rank, factor in slow.items()}
        return Conditions(late=known.late, slow=by_port)

    def _known(self) -> Conditions:
        """Return the emulated conditions from the start, by our own numbers of the ranks."""
        numbers = {rank: number for number, rank in enumerate(self._ranks)}
        late = {numbers[rank]: delay_s for rank, delay_s in self._conditions.late.items() if rank in numbers}
        slow = {
            numbers[rank]: factor for rank, factor in self._conditions.slow_ranks.items() if rank in numbers
        }
        return Conditions(late=late, slow=slow)

    def _named(self, name: str, kind: str, nbytes: int, root: int) -> Recipe:
        """Put the algorithm that was asked for into words; raise ArgumentError unless it is one for this.

        Of all_reduce_late, whose late rank nobody has named, say that it is to be looked for: what runs where none is
        late is planned as if none were.
        """
        algorithm = algorithms.get(name)
        if (name, kind) == ("all_reduce_late", "all_reduce"):
            plain = self._planned(kind, nbytes, dataclasses.replace(self._known(), late={}))
            return Recipe.of(plain, LateSearch(self.speed))
        if algorithm.needs:
            raise ArgumentError(
                f"algorithm '{name}' needs to know which ranks are {algorithm.needs}; generate its schedule "
                f"with hemiola.algorithms.{name}() and pass that"
            )
        if algorithm.kind != kind:
            raise ArgumentError(f"algorithm '{name}' is for {algorithm.kind}, not for {kind}")
        return Recipe.of_algorithm(
            algorithm, Task(kind, self._rank_count, nbytes, self.speed, Conditions(), root)
        )


def _remember(remembered: dict[Any, Any], key: object, value: object) -> None:
    """Keep a value, and forget the oldest where there are as many as are kept; groups share these, in threads."""
    with _remembering:
        if len(remembered) >= _MOST_FOLLOWED:
            remembered.pop(next(iter(remembered)))
        remembered[key] = value


def _is_long(transfers: int) -> bool:
    """Say whether a schedule of so many takes too long to be made as a whole, so that a rank makes its own part."""
    return bool(Searches().excess("whole", transfers))


def _bucket(nbytes: int) -> int:
    """Return the next power of two, up to which sizes share a choice."""
    return 0 if nbytes == 0 else 1 << (nbytes - 1).bit_length()


def _switch(rank_count: int, speed: PortSpeed) -> Topology:
    return topologies.switch(rank_count, latency_s=speed.latency_s, bandwidth=speed.bandwidth)


def _among(network: Topology, ranks: Sequence[int]) -> Topology:
    """Return the part of a network that joins some ranks, in their order; where others are needed to join them, a
    switch as fast."""
    if list(ranks) == list(range(network.rank_count)):
        return network
    part = network.of_ranks(ranks)
    try:
        lower_bound(part, "all_gather", len(ranks))
    except ArgumentError:
        return _switch(len(ranks), port_speed(network))
    return part
