# SPDX-License-Identifier: Apache-2.0
"""Gradients of DistributedDataParallel that travel as bfloat16 and are added as float32."""
# No `from __future__ import annotations`: DDP compares the hook's annotations with its own types.

from typing import Any

import torch
from torch import distributed as dist


class BFloat16Gradients:
    """A communication hook of DDP: half the bytes, and two roundings however many ranks there are.

    A reduction of bfloat16 tensors rounds after each addition, in the engine as elsewhere. A value below half a digit
    of the sum so far is lost, from every rank that adds one. Here each rank owns a part of a bucket. It gets all ranks'
    parts, rounded to bfloat16, adds them as float32 in the order of the ranks, divides, rounds, and sends the average
    to all.

    Parameters
    ----------
    group : torch.distributed.ProcessGroup, the one of the model, of any backend; None for the default one.

    Notes
    -----
    Each rank sends (n-1)/n·N bytes twice, as a ring does, N being the bucket's bytes as bfloat16. All ranks get the
    same average, bit for bit. One bucket's parts are added when the next bucket is ready, so that ranks need no thread
    to keep their order: a bucket travels beside the backward pass, the last one's first half does not. Memory: two
    buckets' bytes. Gradients are float32 or float64; those of 16 bits gain nothing here.

    Examples
    --------
    >>> model = DistributedDataParallel(network)  # doctest: +SKIP
    >>> model.register_comm_hook(BFloat16Gradients(), BFloat16Gradients.reduce)  # doctest: +SKIP
    """

    def __init__(self, group: Any = None) -> None:
        self._process_group = group
        self._exchanging: _Exchange | None = None

    def reduce(self, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """Return the average of the ranks' gradients, later: the hook. DDP calls it."""
        if bucket.index() == 0:
            self._exchanging = None  # of a backward pass that has failed
        self._finish()
        exchange = self._exchanging = _Exchange(bucket.buffer(), self._process_group)
        if bucket.is_last():
            self._finish()
        return exchange.average

    def _finish(self) -> None:
        """Begin the second half of the bucket whose first half is under way."""
        exchange, self._exchanging = self._exchanging, None
        if exchange is not None:
            exchange.add_and_spread()


class _Exchange:
    """One bucket: every rank's part of it is on its way to that rank."""

    def __init__(self, gradient: Any, group: Any) -> None:
        self._gradient, self._group = gradient, group
        self._rank_count = dist.get_world_size(group)
        part_size = -(-gradient.numel() // self._rank_count)
        self._rounded = torch.zeros(part_size * self._rank_count, dtype=torch.bfloat16)
        self._rounded[: gradient.numel()] = gradient
        self._parts = torch.empty_like(self._rounded)
        self._work = dist.all_to_all_single(self._parts, self._rounded, group=group, async_op=True)
        self._over: Any = torch.futures.Future()
        #: The averaged bucket; raises the operations' errors.
        self.average: Any = self._over.then(self._spread)

    def add_and_spread(self) -> None:
        """Average this rank's part, and begin to send it to all."""
        self._work.wait()
        total = self._parts.view(self._rank_count, -1).sum(0, dtype=torch.float32)
        part = total.div_(self._rank_count).bfloat16()
        self._work = dist.all_gather_into_tensor(self._rounded, part, group=self._group, async_op=True)
        self._work.get_future().then(lambda _: self._over.set_result(None))

    def _spread(self, _: Any) -> Any:
        self._work.wait()
        return self._gradient.copy_(self._rounded[: self._gradient.numel()])
