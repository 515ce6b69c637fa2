# SPDX-License-Identifier: Apache-2.0
"""Exchanges of blocks of any sizes as the planner's candidates where hosts have as many ranks each: a host's NICs share
its blocks. Hosts send to one other at a time, to all at once, or to all at once in slices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from hemiola._core import Schedule
from hemiola.algorithms import Candidate
from hemiola.algorithms.dense_shop import in_turns
from hemiola.planner.question import Question
from hemiola.synthesis.exchange_through_hosts import Integers, exchange_through_hosts

_NAME = "exchange_through_hosts"
#: Of a rank's part. On 4 hosts of 8 ranks, 4 and 64 MiB a rank, shares of Zipf 0.6 and 1.2, one takes 1.08 to 1.18
#: times the bound (fluid) and 1.48 to 1.59 (fifo), four take 1.06 to 1.14 and 1.12 to 1.23, eight 1.03 to 1.13 and 1.06
#: to 1.16.
_SLICES = 8


def balanced_exchange(question: Question) -> Iterator[Candidate]:
    """List these schedules; their formula is the lower bound, since only the links say how near they come to it."""
    task = question.task
    if task.sizes is None or not task.sizes.total:
        return
    table, per_host = task.sizes.table, task.ranks_per_node[0]
    variants: tuple[tuple[str, Callable[[Integers], Integers], int], ...] = (
        ("one to one", _one_to_one, 1),
        ("at once", np.ones_like, 1),
        (f"at once, {_SLICES} slices", np.ones_like, _SLICES),
    )
    for variant, turns, slices in variants:
        # Three ways for each block, and for each cut of the blocks between two hosts.
        count = 3 * (task.rank_count**2 + task.rank_count * len(table) // per_host * slices)
        generate = partial(_made, table, per_host, turns, slices)
        yield Candidate(_NAME, variant, question.bound_s, count, generate)


def _made(table: Integers, per_host: int, turns: Callable[[Integers], Integers], slices: int) -> Schedule:
    return exchange_through_hosts(table, turns(_between_hosts(table, per_host)), per_host, slices)


def _between_hosts(table: Integers, per_host: int) -> Integers:
    """Return the bytes that each host has for each other one."""
    hosts = len(table) // per_host
    between: Integers = table.reshape(hosts, per_host, hosts, per_host).sum(axis=(1, 3))
    np.fill_diagonal(between, 0)
    return between


def _one_to_one(between: Integers) -> Integers:
    """Let a host send to one host at a time and receive from one, those with most to do first."""
    turn = np.ones_like(between)
    src, dst = np.nonzero(between)
    if len(src):
        time = between[src, dst]
        turn[src, dst] += in_turns(src, dst, time, -time, enough=0, most_orders=3).turn
    return turn
