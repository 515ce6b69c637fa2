# SPDX-License-Identifier: Apache-2.0
"""Steps that all ranks of a training make, or none; and how its ranks come to the next members.

0061 in docs/decisions says why a vote ends each step. A training says what a step computes, and what its state is."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

import numpy as np
from torch import distributed as dist

from hemiola.communicator import Communicator
from hemiola.communicator.membership import FOUNDED
from hemiola.errors import ArgumentError, LostRankError, MinorityError, TimeoutError
from hemiola.torch.group import NO_STORE
from hemiola.torch.open_groups import OPEN
from hemiola.torch.options import OfCommunicator

V = TypeVar("V")

#: How long ranks that have made all steps wait for others that may need them.
_PATIENCE_S = 10.0
#: Between looks for newcomers, while ranks are too few.
_PAUSE_S = 0.02
#: Whether this process has had a training's state before: it is no newcomer to the next.
_pasts: list[bool] = []


class StateIsLostError(LostRankError):
    """All ranks that had the state, or a part of it, are lost."""


#: Errors that no further agreement mends.
_FINAL = (MinorityError, StateIsLostError)


class Past(NamedTuple):
    """What ranks tell each other when they come together.

    Attributes
    ----------
    step : int, steps that have been made; -1 of a newcomer.
    is_complete : bool, whether all ranks had the gradients of the next one when this one voted.
    held : int, the part of the state that this rank has as of that step; -1 for none.
    computes : bool, whether it has gradients of its own.
    """

    step: int
    is_complete: bool
    held: int
    computes: bool

    def held_at(self, step: int) -> int:
        """Return the part of the state as of a step that this rank has once it has applied its gradients; -1 for
        none."""
        can_apply = self.is_complete and self.computes and self.step == step - 1
        return self.held if self.step == step or can_apply else -1


class Steps(ABC):
    """The part of a training that makes steps."""

    #: Which part of the state this rank has as of its step.
    _held = 0
    #: Whether this rank has, or had, gradients of its own in the present step.
    _computes = False
    #: Whether ranks are too few for a step, until newcomers are in.
    _waits = False

    def __init__(self, comm: Communicator, on_change: Callable[[int], object] | None) -> None:
        if dist.is_initialized():
            raise ArgumentError("Training: expected no default process group, found one; it makes its own")
        self._comm, self._on_change = comm, on_change
        self._is_complete = self._leaves = self.has_left = False
        self.step = 0 if comm._lineage == FOUNDED or _pasts else -1
        self.model: Any = None

    @property
    def rank_count(self) -> int:
        """The number of the job's ranks, also of those that wait."""
        return self._comm.rank_count

    def leave(self) -> None:
        """Say, from any thread or signal handler, that this rank leaves after its next step."""
        self._leaves = True

    def steps(self, gradients: Callable[[Any, int], V], *, until: int) -> Iterator[tuple[int, V]]:
        """Make steps until there are so many, and yield each one's number and what `gradients` returned.

        Parameters
        ----------
        gradients : function of the model and the step's number, which leaves gradients in the parameters: forward and
            backward. All collectives belong in here. It is called again for the same step where a rank was lost
            meanwhile, perhaps with other ranks: the data of a step follow from its number, and this rank's share of
            them from `torch.distributed.get_rank` and `get_world_size`.
        until : int, the same on all ranks; they stop together.

        Yields
        ------
        (int, what `gradients` returned), once the parameters have changed. The body of the loop has no collectives.

        Raises
        ------
        LostRankError
            where all ranks that had the state are lost. MinorityError: as of `Communicator.grow`.
        TimeoutError
            naming a rank that lives and does not come.
        """
        while True:
            made, value = self.step, None
            try:
                if self.step >= until:
                    self._vote()  # all have made all steps
                    made = -1
                    self._vote()  # all know so
                    return
                if self._leaves:
                    self._comm.leave()  # with the operations of this step
                self._computes = self.model is not None
                if self._computes:
                    value = self._compute(gradients)
                self._is_complete = not self._waits
                self._vote()
                if self._is_complete:
                    self._apply()
                else:
                    time.sleep(_PAUSE_S)
            except (RuntimeError, TimeoutError) as error:
                if not _is_over(error):
                    raise
                is_lost = True
            else:
                is_lost = False
            if is_lost:
                self._end_groups()
            if is_lost and not self._regroup(_PATIENCE_S if made < 0 else None):
                return
            if self._computes and 0 <= made < self.step:
                yield made, value  # type: ignore[misc]  # it was complete, or else no rank has applied it
            if not is_lost and self._comm.is_called and not self._regroup(None):
                return

    @abstractmethod
    def _compute(self, gradients: Callable[[Any, int], V]) -> V:
        """Compute gradients from the state as it was after the latest step that counts."""

    @abstractmethod
    def _undo(self) -> None:
        """Forget what a step that does not count has left."""

    @abstractmethod
    def _update(self) -> None:
        """Apply complete gradients, without collectives."""

    @abstractmethod
    def _arrange(self, held: list[int]) -> int:
        """Bring the state together, of which each rank has told the part that it holds (-1: none), and make the model
        for the present ranks. Return how many compute."""

    def _let_go(self) -> None:
        """Have the model of the ranks before go."""
        self.model = None

    def _vote(self) -> None:
        """Return once all ranks are here. They see the same `is_called` then."""
        self._comm.all_reduce(np.zeros(1, np.uint8), op="max")

    def _apply(self) -> None:
        if self._computes:
            self._update()
        else:
            self._held = -1  # it is that of a step before
        self.step += 1
        self._is_complete = False

    # ---- a change of the ranks ----

    def _start(self) -> None:
        """Come together with the other ranks, once all else is there."""
        self._begin(self._comm)
        try:
            self._settle()
        except _FINAL:
            raise
        except LostRankError:
            self._regroup(None)
        _pasts[:] = [True]

    def _regroup(self, limit_s: float | None) -> bool:
        """Come to the next ranks, with one state; False where this rank leaves, or the others have ended."""
        while True:
            try:
                following = self._comm.grow(limit_s)
                if following is None:
                    self._undo()
                    self.has_left = True
                    return False
                if following is not self._comm:
                    self._begin(following)
                    self._settle()
                return True
            except _FINAL:
                raise
            except LostRankError:
                continue  # the others agree again
            except TimeoutError:
                if limit_s is None:
                    raise
                return False

    def _end_groups(self) -> None:
        """End groups of some of the ranks: others may wait in them for this one, which waits for them elsewhere."""
        for group in list(OPEN):
            if group._comm is not self._comm:
                group.abort()

    def _begin(self, comm: Communicator) -> None:
        """Leave the ranks before for those of a communicator."""
        self._let_go()
        if dist.is_initialized():
            dist.destroy_process_group()
        self._comm = comm

    def _make_default_group(self, comm: Communicator) -> None:
        """Make the default process group of a communicator's ranks."""
        dist.init_process_group(
            "hemiola",
            store=NO_STORE,
            rank=comm.rank,
            world_size=comm.rank_count,
            timeout=timedelta(seconds=comm._limit_s),
            pg_options=OfCommunicator(communicator=comm),
        )

    def _settle(self) -> None:
        """Bring all ranks to one step and one state, and make the model for them."""
        own = Past(self.step, self._is_complete, self._held, self._computes)
        every = np.empty((self._comm.rank_count, len(own)), np.int64)
        self._comm.all_gather(np.array(own, np.int64), out=every)
        pasts = [
            Past(int(step), bool(complete), int(held), bool(computes))
            for step, complete, held, computes in every
        ]
        agreed = max(past.step for past in pasts)
        if agreed < 0:
            raise StateIsLostError(
                "Training: expected a rank with the state of the job, found newcomers alone: all others are lost; "
                "begin again from a checkpoint"
            )
        if self._is_complete and self.step == agreed - 1:
            self._apply()  # another rank has: all had voted
        self._is_complete = False
        self._undo()
        computing = self._arrange([past.held_at(agreed) for past in pasts])
        self.step = agreed
        if self._on_change is not None:
            self._on_change(computing)


def _is_over(error: Exception) -> bool:
    """Say whether a communicator has ended by it; the backward pass turns its error into one of PyTorch's."""
    if isinstance(error, _FINAL):
        return False
    return isinstance(error, LostRankError) or not all(group._comm._core.is_whole for group in OPEN)
