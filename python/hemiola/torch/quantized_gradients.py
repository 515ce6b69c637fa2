"""Gradients of DistributedDataParallel that travel as eight bits an element, with error feedback."""
# No `from __future__ import annotations`: DDP compares the hook's annotations with its own types.

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import distributed as dist

from hemiola._core import Complaint
from hemiola.errors import ArgumentError
from hemiola.quantization.blocks import Blocks
from hemiola.quantization.choice import pays
from hemiola.torch.call import Call
from hemiola.torch.group import Group
from hemiola.torch.lookup import group_of
from hemiola.torch.residuals import Residuals
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

    Notes
    -----
    Lossy: losses differ from those of dense gradients, and all ranks' parameters stay equal. Gradients are float32;
    others are refused. One bucket's parts are added when the next bucket is ready: a bucket travels beside the backward
    pass, the last one's first half does not. Memory: two copies of the gradients, and half of them in messages. A
    bucket whose operation fails keeps its residual. Infinities and NaN make their blocks NaN, as in `Quantizer`.

    Examples
    --------
    >>> model = DistributedDataParallel(network)  # doctest: +SKIP
    >>> model.register_comm_hook(QuantizedGradients(), QuantizedGradients.reduce)  # doctest: +SKIP
    """

    def __init__(self, *, group: Any = None) -> None:
        self._process_group = group
        self._residuals = Residuals()
        self._blocks: dict[int, Blocks] = {}  #: by bucket
        self._exchanging: _Exchange | None = None
        self.quantized = 0

    def reduce(self, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """Return the average of the ranks' gradients, later: the hook. DDP calls it."""
        gradient, index = bucket.buffer(), bucket.index()
        array: Any = values(gradient)
        if isinstance(array, Complaint) or array.dtype != np.float32:
            found = array.text if isinstance(array, Complaint) else f"expected float32, found {array.dtype}"
            raise ArgumentError(f"gradients to quantize: {found}")
        if index == 0 and self._exchanging is not None:  # of a backward pass that has failed
            self._exchanging.take_back()
            self._exchanging = None
        self._finish()
        group, (residual, _) = group_of(self._process_group), self._residuals.of(bucket)
        rest: Any = values(residual)
        if not pays(group._comm, array.size, lambda word: _spread(word, group)):
            return _plain(gradient, array, rest, group)
        self.quantized += 1
        comm, blocks = group._comm, self._blocks.get(index)
        if blocks is None or not blocks.fits(array.size, comm.rank, comm.rank_count):
            blocks = self._blocks[index] = Blocks(array.size, comm.rank, comm.rank_count)
        exchange = self._exchanging = _Exchange(gradient, rest, blocks, group)
        if bucket.is_last():
            self._finish()
        return exchange.average

    def _finish(self) -> None:
        """Begin the second half of the bucket whose first half is under way."""
        exchange, self._exchanging = self._exchanging, None
        if exchange is not None:
            exchange.add_and_spread()

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


def _spread(word: Any, group: Group) -> None:
    group._run([Call("broadcast", word, 0)], [torch.from_numpy(word)], None).wait()


def _plain(gradient: Any, array: Any, rest: Any, group: Group) -> Any:
    """Average a bucket without rounding, and pay the debt to it once that has happened."""
    terms = array + rest if rest.any() else array
    work = group._run([Call("all_reduce", terms, "average")], [gradient], None)

    def taken(reduced: Any) -> Any:
        reduced.value()
        if terms is not array:
            array[:] = terms
            rest.fill(0)
        return gradient

    return work.get_future().then(taken)


class _Exchange:
    """One bucket: every rank's part of it is on its way to that rank."""

    def __init__(self, gradient: Any, rest: Any, blocks: Blocks, group: Group) -> None:
        self._gradient, self._rest, self._blocks, self._group = gradient, rest, blocks, group
        array: Any = values(gradient)
        self._array = array
        blocks.quantize(self._array, rest)
        self._work = self._begun(Call("all_to_all", blocks.sent, out=blocks.received, sparse=False))
        self._over: Any = torch.futures.Future()
        #: The averaged bucket; raises the operations' errors.
        self.average: Any = self._over.then(self._restore)

    def add_and_spread(self) -> None:
        """Average this rank's part, and begin to send it to all."""
        self._waited()
        self._blocks.sum_up(self._array, self._rest, average=True)
        self._work = self._begun(
            Call("all_gather", self._blocks.result, out=self._blocks.received, sparse=False)
        )
        self._work.get_future().then(lambda _: self._over.set_result(None))

    def take_back(self) -> None:
        """Leave the residual as it was before, since the average has come to nothing."""
        self._blocks.take_back(self._rest)

    def _begun(self, call: Call) -> Any:
        try:
            return self._group._run([call], [torch.from_numpy(self._blocks.received)], None)
        except BaseException:
            self.take_back()
            raise

    def _waited(self) -> None:
        try:
            self._work.wait()
        except BaseException:
            self.take_back()
            raise

    def _restore(self, _: Any) -> Any:
        self._waited()
        self._blocks.restore(self._array)
        return self._gradient
