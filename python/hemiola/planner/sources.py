# SPDX-License-Identifier: Apache-2.0
"""The sources of schedules that a plan may race: one row for each. A new source is a file of its own and a row here.

A row says for which tasks a source is asked. Its share of the budget is that of its name in `budget.SHARES`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from hemiola._core import Schedule
from hemiola.algorithms import Candidate
from hemiola.algorithms.block_sizes import BlockSizes
from hemiola.planner.around_late_rank import around_late_rank, beside_late_rank, matched_around_late_rank
from hemiola.planner.around_slow import near_grid_trees, near_pooled_nics
from hemiola.planner.balanced_exchange import balanced_exchange
from hemiola.planner.far_first import far_first
from hemiola.planner.in_segments import in_segments
from hemiola.planner.on_grid import multiplying, multiplying_by_factors, on_grid, swinging
from hemiola.planner.on_mesh import on_mesh
from hemiola.planner.one_hop import one_hop
from hemiola.planner.outcome import LeftOut
from hemiola.planner.question import Question
from hemiola.planner.stars_around_late_rank import stars_around_late_rank
from hemiola.planner.synthesized import one_shot, synthesized, synthesized_if_cheap
from hemiola.planner.through_hosts import through_hosts

Listed = Candidate | LeftOut


def registered(question: Question) -> Iterable[Listed]:
    """List the candidates of the registry."""
    return question.known


@dataclass(frozen=True)
class Source:
    """A source of schedules.

    Attributes
    ----------
    make : lists its schedules, made or to be made, and what is left out.
    kinds : the collectives that it is asked for; empty: for all of them.
    where : words of `traits_of`, all of which must hold.
    place : int, when its schedules race: those of the lowest place first. `_BY_FORMULA`: after those that know the
        topology, the cheapest by formula first.
    needs : the name of a flag of the question that must be set; empty: none.
    knows_sizes : bool, whether its schedules are made for blocks that differ; chunks of the others get sizes when they
        are made.
    is_spared : bool, whether it is not asked once another source is enough.
    """

    make: Callable[[Question], Iterable[Listed]]
    kinds: tuple[str, ...]
    where: tuple[str, ...]
    place: int
    needs: str = ""
    is_spared: bool = False
    knows_sizes: bool = False

    def concerns(self, question: Question) -> bool:
        """Say whether it is to be asked."""
        return (
            (not self.kinds or question.task.kind in self.kinds)
            and question.traits.issuperset(self.where)
            and (not self.needs or bool(getattr(question, self.needs)))
            and not (self.is_spared and question.is_enough)
        )


_BY_FORMULA = 6
_ALL_REDUCE, _OF_ONE_ROOT = ("all_reduce",), ("broadcast", "reduce")
#: In the order in which they are asked, since one may be enough, or say how many chunks another one tries. Those made
#: for the topology race first: hundreds of slices of a published one would leave them nothing to be made with. Parts on
#: grids race late, since the largest would leave the others nothing to be simulated with; cheap searches race last.
SOURCES = (
    Source(registered, (), (), _BY_FORMULA),
    Source(through_hosts, _OF_ONE_ROOT, ("uneven", "hosts"), 4, needs="messages_are_told"),
    Source(around_late_rank, _ALL_REDUCE, ("one late", "several ways"), 5),
    Source(
        stars_around_late_rank, _ALL_REDUCE, ("one late", "switch"), _BY_FORMULA, needs="messages_are_told"
    ),
    Source(
        matched_around_late_rank, _ALL_REDUCE, ("one late", "switch"), _BY_FORMULA, needs="messages_are_told"
    ),
    Source(on_mesh, _ALL_REDUCE, ("mesh",), 2, is_spared=True),
    Source(near_grid_trees, _ALL_REDUCE, ("slow", "several ways"), _BY_FORMULA),
    Source(near_pooled_nics, _ALL_REDUCE, ("hosts", "uneven"), _BY_FORMULA),
    Source(synthesized, (), ("several ways",), 0, is_spared=True),
    Source(one_shot, _ALL_REDUCE, ("uneven",), 1),
    Source(multiplying, _ALL_REDUCE, ("uneven",), 1),
    Source(swinging, _ALL_REDUCE, ("several ways", "uneven"), 1),
    Source(multiplying_by_factors, _ALL_REDUCE, ("uneven",), 8),
    Source(on_grid, _ALL_REDUCE, ("grid",), 9, is_spared=True),
    Source(one_hop, (*_ALL_REDUCE, *_OF_ONE_ROOT), ("one hop",), _BY_FORMULA),
    Source(synthesized_if_cheap, (), ("several ways",), 10, is_spared=True),
    Source(far_first, ("all_to_all",), ("uneven",), 3),
    Source(balanced_exchange, ("all_to_all",), ("uneven", "hosts"), 0, knows_sizes=True),
    Source(in_segments, _ALL_REDUCE, ("switch", "one slow"), _BY_FORMULA, needs="may_be_short"),
)


def found(question: Question) -> tuple[list[Candidate], list[LeftOut]]:
    """List what may race, in that order, and what is too large to be made for it."""
    listed = _listed(question)
    for times, facts in enumerate(question.levelled, 1):
        there = {name: getattr(facts, name) for name in ("task", "topology", "known", "traits")}
        listed += [(source, _of_levelled(one, times)) for source, one in _listed(replace(question, **there))]
    if (sizes := question.task.sizes) is not None:
        listed = [
            (source, one if isinstance(one, LeftOut) or source.knows_sizes else _of_blocks(one, sizes))
            for source, one in listed
        ]
    left_out = [one for _, one in listed if isinstance(one, LeftOut)]
    racing = sorted(_in_places(listed), key=lambda each: each[0])
    others = [one for _, source, one in racing if source.make is not around_late_rank]
    around = [one for _, source, one in racing if source.make is around_late_rank]
    if not question.is_around_enough:
        return [one for _, _, one in racing], left_out
    kept, too_large = beside_late_rank(around, others)
    return [*around, *kept], [*left_out, *too_large]


def _listed(question: Question) -> list[tuple[Source, Listed]]:
    return [(source, one) for source in SOURCES if source.concerns(question) for one in source.make(question)]


def _of_levelled(one: Listed, times: int) -> Listed:
    """Return the same with its network named; only a simulation says what it takes on the real one."""
    note = "of levelled links" if times == 1 else f"of links levelled {times} times"
    if isinstance(one, LeftOut):
        return replace(one, label=f"{one.label} {note}")
    return replace(one, variant=f"{one.variant}, {note}" if one.variant else note, is_simulation=False)


def _of_blocks(candidate: Candidate, sizes: BlockSizes) -> Candidate:
    """Return the same for blocks that differ: chunks get sizes when they are made, of which no formula knows."""
    made = partial(_made_of_blocks, candidate.generate, sizes)
    return replace(candidate, generate=made, parts=None, is_simulation=False)


def _made_of_blocks(generate: Callable[[], Schedule], sizes: BlockSizes) -> Schedule:
    return sizes.given_to(generate())


def _in_places(
    listed: Iterable[tuple[Source, Listed]],
) -> Iterator[tuple[tuple[float | str, ...], Source, Candidate]]:
    for source, one in listed:
        if isinstance(one, LeftOut):
            continue
        if source.place == _BY_FORMULA and not one.knows_topology:
            yield (source.place + 1, one.formula_s, one.name, one.variant), source, one
        else:
            yield (source.place,), source, one
