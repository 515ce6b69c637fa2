# SPDX-License-Identifier: Apache-2.0
"""PyTorch's numbers of a Work's operation, which its bindings give no names: gloo's, where that gives one."""

from __future__ import annotations

UNKNOWN = 100
#: `OpType` of c10d, by the communicator's call that does it.
OF_CALL = {
    "broadcast": 0,
    "all_reduce": 1,
    "reduce": 3,
    "all_gather": 4,
    "all_gather_blocks": 4,
    "gather": 7,
    "scatter": 8,
    "reduce_scatter": 9,
    "reduce_scatter_blocks": 9,
    "all_to_all": 11,
    "all_to_all_blocks": 11,
    "send": 12,
    "recv": 13,
    "barrier": 15,
}
