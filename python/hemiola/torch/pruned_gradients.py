# SPDX-License-Identifier: Apache-2.0
"""Gradients of DistributedDataParallel of which the largest elements travel now and the others later."""
# No `from __future__ import annotations`: DDP compares the hook's annotations with its own types.

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import distributed as dist

from hemiola._core import Complaint
from hemiola.errors import ArgumentError
from hemiola.pruning import Pruner
from hemiola.torch.call import Call
from hemiola.torch.lookup import group_of
from hemiola.torch.residuals import Residuals, restored_on_failure
from hemiola.torch.tensors import values


class PrunedGradients:
    """A communication hook of DDP: each rank sends the elements of largest magnitude, and adds the rest to its next
    gradient.

    Every parameter has a threshold of its own, by a sample (`hemiola.Pruner`). A rank's residual follows the parameter
    when DDP puts it into another bucket, as it does after the first step.

    Parameters
    ----------
    density : float in (0, 1], the share of elements to keep of each parameter, at least one.
    group : torch.distributed.ProcessGroup, the one of the model; None for the default one.
    leak, error, warm_up_steps, seed : as of `hemiola.Pruner`.

    Attributes
    ----------
    step : int, backward passes so far.
    kept : int, elements that this rank sent in the latest one.
    sends_all : bool, False. Whether this rank sends all that it owes, as before it leaves the job.

    Raises
    ------
    ArgumentError
        An argument is out of its range.

    Notes
    -----
    Lossy: losses differ from those of dense gradients, and all ranks' parameters stay equal. Reducing zeros saves time
    where the network is the limit, not inside a host. Memory: two copies of the gradients. A bucket whose operation
    fails keeps its residual. Clipping after the backward pass
    clips the sent gradients, not the residuals. Gradients that are themselves sparse tensors are refused.

    Examples
    --------
    >>> model = DistributedDataParallel(network)  # doctest: +SKIP
    >>> model.register_comm_hook(PrunedGradients(density=0.01), PrunedGradients.reduce)  # doctest: +SKIP
    """

    def __init__(
        self,
        density: float,
        *,
        group: Any = None,
        leak: float = 1.0,
        error: float = 0.05,
        warm_up_steps: int = 0,
        seed: int = 0,
    ) -> None:
        self._pruner = partial(
            Pruner, density, leak=leak, error=error, warm_up_steps=warm_up_steps, seed=seed
        )
        self._pruner()  # raises
        self._process_group = group
        self._residuals = Residuals()
        self._pruners: dict[int, Pruner] = {}  #: by bucket
        self.step = self.kept = 0
        self.sends_all = False

    def reduce(self, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """Return the average of the ranks' pruned gradients, later: the hook. DDP calls it."""
        gradient = bucket.buffer()
        array: Any = values(gradient)
        if isinstance(array, Complaint):
            raise ArgumentError(f"gradients to prune: {array.text}")
        if bucket.index() == 0:
            self.kept = 0
        group, (residual, is_new) = group_of(self._process_group), self._residuals.of(bucket)
        before, pruner = residual.clone(), self._pruner_of(bucket, residual, is_new)
        if self.sends_all:
            gradient += residual
            residual.zero_()
        else:
            pruner.prune(array, out=array)
        self.kept += array.size if self.sends_all else pruner.kept
        self.step += bucket.is_last()
        average = Call("all_reduce", array, "average", sparse=True)

        def begun() -> Any:
            future = group._run([average], [gradient], None).get_future()
            return future.then(lambda reduced: reduced.value()[0])

        return restored_on_failure(residual, before, begun)

    def _pruner_of(self, bucket: Any, residual: Any, is_new: bool) -> Pruner:
        """Return what prunes a bucket, made anew where it holds other parameters than before."""
        if is_new:
            pruner = self._pruner(layers=[one.numel() for one in bucket.parameters()])
            kept_back: Any = values(residual)
            pruner.residual, pruner.step = kept_back, self.step
            self._pruners[bucket.index()] = pruner
        return self._pruners[bucket.index()]

    def state_dict(self, model: Any) -> dict[str, Any]:
        """Return this rank's part of a checkpoint: each rank has a state of its own.

        Parameters
        ----------
        model : torch.nn.Module, the trained one or the one that it wraps; its names are the residuals'.

        Returns
        -------
        dict of "step", an int, and "residuals", copies by parameter's name.
        """
        return {"step": self.step, "residuals": self._residuals.by_name(model)}

    def load_state_dict(self, model: Any, state: Mapping[str, Any]) -> None:
        """Go on from the state that `state_dict` returned on this rank, before the next backward pass.

        Raises
        ------
        ArgumentError
            for a residual of a parameter that the model has not, or has in another shape. Nothing has changed then.
        """
        self._residuals.load(model, state["residuals"])
        self.step = state["step"]
