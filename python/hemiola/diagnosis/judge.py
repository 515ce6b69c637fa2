# SPDX-License-Identifier: Apache-2.0
"""Evidence in, verdict out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from hemiola.conditions import Conditions
from hemiola.diagnosis.diagnosis import Cause, Diagnosis, Finding
from hemiola.diagnosis.evidence import Evidence, Nic, Pair, Way
from hemiola.diagnosis.late import SlowHost, late_ranks, slow_hosts
from hemiola.diagnosis.ports import HEALTHY, slow_ports
from hemiola.diagnosis.prospect import Prospect, Step
from hemiola.diagnosis.ways import slow_ways
from hemiola.units import format_bandwidth, format_seconds

#: A machine is oversubscribed where its ranks wait for a core for this share of a step, and as long as they run.
_WAITING_SHARE, _WAITING_PER_RUNNING = 0.15, 0.5
#: Fewer operations say little.
_LEAST_OPERATIONS = 6


def judge(evidence: Evidence, step: Step) -> Diagnosis:
    """Find the faults.

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
    findings += _nics(evidence, step, hosts) if evidence.nics else _ways(evidence, step)
    findings += _machine(evidence)
    findings.sort(key=lambda one: -one.cost_s)
    return Diagnosis(tuple(findings), len(evidence.own_s), evidence.step_s, tuple(_notes(evidence)))


def _late(
    evidence: Evidence, step: Step, late_s: Mapping[int, float], hosts: Mapping[int, SlowHost]
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
        where = _rank_in_words(evidence, rank)
        yield _finding(Cause.COMPUTE_LATE, (rank,), where, seconds, found, prospect, advice)


def _hosts(
    evidence: Evidence, step: Step, late_s: Mapping[int, float], hosts: Mapping[int, SlowHost]
) -> Iterator[Finding]:
    for host, why in hosts.items():
        ranks = evidence.hosts[host]
        seconds = min(late_s[rank] for rank in ranks)
        found = f"all its ranks come {format_seconds(seconds)} late or more of their own doing"
        if why.factor > 1:
            found += f", and the same piece of work takes its processor {why.factor:.3g} times as long as the others'"
        if why.waits:
            waited_s = float(np.median(evidence.waited_s[list(ranks)]))
            found += f", and are ready to run but have no core for {format_seconds(waited_s)} a step"
        name = evidence.host_name(host)
        advice = f"Look at {name}: other jobs, its cgroup's limits, clock and temperature; or do without it."
        prospect = step.prospect(Conditions(late=dict.fromkeys(ranks, seconds)))
        where = _host_in_words(evidence, host, ranks)
        yield _finding(Cause.HOST_SLOW, ranks, where, seconds, found, prospect, advice, host=host)


def _nics(evidence: Evidence, step: Step, hosts: Mapping[int, SlowHost]) -> Iterator[Finding]:
    """What a survey between hosts has shown. A host that has no core to send with says nothing of its ways."""
    slow = slow_ports(evidence.nic_shares)
    for port, nic in enumerate(evidence.nics):
        factor = slow.ports.get(port) or max(evidence.noticed.get(rank, 1.0) for rank in nic.ranks)
        if factor < HEALTHY:
            continue
        fastest = float(np.nanmax([evidence.speeds[port], evidence.speeds[:, port]]))
        seen = f"at best {format_bandwidth(fastest)} with any other host"
        if port not in slow.ports:
            seen = "by what the latest operations have shown"
        found = f"{factor:.3g} times slower than the median NIC: {seen}"
        prospect = step.prospect(Conditions(slow=dict.fromkeys(nic.ranks, factor)))
        advice = (
            "Look at its lanes, cable, firmware and switch port. Collectives without a schedule of their own are "
            "planned for it by themselves (comm.health())."
        )
        where = _nic_in_words(evidence, nic)
        yield _finding(Cause.NIC_SLOW, nic.ranks, where, factor, found, prospect, advice, host=nic.host)
    for (src, dst), factor in _one_each_way(slow.pairs).items():
        ends = evidence.nics[src], evidence.nics[dst]
        if any(end.host in hosts and hosts[end.host].waits for end in ends):
            continue
        found = (
            f"{factor:.3g} times slower than both are with other hosts: at best "
            f"{format_bandwidth(float(evidence.speeds[src, dst]))}"
        )
        where = " to ".join(_host_in_words(evidence, end.host, end.ranks) for end in ends)
        advice = "Look at the switches and cables between the two, and at routes and error counters there."
        ranks = tuple(sorted(rank for end in ends for rank in end.ranks))
        link = ends[0].ranks[0], ends[1].ranks[0]
        cost_s = (factor - 1) * step.nbytes / len(evidence.nics) / float(np.nanmax(evidence.speeds))
        yield _finding(Cause.LINK_SLOW, ranks, where, factor, found, Prospect(cost_s), advice, link=link)


def _one_each_way(pairs: Mapping[Pair, float]) -> dict[Pair, float]:
    """Name a pair once where it is slow both ways."""
    return {
        (src, dst): max(factor, pairs.get((dst, src), 0.0))
        for (src, dst), factor in pairs.items()
        if src < dst or (dst, src) not in pairs
    }


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
            yield _finding(Cause.NIC_SLOW, (way.rank,), f"rank {way.rank}", factor, found, prospect, advice)
        elif way.link is not None:
            prospect = step.prospect(Conditions(), step.topology.degraded(_both_ways(step, way, factor)))
            advice = (
                "Look at the cable and at both its ends; plan with a topology that has the link as it is now."
            )
            where = f"link {_end_in_words(evidence, way.link[0])} to {_end_in_words(evidence, way.link[1])}"
            ends = _ends(evidence, way)
            yield _finding(Cause.LINK_SLOW, ends, where, factor, found, prospect, advice, link=way.link)


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
    yield _finding(Cause.OVERSUBSCRIBED, (), "this machine", share, found, Prospect(waited_s), advice)


def _notes(evidence: Evidence) -> Iterator[str]:
    if len(evidence.own_s) < _LEAST_OPERATIONS:
        yield f"only {len(evidence.own_s)} operations so far, too few to say who is late; at least {_LEAST_OPERATIONS}"
    if not evidence.sees_network:
        yield (
            "NICs and links could not be judged: no message over a network was timed; over shared memory there is "
            "none: ask where one is used, or --emulate one"
        )
    elif evidence.nics and len(evidence.hosts) < 3:
        yield "of two hosts nobody can say whose NIC is slow"
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


def _end_in_words(evidence: Evidence, end: int) -> str:
    name = evidence.vertex_names[end] if evidence.vertex_names else ""
    if end < evidence.rank_count:
        return f"rank {end} ({name})" if name else str(end)
    return name or f"switch {end}"


def _ranks_in_words(ranks: tuple[int, ...]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"


def _rank_in_words(evidence: Evidence, rank: int) -> str:
    on = f" on {evidence.host_name(evidence.host_of[rank])}" if evidence.host_names else ""
    return f"rank {rank}{on}"


def _host_in_words(evidence: Evidence, host: int, ranks: tuple[int, ...]) -> str:
    return f"{evidence.host_name(host)} ({_ranks_in_words(ranks)})"


def _nic_in_words(evidence: Evidence, nic: Nic) -> str:
    return f"{evidence.nic_name(nic)} ({_ranks_in_words(nic.ranks)})"


def _finding(
    cause: Cause,
    ranks: tuple[int, ...],
    where: str,
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
        where,
        amount,
        evidence,
        prospect.cost_s,
        prospect.gain_s,
        prospect.schedule,
        advice,
    )
