"""Conditions → candidates → cheapest → Plan: which schedule to run for a collective on a topology, and why.

Schedules synthesized for the topology come first; the published candidates are ranked by their cost formulas,
which are cheap and know one port speed only. The best few are then simulated on the topology itself, and the
fastest of those wins. Where a network is more than one switch or a link for every pair, formulas decide nothing: what
is too large to simulate is estimated from the links that its steps use (docs/design/0021)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from hemiola._core import Schedule, ScheduleParts, Topology, busiest_link_s, estimate_by_steps_s
from hemiola.algorithms import Candidate, Task, candidates
from hemiola.arguments import typed
from hemiola.bounds import LowerBound, lower_bound
from hemiola.codecs import Speeds, speeds
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.planner.brought import checked, made_now
from hemiola.planner.coded import CodedChoice
from hemiola.planner.crowding import crowding_s
from hemiola.planner.distance import mean_hops
from hemiola.planner.sparse_rule import link_bandwidth
from hemiola.planner.spccl_rule import explain_spccl
from hemiola.planner.synthesized import is_uneven, synthesized
from hemiola.progress import ProgressBar
from hemiola.simulate import simulate
from hemiola.topology.named_nics import settled
from hemiola.topology.port_speed import PortSpeed, port_speed
from hemiola.units import format_bandwidth, format_bytes, format_seconds

#: Transfers simulated per plan, at most: about a second of one core. On a network of fluids those that share links
#: count for as many as they cost.
TRANSFER_BUDGET = {"fifo": 2_000_000, "fluid": 1_000_000}
#: Transfers that are made and estimated, at most, where formulas know too little of a network: about as long.
_ESTIMATED_TRANSFERS = 4_500_000
_MOST_EFFORT = 1_000.0
#: Links on the ways of all transfers of a schedule, about: following more takes longer than a plan may.
_MOST_HOPS = 60_000_000

#: A petabyte; larger ones are slips of the unit.
_MOST_BYTES = 1 << 50

#: Why a buffer without bytes takes no time, although links have latencies.
NOTHING_MOVES = "A buffer without bytes moves nothing: no message is sent, so that no latency counts."

#: Two times closer than this are called the same (simulated times are whole picoseconds, bounds are not).
_SAME = 1.0005


#: About what share of a plan's time its bound and schedules made for the topology take.
_BOUNDING, _MAKING = 0.1, 0.5

#: Ranks times links: beyond, finding the ways of one schedule alone takes longer than a plan may, so that nothing is
#: simulated where something is known without.
_MOST_WAYS = 30_000_000

#: Larger candidates are simulated only if their busiest link leaves them a chance.
_SMALL_TRANSFERS = 10_000


@dataclass(frozen=True)
class Alternative:
    """A candidate as the planner saw it, in seconds; `simulated_s` is None where it was not simulated.

    `variant` says what was chosen for the algorithm, such as "12 chunks"; it is empty where nothing was.
    `busiest_link_s` is what its busiest link alone takes, where that rules it out: the winner is done before.
    `is_predicted` says that a simulation would find `formula_s`, too, so that none was run. `estimated_s` is what the
    busiest links of its steps need, one step after the other, where it was too large to simulate.
    """

    name: str
    variant: str
    formula_s: float
    simulated_s: float | None
    transfer_count: int
    busiest_link_s: float | None = None
    is_predicted: bool = False
    estimated_s: float | None = None

    @property
    def is_comparable(self) -> bool:
        """Whether `seconds` knows the network, not one port of it."""
        return self.is_known or self.estimated_s is not None

    @property
    def is_known(self) -> bool:
        """Whether `seconds` is what a simulation finds, be it run or not."""
        return self.simulated_s is not None or self.is_predicted

    @property
    def seconds(self) -> float:
        """The best-founded of these times."""
        known = (self.simulated_s, self.busiest_link_s, self.estimated_s, self.formula_s)
        return next(seconds for seconds in known if seconds is not None)

    @property
    def label(self) -> str:
        """Name and variant together, for tables."""
        return f"{self.name} ({self.variant})" if self.variant else self.name


@dataclass(frozen=True)
class Plan:
    """The chosen schedule with its predicted time, its lower bound, the alternatives, and why.

    `alternatives` holds every candidate, the winner first, the others by increasing time; those that were not
    simulated come last. `chosen` is the winner with its arguments; `seconds` is its time; see `is_simulated`.
    `coded` says where a density was given whether messages leave zeros out, and why; times are then those with zeros
    left out, or not, accordingly.
    """

    kind: str
    nbytes: int
    rank_count: int
    topology_name: str
    conditions: Conditions
    network: str
    bound: LowerBound
    speed: PortSpeed
    alternatives: tuple[Alternative, ...]
    chosen: Candidate = field(repr=False, compare=False)
    coded: CodedChoice | None = None

    @cached_property
    def schedule(self) -> Schedule:
        """The chosen schedule, made when it is first asked for."""
        return self.chosen.generate()

    @cached_property
    def parts(self) -> ScheduleParts | None:
        """The chosen schedule rank by rank, without the whole of it; None where no such generator is known."""
        return None if self.chosen.parts is None else self.chosen.parts()

    @property
    def name(self) -> str:
        """The chosen algorithm."""
        return self.alternatives[0].name

    @property
    def seconds(self) -> float:
        """The predicted time in seconds."""
        return self.alternatives[0].seconds

    @property
    def is_simulated(self) -> bool:
        """Whether `seconds` is what a simulation finds, not what a one-port formula says."""
        return self.alternatives[0].is_known

    @property
    def bound_s(self) -> float:
        """The time in seconds that no schedule can beat under these conditions."""
        return float(self.bound.seconds)

    def explain(self, sparse: str | None = None) -> str:
        """Say in sentences what was considered, why the winner won, and how far from the bound it is.

        Parameters
        ----------
        sparse : "spccl", optional. Say also of each phase whether [SpCCL] would send it sparse or dense, by its
            thresholds and its equation 7, for comparison: nothing here runs by them.

        Returns
        -------
        str, one paragraph.

        Raises
        ------
        ArgumentError
            where `sparse` is something else.
        """
        if sparse not in (None, "spccl"):
            raise ArgumentError(f"explain: expected sparse to be 'spccl' or None, found {sparse!r}")
        coded = [] if self.coded is None else self.coded.explain()
        if sparse == "spccl":
            coded += explain_spccl(self.kind, self.rank_count, self.conditions.density)
        return " ".join(
            [self._what(), *self._conditions(), self._considered(), *self._why(), *coded, self._distance()]
        )

    def _what(self) -> str:
        where = f" of '{self.topology_name}'" if self.topology_name else ""
        ranks = _counted(self.rank_count, "rank")
        told = f"The task is {self.kind} of {format_bytes(self.nbytes)} over the {ranks}{where}."
        return told if self.nbytes else f"{told} {NOTHING_MOVES}"

    def _conditions(self) -> list[str]:
        late = sorted(self.conditions.late.items())
        told = [f"rank {rank} is {format_seconds(time)} late" for rank, time in late]
        told += self.conditions.slow_in_words()
        if self.conditions.density < 1:
            told.append(f"{self.conditions.density:.3g} of the elements are not zero")
        return [f"Conditions: {', '.join(told)}."] if told else []

    def _considered(self) -> str:
        count = len(self.alternatives)
        simulated = sum(other.simulated_s is not None for other in self.alternatives)
        port = f"{format_seconds(self.speed.latency_s)} and {format_bandwidth(self.speed.bandwidth)} a port"
        predicted = sum(other.is_predicted for other in self.alternatives)
        if predicted:
            return (
                f"{_counted(count, 'candidate')} can run this; of {predicted} it is known from what one rank does how "
                f"long they take, {simulated} were simulated on the {self.network} network."
            )
        estimated = sum(other.estimated_s is not None for other in self.alternatives)
        if estimated:
            left_out = sum(not other.is_comparable for other in self.alternatives)
            ruled_out = sum(other.busiest_link_s is not None for other in self.alternatives)
            told = [f"{simulated} were simulated on the {self.network} network"]
            if ruled_out:
                told.append(f"of {ruled_out} the busiest links alone take longer than the chosen one")
            told.append(
                f"{estimated} are too large for that and were estimated, step by step, from the links they use"
            )
            if left_out:
                told.append(f"{left_out} would take longer to make than a plan may (effort=)")
            return f"{_counted(count, 'candidate')} can run this; {'; '.join(told)}."
        if simulated == 0:
            transfers = f"{self.alternatives[0].transfer_count:,} transfers"
            return (
                f"{_counted(count, 'candidate')} can run this. Their cost formulas decide, at {port}: "
                f"the best has {transfers}, too many to simulate in about a second."
            )
        ruled_out = sum(other.busiest_link_s is not None for other in self.alternatives)
        which = "all" if simulated + ruled_out == count else f"the best {simulated + ruled_out}"
        if ruled_out:
            which += f" but {ruled_out}, whose busiest links alone take longer than the chosen one,"
        return (
            f"{_counted(count, 'candidate')} can run this; cost formulas put them in order, at {port}, and "
            f"{which} were simulated on the {self.network} network."
        )

    def _why(self) -> list[str]:
        winner, others = self.alternatives[0], self.alternatives[1:]
        source = "by simulation" if self.is_simulated else "by its formula"
        if winner.is_predicted:
            source = "by what one rank does"
        if winner.estimated_s is not None:
            source = "by the links that its steps use"
        told = [f"{winner.label} is chosen: {format_seconds(winner.seconds)} {source}."]
        comparable = [other for other in others if other.is_comparable == winner.is_comparable]
        if comparable:
            told.append(
                f"Next comes {comparable[0].label} with {_compared(comparable[0].seconds, winner.seconds)}."
            )
        return told

    def _distance(self) -> str:
        if self.bound_s <= 0:
            return "The lower bound is zero."
        ratio = self.seconds / self.bound_s
        if ratio < _SAME:
            distance = ""
        elif ratio < 1.01:
            distance = f"{ratio - 1:.2%} above "
        else:
            distance = f"{ratio:.3g} times "
        bound = f"the lower bound of {format_seconds(self.bound_s)}"
        return f"That is {distance}{bound}: {self.bound.witness.rstrip('.')}."


@typed
def plan(
    topology: Topology,
    kind: str,
    nbytes: int,
    conditions: Conditions | None = None,
    *,
    root: int = 0,
    network: str = "fluid",
    combine_bandwidth: float = math.inf,
    crowding: float = 0.0,
    codecs: Speeds | None = None,
    effort: float = 1.0,
) -> Plan:
    """Choose the schedule for a collective on a topology.

    Parameters
    ----------
    topology : Topology.
    kind : str, a collective such as "all_reduce".
    nbytes : int >= 0, bytes of one rank's buffer (of the gathered one, for all_gather and gather).
    conditions : Conditions, optional; ranks that are late or slow, NICs that are slow, the density of the data.
    root : int, 0 … rank_count-1, for rooted collectives.
    network : "fluid" or "fifo", the network model of the simulation.
    combine_bandwidth : float > 0, bytes per second at which a rank adds what arrives to what it has; infinite
        where the network is what takes time. Ranks that share memory are as fast at moving as at adding.
    crowding : float >= 0, by what share of their time bytes take longer for each further rank that sends to the same
        one in the same step; a fifth of it for each that does so in any step. 0 where flows share a port without
        loss; between hosts, over TCP, 0.02 was measured.
    codecs : hemiola.codecs.Speeds, optional; of the core that each rank has to encode and decode. None: as measured on
        this machine. Only where there is a density.
    effort : float, above 0 and at most 1,000; how many times as much as usual may be made and simulated. That is
        counted in transfers, so that the same call gives the same plan on every machine.

    Returns
    -------
    Plan, the same one for the same arguments in every process; of equal times the one with fewest transfers wins.

    Raises
    ------
    ArgumentError
        for a collective, root, size, network or condition that does not exist or fit, for a topology on which no known
        algorithm can run, and where a registered algorithm makes a wrong schedule.

    Notes
    -----
    Simulations take about a second at most, whatever the number of ranks; making the schedules comes on
    top. A candidate that is too large for the rest of that second is not simulated; where one switch joins all
    ranks, or every two have a link, and that is the best one by formula, the formulas decide alone. On all other
    networks such a candidate is estimated: step by step, by what the busiest link of each needs. There, schedules
    synthesized for the topology are among the candidates: where there are no switches up to some 1,000 ranks, behind
    switches 270, of a scatter, gather or all_to_all fewer; their formula is the lower bound. `Plan.explain` says how
    many candidates were left out. A progress bar appears on a terminal once a second has passed, elsewhere a line
    every 30 s.

    With a density all candidates are simulated once more with zeros left out. Messages leave them out where a core
    encodes and decodes at 1.5 times a link's bandwidth at least, in every phase, and that saves 3 % of the time.
    """
    told = conditions or Conditions()
    _check(topology, nbytes, network, combine_bandwidth, crowding)
    if not 0 < effort <= _MOST_EFFORT:
        raise ArgumentError(f"expected an effort above 0 and at most {_MOST_EFFORT:g}, found {effort}")
    name = topology.name
    topology, conditions = settled(topology, replace(told, density=1.0))
    with ProgressBar("planning") as bar:
        with bar.part(_BOUNDING):
            bound = lower_bound(topology, kind, nbytes, conditions=conditions, root=root)
        speed = port_speed(topology, conditions)
        task = Task(kind, topology.rank_count, nbytes, speed, conditions, root, topology)
        with bar.part(_MAKING):
            found = _in_order(candidates(task), synthesized(topology, task, bound.seconds, effort))
        if not found:
            raise ArgumentError(
                f"no known algorithm runs {kind} on {topology.rank_count} ranks; bring a schedule of your own"
            )
        with bar.part(1 - _BOUNDING - _MAKING):
            sharing = partial(crowding_s, nbytes=nbytes, bandwidth=speed.bandwidth, crowding=crowding)
            race = _Race(
                topology,
                nbytes,
                conditions,
                network,
                combine_bandwidth,
                sharing if crowding else None,
                effort=effort,
                least_s=bound.seconds if is_uneven(topology) else None,
            )
            alternatives, chosen = race.race(found)
        coded = None
        if told.density < 1:
            sparse = _SparseRace(
                topology, nbytes, replace(conditions, density=told.density), network, codecs or speeds()
            )
            coded, coded_alternatives, coded_chosen = sparse.compare(kind, found, alternatives[0])
            bound = lower_bound(topology, kind, nbytes, conditions=sparse.conditions, root=root)
            if coded.is_coded:
                alternatives, chosen = coded_alternatives, coded_chosen
    ranks = topology.rank_count
    return Plan(kind, nbytes, ranks, name, told, network, bound, speed, alternatives, made_now(chosen), coded)


def _in_order(known: Sequence[Candidate], made: Sequence[Candidate]) -> list[Candidate]:
    """Put what was made for the topology first: its formula says less than a simulation, or knows more than a port."""
    return [
        *(one for one in known if one.knows_topology),
        *made,
        *(one for one in known if not one.knows_topology),
    ]


class _Race:
    """Simulates candidates until the budget is spent, and keeps the schedule of the fastest."""

    def __init__(
        self,
        topology: Topology,
        nbytes: int,
        conditions: Conditions,
        network: str,
        combine_bandwidth: float,
        crowding_s: Callable[[Schedule], float] | None,
        *,
        effort: float = 1.0,
        least_s: float | None = None,
    ) -> None:
        """`least_s`: the lower bound, where formulas know too little of the network to decide anything."""
        self._topology = topology
        self._nbytes = nbytes
        self._conditions = conditions
        self._network = network
        self._combine_bandwidth = combine_bandwidth
        self._crowding_s = crowding_s
        self._budget = TRANSFER_BUDGET[network] * effort
        self._least_s = least_s
        self._may_make = _ESTIMATED_TRANSFERS * effort
        self._codecs: Speeds | None = None  #: of conditions with a density

    def race(self, found: Sequence[Candidate]) -> tuple[tuple[Alternative, ...], Candidate]:
        """Return every candidate with its times, the winner first, and the winner, made already if it was simulated."""
        predicted = [candidate for candidate in found if self._is_predicted(candidate)]
        best = min(map(_by_formula, predicted), default=None)
        # A small schedule's simulated time says nothing against a large one's formula, so either the
        # first by formula is simulated too, or none is; unless that formula is as good as a simulation.
        small = self._topology.rank_count * self._topology.link_count <= _MOST_WAYS
        simulating = (
            small if predicted else self._least_s is not None or found[0].transfer_count <= self._budget
        )
        made: dict[tuple[str, str], tuple[float, Schedule]] = {}
        seen = []
        total = sum(candidate.transfer_count for candidate in found)
        with ProgressBar("simulating") as bar:
            for candidate in found:
                with bar.part(candidate.transfer_count / max(total, 1)):
                    is_predicted = self._is_predicted(candidate)
                    schedule = self._generate(candidate) if simulating and not is_predicted else None
                    judged = self._judge(candidate, schedule, None if best is None else best[0])
                seen.append(replace(judged, is_predicted=is_predicted))
                if schedule is None or judged.simulated_s is None:
                    continue
                standing = (judged.simulated_s, candidate.name, candidate.variant)
                made[standing[1:]] = judged.simulated_s, schedule
                best = standing if best is None else min(best, standing)
                made = {key: one for key, one in made.items() if one[0] <= self._as_good_as(best[0])}
        ranked = self._ranked(seen)
        winner = ranked[0]
        chosen = next(one for one in found if (one.name, one.variant) == (winner.name, winner.variant))
        if (winner.name, winner.variant) in made:
            chosen = replace(chosen, generate=partial(_given, made[winner.name, winner.variant][1]))
        return tuple(ranked), chosen

    def _is_predicted(self, candidate: Candidate) -> bool:
        """Say whether a candidate's formula is what the simulation would find."""
        is_plain = math.isinf(self._combine_bandwidth) and self._crowding_s is None
        return candidate.is_simulation and self._network == "fluid" and is_plain

    def _judge(self, candidate: Candidate, schedule: Schedule | None, best_s: float | None) -> Alternative:
        """Simulate a candidate's schedule, unless its busiest link alone says that it is slower than the best."""
        link_s = None if schedule is None or best_s is None else self._too_long(schedule, best_s)
        simulated_s = estimated_s = None
        if schedule is not None and link_s is None:
            estimated_s = self._estimate_if_too_large(schedule)
            simulated_s = self._simulate(schedule) if estimated_s is None else None
        return Alternative(
            candidate.name,
            candidate.variant,
            max(candidate.formula_s, self._least_s or 0.0),
            simulated_s,
            candidate.transfer_count,
            link_s,
            estimated_s=estimated_s,
        )

    def _estimate_if_too_large(self, schedule: Schedule) -> float | None:
        """Return about what it takes, where simulating it costs more than is left for that; else take it from that.

        On a network of fluids flows that share links cost many times what they cost alone.
        """
        if self._least_s is None:
            return None
        estimated_s, work = estimate_by_steps_s(
            schedule, self._topology, self._nbytes, self._conditions.late, self._conditions.slow_ranks
        )
        cost = work if self._network == "fluid" else schedule.transfer_count
        if cost > self._budget:
            return max(estimated_s + self._beside_s(schedule), self._least_s)
        self._budget -= cost
        return None

    def _generate(self, candidate: Candidate) -> Schedule | None:
        """Make the schedule if the budget allows for simulating it, or for estimating it where that says something."""
        if self._least_s is None:
            if candidate.transfer_count > self._budget:
                return None
            self._budget -= candidate.transfer_count
        elif candidate.transfer_count > self._may_make:
            return None
        self._may_make -= candidate.transfer_count
        schedule = checked(candidate.name, candidate.generate())
        if self._least_s is not None and self._goes_far(schedule):
            self._may_make += candidate.transfer_count
            return None
        return schedule

    def _goes_far(self, schedule: Schedule) -> bool:
        """Say whether it takes too long to follow its transfers; those between neighbours are a link long."""
        is_local = len(np.asarray(schedule.pairs)) <= 2 * self._topology.link_count
        return not is_local and schedule.transfer_count * mean_hops(self._topology) > _MOST_HOPS

    def _too_long(self, schedule: Schedule, best_s: float) -> float | None:
        """Return what the busiest link takes if that is longer than the best so far, unless the schedule is small.

        Flows that crowd a few links are what takes the simulator long, and what makes a schedule slow.
        """
        if schedule.transfer_count <= _SMALL_TRANSFERS:
            return None
        link_s = busiest_link_s(schedule, self._topology, self._nbytes, self._conditions.slow_ranks)
        return link_s if link_s > best_s else None

    def _simulate(self, schedule: Schedule) -> float:
        timeline = simulate(
            schedule,
            self._topology,
            self._nbytes,
            conditions=self._conditions,
            network=self._network,
            unchecked=True,  # ours are tested, the others checked
            codecs=self._codecs,
        )
        return float(timeline.seconds) + self._beside_s(schedule)

    def _beside_s(self, schedule: Schedule) -> float:
        """Return what a schedule takes beside what the network explains."""
        crowding_s = 0.0 if self._crowding_s is None else self._crowding_s(schedule)
        return self._combining_s(schedule) + crowding_s

    def _as_good_as(self, seconds: float) -> float:
        """Return the longest time that counts as this one; the wait for a late rank is in both."""
        delay_s = max(self._conditions.late.values(), default=0.0)
        return seconds + (_SAME - 1) * max(0.0, seconds - delay_s)

    def _ranked(self, seen: Sequence[Alternative]) -> list[Alternative]:
        """Put candidates in order of their time, but first, of those as good as the fastest, the one with least to do.

        A message costs ranks time of which the network knows nothing.
        """
        ranked = sorted(seen, key=lambda a: (not a.is_comparable, a.seconds, a.name, a.variant))
        fastest = ranked[0]
        longest = self._as_good_as(fastest.seconds)
        equals = [
            other
            for other in ranked
            if other.is_comparable == fastest.is_comparable and other.seconds <= longest
        ]
        winner = min(equals, key=lambda a: a.transfer_count)
        return [winner, *(other for other in ranked if other is not winner)]

    def _combining_s(self, schedule: Schedule) -> float:
        """Return how long the rank that adds the most spends on it."""
        if math.isinf(self._combine_bandwidth):
            return 0.0
        transfers, weights = np.asarray(schedule.transfers), np.asarray(schedule.chunk_weights, np.float64)
        added = weights[transfers["chunk"]] * transfers["reduce"]
        most = np.bincount(transfers["dst"], added, minlength=1).max()
        return float(most / weights.sum()) * self._nbytes / self._combine_bandwidth


