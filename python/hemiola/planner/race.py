# SPDX-License-Identifier: Apache-2.0
"""The race of the candidates: simulated until the budget is spent, then estimated, and ranked (docs/decisions/0021)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule, Topology, busiest_link_s, estimate_by_steps_s, estimate_exchange_s
from hemiola._core import hops as hops_from
from hemiola._core import simulate as simulate_in_core
from hemiola.algorithms import Candidate
from hemiola.algorithms.fewest_pieces import AS_GOOD, as_good_as, fewest_pieces
from hemiola.algorithms.task import given
from hemiola.arguments.names import Kind
from hemiola.codecs import Speeds
from hemiola.planner.budget import IN_LINK, IN_MAKING, IN_RACE, IN_SEARCH, IN_SIMULATION, Searches
from hemiola.planner.coded import CodedChoice
from hemiola.planner.distinct import distinct_messages
from hemiola.planner.outcome import SAME, Alternative, LeftOut, NothingMadeError, too_many
from hemiola.planner.question import Question
from hemiola.planner.sparse_rule import link_bandwidth
from hemiola.simulate import simulate
from hemiola.topology.port_speed import port_speed

#: Algorithms in which all ranks send to all: their transfers count for half the links on their ways, and half of one.
_BETWEEN_ALL = ("_direct", "_bruck", "_pairwise", "_exchange", "_far_first")
#: The exchange that can be estimated without its schedule, in a third of the time.
_DIRECT_EXCHANGE = "all_to_all_direct"
#: Larger candidates are simulated only if their busiest link leaves them a chance: against simulated ones, or so many
#: times an estimate, which can be low.
_ESTIMATED_TIMES = 2.0
#: Estimates of pipelines on rails are up to 18 % high. Around a late rank an estimate so near the first is simulated.
_NEAR_ESTIMATE = 1.1
#: Where no message leaves zeros out, encoding takes no time.
_NO_CODECS = (math.inf, math.inf, math.inf, 0.0, 0.0)


class Race:
    """Simulates candidates until the budget is spent, and keeps the schedule of the fastest."""

    def __init__(
        self,
        question: Question,
        network: str,
        combine_bandwidth: float = math.inf,
        crowding_s: Callable[[Schedule], float] | None = None,
    ) -> None:
        task = question.task
        self._topology = question.topology
        self._nbytes = task.nbytes
        self._conditions = task.conditions
        self._slow = task.conditions.slow_ranks
        self._network = network
        self._combine_bandwidth = combine_bandwidth
        self._crowding_s = crowding_s
        self._shared_message_s = task.shared_message_s
        self._searches = question.searches
        self._in_simulation = IN_SIMULATION[network]
        self._budget = self._searches.share(question.simulating) / self._in_simulation  #: in transfers
        #: The lower bound, where formulas know too little of the network to decide anything.
        self._least_s = question.bound_s if "uneven" in question.traits else None
        self._has_spared = False
        raced = self._searches.share("raced")
        self._may_make, self._most_followed = raced / IN_RACE, raced / IN_LINK
        self._most_searched = raced / IN_SEARCH
        self._shown = self._searches.share("shown") / self._in_simulation
        self._messages_cost = "dear messages" in question.traits
        self._has_sizes = task.sizes is not None
        self._is_any_known = False  #: simulated or estimated
        self._for_the_first = self._budget  #: after the race, where an estimate has won it
        self._cost: dict[tuple[str, str], float] = {}  #: of simulating estimated candidates
        self._best_estimated: tuple[Alternative, Schedule] | None = None
        self.left_out: list[LeftOut] = []  #: of which nothing is known but a formula that knows too little

    def race(self, found: Sequence[Candidate]) -> tuple[tuple[Alternative, ...], Candidate]:
        """Return every candidate with its times, the winner first, and the winner, made already if it was simulated."""
        predicted = [candidate for candidate in found if self._is_predicted(candidate)]
        best = min(map(_by_formula, predicted), default=None)
        # A small schedule's simulated time says nothing against a large one's formula. So either the first by formula
        # is simulated too, or none is, unless that formula is as good as a simulation.
        ways = self._topology.rank_count * self._topology.link_count
        small = ways * IN_SEARCH <= self._searches.share("simulated")
        simulating = (
            small if predicted else self._least_s is not None or found[0].transfer_count <= self._budget
        )
        made: dict[tuple[str, str], tuple[float, Schedule]] = {}
        seen = []
        nearest = math.inf, ""  # of simulated candidates; a formula spares none that has fewer pieces
        self._best_estimated = None
        for candidate in found:
            is_predicted = self._is_predicted(candidate)
            if simulating and self._is_large_exchange(candidate):
                seen.append(self._without_schedule(candidate))
                continue
            if self._is_spared(candidate, nearest[0]):
                reason = f"{nearest[1]} comes near enough to the bound"
                self.left_out.append(LeftOut(candidate.label, reason))
                self._has_spared = True
                continue
            try:
                schedule = self._generate(candidate) if simulating and not is_predicted else None
            except NothingMadeError as error:
                self.left_out.append(LeftOut(candidate.label, str(error)))
                continue
            judged = self._judge(candidate, schedule, None if best is None else best[0])
            seen.append(replace(judged, is_predicted=is_predicted))
            if schedule is not None:
                self._searches.saw(judged.label, judged.seconds)
            self._is_any_known |= judged.simulated_s is not None or judged.estimated_s is not None
            self._keep_if_best_estimated(judged, schedule)
            if schedule is None or judged.simulated_s is None:
                continue
            nearest = min(nearest, (judged.simulated_s, candidate.label))
            standing = (judged.simulated_s, candidate.name, candidate.variant)
            made[standing[1:]] = judged.simulated_s, schedule
            best = standing if best is None else min(best, standing)
            longest_s = as_good_as(best[0], delay_s=self._delay_s)
            made = {key: one for key, one in made.items() if one[0] <= longest_s}
        ranked = self._ranked(seen)
        while (schedule := self._made_to_be_sure(unsure := self._unsure(ranked), found)) is not None:
            seconds = self._simulate(schedule)
            made[unsure.name, unsure.variant] = seconds, schedule
            known = replace(unsure, simulated_s=seconds, estimated_s=None)
            ranked = self._ranked([known if one is unsure else one for one in ranked])
        winner = ranked[0]
        chosen = next(one for one in found if (one.name, one.variant) == (winner.name, winner.variant))
        if (winner.name, winner.variant) in made:
            chosen = replace(chosen, generate=partial(given, made[winner.name, winner.variant][1]))
        elif (kept := self._kept(winner)) is not None:
            chosen = replace(chosen, generate=partial(given, kept))
        return tuple(ranked), chosen

    def _to_beat(self, best_s: float | None, times: float) -> float | None:
        """Return the least of what was simulated, and so many times what was estimated."""
        known = [] if best_s is None else [best_s]
        if self._best_estimated is not None:
            known.append(times * (self._best_estimated[0].estimated_s or math.inf))
        return min(known, default=None)

    def _keep_if_best_estimated(self, judged: Alternative, schedule: Schedule | None) -> None:
        """Keep the schedule of the lowest estimate so far, so that a winner that is not simulated is not made twice."""
        if schedule is None or judged.estimated_s is None:
            return
        if self._best_estimated is None or judged.estimated_s < (self._best_estimated[0].estimated_s or 0.0):
            self._best_estimated = judged, schedule

    def _kept(self, alternative: Alternative) -> Schedule | None:
        """Return the schedule of one that was estimated, if that is the one that was kept."""
        if self._best_estimated is None:
            return None
        judged, schedule = self._best_estimated
        return schedule if (judged.name, judged.variant) == (alternative.name, alternative.variant) else None

    def _unsure(self, ranked: Sequence[Alternative]) -> Alternative:
        """Return the first, or around a late rank an estimate that comes near it."""
        after_s = ranked[0].seconds - self._delay_s
        near = [one for one in ranked if one.seconds - self._delay_s <= _NEAR_ESTIMATE * after_s]
        is_late = self._delay_s > 0
        return next((one for one in near if is_late and one.estimated_s is not None), ranked[0])

    def _made_to_be_sure(self, first: Alternative, found: Sequence[Candidate]) -> Schedule | None:
        """Make what an estimate puts first, or near it, again, if what is set aside for that allows for simulating it.

        Estimates can be low, so that what is first may come to be another."""
        key = (first.name, first.variant)
        if first.estimated_s is None or self._cost[key] > self._for_the_first:
            return None
        self._for_the_first -= self._cost[key]
        if (kept := self._kept(first)) is not None:
            return kept
        return next(one for one in found if (one.name, one.variant) == key).generate()

    def _is_spared(self, candidate: Candidate, best_s: float) -> bool:
        """Say whether it takes long to make and the best is as good as the bound, nearer to it the more effort."""
        as_good = 1 + (AS_GOOD - 1) / max(self._searches.effort, 1.0)
        return candidate.is_searched and best_s <= as_good_as(
            candidate.formula_s, delay_s=self._delay_s, as_good=as_good
        )

    def _is_predicted(self, candidate: Candidate) -> bool:
        """Say whether a candidate's formula is what the simulation would find."""
        is_plain = math.isinf(self._combine_bandwidth) and self._crowding_s is None
        is_plain = is_plain and self._shared_message_s == 0
        return candidate.is_simulation and self._network == "fluid" and is_plain

    def _judge(self, candidate: Candidate, schedule: Schedule | None, best_s: float | None) -> Alternative:
        """Simulate a candidate's schedule, unless its busiest link alone says that it is slower than the best."""
        to_beat_s = self._to_beat(best_s, _ESTIMATED_TIMES)
        link_s = None if schedule is None or to_beat_s is None else self._too_long(schedule, to_beat_s)
        simulated_s = estimated_s = None
        if schedule is not None and link_s is None:
            least_s = self._to_beat(best_s, 1.0)
            estimated_s = self._estimate_if_too_large(candidate, schedule, least_s)
            simulated_s = self._simulate(schedule) if estimated_s is None else None
        return Alternative(
            candidate.name,
            candidate.variant,
            max(candidate.formula_s, self._least_s or 0.0),
            simulated_s,
            candidate.transfer_count if schedule is None else schedule.transfer_count,
            link_s,
            estimated_s=estimated_s,
        )

    def _estimate_if_too_large(
        self, candidate: Candidate, schedule: Schedule, best_s: float | None
    ) -> float | None:
        """Return about what it takes, where simulating it costs more than is left for that, or is of no use beside the
        best; else take it from that.

        On a network of fluids flows that share links cost many times what they cost alone.
        """
        if self._least_s is None:
            return None
        estimated_s, work = estimate_by_steps_s(
            schedule, self._topology, self._nbytes, self._conditions.late, self._slow
        )
        cost = work if self._network == "fluid" else schedule.transfer_count
        # The slower it is than the best by its estimate, which can be high, the less it may cost.
        hopeless = estimated_s / best_s if best_s and schedule.transfer_count > self._shown else 1.0
        if cost * max(1.0, hopeless) > self._budget:
            self._cost[candidate.name, candidate.variant] = cost
            return max(estimated_s + self._beside_s(schedule), self._least_s)
        self._budget -= cost
        return None

    def _is_large_exchange(self, candidate: Candidate) -> bool:
        """Say whether it is a published all-to-all whose ways take longer to make than simulations may take.

        Only where nothing but its links decides: crowding tells more of a schedule, and where messages have a cost,
        fewer of them may be worth more bytes. Nor where blocks differ, of which an estimate without a schedule knows
        nothing."""
        is_published = self._least_s is not None and candidate.name.startswith("all_to_all_")
        messages_cost = self._messages_cost or self._shared_message_s > 0
        if not is_published or self._crowding_s is not None or messages_cost or self._has_sizes:
            return False
        return self._hops(candidate.transfer_count) * IN_MAKING > self._searches.share("simulated")

    def _hops(self, transfer_count: int) -> float:
        """Return about how many links there are on the ways of so many transfers between any ranks."""
        return transfer_count * _mean_hops(self._topology)

    def _without_schedule(self, candidate: Candidate) -> Alternative:
        """Estimate a direct exchange from the links that it uses; leave the others out."""
        judged = self._judge(candidate, None, None)
        hops = self._hops(candidate.transfer_count)
        is_direct = candidate.name == _DIRECT_EXCHANGE
        if is_direct and hops <= self._most_followed:
            estimated_s, work = estimate_exchange_s(
                self._topology, self._nbytes, self._conditions.late, self._slow
            )
            self._cost[candidate.name, candidate.variant] = work
            return replace(judged, estimated_s=max(estimated_s, self._least_s or 0.0))
        reason = too_many(hops, "links on the ways of its transfers", self._most_followed)
        if not is_direct:
            reason = f"{_DIRECT_EXCHANGE} is estimated, whose links carry no more"
        self.left_out.append(LeftOut(candidate.label, reason))
        return judged

    def _generate(self, candidate: Candidate) -> Schedule | None:
        """Make the schedule if the budget allows for simulating it, or for estimating it where that says something."""
        if self._least_s is None:
            if candidate.transfer_count > self._budget:
                return None
            self._budget -= candidate.transfer_count
        elif (making := self._making(candidate)) > self._may_make and not candidate.is_searched:
            reason = too_many(making, "transfers to make and estimate", self._may_make)
            self.left_out.append(LeftOut(candidate.label, reason))
            return None
        elif not candidate.is_searched:
            self._may_make -= making
        with self._searches.beside(0 if candidate.is_searched else IN_RACE * candidate.transfer_count):
            schedule = candidate.generate()
        if self._least_s is not None and (reason := self._goes_far(schedule)):
            self._may_make += self._making(candidate)
            self.left_out.append(LeftOut(candidate.label, reason))
            return None
        return schedule

    def _making(self, candidate: Candidate) -> float:
        """Return what making and estimating a candidate costs, in transfers between neighbours."""
        if not any(word in candidate.name for word in _BETWEEN_ALL):
            return candidate.transfer_count
        return (candidate.transfer_count + self._hops(candidate.transfer_count)) / 2

    def _goes_far(self, schedule: Schedule) -> str:
        """Say why it takes too long to follow its transfers; those between neighbours are a link long."""
        pairs, links = np.asarray(schedule.pairs), self._topology.link_count
        is_local = len(pairs) <= 2 * links
        if not is_local and (hops := self._hops(schedule.transfer_count)) > self._most_followed:
            return too_many(hops, "links on the ways of its transfers", self._most_followed)
        searched = int(np.count_nonzero(np.bincount(pairs[:, 0], minlength=1))) * links
        if self._is_any_known and searched > self._most_searched and not self._is_between_neighbours(pairs):
            return too_many(searched, "ranks that send times links", self._most_searched)
        return ""

    def _is_between_neighbours(self, pairs: NDArray[np.int32]) -> bool:
        links = np.asarray(self._topology.links)
        count = self._topology.rank_count + self._topology.switch_count
        joined = links["src"].astype(np.int64) * count + links["dst"]
        return bool(np.isin(pairs[:, 0].astype(np.int64) * count + pairs[:, 1], joined).all())

    def _too_long(self, schedule: Schedule, best_s: float) -> float | None:
        """Return what the busiest link takes if that is longer than the best so far, unless the schedule is small.

        Flows that crowd a few links are what takes the simulator long, and what makes a schedule slow.
        """
        if schedule.transfer_count <= self._shown:
            return None
        link_s = busiest_link_s(schedule, self._topology, self._nbytes, self._slow)
        return link_s if link_s > best_s else None

    def _simulate(self, schedule: Schedule) -> float:
        with self._searches.beside(self._in_simulation * schedule.transfer_count):
            return self._simulated_s(schedule) + self._beside_s(schedule)

    def _simulated_s(self, schedule: Schedule) -> float:
        """Simulate it as it is: ours are tested, the others checked."""
        timeline = simulate_in_core(
            schedule,
            self._topology,
            self._nbytes,
            late=dict(self._conditions.late),
            slow=self._slow,
            density=1.0,
            codecs=_NO_CODECS,
            network=self._network,
            noise=0.0,
            seed=0,
            keep_spans=False,
            progress=None,
        )
        return timeline.seconds

    def _beside_s(self, schedule: Schedule) -> float:
        """Return what a schedule takes beside what the network explains."""
        crowding_s = 0.0 if self._crowding_s is None else self._crowding_s(schedule)
        return self._combining_s(schedule) + crowding_s + self._messages_s(schedule)

    def _messages_s(self, schedule: Schedule) -> float:
        """Return what all messages together cost all ranks."""
        if self._shared_message_s == 0:
            return 0.0
        return self._shared_message_s * len(distinct_messages(schedule))

    @property
    def _delay_s(self) -> float:
        return max(self._conditions.late.values(), default=0.0)

    def _ranked(self, seen: Sequence[Alternative]) -> list[Alternative]:
        """Put candidates in order of their time, but first, of those that take the same as the fastest, the one with
        least to do, or the same in fewer pieces. Where others were not made because one was as good as the bound, a
        formula takes the lead by more than that.

        A message costs ranks time of which the network knows nothing.
        """
        ranked = sorted(seen, key=lambda a: (not a.is_comparable, a.seconds, a.name, a.variant))
        fastest = ranked[0]
        alike = [other for other in ranked if other.is_comparable == fastest.is_comparable]
        same = AS_GOOD if self._has_spared and fastest.is_predicted else SAME
        equal = self._with_least_to_do(alike, same) or fastest
        winner = (
            self._with_least_to_do([other for other in alike if other.name == equal.name], AS_GOOD) or equal
        )
        return [winner, *(other for other in ranked if other is not winner)]

    def _with_least_to_do(self, among: Sequence[Alternative], as_good: float) -> Alternative | None:
        return fewest_pieces(
            among,
            lambda one: one.seconds,
            lambda one: one.transfer_count,
            delay_s=self._delay_s,
            as_good=as_good,
        )

    def _combining_s(self, schedule: Schedule) -> float:
        """Return how long the rank that adds the most spends on it."""
        if math.isinf(self._combine_bandwidth):
            return 0.0
        transfers, weights = np.asarray(schedule.transfers), np.asarray(schedule.chunk_weights, np.float64)
        added = weights[transfers["chunk"]] * transfers["reduce"]
        most = np.bincount(transfers["dst"], added, minlength=1).max()
        return float(most / weights.sum()) * self._nbytes / self._combine_bandwidth


