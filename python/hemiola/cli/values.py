# SPDX-License-Identifier: Apache-2.0
"""Readers of typed values: sizes, times, rank=value pairs. Each reader answers bad text with a typed error that quotes
it."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable
from pathlib import Path

from hemiola import algorithms, units
from hemiola._core import Topology, kind_meant, op_meant
from hemiola.arguments.names import KINDS, OPERATIONS, Kind, Op, as_kind, as_op
from hemiola.cli.output import printable
from hemiola.conditions import NIC_KEY, Conditions
from hemiola.errors import ArgumentError, FormatError
from hemiola.view.picture_file import check_place


def read_size(text: str) -> int:
    """Read '64MiB', '64M' or '4096' as bytes."""
    return units.parse_bytes(printable(text))


def read_nccl_size(text: str) -> int:
    """Read '64MiB', '4096', or '64M' as nccl-tests does: K, M and G alone are powers of 1,024."""
    shown = printable(text).strip()
    return read_size(f"{shown[:-1]}{shown[-1].upper()}i" if shown[-1:] in tuple("kKmMgG") else shown)


def read_sizes(texts: Iterable[str]) -> list[int]:
    """Read '4K,1M', comma-separated or one per text, as nccl-tests reads sizes, each once."""
    return list(dict.fromkeys(read_nccl_size(part) for text in texts for part in text.split(",")))


def read_seconds(text: str) -> float:
    """Read '50ms' or '0.5 us' as seconds."""
    return units.parse_seconds(printable(text))


def read_factor(text: str, *, may_be_dead: bool = False) -> float:
    """Read '2', '1.5' or '2x' as a factor of at least 1; 'inf' too for a part that may be dead."""
    text = printable(text)
    try:
        factor = float(text.strip().removesuffix("x"))
    except ValueError:
        factor = math.nan
    if not factor >= 1 or (math.isinf(factor) and not may_be_dead):
        raise FormatError(f"expected a factor of at least 1 such as '2' or '1.5x', found {_quoted(text)}")
    return factor


def read_count(text: str) -> int:
    """Read a decimal number >= 0 that fits in 31 bits."""
    text = printable(text)
    body = text.strip()
    if not (body.isascii() and body.isdigit() and len(body) <= 10 and int(body) < 2**31):
        raise FormatError(f"expected a whole number such as '8', found {_quoted(text)}")
    return int(body)


def read_kind(text: str) -> Kind:
    """Read the name of one collective, ours or another library's: 'allreduce', 'bcast'."""
    meant = kind_meant(printable(text))
    if not meant:
        close = difflib.get_close_matches(printable(text), KINDS, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        if set(text) & set("./"):
            hint = "; the order is COLLECTIVE TOPOLOGY SIZE"
        raise ArgumentError(f"unknown collective {_quoted(text)}; expected one of: {', '.join(KINDS)}{hint}")
    return as_kind(meant)


def read_op(text: str) -> Op:
    """Read how elements are combined, in our words or another library's: 'avg', 'SUM', 'prod'."""
    meant = op_meant(printable(text))
    if not meant:
        raise ArgumentError(f"unknown operation {_quoted(text)}; expected one of: {', '.join(OPERATIONS)}")
    return as_op(meant)


def read_algorithm(text: str, kind: Kind) -> str:
    """Read the name of an algorithm for a collective; 'ring' is completed to 'all_reduce_ring'."""
    name = printable(text).strip()
    completed = f"{kind}_{name.replace('-', '_').lower()}"
    return completed if completed in algorithms.names(needs=None) else name


def read_late(texts: Iterable[str]) -> dict[int, float]:
    """Read '7=50ms' pairs, comma-separated or one per text, as rank → seconds."""
    return _read_pairs(texts, read_seconds, "7=50ms")


def read_slow(texts: Iterable[str]) -> dict[int, float]:
    """Read '0=2' pairs, comma-separated or one per text, as rank → factor."""
    return _read_pairs(texts, read_factor, "0=2")


def read_slow_ports(texts: Iterable[str]) -> dict[int | str, float]:
    """Read '0=2' and 'nic:mlx5_1=2' pairs, comma-separated or one per text, as rank or NIC → factor."""
    parts = [part.strip() for joined in texts for part in printable(joined).split(",")]
    found: dict[int | str, float] = {}
    found.update(read_slow([part for part in parts if not part.startswith(NIC_KEY)]).items())
    for part in parts:
        nic, equals, factor_text = part.partition("=")
        if not nic.startswith(NIC_KEY):
            continue
        if not equals or nic == NIC_KEY:
            raise FormatError(f"expected nic:NAME=factor such as 'nic:mlx5_1=2', found {_quoted(part)}")
        if nic in found:
            raise ArgumentError(f"{nic} is given twice; keep one")
        found[nic] = read_factor(factor_text, may_be_dead=True)
    return found


def slow_as_data(conditions: Conditions) -> dict[str, float | str]:
    """Return the factors by rank or NIC for JSON, which has no number for a dead NIC: "inf"."""
    return {str(key): "inf" if math.isinf(factor) else factor for key, factor in conditions.slow.items()}


def read_link(text: str, topology: Topology | None = None) -> tuple[int, int]:
    """Read '3-7', or 'GPU0-NVSwitch' of a topology, as the two vertices that a link joins."""
    ends = printable(text).strip().split("-")
    if len(ends) < 2:
        raise FormatError(f"expected the two ends of a link such as '3-7', found {_quoted(text)}")
    if topology is None:
        return read_count(ends[0]), read_count("-".join(ends[1:]))
    for cut in range(1, len(ends) - 1):  # names may hold dashes
        try:
            return topology.vertex("-".join(ends[:cut])), topology.vertex("-".join(ends[cut:]))
        except ArgumentError:
            continue
    return topology.vertex("-".join(ends[:-1])), topology.vertex(ends[-1])


def with_numbers(texts: Iterable[str], topology: Topology | None) -> list[str]:
    """Write RANK=VALUE parts with numbers in place of ranks' names."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    if topology is None:
        return parts
    found = []
    for part in parts:
        name, equals, value = part.partition("=")
        if equals and name and not name.isdigit() and not name.startswith((NIC_KEY, "-")):
            vertex = topology.vertex(name)
            if vertex >= topology.rank_count:
                raise ArgumentError(f"expected a rank, found the switch {_quoted(name)}")
            name = str(vertex)
        found.append(f"{name}{equals}{value}")
    return found


def read_slow_links(texts: Iterable[str], topology: Topology | None = None) -> dict[tuple[int, int], float]:
    """Read '3-7=4' pairs, comma-separated or one per text, as link → factor."""
    found: dict[tuple[int, int], float] = {}
    for text in (part for joined in texts for part in joined.split(",")):
        link_text, equals, factor_text = text.partition("=")
        if not equals:
            raise FormatError(f"expected link=factor such as '3-7=4', found {_quoted(printable(text))}")
        link = read_link(link_text, topology)
        if link in found or link[::-1] in found:
            raise ArgumentError(f"link {link[0]}-{link[1]} is given twice; keep one")
        found[link] = read_factor(factor_text)
    return found


def read_effort(text: str) -> float:
    """Read a factor above 0; `hemiola.plan` says which is too much."""
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not factor > 0:
        raise FormatError(f"expected a factor above 0 such as '10', found {_quoted(printable(text))}")
    return factor


def read_density(text: str) -> float:
    """Read a share of elements above 0: 0.01 or 1%."""
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise ArgumentError(
            f"expected a density above 0 and at most 1, such as 0.01 or 1%, found '{printable(text)}'"
        )
    return share


def read_conditions(
    late: Iterable[str] | None,
    slow: Iterable[str] | None,
    rank_count: int,
    density: float = 1.0,
    topology: Topology | None = None,
) -> Conditions:
    """Read --late and --slow, and check their ranks against the number of ranks there are.

    Ranks of a topology may go by their names.
    """
    late, slow = with_numbers(late or (), topology), with_numbers(slow or (), topology)
    conditions = Conditions(late=read_late(late), slow=read_slow_ports(slow), density=density)
    for option, ranks in (("--late", conditions.late), ("--slow", conditions.slow_ranks)):
        for rank in ranks:
            if rank >= rank_count:
                raise ArgumentError(
                    f"{option} names rank {rank}, but there are {rank_count} ranks (0 … {rank_count - 1})"
                )
    return conditions


def read_output(text: str) -> Path:
    """Read where a file is to be written, so that one that cannot be is noticed before any work."""
    return check_place(Path(text))


def size_steps(first: int, last: int, factor: float) -> list[int]:
    """Return first, first·factor, … up to last, each a whole number of bytes larger than the one before."""
    if last < first:
        raise ArgumentError(
            f"the last size, {units.format_bytes(last)}, is below the first, {units.format_bytes(first)}"
        )
    if not (math.isfinite(factor) and factor > 1):
        raise ArgumentError(f"expected a finite step factor above 1, found {factor:g}")
    sizes = [first]
    while (size := max(int(sizes[-1] * factor), sizes[-1] + 1)) <= last:
        sizes.append(size)
        if len(sizes) > 10_000:
            raise ArgumentError("more than 10,000 sizes; use a larger step factor")
    return sizes


def _read_pairs(texts: Iterable[str], read_value: Callable[[str], float], example: str) -> dict[int, float]:
    pairs: dict[int, float] = {}
    for text in (part for joined in texts for part in printable(joined).split(",")):
        rank_text, equals, value_text = text.partition("=")
        if not equals:
            raise FormatError(f"expected rank=value such as '{example}', found {_quoted(text)}")
        try:
            rank, value = read_count(rank_text), read_value(value_text)
        except FormatError as error:
            raise FormatError(
                f"in {_quoted(text)} (expected rank=value such as '{example}'): {error}"
            ) from None
        if rank in pairs:
            raise ArgumentError(f"rank {rank} is given twice, as {pairs[rank]:g} and {value:g}; keep one")
        pairs[rank] = value
    return pairs


def _quoted(text: str) -> str:
    return f"'{text[:60]}…'" if len(text) > 60 else f"'{text}'"
