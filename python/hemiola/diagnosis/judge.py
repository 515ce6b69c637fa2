"""Evidence in, verdict out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from hemiola.conditions import Conditions
from hemiola.diagnosis.diagnosis import Cause, Diagnosis, Finding
from hemiola.diagnosis.evidence import Evidence, Way
from hemiola.diagnosis.late import late_ranks, slow_hosts
from hemiola.diagnosis.prospect import Prospect, Step
from hemiola.diagnosis.ways import slow_ways
from hemiola.units import format_seconds

#: A machine is oversubscribed where its ranks wait for a core for this share of a step, and as long as they run.
_WAITING_SHARE, _WAITING_PER_RUNNING = 0.15, 0.5
#: Fewer operations say little.
_LEAST_OPERATIONS = 6


def judge(evidence: Evidence, step: Step) -> Diagnosis:
    """Say what is wrong.

    Parameters
    ----------
    evidence : Evidence.
    step : Step, the collective to judge costs by, and its network when all is well.

    Returns
    -------
    Diagnosis, the costliest finding first; the same for the same evidence.
    """
    late_s = late_ranks(evidence)
    hosts = slow_hosts(evidence, late_s)
    findings = [*_hosts(evidence, step, late_s, hosts), *_late(evidence, step, late_s, hosts)]
    findings += _ways(evidence, step)
    findings += _machine(evidence)
    findings.sort(key=lambda one: -one.cost_s)
    return Diagnosis(tuple(findings), len(evidence.own_s), evidence.step_s, tuple(_notes(evidence)))


def _late(
    evidence: Evidence, step: Step, late_s: Mapping[int, float], hosts: Mapping[int, float]
) -> Iterator[Finding]:
    for rank, seconds in late_s.items():
        if evidence.host_of[rank] in hosts:
            continue
        found = (
            f"its own time before an operation is {format_seconds(seconds)} longer than the median rank's, in "
            f"{len(evidence.own_s)} operations, whatever the network took"
        )
        advice = (
            f"Look at what rank {rank} does between operations: its data, its share of the work, its device."
        )
        prospect = step.prospect(Conditions(late={rank: seconds}))
        yield _finding(Cause.COMPUTE_LATE, (rank,), seconds, found, prospect, advice)


def _hosts(
    evidence: Evidence, step: Step, late_s: Mapping[int, float], hosts: Mapping[int, float]
) -> Iterator[Finding]:
    for host, factor in hosts.items():
        ranks = evidence.hosts[host]
        seconds = min(late_s[rank] for rank in ranks)
        found = f"all its ranks come {format_seconds(seconds)} late or more of their own doing"
        if factor > 1:
            found += (
                f", and the same piece of work takes its processor {factor:.3g} times as long as the others'"
            )
        advice = (
            f"Look at host {host}: clock and temperature, its cgroup's limits, other jobs; or do without it."
        )
        prospect = step.prospect(Conditions(late=dict.fromkeys(ranks, seconds)))
        yield _finding(Cause.HOST_SLOW, ranks, seconds, found, prospect, advice, host=host)


def _ways(evidence: Evidence, step: Step) -> Iterator[Finding]:
    for way, factor in slow_ways(evidence):
        seen = sum(bool(np.isfinite(evidence.share[pair])) for pair in way.pairs)
        found = f"{factor:.3g} times slower than the others, by what {seen} pairs of ranks send each other through it"
        if way.rank is not None:
            prospect = step.prospect(Conditions(slow={way.rank: factor}))
            advice = (
                f"Look at the NIC of rank {way.rank}: lanes, cable, firmware. Collectives without a schedule of "
                f"their own are planned for it by themselves (comm.health())."
            )
            yield _finding(Cause.NIC_SLOW, (way.rank,), factor, found, prospect, advice)
        elif way.link is not None:
            prospect = step.prospect(Conditions(), step.topology.degraded(_both_ways(step, way, factor)))
            advice = (
                "Look at the cable and at both its ends; plan with a topology that has the link as it is now."
            )
            yield _finding(
                Cause.LINK_SLOW, _ends(evidence, way), factor, found, prospect, advice, link=way.link
            )


def _machine(evidence: Evidence) -> Iterator[Finding]:
    """Where most ranks wait for cores, the machine has too few of them, whoever uses them."""
    waited_s, ran_s = float(np.median(evidence.waited_s)), float(np.median(evidence.ran_s))
    share = waited_s / evidence.step_s if evidence.step_s > 0 else 0.0
    if share < _WAITING_SHARE or waited_s < _WAITING_PER_RUNNING * ran_s:
        return
    found = (
        f"half of its ranks are ready to run and have no core for {share:.0%} of their time or more "
        f"({evidence.core_count} cores)"
    )
    advice = "Start fewer ranks or fewer threads here, or end what else runs on it."
    yield _finding(Cause.OVERSUBSCRIBED, (), share, found, Prospect(waited_s), advice)


def _notes(evidence: Evidence) -> Iterator[str]:
    if len(evidence.own_s) < _LEAST_OPERATIONS:
        yield f"only {len(evidence.own_s)} operations so far, too few to say who is late; at least {_LEAST_OPERATIONS}"
    if not evidence.sees_network:
        yield (
            "NICs and links could not be judged: no message over a network was timed; over shared memory there is "
            "none: ask where one is used, or --emulate one"
        )
    elif evidence.rank_count < 3:
        yield "of two ranks nobody can say whose port is slow"
    if len(evidence.hosts) < 2:
        yield "all ranks are on one host, so there is none to compare it with"


def _both_ways(step: Step, way: Way, factor: float) -> dict[int | tuple[int, int] | str, float]:
    """Return what `Topology.degraded` wants: the link, and its way back where the same pairs use it."""
    assert way.link is not None
    src, dst = way.link
    there = {(int(link["src"]), int(link["dst"])) for link in step.topology.links}
    backwards = (dst, src) in there and any((b, a) in way.pairs for a, b in way.pairs)
    return {(src, dst): factor, (dst, src): factor} if backwards else {(src, dst): factor}


def _ends(evidence: Evidence, way: Way) -> tuple[int, ...]:
    assert way.link is not None
    return tuple(end for end in sorted(way.link) if end < evidence.rank_count)


def _finding(
    cause: Cause,
    ranks: tuple[int, ...],
    amount: float,
    evidence: str,
    prospect: Prospect,
    advice: str,
    *,
    host: int | None = None,
    link: tuple[int, int] | None = None,
) -> Finding:
    return Finding(
        cause,
        ranks,
        host,
        link,
        amount,
        evidence,
        prospect.cost_s,
        prospect.gain_s,
        prospect.schedule,
        advice,
    )
