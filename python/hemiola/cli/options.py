# SPDX-License-Identifier: Apache-2.0
"""Arguments and options that several commands share, spelled and explained the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from hemiola.arguments.names import KINDS, PEERS, Kind, Op
from hemiola.cli import values
from hemiola.errors import HemiolaError
from hemiola.view.picture_file import check_suffix

Value = TypeVar("Value")


def reads(reader: Callable[[str], Value]) -> Callable[[str | Value], Value]:
    """Make a reader of text into one for Typer, which keeps only its own exceptions' messages.

    Defaults come this way, too, as the values they are.
    """

    def read(text: str | Value) -> Value:
        if not isinstance(text, str):
            return text
        try:
            return reader(text)
        except HemiolaError as error:
            raise typer.BadParameter(str(error)) from None

    read.__name__ = reader.__name__
    return read


class Network(StrEnum):
    """The simulator's network models."""

    fluid = "fluid"
    fifo = "fifo"


ScheduleArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCHEDULE", help="Schedule file, or the name of an algorithm (docs/reference/algorithms.md)."
    ),
]
TopologyFile = Annotated[
    Path,
    typer.Argument(
        metavar="TOPOLOGY",
        help="Topology file: YAML, NCCL's XML or log, or the output of nvidia-smi, rocm-smi or amd-smi.",
    ),
]
KindArgument = Annotated[
    Kind,
    typer.Argument(metavar="COLLECTIVE", parser=reads(values.read_kind), help=f"One of {', '.join(KINDS)}."),
]
SizeArgument = Annotated[
    int,
    typer.Argument(
        metavar="SIZE", parser=reads(values.read_size), help="Bytes of one rank's buffer: 64MiB, 4096."
    ),
]
Late = Annotated[
    list[str] | None,
    typer.Option(
        "--late", metavar="RANK=TIME", help="A rank arrives late: 7=50ms. Repeat or join with commas."
    ),
]
Slow = Annotated[
    list[str] | None,
    typer.Option(
        "--slow",
        metavar="RANK=FACTOR",
        help="A rank's ports are slower: 0=2, GPU0=2; or a NIC: nic:mlx5_1=2, nic:HOST/mlx5_1=2 where several hosts "
        "have it ('hemiola topology show' lists them). Repeat or join with commas.",
    ),
]
Density = Annotated[
    float,
    typer.Option(
        "--density",
        metavar="SHARE",
        parser=reads(values.read_density),
        help="Share of elements that are not zero, 0.01 or 1%: messages may leave zeros out.",
    ),
]
SlowLink = Annotated[
    list[str] | None,
    typer.Option(
        "--slow-link",
        metavar="A-B=FACTOR",
        help="A link is slower, in both directions: 3-7=4, GPU0-NVSwitch=4 ('hemiola topology show' lists names and "
        "numbers). Repeat or join with commas.",
    ),
]
WithoutLink = Annotated[
    list[str] | None,
    typer.Option(
        "--without-link",
        metavar="A-B",
        help="A link is gone, in both directions: 3-7, GPU0-NVSwitch. Repeat or join with commas.",
    ),
]
WithoutNic = Annotated[
    list[str] | None,
    typer.Option(
        "--without-nic",
        metavar="NIC",
        help="A NIC is not used: eth0, or 1/eth0 where several hosts have it. Repeat or join with commas.",
    ),
]
Root = Annotated[
    int,
    typer.Option(
        "--root", "-r", metavar="RANK", parser=reads(values.read_count), help="Root of rooted collectives."
    ),
]
NetworkOption = Annotated[
    Network,
    typer.Option("--network", help="fluid: flows share links fairly; fifo: one message at a time per link."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
Chart = Annotated[
    Path | None,
    typer.Option(
        "--chart",
        metavar="FILE",
        parser=reads(check_suffix),
        help="Draw a picture into this file: .png, .svg or .pdf.",
    ),
]
Bandwidth = Annotated[
    bool, typer.Option("--bandwidth", help="With --chart: draw the size over the time, instead of the time.")
]
Ranks = Annotated[
    int | None,
    typer.Option("--ranks", "-n", metavar="COUNT", parser=reads(values.read_count), help="Number of ranks."),
]
OptionalKind = Annotated[
    Kind,
    typer.Argument(metavar="COLLECTIVE", parser=reads(values.read_kind), help=f"One of {', '.join(KINDS)}."),
]
OptionalSize = Annotated[
    int | None,
    typer.Argument(
        metavar="SIZE", parser=reads(values.read_size), help="Bytes of one rank's buffer: 64MiB, 4096."
    ),
]
Emulate = Annotated[
    Path | None,
    typer.Option(
        "--emulate",
        metavar="TOPOLOGY",
        help="Imitate this cluster (a topology file): pace each rank's ports to it.",
    ),
]
Peers = Annotated[
    list[str] | None,
    typer.Option(
        "--peer",
        metavar="NAME",
        help=f"Measure another library beside it, on the same ranks: {', '.join(PEERS)} (needs PyTorch).",
    ),
]
DType = Annotated[
    str,
    typer.Option(
        "--dtype", "-d", metavar="TYPE", help="float32, bfloat16, int8 and so on; half, float, fp16."
    ),
]
OpOption = Annotated[
    Op,
    typer.Option(
        "--op",
        "-o",
        metavar="OP",
        parser=reads(values.read_op),
        help="sum, product, min, max, average, and, or, xor; prod, avg.",
    ),
]
Warmups = Annotated[
    int,
    typer.Option(
        "--warmups", "-w", metavar="COUNT", parser=reads(values.read_count), help="Repetitions before timing."
    ),
]
Repeats = Annotated[
    int,
    typer.Option(
        "--repeats", metavar="COUNT", parser=reads(values.read_count), help="Timed repetitions, at least 1."
    ),
]
