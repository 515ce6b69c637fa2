# SPDX-License-Identifier: Apache-2.0
"""docs/results/real-steps.md, as benchmarks/real_steps.py writes it."""

from __future__ import annotations

from collections.abc import Sequence

from hemiola.machine.capacity import describe_machine
from real_steps_rows import CALL_BYTES, LATE_S, SLOWER, Row, call_lines, summary, table_lines, target_lines

#: The heading of the part that people write, which stays.
BEHIND = "## What stands behind the differences"

HEAD = """\
# Real training steps, predicted

<!-- benchmarks/real_steps.py --write makes all that stands before the last section -->
A GPT of 11 million parameters learns this repository's text, byte by byte. Four ranks share it by DDP or by FSDP2,
with gloo or with Hemiola. `hemiola.whatif` predicts each step from one trace of its split. The traces were recorded on
4 local ranks, with gloo and without a fault. The networks are those that `hemiola calibrate` measured without a fault.
Nothing is fitted to the times of steps.

- 4 local: processes of one machine. 2 × 2 and 4 × 1: its namespace hosts, with so many ranks on each.
- Late rank: one rank begins each step {late:g} s late. Slow NIC: the last host's NIC has 1/{slower:g} of its rate.
- All ranks share the machine's cores at all places, and a question says so (`cores`).
- The profiler slows operators. So a question says how long the traced steps take without it (`untraced_s`).
- gloo's ranks of one host use TCP. Its networks are measured so (`HEMIOLA_WIRE=tcp`), Hemiola's with shared memory.
- A call takes software, too. At each place an all-reduce of {nbytes} elements of one byte is measured. Its time beyond
  the network's part is the library's software in each call (`software_s`).

A step ends when its last rank is done. Cells have the median of {steps} steps. The error is the prediction's. The gain
is the share of gloo's step that Hemiola saves.

Machine: {machine}, load {load:.1f} before the run. Reproduce: `python benchmarks/real_steps.py --write`

## Targets
"""


def page(rows: Sequence[Row], calls: Sequence[Row], load: float, before: str) -> str:
    """Return the page: method, targets, tables, and the last section of the page before."""
    steps = len(rows[0]["seconds"])
    head = HEAD.format(
        late=LATE_S, slower=SLOWER, nbytes=CALL_BYTES, steps=steps, machine=describe_machine(), load=load
    )
    lines = [*head.splitlines(), "", *target_lines(summary(rows)), "", "## The steps", "", *table_lines(rows)]
    lines += ["", "## The calls", "", *call_lines(calls)]
    _, heading, behind = before.partition(BEHIND)
    return "\n".join(lines) + "\n" + (f"\n{heading}{behind}" if heading else "")