class _SparseRace(_Race):
    """Simulates candidates whose messages leave zeros out; no formula and no count of plain bytes speaks of these."""

    def __init__(
        self, topology: Topology, nbytes: int, conditions: Conditions, network: str, codecs: Speeds
    ) -> None:
        super().__init__(topology, nbytes, conditions, network, math.inf, None)
        self._codecs = self.codecs = codecs
        self.conditions = conditions

    def compare(
        self, kind: str, found: Sequence[Candidate], dense: Alternative
    ) -> tuple[CodedChoice, tuple[Alternative, ...], Candidate]:
        """Compare with the best whose messages are plain; return that, all candidates and the fastest of them."""
        alternatives, chosen = super().race(found)
        best = alternatives[0]
        bandwidth = min(link_bandwidth(self._topology), port_speed(self._topology, self.conditions).bandwidth)
        choice = CodedChoice(
            kind,
            self._topology.rank_count,
            self.conditions.density,
            self.codecs,
            bandwidth,
            dense.label,
            dense.seconds,
            best.label if best.simulated_s is not None else None,
            best.simulated_s,
        )
        return choice, alternatives, chosen

    def _is_predicted(self, candidate: Candidate) -> bool:
        return False

    def _too_long(self, schedule: Schedule, best_s: float) -> float | None:
        return None


