# SPDX-License-Identifier: Apache-2.0
"""The work of one plan, counted in small operations of the core, and the searches that share it.

Operations are counted, not seconds, so that the same call gives the same plan on every machine. One is about 3 ns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from hemiola._core import Budget, spend
from hemiola.errors import BudgetSpentError
from hemiola.planner.outcome import NothingMadeError, too_many
from hemiola.progress import ProgressBar

#: Operations of all searches of a plan with the usual effort: two seconds of one core at most.
WORK = 900_000_000
#: Operations of a transfer that Python makes or looks at with arrays, which the core does not count.
IN_ARRAYS = 50
#: The least operations of a transfer of trees, or of matched chunks: to find, to list, and to judge beside others.
IN_TREES, IN_CHUNKS = 150, 25
#: Of a transfer that is made by rule and estimated, that is made alone, and that is simulated. On a network of fluids
#: those that share links count for as many as they cost. Measured on the 200 settings: 340 schedules of more than 5,000
#: transfers, the median of each.
IN_RACE, IN_MAKING, IN_SIMULATION = 45, 12, {"fifo": 30, "fluid": 60}
#: Of a link on the way of a transfer whose schedule is not made, and of one that is looked at to find ways.
IN_LINK, IN_SEARCH = 5, 3
#: Of what is left, for all trials of a search together: cheap ones are repeated, and made although the last was no
#: faster.
CHEAP = 0.02
#: Shares of the budget that a search of a source may take, the first of its family and a later, larger one. Measured
#: on the 200 settings of benchmarks/plans.py: about what the largest search takes there whose schedule is worth it.
SHARES = {
    # Rounds over all ways. Larger ones hardly ever beat the published exchange in which the farthest go first, and
    # behind switches all but small ones do not.
    "all_to_all": (0.08, 0.08),
    "all_to_all_behind_switches": (0.012, 0.012),
    # All ways end at one rank. The first alone is far better than what is published; later ones gain 2 %.
    "gather": (1.0, 0.13),
    "scatter": (1.0, 0.13),
    # Many chunks fill a long way, and take about as long as few.
    "broadcast": (0.148, 0.25),
    "reduce": (0.148, 0.25),
    # More chunks a rank gain little on networks where one takes long.
    "all_reduce": (0.23, 0.07),
    "all_gather": (0.23, 0.07),
    "reduce_scatter": (0.23, 0.07),
    # The first number of pieces is the one that suits the buffer. From one root there are few trees.
    "forest": (0.054, 0.054),
    "forest_of_one_root": (0.031, 0.031),
    # The later one has as many chunks as the budget allows.
    "late_matched": (0.4, 0.8),
    "late_forest": (0.14, 0.14),
    # Made by rule.
    "late_stars": (0.025, 0.025),
    "late_hosts": (0.25, 0.25),
    "late_rails": (0.25, 0.25),
    "one_shot": (0.25, 0.25),
    # All that are simulated together, and as much again for the winner. One so small is simulated in any case.
    "simulated": (1 / 15, 1 / 15),
    "shown": (1 / 1500, 1 / 1500),
    # All that are made by rule and estimated.
    "raced": (0.35, 0.35),
    # Each one that is made by rule. The first of a mesh has the race to itself.
    "all_reduce_themis": (0.21, 0.21),
    "all_reduce_mesh_trees": (0.21, 0.05),
    # The first, and all later ones together.
    "through_hosts": (0.28, 0.15),
    "all_reduce_blueconnect": (0.02, 0.02),
    # Made and judged by its formula, or simulated.
    "through_all": (0.45, 0.08),
    "all_reduce_weighted_exchange": (0.45, 1 / 30),
    # Simulations of all forms of a schedule for sparse data, and schedules whose messages are counted.
    "suited": (0.1, 0.1),
    "on_cores": (1 / 180, 1 / 180),
    # A schedule that a communicator makes as a whole, not its own rank's part alone.
    "whole": (0.05, 0.05),
}

Made = TypeVar("Made")


class Searches:
    """The searches of one plan. Other work is not counted, since it may be remembered from an earlier plan; it is known
    beforehand, by the transfer.

    Parameters
    ----------
    effort : float > 0, times the usual work.
    bar : ProgressBar, optional; it shows the share of the work that is done.
    """

    def __init__(self, effort: float = 1.0, bar: ProgressBar | None = None) -> None:
        self.effort = effort
        self._work = effort * WORK
        self._spent, self._trials = 0, 1
        self._beside = 0.0  # operations of other work, as known beforehand
        self._bar = bar
        self._last: dict[str, tuple[float, float]] = {}  # size and operations of the last search of a family
        self._seconds: dict[str, float] = {}  # of the last schedule of a family
        self._is_done: dict[str, str] = {}  # families whose later ones are slower, with the first such one

    @property
    def left(self) -> float:
        """How many operations are left."""
        return max(0.0, self._work - self._spent)

    def share(self, source: str, *, later: bool = False) -> float:
        """Return how many operations a source may take, for its first schedule or for a later one."""
        return SHARES[source][later] * self._work

    def excess(self, source: str, transfers: float, each: float = IN_RACE, *, later: bool = False) -> str:
        """Say by how much so many transfers, of so many operations each, exceed a source's share; empty where not."""
        most = self.share(source, later=later) / each
        return "" if transfers <= most else too_many(transfers, "transfers", most)

    def run(
        self,
        label: str,
        size: float,
        search: Callable[[], Made],
        source: str,
        *,
        in_arrays: float = 0,
        at_least: float = 0,
        networks: int = 1,
        only_if_cheap: bool = False,
    ) -> Made:
        """Make something with its source's share of the budget, or with what is left of that.

        Parameters
        ----------
        label : str, as of a candidate. Searches whose labels differ in numbers alone are a family.
        size : float > 0, such as chunks. A search of a family is not begun if the one before took too much for each
            unit, or was slower than the one before it.
        search : makes it.
        source : str, a key of `SHARES`.
        in_arrays : float >= 0, transfers that Python makes itself.
        at_least : float >= 0, operations that the search is known to take.
        networks : int >= 1, that the share is for, as they are and as slow as they are now.
        only_if_cheap : bool, whether it may take no more than a cheap search.

        Raises
        ------
        NothingMadeError
            where that does not suffice; its text says why.
        """
        family = _family(label)
        first, later = SHARES[source]
        share = (later if _network_free(family) in self._last else first) / networks
        may = min(share * self._work, self.left)
        own_work = round(IN_ARRAYS * in_arrays)
        last_size, last_took = self._last.get(_network_free(family), (1.0, 0.0))
        least = max(last_took * size / last_size, own_work, at_least)
        if family in self._is_done and least > CHEAP * self.left:
            raise NothingMadeError(f"{self._is_done[family]} is no faster than the one before it")
        if only_if_cheap:
            may = min(may, CHEAP * self.left)
        if least >= may:
            raise NothingMadeError(too_many(least, "operations at least", may))
        own, self._trials = Budget(round(may)), 1
        took = may
        try:
            with self._shown(may), own:
                spend(own_work)
                made = search()
            took = own.spent / self._trials
        except BudgetSpentError as error:
            raise NothingMadeError(f"stopped after {own.spent:,} operations: {error}") from None
        finally:
            self._spent += own.spent
            self._last[_network_free(family)] = size, max(took, 1.0)
        return made

    @contextmanager
    def beside(self, operations: float) -> Iterator[None]:
        """Do other work of so many operations."""
        with self._shown(operations):
            yield
        self._beside += operations
        self._show()

    @contextmanager
    def _shown(self, operations: float) -> Iterator[None]:
        """Move the bar as the core gets on with work of so many operations."""
        if self._bar is None:
            yield
            return
        self._show()
        done = (self._spent + self._beside) / self._work
        with self._bar.part(max(0.0, min(operations / self._work, 1 - done))):
            yield

    def _show(self) -> None:
        if self._bar is not None:
            self._bar.at(min(1.0, (self._spent + self._beside) / self._work))

    def repeated(self, trials: int) -> None:
        """Note the number of trials of the running search: a larger search is expected to cost one of them."""
        self._trials = trials

    def room(self, label: str) -> float:
        """Return how large one more search of a family may be that takes all operations that are left.

        Chunks are looked at as sets, so that operations grow with their number and the length of a set: with a power
        between the first and the second. Infinite before any search of the family.
        """
        size, took = self._last.get(_network_free(_family(label)), (math.inf, 1.0))
        return float(size * (self.left / took) ** (2 / 3))

    def saw(self, label: str, seconds: float) -> None:
        """Note how long a schedule takes: with the usual effort a family ends where one is no faster than the last."""
        family = _family(label)
        if self.effort <= 1 and seconds >= self._seconds.get(family, math.inf):
            self._is_done[family] = label
        self._seconds[family] = seconds


def _family(label: str) -> str:
    return re.sub("[0-9]+", "", label)


def _network_free(family: str) -> str:
    """Return a family without its network: on links as slow as they are now searches take about as long."""
    return family.split(",")[0].rstrip(")")