class SparseRace(Race):
    """Simulates candidates whose messages leave zeros out; no formula and no count of plain bytes speaks of these."""

    def __init__(self, question: Question, density: float, network: str, codecs: Speeds) -> None:
        super().__init__(replace(question, searches=Searches(), traits=frozenset()), network)
        self.codecs = codecs
        self._conditions = self.conditions = replace(question.task.conditions, density=density)

    def compare(
        self, kind: Kind, found: Sequence[Candidate], dense: Alternative
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

    def _simulated_s(self, schedule: Schedule) -> float:
        timeline = simulate(
            schedule,
            self._topology,
            self._nbytes,
            conditions=self._conditions,
            network=self._network,
            unchecked=True,
            codecs=self.codecs,
        )
        return timeline.seconds

    def _is_spared(self, candidate: Candidate, best_s: float) -> bool:
        return False

    def _is_predicted(self, candidate: Candidate) -> bool:
        return False

    def _too_long(self, schedule: Schedule, best_s: float) -> float | None:
        return None


@lru_cache(maxsize=4)
def _mean_hops(topology: Topology) -> float:
    """Return how many links lie between two ranks on average, as seen from three of them."""
    ranks = topology.rank_count
    starts = sorted({0, ranks // 3, ranks // 2})
    far = [np.asarray(hops_from(topology, start))[:ranks].sum() for start in starts]
    return float(sum(far)) / len(starts) / max(1, ranks - 1)


def _by_formula(candidate: Candidate) -> tuple[float, str, str]:
    return candidate.formula_s, candidate.name, candidate.variant
