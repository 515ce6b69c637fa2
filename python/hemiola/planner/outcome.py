# SPDX-License-Identifier: Apache-2.0
"""A plan: the candidates as the planner saw them, the one that it chose, and the sentences that explain why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from html import escape

from hemiola._core import Schedule, ScheduleParts, Topology
from hemiola.algorithms import Candidate
from hemiola.algorithms.block_sizes import BlockSizes
from hemiola.arguments.names import Kind
from hemiola.bounds import LowerBound
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.planner.coded import CodedChoice
from hemiola.planner.named_route import named_route
from hemiola.planner.offer import Offer
from hemiola.topology.port_speed import PortSpeed
from hemiola.units import format_bandwidth, format_bytes, format_seconds

#: Why a buffer without bytes takes no time, although links have latencies.
NOTHING_MOVES = "A buffer without bytes moves nothing: no message is sent, so that no latency counts."

#: Two times closer than this are called the same (simulated times are whole picoseconds, bounds are not).
SAME = 1.0005


def nothing_runs(kind: Kind, rank_count: int) -> ArgumentError:
    """Return the error for a task without a candidate."""
    return ArgumentError(
        f"no known algorithm runs {kind} on {rank_count} ranks; bring a schedule of your own"
    )


@dataclass(frozen=True)
class Alternative:
    """A candidate as the planner saw it, in seconds; `simulated_s` is None where it was not simulated.

    `variant` names the choice of arguments, such as "12 chunks"; it is empty where there was none. `busiest_link_s` is
    the time of its busiest link alone, where that rules it out: the winner is done before. `is_predicted` says that a
    simulation would find `formula_s`, too, so that none was run. `estimated_s` is the time that the busiest links of
    its steps need, one step after the other, where it was too large to simulate.
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
        """Whether `seconds` is a simulation's result, be it run or not."""
        return self.simulated_s is not None or self.is_predicted

    @property
    def seconds(self) -> float:
        """The best-founded of these times."""
        known = (self.simulated_s, self.busiest_link_s, self.estimated_s, self.formula_s)
        return next(seconds for seconds in known if seconds is not None)

    def after_launch(self, launch_s: float) -> Alternative:
        """Return the same where every rank launches the operation before it sends, for so many seconds.

        Parameters
        ----------
        launch_s : float >= 0, in seconds.

        Returns
        -------
        Alternative

        Raises
        ------
        ArgumentError
            The launch takes less than no time, or no finite time.
        """
        times = ("formula_s", "simulated_s", "busiest_link_s", "estimated_s")
        known = {name: seconds for name in times if (seconds := getattr(self, name)) is not None}
        return replace(self, **{name: seconds + launch_s for name, seconds in known.items()})

    @property
    def label(self) -> str:
        """Name and variant together, for tables."""
        return f"{self.name} ({self.variant})" if self.variant else self.name


@dataclass(frozen=True)
class LeftOut:
    """A schedule that a plan did not look at, and why: its time is unknown.

    `label` names it as `Alternative.label` does; `reason` gives its cost and the plan's limit.
    """

    label: str
    reason: str

    def __str__(self) -> str:
        return f"{self.label}: {self.reason}"


def too_many(count: float, what: str, most: float) -> str:
    """Return the reason of something left out that needs so many where a plan may take `most`."""
    return f"{count:,.0f} {what}, at most {most:,.0f}"


class NothingMadeError(Exception):
    """A candidate cannot be made, or comes out larger than a plan may take; its text says why."""


