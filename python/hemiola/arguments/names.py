# SPDX-License-Identifier: Apache-2.0
"""The names of collectives and operations, as types: a type checker knows a misspelt one. And those of other libraries.

At run time any text is looked at: other libraries' names of operations are understood ('SUM', 'avg';
docs/reference/names.md), and collectives of theirs are answered with ours."""

from __future__ import annotations

from typing import Literal, cast, get_args

#: A collective.
Kind = Literal[
    "all_gather", "reduce_scatter", "all_reduce", "broadcast", "reduce", "all_to_all", "gather", "scatter"
]
#: How the values of ranks are combined.
Op = Literal["sum", "product", "min", "max", "average", "and", "or", "xor"]

KINDS: tuple[Kind, ...] = get_args(Kind)
OPERATIONS: tuple[Op, ...] = get_args(Op)
#: Other libraries that are measured beside Hemiola.
PEERS = ("gloo",)
#: For `typed`, which lets functions answer another text themselves.
NAMES = (KINDS, OPERATIONS)


def as_kind(name: str) -> Kind:
    """Return a collective's name as a type checker wants it."""
    return cast(Kind, name)


def as_op(name: str) -> Op:
    """Return an operation's name as a type checker wants it."""
    return cast(Op, name)
