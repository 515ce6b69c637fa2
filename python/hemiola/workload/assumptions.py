# SPDX-License-Identifier: Apache-2.0
"""What an answer assumes, in sentences: of every question, and of the one that was asked."""

from __future__ import annotations

from collections.abc import Mapping

from hemiola.conditions import Conditions
from hemiola.units import format_seconds
from hemiola.workload.task import Step

_ALWAYS = (
    "Memory is not modelled: whether the model fits is not asked.",
    "All groups of a class run at the same time. Collectives that overlap share links fairly, and "
    "computation runs at full speed beside them.",
    "Other libraries run their algorithms at the network's speed. ring: one ring. nccl-like: the faster of "
    "rings over all NICs and double binary trees. pccl-like: rings inside hosts, halving and doubling "
    "between them. gloo-like: one ring, and a reduce-scatter is a whole all-reduce.",
)


def assumptions(
    step: Step, now: Conditions, cores: int, software_s: Mapping[str, float], *, is_quantized: bool
) -> tuple[str, ...]:
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
    return (*step.assumptions, *_ALWAYS, _software(software_s), *late, *sparse, *eighth, *shared)


def _software(software_s: Mapping[str, float]) -> str:
    paid = ", ".join(
        f"{format_seconds(seconds)} with {name}" for name, seconds in software_s.items() if seconds
    )
    if not paid:
        return "No library's software takes time."
    return (
        f"A call begins with software, which uses no link: {paid}; none with others, nor in the lower bound."
    )
