# SPDX-License-Identifier: Apache-2.0
"""Predicted bus bandwidths of GPU machines beside published ones, by the assumptions of Hemiola's NCCL reader.

Goal: within 10 %, or the page states the reason of the difference. Nothing is measured here.

    python benchmarks/published.py --report
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import hemiola as hm
from hemiola.topology.nccl_xml import from_xml
from hemiola.whole_file import write_whole

REPORT = Path(__file__).resolve().parent.parent / "docs" / "results" / "published.md"
NEAR = 0.10
_NVSWITCH = '<nvlink target="fffffff:ff:ff.0" count="{}" tclass="0x068000"/>'


@dataclass(frozen=True)
class Box:
    """A machine with its published bus bandwidths, in GB/s from least to most, and the reason of a difference."""

    name: str
    topology: hm.Topology
    published: tuple[float, float]
    source: str
    reason: str = ""
    kind: hm.Kind = "all_reduce"
    nbytes: int = 1 << 30
    in_switch: bool = False

    def predicted(self) -> tuple[str, float]:
        """Return the schedule, and its bus bandwidth in GB/s."""
        plan = hm.plan(self.topology, self.kind, self.nbytes)
        name, seconds = plan.name, plan.seconds
        if self.in_switch:
            assert plan.in_switch is not None, f"{self.name}: expected a switch that reduces, found none"
            name, seconds = plan.in_switch.schedule.name, plan.in_switch.seconds
        n = self.topology.rank_count
        crossings = (2 if self.kind == "all_reduce" else 1) * (n - 1) / n
        return name, crossings * self.nbytes / seconds / 1e9


def off(predicted: float, published: tuple[float, float]) -> float:
    """Return the prediction's distance from the nearest published figure, as a share of that."""
    nearest = min(max(predicted, published[0]), published[1])
    return predicted / nearest - 1


def gpu(rank: int, sm: int, links: str, model: str = "") -> str:
    return (
        f'<pci busid="0000:0{rank}:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">'
        f'<gpu dev="{rank}" sm="{sm}" {model} rank="{rank}" gdr="1">{links}</gpu></pci>'
    )


def machine(*gpus: str) -> hm.Topology:
    cpu = f'<cpu host_hash="0x1" numaid="0" vendor="AuthenticAMD" modelid="1">{"".join(gpus)}</cpu>'
    return from_xml(f'<system version="1">{cpu}</system>', "'published.py'")


def on_nvswitch(sm: int, nvlinks: int) -> hm.Topology:
    return machine(*(gpu(rank, sm, _NVSWITCH.format(nvlinks)) for rank in range(8)))


def mi300x() -> hm.Topology:
    def links(rank: int) -> str:
        peers = (peer for peer in range(8) if peer != rank)
        return "".join(f'<xgmi target="0000:0{peer}:00.0" count="1" tclass="0x120000"/>' for peer in peers)

    return machine(*(gpu(rank, 94, links(rank), 'gcn="gfx942"') for rank in range(8)))


def boxes() -> list[Box]:
    """Return the machines of which bandwidths have been published."""
    two_p4d = hm.topologies.hosts(
        2, 8, 4, latency_s=0.6e-6, bandwidth=240e9, nic_latency_s=1e-5, nic_bandwidth=12.5e9
    )
    two_gb10 = hm.topologies.switch(2, latency_s=5e-6, bandwidth=25e9)
    h100, b200 = on_nvswitch(90, 18), on_nvswitch(100, 18)
    nvls = "each byte passes a port once each way; NCCL's NVLS moves (n+1)/n of it; the rest is unexplained"
    return [
        Box("8 H100, ranks alone", h100, (368.8, 368.8), "nccl-tests logs"),
        Box(
            "8 H100, in the switch", h100, (480, 480), "nccl-tests issue 212: about 480", nvls, in_switch=True
        ),
        Box("8 B200, in the switch", b200, (830, 830), "nccl issue 1807: over 830", nvls, in_switch=True),
        Box(
            "8 A100 (p4d)",
            on_nvswitch(80, 12),
            (230.8, 230.8),
            "aws-ofi-nccl logs",
            "the plan uses PCIe beside NVLink; NVLinks alone reach 240",
        ),
        Box(
            "2 × p4d",
            two_p4d,
            (57.2, 57.2),
            "aws-ofi-nccl logs",
            "four NICs of 100 Gbit/s each way without losses; the rest is unexplained",
        ),
        Box("8 MI300X", mi300x(), (336, 336), "not measured: AMD's guide states 48 usable a link, of 7"),
        Box(
            "8 GB300 in 2 trays, 512 MiB",
            on_nvswitch(103, 18),
            (507, 507),
            "a public log",
            "links without losses; the notes do not say which algorithm ran",
            nbytes=512 << 20,
        ),
        Box(
            "2 DGX Spark, all-gather",
            two_gb10,
            (18.9, 21),
            "dgx-spark-playbooks issue 25",
            "a cable of 200 Gbit/s without losses; the rest is unexplained",
            kind="all_gather",
        ),
    ]


def page(rows: list[dict[str, object]]) -> str:
    """Return the page of results."""
    table = "\n".join(
        f"| {r['box']} | `{r['schedule']}` | {r['predicted']} | {r['published']} | {r['off']:+.0%} "
        f"| {r['reason']} | {r['source']} |"
        for r in rows
    )
    near = sum(abs(float(str(r["off"]))) <= NEAR for r in rows)
    return f"""# Predictions beside published bandwidths

<!-- written by benchmarks/published.py --report -->
Bus bandwidth in GB/s of large all-reduces, 1 GiB unless said, by the rates that the reader of NCCL's files assumes.
Hemiola has not run on these machines. The goal is 10 %, or a reason.
Reproduce: `python benchmarks/published.py --report`

| machine | schedule | predicted | published | off by | reason where more than 10 % | source |
|---|---|--:|--:|--:|---|---|
{table}

{near} of {len(rows)} are within 10 %. In every other row the prediction is higher. It counts no losses on links.
`hemiola calibrate` measures a network's real rates.

Several boxes whose switches reduce get no prediction in the switch. `all_reduce_in_switch` takes one switch that joins
all ranks, and raises `ArgumentError` elsewhere ([decision 0053](../decisions/0053-collectives-in-the-switch.md)).
"""


def main() -> int:
    """Print a JSON line for each machine; exit status 1 if one is off by more than the goal and has no reason."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--report", type=Path, nargs="?", const=REPORT, metavar="FILE", help="rewrite the page"
    )
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    is_met = True
    for box in boxes():
        name, predicted = box.predicted()
        least, most = box.published
        share = off(predicted, box.published)
        is_near = abs(share) <= NEAR
        is_met &= is_near or bool(box.reason)
        published = f"{least:g}" if least == most else f"{least:g} to {most:g}"
        reason = "" if is_near else box.reason
        rows.append(
            {
                "box": box.name,
                "schedule": name,
                "predicted": round(predicted, 1),
                "published": published,
                "off": round(share, 3),
                "reason": reason,
                "source": box.source,
            }
        )
        print(json.dumps(rows[-1], ensure_ascii=False), flush=True)
    if options.report:
        write_whole(options.report, page(rows))
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
