# SPDX-License-Identifier: Apache-2.0
"""`hemiola.whatif`: a training step on a network, predicted, and its gain over other libraries' schedules."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import replace

from hemiola._core import Topology
from hemiola.arguments import typed
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.topology.named_nics import settled
from hemiola.workload.accounting import Account, account, main_role
from hemiola.workload.buckets import EIGHT_BITS, Form, sent_as
from hemiola.workload.cores import Cores, ranks_of_roles
from hemiola.workload.lateness import with_late_rank
from hemiola.workload.libraries import BOUND, HEMIOLA, LIBRARIES, OTHERS
from hemiola.workload.model import Model
from hemiola.workload.parallel import MOST_RANKS, Parallel
from hemiola.workload.prediction import CallCost, WhatIf, call_in_words
from hemiola.workload.pricing import Prices
from hemiola.workload.programs import step_of
from hemiola.workload.reading import model_or_step
from hemiola.workload.running import Ran, run
from hemiola.workload.task import SEND, Call, Step
from hemiola.workload.untraced import untraced

#: The share of a step above which one thing is its limit.
_MOST_OF_IT = 0.5

_ASSUMPTIONS = (
    "Memory is not modelled: whether the model fits is not asked.",
    "All groups of a class run at the same time. Collectives that overlap share links fairly, and "
    "computation runs at "
    "full speed beside them.",
    "Other libraries run their algorithms at the network's speed, with no software cost of their own. ring: "
    "one ring. "
    "nccl-like: the faster of rings over all NICs and double binary trees. pccl-like: rings inside hosts, "
    "halving and "
    "doubling between them. gloo-like: one ring, and a reduce-scatter is a whole all-reduce.",
)


def _assumptions(step: Step, now: Conditions, cores: int, *, is_quantized: bool) -> tuple[str, ...]:
    """Return what is assumed of every question, and of this one."""
    late = ("Other libraries do nothing before a late rank comes.",) if now.late else ()
    sparse = (
        ("Zeros are left out at the speed of this machine's cores; other libraries send them.",)
        if any(call.density < 1 for call in step.calls())
        else ()
    )
    eighth = ("The codec of eight bits takes no time, and every library has it.",) if is_quantized else ()
    shared = (
        (f"All ranks share {cores} cores, a thread each. A rank that waits leaves its core to the others.",)
        if cores
        else ()
    )
    return (*step.assumptions, *_ASSUMPTIONS, *late, *sparse, *eighth, *shared)


@typed
def whatif(
    trace_or_model: Model | Step | str | os.PathLike[str],
    topology: Topology,
    conditions: Conditions | None = None,
    *,
    parallel: Parallel | None = None,
    buckets: Mapping[int | str, float | str] | None = None,
    overlap_loss: float = 0.0,
    cores: int = 0,
    untraced_s: float = 0.0,
) -> WhatIf:
    """Predict a training step on a network, and the gain of Hemiola's schedules.

    Parameters
    ----------
    trace_or_model : a model, such as `hemiola.workload.models.transformer` makes; the text of one, such as "gpt-7b" or
        "transformer:layers=24,width=2048,batch=4"; or the path of a trace.
    topology : Topology, whose ranks take part, all of them.
    conditions : Conditions, optional. Late ranks begin the step so many seconds late; slow ranks and NICs have slow
        links; the density is that of gradients.
    parallel : Parallel, optional; by default every rank has a replica (DDP).
    buckets : mapping, optional; single buckets of gradients and how they travel: a density, "8bit" or "whole". A key is
        a bucket's number, counted from 0 in the order in which a stage sends them, or a class of groups: "dp", "edp"
        (experts) or "world". Without one the conditions' density and `Parallel.quantized` hold.
    overlap_loss : float in [0, 1), the share of its speed that computation loses beside communication.
    cores : int >= 0, processor cores that all ranks share, as on one machine or on the hosts of `hemiola cluster`. The
        times of computation are those while all ranks compute. 0: each rank has its own.
    untraced_s : float >= 0, seconds of a trace's step on the same ranks without the profiler, which takes time for each
        operator; 0: as recorded.

    Returns
    -------
    WhatIf

    Raises
    ------
    ArgumentError
        The degrees of parallelism do not multiply to the topology's ranks, there are fewer layers than stages, a text
        names no model, or a number is out of its range.
    FormatError
        A trace is malformed; the message names file and place.
    OSError
        A trace cannot be read.

    Notes
    -----
    A collective costs the simulated time of its plan, all groups of its class at once. Ranks that do the same are one
    role, so that the number of tasks does not grow with ranks. Costs of the latest collectives are remembered. Model:
    docs/decisions/0069-workloads.md.
    """
    told = conditions or Conditions()
    check(topology, told, overlap_loss)
    _check_machine(cores, untraced_s)
    network, now = settled(topology, told)
    split = (parallel or Parallel()).on(topology.rank_count)
    asked = model_or_step(trace_or_model) if not isinstance(trace_or_model, Model | Step) else trace_or_model
    if untraced_s:
        asked = untraced(asked, untraced_s)
    told_of = buckets or {}
    step = sent_as(_step(asked, split, now), Form(now.density, split.quantized), told_of)
    prices = {library: Prices(network, split, now, library) for library in LIBRARIES}
    shared = Cores(cores, ranks_of_roles(step.roles, topology.rank_count)) if cores else None
    ran = {
        library: run(step, price, overlap_loss=overlap_loss, cores=shared)
        for library, price in prices.items()
    }
    own = ran[HEMIOLA]
    role = main_role(own)
    spent = account(own, role)
    calls = _calls(own, role, spent, prices[HEMIOLA], prices[BOUND])
    is_quantized = split.quantized or EIGHT_BITS in told_of.values()
    return WhatIf(
        step.name,
        topology.name,
        topology.rank_count,
        split,
        told,
        own.seconds,
        spent.compute_s,
        spent.hidden_s,
        spent.exposed_s,
        spent.waiting_s,
        role,
        calls,
        {name: ran[name].seconds for name in OTHERS},
        ran[BOUND].seconds,
        _limit(own, spent, calls, now, prices[BOUND]),
        _assumptions(step, now, cores, is_quantized=is_quantized),
        own,
    )


def _check_machine(cores: int, untraced_s: float) -> None:
    if not (untraced_s >= 0 and math.isfinite(untraced_s)):
        raise ArgumentError(f"whatif: expected untraced_s of 0 seconds or more, found {untraced_s}")
    if cores < 0:
        raise ArgumentError(f"whatif: expected cores from 0, found {cores}")


def check(topology: Topology, told: Conditions, overlap_loss: float) -> None:
    """Raise ArgumentError for ranks that are not there, too many ranks, or a share out of its range."""
    if topology.rank_count > MOST_RANKS:
        raise ArgumentError(
            f"whatif: expected a topology of at most {MOST_RANKS:,} ranks, found {topology.rank_count:,}"
        )
    if not (0 <= overlap_loss < 1 and math.isfinite(overlap_loss)):
        raise ArgumentError(f"whatif: expected an overlap_loss in [0, 1), found {overlap_loss}")
    for noun, ranks in (("late", told.late), ("slow", told.slow_ranks)):
        for rank in ranks:
            if not 0 <= rank < topology.rank_count:
                raise ArgumentError(
                    f"whatif: expected {noun} ranks from 0 to {topology.rank_count - 1:,}, found rank {rank}"
                )


def _step(asked: Model | Step, split: Parallel, now: Conditions) -> Step:
    """Return the step of a model or a trace; of late ranks of one stage the latest counts."""
    if isinstance(asked, Step):
        if asked.tensor_ranks and split.tp != asked.tensor_ranks:
            raise ArgumentError(
                f"whatif: '{asked.name}' has groups of {asked.tensor_ranks} neighbours; expected parallel "
                f"tp={asked.tensor_ranks}, found tp={split.tp}"
            )
        late_s = max(now.late.values(), default=0.0)
        return with_late_rank(asked, late_s) if late_s > 0 else asked
    late: dict[int, float] = {}
    for rank, seconds in now.late.items():
        stage = rank // (split.dp * split.tp)
        late[stage] = max(late.get(stage, 0.0), seconds)
    return step_of(asked, split, late={stage: at_s for stage, at_s in late.items() if at_s > 0})


def _calls(ran: Ran, role: str, spent: Account, prices: Prices, bounds: Prices) -> tuple[CallCost, ...]:
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


def _limit(ran: Ran, spent: Account, calls: tuple[CallCost, ...], now: Conditions, bounds: Prices) -> str:
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