@dataclass(frozen=True, repr=False)
class Plan:
    """The chosen schedule with its predicted time, its lower bound, the alternatives, and why.

    `alternatives` holds every candidate, the winner first, the others by increasing time; those that were not simulated
    come last. `chosen` is the winner with its arguments; `seconds` is its time; see `is_simulated`. `coded` says where
    a density was given whether messages leave zeros out, and why; times are then those with zeros left out, or not,
    accordingly. `left_out` names the schedules that more effort would look at, with the reason for each. `is_on_cores`:
    ranks share cores, and times are the cores' for hops, messages and bytes; a simulation on `network` differs.
    `launch_s` is the part of every time that passes before a rank can send. `if_messages_cost` plans the same where
    each message costs 1 us, where messages are free; `find_in_switch` finds `in_switch`. `sizes` are those of an
    all-to-all whose blocks differ, of which `nbytes` is a rank's share on average. `topology` has the links that
    schedules were simulated on.
    """

    kind: Kind
    nbytes: int
    rank_count: int
    topology_name: str
    conditions: Conditions
    network: str
    bound: LowerBound
    speed: PortSpeed
    alternatives: tuple[Alternative, ...]
    chosen: Candidate = field(compare=False)
    coded: CodedChoice | None = None
    left_out: tuple[LeftOut, ...] = ()
    is_on_cores: bool = False
    launch_s: float = 0.0
    if_messages_cost: Callable[[], Plan | None] | None = field(default=None, compare=False)
    find_in_switch: Callable[[], Offer | None] | None = field(default=None, compare=False)
    sizes: BlockSizes | None = None
    topology: Topology | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return (
            f"<Plan {self.kind} of {format_bytes(self.nbytes)} over {_counted(self.rank_count, 'rank')}: "
            f"{self.alternatives[0].label}, {format_seconds(self.seconds)}>"
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(one.label)}</td><td>{format_seconds(one.seconds)}</td></tr>"
            for one in self.alternatives
        )
        told = f"{escape(repr(self))}; lower bound {format_seconds(self.bound_s)}"
        head = "<thead><tr><th>algorithm</th><th>time</th></tr></thead>"
        return f"<p>{told}</p><table>{head}<tbody>{rows}</tbody></table>"

    def __getstate__(self) -> dict[str, object]:
        """Keep the schedule where the core does not make it; leave out what `chosen` makes again."""
        kept = {one.name: self.__dict__[one.name] for one in fields(self)}
        if not self.chosen.is_compiled:
            kept["chosen"] = self.chosen.with_schedule(self.schedule)
        return kept

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
        """Whether `seconds` is a simulation's result, not a one-port formula's."""
        return self.alternatives[0].is_known

    @property
    def bound_s(self) -> float:
        """The time in seconds that no schedule that ranks run can beat under these conditions."""
        return float(self.bound.seconds)

    @cached_property
    def in_switch(self) -> Offer | None:
        """The collective in a switch of the topology, to be compared with: ranks cannot run it, so that it is never
        chosen. None where no switch can do it for all ranks."""
        return None if self.find_in_switch is None else self.find_in_switch()

    def explain(self) -> str:
        """Explain in sentences which candidates there were, why the winner won, and how far from the bound it is.

        Returns
        -------
        str, one paragraph.
        """
        coded = [] if self.coded is None else self.coded.explain()
        return " ".join(
            [
                self._what(),
                *self._conditions(),
                self._considered(),
                *self._why(),
                *self._route(),
                *coded,
                *self._launch(),
                self._distance(),
                *self._in_switch(),
                *self._free_messages(),
                *self._left_out(),
            ]
        )

    def _what(self) -> str:
        where = f" of '{self.topology_name}'" if self.topology_name else ""
        ranks = _counted(self.rank_count, "rank")
        size = format_bytes(self.nbytes) if self.sizes is None else self.sizes.in_words
        told = f"The task is {self.kind} of {size} over the {ranks}{where}."
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
        if self.is_on_cores:
            return (
                f"{_counted(count, 'candidate')} can run this; as the ranks share cores, their hops, messages and "
                "bytes were counted, at what these were measured to cost."
            )
        port = f"{format_seconds(self.speed.latency_s)} and {format_bandwidth(self.speed.bandwidth)} a port"
        predicted = sum(other.is_predicted for other in self.alternatives)
        if predicted:
            return (
                f"{_counted(count, 'candidate')} can run this; of {predicted} it is known from what one rank does how "
                f"long they take, {simulated} were simulated on the {self.network} network."
            )
        estimated = sum(other.estimated_s is not None for other in self.alternatives)
        if estimated:
            ruled_out = sum(other.busiest_link_s is not None for other in self.alternatives)
            told = [f"{simulated} were simulated on the {self.network} network"]
            if ruled_out:
                told.append(f"of {ruled_out} the busiest links alone take longer than the chosen one")
            told.append(
                f"{estimated} are too large for that and were estimated, step by step, from the links they use"
            )
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
            source = (
                "by its hops, messages and bytes" if self.is_on_cores else "by the links that its steps use"
            )
        told = [f"{winner.label} is chosen: {format_seconds(winner.seconds)} {source}."]
        comparable = [other for other in others if other.is_comparable == winner.is_comparable]
        if comparable:
            told.append(
                f"Next comes {comparable[0].label} with {_compared(comparable[0].seconds, winner.seconds)}."
            )
        return told

    def _launch(self) -> list[str]:
        if self.launch_s == 0:
            return []
        return [f"Of every time {format_seconds(self.launch_s)} pass before a rank can send."]

    def _in_switch(self) -> list[str]:
        if self.in_switch is None:
            return []
        offer = self.in_switch
        return [
            f"In the switch, {offer.schedule.name} would take {format_seconds(offer.seconds)}, beside a lower bound of "
            f"{format_seconds(offer.bound_s)}; ranks cannot run it, so that it is not chosen."
        ]

    def _free_messages(self) -> list[str]:
        """Say where the choice rests on messages that cost nothing."""
        if self.if_messages_cost is None:
            return []
        then, own = self.if_messages_cost(), self.alternatives[0].label
        if then is None or then.alternatives[0].label == own:
            return []
        first = then.alternatives[0]
        told = f"Messages are free on this topology; at 1 us each, {first.label} would be chosen, with "
        told += format_seconds(first.seconds)
        known = next((one for one in then.alternatives if one.label == own and one.is_comparable), None)
        return [told + (f" against {format_seconds(known.seconds)}." if known else ".")]

    def _route(self) -> list[str]:
        if self.topology is None or self.alternatives[0].simulated_s is None or self.nbytes == 0:
            return []  # the schedule may be too large to be made
        told = named_route(self.topology, self.schedule, self.nbytes)
        return [told] if told else []

    def _left_out(self) -> list[str]:
        if not self.left_out:
            return []
        named = "; ".join(f"{one.label} ({one.reason})" for one in self.left_out)
        return [f"Left out, with effort= to look at more: {named}."]

    def _distance(self) -> str:
        if self.bound_s <= 0:
            return "The lower bound is zero."
        ratio = self.seconds / self.bound_s
        if ratio < SAME:
            distance = ""
        elif ratio < 1.01:
            distance = f"{ratio - 1:.2%} above "
        else:
            distance = f"{ratio:.3g} times "
        bound = f"the lower bound of {format_seconds(self.bound_s)}"
        told = f"That is {distance}{bound}: {self.bound.witness.rstrip('.')}."
        return f"{told} The bound assumes: {self.bound.assumes}."


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _compared(other_s: float, winner_s: float) -> str:
    if other_s <= winner_s * SAME:
        return "the same time"
    more = f", {other_s / winner_s - 1:.1%} more" if winner_s > 0 else ""
    return f"{format_seconds(other_s)}{more}"
