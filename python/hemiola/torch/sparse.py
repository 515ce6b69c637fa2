# SPDX-License-Identifier: Apache-2.0
"""Sums of PyTorch's sparse tensors: every rank gets all ranks' elements, and adds those that have the same place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import torch
from torch.distributed import ReduceOp

from hemiola._core import Complaint
from hemiola.communicator import Communicator
from hemiola.torch.lists import unlike
from hemiola.torch.tensors import content, described


def sum_of_sparse(comm: Communicator, tensors: Sequence[Any], reduction: Any) -> Any:
    """Add all ranks' sparse tensors; blocks.

    Parameters
    ----------
    comm : Communicator.
    tensors : of torch.Tensor of layout torch.sparse_coo, at least one, all of one shape, the same on every rank.
    reduction : torch.distributed.ReduceOp, SUM.

    Returns
    -------
    torch.Tensor, a new one.

    Raises
    ------
    ArgumentError
        for another layout or reduction; MismatchError on all other ranks.
    """
    wrong: Any = unlike(tensors)
    if wrong is None and (tensors[0].layout is not torch.sparse_coo or reduction != ReduceOp.SUM):
        wrong = Complaint(
            f"unsupported reduction operation or layout: expected SUM of tensors of layout torch.sparse_coo, found "
            f"{reduction} of {described(tensors[0])}"
        )
    if wrong is not None:
        comm.all_gather(wrong, out=wrong)
    own = reduce(torch.add, tensors).coalesce()
    n, sparse_dims = comm.rank_count, own.sparse_dim()
    own_size = np.array([own._nnz(), *own.shape], np.int64)
    sizes = comm.all_gather(own_size, out=np.empty((n, own_size.size), np.int64))
    most = int(sizes[:, 0].max())
    indices = torch.zeros((most, sparse_dims), dtype=torch.int64)
    indices[: own._nnz()] = own.indices().T
    elements = torch.zeros((most, *own.values().shape[1:]), dtype=own.dtype)
    elements[: own._nnz()] = own.values()
    every_index = torch.empty((n, *indices.shape), dtype=torch.int64)
    every_element = torch.empty((n, *elements.shape), dtype=own.dtype)
    for own_part, every_part in ((indices, every_index), (elements, every_element)):
        given: Any = content(own_part)
        into: Any = content(every_part)
        comm.all_gather(given, out=into)
    total = torch.zeros_like(own)
    for rank, count in enumerate(sizes[:, 0].tolist()):
        total += torch.sparse_coo_tensor(every_index[rank, :count].T, every_element[rank, :count], own.shape)
    return total.coalesce()
