# SPDX-License-Identifier: Apache-2.0
"""The costs of a step's collectives, and what the step waits for."""

from __future__ import annotations

from dataclasses import replace

from hemiola.conditions import Conditions
from hemiola.workload.accounting import Account
from hemiola.workload.prediction import CallCost, call_in_words
from hemiola.workload.pricing import Prices
from hemiola.workload.running import Ran
from hemiola.workload.task import SEND, Call

#: The share of a step above which one thing is its limit.
_MOST_OF_IT = 0.5


def call_costs(ran: Ran, role: str, spent: Account, prices: Prices, bounds: Prices) -> tuple[CallCost, ...]:
    """Return the main role's calls, the most exposed first."""
    counts: dict[Call, int] = {}
    for task in ran.step.tasks:
        if task.call is not None and role in task.roles:
            counts[task.call] = counts.get(task.call, 0) + task.call.count
    found: dict[tuple[str, str, int, float], CallCost] = {}
    for call, count in counts.items():
        exposed_s = spent.exposed_by.get(call, 0.0)
        key = (call.kind, call.group, call.nbytes, call.density)
        if key in found:
            old = found[key]
            found[key] = replace(old, count=old.count + count, exposed_s=old.exposed_s + exposed_s)
            continue
        cost, bound = prices(call, 0.0), bounds(call, 0.0)
        size = 2 if call.kind == SEND else prices.parallel.groups(call.group).shape[1]
        found[key] = CallCost(
            call.kind,
            call.group,
            size,
            call.nbytes,
            call.density,
            count,
            cost.algorithm,
            cost.seconds,
            bound.seconds,
            exposed_s,
        )
    return tuple(sorted(found.values(), key=lambda one: -one.exposed_s))


def limit_of(ran: Ran, spent: Account, calls: tuple[CallCost, ...], now: Conditions, bounds: Prices) -> str:
    """Say in a sentence what the step waits for."""
    shares = {"compute": spent.compute_s, "exposed": spent.exposed_s, "waiting": spent.waiting_s}
    most = max(shares, key=lambda name: shares[name])
    share = shares[most] / ran.seconds if ran.seconds else 0.0
    word = "limit" if share >= _MOST_OF_IT else "largest part"
    if most == "compute" or not ran.seconds:
        return f"The {word} is computation, {share:.1%} of the step."
    if most == "waiting":
        what = "a late rank" if now.late else "other pipeline stages"
        return f"The {word} is waiting for {what}, {share:.1%} of the step."
    first = calls[0]
    witness = "" if first.kind == SEND else _witness(first, bounds)
    over = f", {first.seconds / first.bound_s:.2f} times its bound" if first.bound_s > 0 else ""
    return f"The {word} is communication, {share:.1%} of the step, most of it {call_in_words(first)}{over}{witness}."


def _witness(call: CallCost, bounds: Prices) -> str:
    asked = Call(call.kind, call.nbytes, call.group, density=call.density)
    return f": {bounds(asked, 0.0).algorithm}"
