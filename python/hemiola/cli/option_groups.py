# SPDX-License-Identifier: Apache-2.0
"""Options that belong together, so that every command that reads a topology file has all of them.

A command takes a group as one parameter; `with_groups` puts the group's options in its place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from hemiola.cli import options, values
from hemiola.errors import ArgumentError
from hemiola.topology.wiring import Speeds
from hemiola.units import parse_bandwidth

Result = TypeVar("Result")


def _speed(what: str) -> Any:
    return typer.Option(metavar="SPEED", parser=options.reads(parse_bandwidth), help=what)


@dataclass(frozen=True)
class LinkSpeeds:
    """A user's figures for links of which a topology file gives only the kind."""

    nvlink_bandwidth: Annotated[
        float | None,
        _speed(
            "One NVLink or xGMI link, where the file does not say (nvidia-smi, rocm-smi, amd-smi): '25 GB/s'."
        ),
    ] = None
    nic_bandwidth: Annotated[
        float | None,
        _speed("One NIC, where the file does not say; without it NICs are left out: '200 Gbit/s'."),
    ] = None
    pcie_bandwidth: Annotated[
        float | None,
        _speed("One PCIe link, where the file does not say: '48 GB/s' for the fifth generation."),
    ] = None

    def given(self) -> Speeds:
        """Return them as readers take them."""
        return Speeds(self.nvlink_bandwidth, self.nic_bandwidth, self.pcie_bandwidth)


@dataclass(frozen=True)
class LinkChanges:
    """The parts of a topology file that are slower, or gone."""

    slow_link: options.SlowLink = None
    without_link: options.WithoutLink = None
    without_nic: options.WithoutNic = None

    @property
    def are_given(self) -> bool:
        """Whether anything is to be changed."""
        return any(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True)
class SizeList:
    """Several sizes: those that are named, or a range."""

    sizes: Annotated[
        list[str] | None,
        typer.Option(
            "--sizes",
            metavar="SIZE,…",
            help="These sizes, not a range: 4KiB,1MiB. Repeat or join with commas.",
        ),
    ] = None
    begin: Annotated[
        int | None,
        typer.Option(
            "--begin",
            "-b",
            metavar="SIZE",
            parser=options.reads(values.read_nccl_size),
            help="Smallest size, 1 KiB unless it is said; 1K is 1,024 here, as in nccl-tests.",
        ),
    ] = None
    end: Annotated[
        int | None,
        typer.Option(
            "--end",
            "-e",
            metavar="SIZE",
            parser=options.reads(values.read_nccl_size),
            help="Largest size, 64 MiB unless it is said; 128M is 128 MiB here.",
        ),
    ] = None
    factor: Annotated[
        float | None,
        typer.Option(
            "--factor",
            "-f",
            metavar="FACTOR",
            help="From one size to the next, above 1; 4 unless it is said.",
        ),
    ] = None

    @property
    def is_given(self) -> bool:
        """Whether any of them is."""
        return any(getattr(self, field.name) is not None for field in fields(self))

    def in_bytes(self) -> list[int]:
        """Return the sizes in bytes, each once.

        Raises
        ------
        ArgumentError
            for a range that is empty or too long, and for both names and a range.
        FormatError
            for a text that is no size.
        """
        if self.sizes is None:
            first = 1 << 10 if self.begin is None else self.begin
            last = 64 << 20 if self.end is None else self.end
            factor = 4.0 if self.factor is None else self.factor
            return values.size_steps(first, last, factor)
        if (self.begin, self.end, self.factor) != (None, None, None):
            raise ArgumentError("--sizes names every size; leave --begin, --end and --factor out")
        return values.read_sizes(self.sizes)


#: The commands' defaults.
NO_SPEEDS, NO_CHANGES, DEFAULT_SIZES = LinkSpeeds(), LinkChanges(), SizeList()


def with_groups(command: Callable[..., Result]) -> Callable[..., Result]:
    """Return the command with the options of its groups as options of its own."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint) and isinstance(hint, type)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(annotation=hints[name]))
            continue
        own = get_type_hints(groups[name], include_extras=True)
        parameters += [
            inspect.Parameter(option, parameter.kind, default=None, annotation=own[option]) for option in own
        ]

    def expanded(**arguments: Any) -> Result:
        for name, group in groups.items():
            arguments[name] = group(**{field.name: arguments.pop(field.name) for field in fields(group)})
        return command(**arguments)

    expanded.__name__, expanded.__doc__ = command.__name__, command.__doc__
    expanded.__module__ = command.__module__
    expanded.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return expanded
