"""What people type: sizes, times, rank=value pairs. Each reader answers bad text with a typed error that
quotes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from hemiola import Conditions, units
from hemiola.errors import ArgumentError, FormatError

#: The collectives that have a name.
KINDS = (
    "all_gather",
    "reduce_scatter",
    "all_reduce",
    "broadcast",
    "reduce",
    "all_to_all",
    "gather",
    "scatter",
)


def printable(text: str) -> str:
    """Replace what is not valid Unicode (bytes that the shell handed over), so that it can be printed."""
    return text.encode("utf-8", "replace").decode("utf-8", "replace")


def read_size(text: str) -> int:
    """Read '64MiB', '64M' or '4096' as bytes."""
    return units.parse_bytes(printable(text))


def read_seconds(text: str) -> float:
    """Read '50ms' or '0.5 us' as seconds."""
    return units.parse_seconds(printable(text))


def read_factor(text: str) -> float:
    """Read '2', '1.5' or '2x' as a factor of at least 1."""
    text = printable(text)
    try:
        factor = float(text.strip().removesuffix("x"))
    except ValueError:
        factor = math.nan
    if not (math.isfinite(factor) and factor >= 1):
        raise FormatError(f"expected a factor of at least 1 such as '2' or '1.5x', found {_quoted(text)}")
    return factor


def read_count(text: str) -> int:
    """Read a decimal number >= 0 that fits in 31 bits."""
    text = printable(text)
    body = text.strip()
    if not (body.isascii() and body.isdigit() and len(body) <= 10 and int(body) < 2**31):
        raise FormatError(f"expected a whole number such as '8', found {_quoted(text)}")
    return int(body)


def read_kind(text: str) -> str:
    """Read the name of one collective."""
    if text not in KINDS:
        raise ArgumentError(f"unknown collective {_quoted(text)}; expected one of: {', '.join(KINDS)}")
    return text


def read_late(texts: Iterable[str]) -> dict[int, float]:
    """Read '7=50ms' pairs, comma-separated or one per text, as rank → seconds."""
    return _read_pairs(texts, read_seconds, "7=50ms")


def read_slow(texts: Iterable[str]) -> dict[int, float]:
    """Read '0=2' pairs, comma-separated or one per text, as rank → factor."""
    return _read_pairs(texts, read_factor, "0=2")


def read_conditions(late: Iterable[str] | None, slow: Iterable[str] | None, rank_count: int) -> Conditions:
    """Read --late and --slow, and check their ranks against the number of ranks there are."""
    conditions = Conditions(late=read_late(late or ()), slow=read_slow(slow or ()))
    for option, ranks in (("--late", conditions.late), ("--slow", conditions.slow)):
        for rank in ranks:
            if rank >= rank_count:
                raise ArgumentError(
                    f"{option} names rank {rank}, but there are {rank_count} ranks (0 … {rank_count - 1})"
                )
    return conditions


def read_names(text: str, known: Iterable[str], what: str) -> list[str]:
    """Read comma-separated names out of `known`; 'all' stands for every one of them, in their order."""
    choices = list(known)
    if text == "all":
        return choices
    names = [printable(name).strip() for name in text.split(",")]
    for name in names:
        if name not in choices:
            raise ArgumentError(
                f"unknown {what} {_quoted(name)}; expected one of: {', '.join(choices)}, or all"
            )
    return list(dict.fromkeys(names))


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
