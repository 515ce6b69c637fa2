# SPDX-License-Identifier: Apache-2.0
"""Gradients of DistributedDataParallel that travel as eight bits an element, with error feedback."""
# No `from __future__ import annotations`: DDP compares the hook's annotations with its own types.

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import distributed as dist

from hemiola._core import Complaint
from hemiola.errors import ArgumentError
from hemiola.quantization.choice import next_choice
from hemiola.torch.call import Call
from hemiola.torch.group import Group
from hemiola.torch.lookup import group_of
from hemiola.torch.residuals import Residuals, restored_on_failure
from hemiola.torch.tensors import values


class QuantizedGradients:
    """A communication hook of DDP: a quarter of the bytes where the network is slow, and every rounding error is added
    to the next gradient.

    The arithmetic, the choice between eight bits and plain messages, and the residual are those of `hemiola.Quantizer`.
    A rank's residual follows the parameter when DDP puts it into another bucket, as it does after the first step.

    Parameters
    ----------
    group : torch.distributed.ProcessGroup, the one of the model; None for the default one.

    Attributes
    ----------
    quantized : int, buckets so far whose messages had eight bits an element.
    sends_all : bool, False. Whether this rank sends all that it owes, as before it leaves the job; but for the rounding
        of these messages.

    Notes
    -----
    Lossy: losses differ from those of dense gradients, and all ranks' parameters stay equal. Gradients are float32;
    others are refused. A bucket travels beside the backward pass. Memory: three copies of the gradients, and half of
    them in messages. A bucket whose operation fails keeps its residual. Infinities and NaN make their blocks NaN, as in
    `Quantizer`.

    Examples
    --------
    >>> model = DistributedDataParallel(network)  # doctest: +SKIP
    >>> model.register_comm_hook(QuantizedGradients(), QuantizedGradients.reduce)  # doctest: +SKIP
    """

    def __init__(self, *, group: Any = None) -> None:
        self._process_group = group
        self._residuals = Residuals()
        self.quantized = 0
        self.sends_all = False

    def reduce(self, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """Return the average of the ranks' gradients, later: the hook. DDP calls it."""
        gradient = bucket.buffer()
        array: Any = values(gradient)
        if isinstance(array, Complaint) or array.dtype != np.float32:
            found = array.text if isinstance(array, Complaint) else f"expected float32, found {array.dtype}"
            raise ArgumentError(f"gradients to quantize: {found}")
        group, (residual, is_new) = group_of(self._process_group), self._residuals.of(bucket)
        group.runs("QuantizedGradients, which chooses by the times of calls,")
        way, note = next_choice(group._comm, array.size, lambda times: _least(times, group))
        self.quantized += way is not None
        if way is None and not residual.any():
            return self._average(gradient, array, group, note)
        before = residual.clone()
        if way is None or is_new or self.sends_all:
            gradient += residual  # the whole debt: parts may be of elements that others round now
            residual.zero_()
        options = {} if way is None else {"schedule": way.schedule, "sparse": way.messages(values(residual))}
        return restored_on_failure(
            residual, before, lambda: self._average(gradient, array, group, note, **options)
        )

    def _average(self, gradient: Any, array: Any, group: Group, note: Any, **options: Any) -> Any:
        work = group._run([Call("all_reduce", array, "average", **options)], [gradient], None)
        note(work.times_ns)
        return work.get_future().then(lambda reduced: reduced.value()[0])

    def state_dict(self, model: Any) -> dict[str, Any]:
        """Return this rank's part of a checkpoint: each rank has a state of its own.

        Parameters
        ----------
        model : torch.nn.Module, the trained one or the one that it wraps; its names are the residuals'.

        Returns
        -------
        dict of "residuals", copies by parameter's name.
        """
        return {"residuals": self._residuals.by_name(model)}

    def load_state_dict(self, model: Any, state: Mapping[str, Any]) -> None:
        """Go on from the state that `state_dict` returned on this rank, before the next backward pass.

        Raises
        ------
        ArgumentError
            for a residual of a parameter that the model has not, or has in another shape. Nothing has changed then.
        """
        self._residuals.load(model, state["residuals"])


def _least(times: Any, group: Group) -> None:
    group._run([Call("all_reduce", times, "min")], [torch.from_numpy(times)], None).wait()
