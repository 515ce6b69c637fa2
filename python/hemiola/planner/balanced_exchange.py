# SPDX-License-Identifier: Apache-2.0
"""Exchanges of blocks of any sizes as the planner's candidates where hosts have as many ranks each: a host's NICs share
its blocks, and hosts send to all others at once or to one at a time."""

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


def balanced_exchange(question: Question) -> Iterator[Candidate]:
    """List these schedules; their formula is the lower bound, since only the links say how near they come to it."""
    task = question.task
    if task.sizes is None or not task.sizes.total:
        return
    table, per_host = task.sizes.table, task.ranks_per_node[0]
    count = 4 * task.rank_count**2  # three ways for each block, and about one more for what is cut
    for variant, turns in (("one to one", _one_to_one), ("at once", np.ones_like)):
        generate = partial(_made, table, per_host, turns)
        yield Candidate(_NAME, variant, question.bound_s, count, generate)


def _made(table: Integers, per_host: int, turns: Callable[[Integers], Integers]) -> Schedule:
    return exchange_through_hosts(table, turns(_between_hosts(table, per_host)), per_host)


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
