# SPDX-License-Identifier: Apache-2.0
"""A training with PyTorch whose ranks come, leave and die while it runs, and none of the others restarts.

docs/how-to/elastic-training.md shows its use; 0061 in docs/decisions says why a step is made by all or by none."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch._dynamo  # DDP imports it when first made, which takes a second: not while others wait
from torch.nn.parallel import DistributedDataParallel

from hemiola.communicator import Communicator
from hemiola.errors import ArgumentError
from hemiola.torch.elastic_group import next_group
from hemiola.torch.elastic_state import State
from hemiola.torch.elastic_steps import Steps, V

__all__ = ["Training", "next_group"]


class Training(Steps):
    """A training that survives its ranks: it owns the default process group, makes steps, and heals the state.

    Parameters
    ----------
    comm : Communicator of all ranks of the job: of `hemiola.init`, `Communicator.join`, or, in a newcomer,
        `hemiola.join`.
    module : torch.nn.Module, not wrapped; all ranks make the same.
    optimizer : torch.optim.Optimizer of the module's parameters.
    scheduler : object with `step`, `state_dict` and `load_state_dict`, optional: of the learning rate.
    state : mapping of str to objects with `state_dict` and `load_state_dict`, optional: what else is the same on all
        ranks. Newcomers get it, too.
    hook : PrunedGradients or QuantizedGradients, optional, the communication hook of DDP.
    wrap : function of the module that returns the model, optional, called after each change of the ranks; None: DDP.
    update : function without arguments, optional, that applies the gradients, without collectives; None: a step of the
        optimizer, then of the scheduler.
    on_change : function of the number of ranks, optional, called on every rank before its first step and after each
        change. Batch size and learning rate are its business.

    Attributes
    ----------
    model : what `wrap` returned last, for the present ranks.
    step : int, steps that have been made, by all ranks together.
    has_left : bool, whether this rank has left, by `leave`.

    Raises
    ------
    ArgumentError
        for a group, for a process group that there is already, and for a state that cannot be healed.
    LostRankError
        where all ranks that had the state are lost, so that newcomers are alone.

    Notes
    -----
    All ranks make one, and the founders begin with rank 0's state. `torch.distributed` is Hemiola's until
    `destroy_process_group`, which also closes the communicator. A change costs the agreement on the members, the state
    of newcomers, and a new DDP; a step costs one small all-reduce.
    """

    def __init__(
        self,
        comm: Communicator,
        module: torch.nn.Module,
        optimizer: Any,
        scheduler: Any = None,
        *,
        state: Mapping[str, Any] | None = None,
        hook: Any = None,
        wrap: Callable[[Any], Any] | None = None,
        update: Callable[[], object] | None = None,
        on_change: Callable[[int], object] | None = None,
    ) -> None:
        super().__init__(comm, on_change)
        if hook is not None and wrap is not None:
            raise ArgumentError("Training: expected a hook or a function that wraps, found both")
        parts = {"module": module, "optimizer": optimizer, "scheduler": scheduler, **(state or {})}
        self._hook = _Hook(hook, module) if hook is not None else None
        parts["hook"] = self._hook
        self._state = State({name: part for name, part in parts.items() if part is not None})
        self._module, self._optimizer, self._scheduler = module, optimizer, scheduler
        self._wrap = wrap or self._data_parallel
        self._apply_gradients = update or self._step_of_optimizer
        self._buffers: dict[str, torch.Tensor] = {}
        self._start()

    # ---- one step ----

    def _compute(self, gradients: Callable[[Any, int], V]) -> V:
        self._undo()
        self._buffers = {name: one.clone() for name, one in self._module.named_buffers()}
        if self._hook is not None:
            self._hook.keep(is_last=self._leaves)
        self._optimizer.zero_grad()
        return gradients(self.model, self.step)

    def _undo(self) -> None:
        for name, one in self._module.named_buffers():
            if name in self._buffers:
                one.copy_(self._buffers[name])
        self._buffers = {}
        if self._hook is not None:
            self._hook.undo()

    def _update(self) -> None:
        self._apply_gradients()
        self._buffers = {}
        if self._hook is not None:
            self._hook.count()

    def _step_of_optimizer(self) -> None:
        self._optimizer.step()
        if self._scheduler is not None:
            self._scheduler.step()

    # ---- a change of the ranks ----

    def _let_go(self) -> None:
        """Have the model of the ranks before go: its hooks on the parameters would reduce among them."""
        before, self.model = (None if self.model is None else weakref.ref(self.model)), None
        if before is None or before() is None:
            return
        gc.collect()
        if before() is not None and before() is not self._module:
            raise ArgumentError(
                "Training: expected nobody to keep the model of the ranks before, found it in use; take the one that "
                "`gradients` is called with, or `Training.model`, anew in each step"
            )

    def _arrange(self, held: list[int]) -> int:
        self._make_default_group(self._comm)
        self._state.heal(self._comm, held.index(0))
        if self._hook is not None:
            self._hook.divide_among(self._comm.rank_count)
        self.model = self._wrap(self._module)
        return self._comm.rank_count

    def _data_parallel(self, module: Any) -> Any:
        model = DistributedDataParallel(module, init_sync=False)
        if self._hook is not None:
            self._hook.register(model)
        return model


class _Hook:
    """A communication hook with error feedback, whose residuals follow the steps that count.

    What a rank owes is its own. So only the rest of the hook's state is the same on all ranks, and a newcomer owes
    nothing."""

    def __init__(self, hook: Any, module: torch.nn.Module) -> None:
        self._hook, self._module = hook, module
        self._before: Mapping[str, Any] | None = None
        self._rank_count: int | None = None

    def register(self, model: DistributedDataParallel) -> None:
        """Have a model reduce its gradients by the hook."""
        model.register_comm_hook(self._hook, type(self._hook).reduce)

    def keep(self, *, is_last: bool) -> None:
        """Begin a step, the last one of this rank or not."""
        self._before = self._hook.state_dict(self._module)
        self._hook.sends_all = is_last

    def count(self) -> None:
        """Note that the step counts: what was sent is no longer owed."""
        self._before = None

    def undo(self) -> None:
        """Owe again what was owed before a step that does not count."""
        if self._before is not None:
            self._hook.load_state_dict(self._module, self._before)
            self._before = None

    def divide_among(self, rank_count: int) -> None:
        """Have what is owed count as much in an average over so many ranks as it would have among those before."""
        if self._rank_count not in (None, rank_count):
            state = self._hook.state_dict(self._module)
            for residual in state["residuals"].values():
                residual.mul_(rank_count / self._rank_count)
            self._hook.load_state_dict(self._module, state)
        self._rank_count = rank_count

    def state_dict(self) -> dict[str, Any]:
        """Return what is the same on all ranks."""
        return {name: one for name, one in self._hook.state_dict(self._module).items() if name != "residuals"}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take what is the same on all ranks, and keep what this one owes."""
        residuals = self._hook.state_dict(self._module)["residuals"]
        self._hook.load_state_dict(self._module, {**state, "residuals": residuals})
