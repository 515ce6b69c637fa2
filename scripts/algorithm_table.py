# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/algorithms.md from the registry and docs/references.bib; scripts/generate.py calls it."""

import re
from pathlib import Path

import hemiola as hm

ROOT = Path(__file__).resolve().parent.parent

INTRODUCTION = """\
# Algorithms

Generated from the registry (`make generate`); do not edit. The tests evaluate every formula on this page and
compare it with the transfers of the schedules, for 2 to 64 ranks.

Each algorithm is a function `hemiola.algorithms.<name>(rank_count, …)` that returns a schedule; rooted
collectives take `root`, pipelined algorithms `chunk_count`. `hemiola.algorithms.get(name)` has the figures
below as numbers.

| symbol | meaning |
|---|---|
| n | ranks, at least 2; with one rank there is nothing to do |
| N | bytes of one rank's buffer: what a gather collects, what a scatter or reduce-scatter divides |
| K | chunk count, chosen by the caller |
| p, f | the largest power of two ≤ n, and n - p |
| S | min(2^k, f) summed over k = 0 … log2 p - 1 |
| B | bits set in all of 0 … n-1 together |
| [f>0] | 1 if n is no power of two, 0 if it is |
| α, β | latency in seconds; seconds per byte (1/bandwidth) |

*Sent* is what the busiest rank sends. *Seconds* is the classical cost on a network in which every rank has
one port that sends and receives at once: each step costs α and the time of its busiest port. The simulator,
for which steps are no barriers and latency overlaps the next transfer, may find less.
"""


CONDITIONAL = """\
## For a late rank, for slow ranks, for a topology

Their functions take more than a rank count. The table's costs are for reading only.

Three more make schedules for a topology. `hemiola.synthesis.forest` packs spanning trees. `sccl` and `taccl` of
`hemiola.synthesis.optimal` solve integer programs after SCCL [cai2021] and TACCL [shah2023], for some ten and some
tens of ranks. They use HiGHS instead of an SMT solver, and have no sketches. On the command line all that need only a
topology have names, such as `all_gather_forest`, `all_reduce_themis` or `all_gather_sccl`:

```sh
hemiola simulate all_reduce_themis torus.yaml 64MiB
hemiola synthesize all_reduce torus.yaml --algorithm multitree --out multitree.sched
```

BlueConnect, Themis and the trees of a mesh find out which grid a topology is; C-Cube wants the links of a DGX-1.
"""

NEEDS = {"late": "the late rank", "slow": "the slow ranks", "topology": "the topology"}


def bibliography() -> dict[str, dict[str, str]]:
    """Return the fields of every entry of docs/references.bib by key."""
    text = (ROOT / "docs" / "references.bib").read_text()
    entries = {}
    for key, body in re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        entries[key] = dict(re.findall(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", body, re.MULTILINE))
    return entries


def reference(key: str, fields: dict[str, str]) -> str:
    """Return one line of the list of references."""
    authors = fields["author"].replace(" and ", ", ")
    where = fields.get("journal") or fields.get("booktitle") or fields["howpublished"]
    if "volume" in fields:
        where += " " + fields["volume"] + (f"({fields['number']})" if "number" in fields else "")
    if "pages" in fields:
        where += ", pp. " + fields["pages"]
    line = f"- **[{key}]** {authors}: *{fields['title']}*. {where}, {fields['year']}."
    return line.replace('{\\"a}', "ä").replace("--", "-")


def row(cells: list[str]) -> str:
    """Return one line of a table."""
    return "| " + " | ".join(cells) + " |"


def table(columns: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table; empty cells show as a dash."""
    return [row(columns), row(["---"] * len(columns)), *(row([c or "–" for c in cells]) for cells in rows)]


def ideas(algorithms: list[hm.algorithms.Algorithm]) -> list[str]:
    """Return a line per algorithm that says how it works."""
    return [f"- `{a.name}`: {a.idea}" for a in algorithms]


def figures(a: hm.algorithms.Algorithm) -> list[str]:
    """Return the cells that every table ends with."""
    return [a.sizes, a.chunks_formula, a.steps_formula, a.bytes_formula, a.formula]


def section(kind: hm.Kind) -> str:
    """Return the heading, table and explanations of one collective's algorithms."""
    algorithms = [hm.algorithms.get(name) for name in hm.algorithms.names(kind)]
    columns = ["algorithm", "paper", "ranks", "chunks", "steps", "sent", "seconds"]
    rows = [[f"`{a.name}`", f"[{a.paper.key}]", *figures(a)] for a in algorithms]
    return "\n".join([f"## {kind}", "", *table(columns, rows), "", *ideas(algorithms)]) + "\n"


def conditional_section() -> str:
    """Return the same for the algorithms that take more than a rank count."""
    algorithms = [hm.algorithms.get(name) for need in NEEDS for name in hm.algorithms.names(needs=need)]
    columns = ["algorithm", "needs", "paper", "ranks", "chunks", "steps", "sent", "seconds"]
    rows = [[f"`{a.name}`", NEEDS[a.needs], f"[{a.paper.key}]", *figures(a)] for a in algorithms]
    return "\n".join([CONDITIONAL, *table(columns, rows), "", *ideas(algorithms)]) + "\n"


def text() -> str:
    """Return the whole document."""
    needs = ["", *NEEDS]
    algorithms = [hm.algorithms.get(name) for need in needs for name in hm.algorithms.names(needs=need)]
    kinds = list(dict.fromkeys(a.kind for a in algorithms if not a.needs))
    entries = bibliography()
    cited = sorted({"cai2021", "shah2023", *(a.paper.key for a in algorithms)}, key=str.lower)
    references = "## References\n\n" + "\n".join(reference(key, entries[key]) for key in cited) + "\n"
    return "\n".join([INTRODUCTION, *(section(kind) for kind in kinds), conditional_section(), references])
