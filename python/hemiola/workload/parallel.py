# SPDX-License-Identifier: Apache-2.0
"""How a training is split over ranks: the degrees of parallelism, the classes of groups, and what is sent when."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from hemiola.arguments import typed
from hemiola.errors import ArgumentError, FormatError
from hemiola.units import parse_bytes

#: Ranks, at most, of a question.
MOST_RANKS = 1 << 20


@typed
@dataclass(frozen=True)
class Parallel:
    """How a training is split over ranks. Ranks of a tensor group are neighbours; stages are farthest apart.

    Parameters
    ----------
    dp : int >= 0, replicas of the model; 0: as many as there are ranks for.
    tp : int >= 1, ranks that share each layer.
    pp : int >= 1, pipeline stages.
    ep : int >= 1, ranks of a replica group that share a layer's experts; it divides dp.
    zero : int, 0 … 3: the stage of ZeRO. 1 and 2 scatter gradients and gather parameters after the step. 3, or FSDP,
        gathers each layer's parameters before its use, forward and backward.
    prefetch : int >= 0, layers whose parameters are gathered ahead, with zero=3.
    bucket : int >= 0, bytes of a gradient bucket, sent as soon as it is full; 0: all gradients at the end.
    micro : int >= 1, micro-batches of a step, one forward and backward each.
    skew : float >= 1, how many times the mean the fullest expert gets.
    quantized : bool, whether gradients travel with eight bits an element.

    Raises
    ------
    ArgumentError
        A value is out of its range.
    """

    dp: int = 0
    tp: int = 1
    pp: int = 1
    ep: int = 1
    zero: int = 0
    prefetch: int = 1
    bucket: int = 25 << 20
    micro: int = 1
    skew: float = 1.0
    quantized: bool = False

    def __post_init__(self) -> None:
        for name, least, most in _RANGES:
            value = getattr(self, name)
            if not least <= value <= most:
                raise ArgumentError(
                    f"parallel: expected {name} from {least} to {most:,}, found {name}={value}"
                )
        if self.dp and self.dp % self.ep:
            raise ArgumentError(f"parallel: expected ep to divide dp={self.dp}, found ep={self.ep}")

    @typed
    def on(self, rank_count: int) -> Parallel:
        """Return it for so many ranks, with `dp` settled.

        Parameters
        ----------
        rank_count : int >= 1.

        Returns
        -------
        Parallel

        Raises
        ------
        ArgumentError
            The degrees do not multiply to the rank count.
        """
        inner = self.tp * self.pp
        dp = self.dp or max(1, rank_count // inner)
        if dp * inner != rank_count:
            raise ArgumentError(
                f"parallel: expected dp × tp × pp to be the topology's {rank_count:,} ranks, found "
                f"{dp:,} × {self.tp:,} × {self.pp:,} = {dp * inner:,}"
            )
        return replace(self, dp=dp)

    @typed
    def groups(self, name: str) -> NDArray[np.int64]:
        """Return the groups of a class, all of them.

        Parameters
        ----------
        name : str: "dp", "tp", "ep", "edp" (ranks that have the same experts), "pp" (pairs of ranks of neighbouring
            stages) or "world".

        Returns
        -------
        int64 array of shape (groups, ranks of each).

        Raises
        ------
        ArgumentError
            There is no such class.

        Notes
        -----
        Rank = tensor place + tp × (replica + dp × stage).
        """
        ranks = np.arange(self.dp * self.tp * self.pp).reshape(self.pp, self.dp, self.tp)
        match name:
            case "world":
                return ranks.reshape(1, -1)
            case "tp":
                return ranks.reshape(-1, self.tp)
            case "dp":
                return ranks.transpose(0, 2, 1).reshape(-1, self.dp)
            case "ep":
                return ranks.transpose(0, 2, 1).reshape(-1, self.ep)
            case "edp":
                apart = ranks.transpose(0, 2, 1).reshape(-1, self.dp // self.ep, self.ep)
                return apart.transpose(0, 2, 1).reshape(-1, self.dp // self.ep)
            case "pp":
                pairs = np.stack([ranks[:-1], ranks[1:]], axis=-1)
                return pairs.reshape(-1, 2)
        raise ArgumentError(
            f"expected a class of groups out of dp, tp, ep, edp, pp and world, found '{name}'"
        )

    def in_words(self) -> str:
        """Write it as the command line reads it, without defaults.

        Returns
        -------
        str, such as "tp=8,zero=3"; empty where all are defaults.
        """
        given = [
            f"{one.name}={_word(getattr(self, one.name))}"
            for one in fields(self)
            if getattr(self, one.name) != one.default
        ]
        return ",".join(given)


#: Name, least and most of each number.
_RANGES = (
    ("dp", 0, MOST_RANKS),
    ("tp", 1, MOST_RANKS),
    ("pp", 1, 1024),
    ("ep", 1, MOST_RANKS),
    ("zero", 0, 3),
    ("prefetch", 0, 1024),
    ("bucket", 0, 1 << 50),
    ("micro", 1, 4096),
    ("skew", 1, 1024),
)
_WORDS = {
    "ddp": {"zero": 0},
    "fsdp": {"zero": 3},
    "zero1": {"zero": 1},
    "zero2": {"zero": 2},
    "zero3": {"zero": 3},
}


def _word(value: object) -> str:
    return (
        str(int(value))
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


def parse_parallel(text: str) -> Parallel:
    """Read "dp=8,tp=4,zero=3,bucket=25MiB", or words such as "fsdp".

    Parameters
    ----------
    text : str, names and values of `Parallel`, joined by commas; also ddp, fsdp, zero1, zero2, zero3.

    Returns
    -------
    Parallel

    Raises
    ------
    FormatError
        A part is of another form, or no name of it.
    ArgumentError
        A value is out of its range.
    """
    found: dict[str, object] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals and part.lower() in _WORDS:
            found.update(_WORDS[part.lower()])
            continue
        if name not in _READERS or not equals:
            raise FormatError(
                f"parallel: expected NAME=VALUE with a name out of {', '.join(_READERS)}, or one of "
                f"{', '.join(_WORDS)}; found '{part[:60]}'"
            )
        if name in found:
            raise FormatError(f"parallel: expected '{name}' once, found it twice; keep one")
        found[name] = _read(name, value)
    return Parallel(**found)  # type: ignore[arg-type]


def _read(name: str, value: str) -> object:
    try:
        return _READERS[name](value)
    except (ValueError, OverflowError):
        raise FormatError(f"parallel: expected a number as {name}, found '{value[:60]}'") from None


def _factor(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


_READERS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("dp", "tp", "pp", "ep", "zero", "prefetch", "micro"), int),
    "bucket": lambda text: int(text) if text.isdigit() else parse_bytes(text),
    "skew": _factor,
    "quantized": lambda text: bool(int(text)),
}