def _given(schedule: Schedule) -> Schedule:
    return schedule


def _by_formula(candidate: Candidate) -> tuple[float, str, str]:
    return candidate.formula_s, candidate.name, candidate.variant


def _check(topology: Topology, nbytes: int, network: str, combine_bandwidth: float, crowding: float) -> None:
    if not isinstance(topology, Topology):
        raise ArgumentError(f"expected a Topology, found {type(topology).__name__}")
    try:
        size = operator.index(nbytes)
    except TypeError:
        raise ArgumentError(f"expected a whole number of bytes, found {nbytes!r}") from None
    if not 0 <= size <= _MOST_BYTES:
        raise ArgumentError(f"expected a buffer of 0 … {_MOST_BYTES} bytes, found {size}")
    if network not in TRANSFER_BUDGET:
        raise ArgumentError(f"expected the network 'fluid' or 'fifo', found '{network}'")
    if not combine_bandwidth > 0:
        raise ArgumentError(
            f"expected a combine_bandwidth above 0 bytes per second, found {combine_bandwidth}"
        )
    if not 0 <= crowding < math.inf:
        raise ArgumentError(f"expected a crowding of at least 0, found {crowding}")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _compared(other_s: float, winner_s: float) -> str:
    if other_s <= winner_s * _SAME:
        return "the same time"
    more = f", {other_s / winner_s - 1:.1%} more" if winner_s > 0 else ""
    return f"{format_seconds(other_s)}{more}"
