# SPDX-License-Identifier: Apache-2.0
"""Metrics of this process's groups for Prometheus: how much they have done, which ranks come late, which ports are
slow, and how their members have changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from hemiola import environment
from hemiola.environment.packages import optional
from hemiola.side_channel import harmless
from hemiola.torch.open_groups import OPEN

_is_telling = False


def begin_telling(rank: int) -> None:
    """Listen where HEMIOLA_PROMETHEUS says, once in a process.

    Where the package prometheus-client is missing, or somebody else has the port, a warning says so: a job goes on
    without its metrics.
    """
    global _is_telling
    at = environment.PROMETHEUS.value()
    if at is None or _is_telling:
        return
    port = at.port + int(os.environ.get("LOCAL_RANK", rank))
    with harmless(f"{environment.PROMETHEUS.name}, port {port} of {at.host}"):
        _listen(at.host, port)
        _is_telling = True


def _listen(host: str, port: int) -> None:
    client = optional("prometheus_client")
    registry = client.CollectorRegistry()
    registry.register(Groups())
    client.start_http_server(port, host, registry)


class Groups:
    """Reads the groups' notes whenever Prometheus asks.

    Lateness and ports are read between operations alone, since reading them waits for operations under way.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any]] = {}

    def collect(self) -> Iterator[Any]:
        """Yield the metrics, as prometheus_client wants them."""
        families = optional("prometheus_client.core")
        operations = families.CounterMetricFamily(
            "hemiola_operations", "Operations that were called.", labels=["group", "operation"]
        )
        moved = families.CounterMetricFamily(
            "hemiola_bytes", "Bytes of the inputs of operations.", labels=["group", "operation"]
        )
        failures = families.CounterMetricFamily(
            "hemiola_failures", "Operations that have failed.", labels=["group"]
        )
        last = families.GaugeMetricFamily(
            "hemiola_last_share",
            "Share of the latest operations to which a rank came last.",
            labels=["group", "rank"],
        )
        lag = families.GaugeMetricFamily(
            "hemiola_lag_seconds",
            "Median of how long a rank held up the others when it came last.",
            labels=["group", "rank"],
        )
        slow = families.GaugeMetricFamily(
            "hemiola_port_slowdown",
            "How much slower a rank's ports are than the others'.",
            labels=["group", "rank"],
        )
        for group in list(OPEN):
            name = group.record_name
            for kind, (count, nbytes) in group.recorder.totals().items():
                operations.add_metric([name, kind], count)
                moved.add_metric([name, kind], nbytes)
            failures.add_metric([name], group.recorder.failures)
            arrivals, health = self._seen_of(group)
            for one in arrivals:
                last.add_metric([name, str(one.rank)], one.last_share)
                lag.add_metric([name, str(one.rank)], one.p50_s)
            slow_factors = {one.rank: one.factor for one in health}
            for rank in range(len(group.job_ranks)):
                slow.add_metric([name, str(rank)], slow_factors.get(rank, 1.0))
        yield from (operations, moved, failures, last, lag, slow, *_of_members())

    def _seen_of(self, group: Any) -> tuple[Any, Any]:
        entries = group.recorder.latest()
        if not entries or entries[-1].state() in ("completed", "failed"):
            self._known[id(group)] = group.seen()
        return self._known.get(id(group), ((), ()))


def _of_members() -> Iterator[Any]:
    """Yield how many members each group has, and how they have changed."""
    families = optional("prometheus_client.core")
    present = {
        "epoch": ("hemiola_epoch", "The number of the latest change of members."),
        "members": ("hemiola_members", "Ranks of the group."),
        "took_s": ("hemiola_change_seconds", "How long the latest change of members took."),
    }
    totals = {
        "joins": ("hemiola_joins", "Ranks that have joined."),
        "leaves": ("hemiola_leaves", "Ranks that have left after they had said so."),
        "losses": ("hemiola_losses", "Ranks that were lost."),
    }
    found = {name: families.GaugeMetricFamily(*words, labels=["group"]) for name, words in present.items()}
    found |= {name: families.CounterMetricFamily(*words, labels=["group"]) for name, words in totals.items()}
    for group in list(OPEN):
        history = group.history()
        latest = history.latest()
        values = {"epoch": latest.number, "members": len(latest.ranks), "took_s": latest.took_s}
        values |= {name: history.present[name] for name in totals}
        for name, value in values.items():
            found[name].add_metric([group.record_name], value)
    yield from found.values()
