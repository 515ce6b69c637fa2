# SPDX-License-Identifier: Apache-2.0
"""What the ranks of the calls' tests do: every kind of collective, called rightly, and wrongly by one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

import hemiola as hm
from hemiola.communicator import kinds
from hemiola.communicator.kinds import Kind
from hemiola.errors import HemiolaError

#: The table, as its module has it.
TABLE: dict[str, Kind[Any]] = {kind.name: kind for kind in vars(kinds).values() if isinstance(kind, Kind)}
REDUCING = ("all_reduce", "reduce", "reduce_scatter", "custom")

#: What a call gave: its array's shape, dtype and values; None where it gave nothing.
Given = tuple[tuple[int, ...], str, list[float]] | None


def arguments(comm: hm.Communicator, kind: Kind[Any]) -> dict[str, Any]:
    """Return the arguments of a call that is right, but for those that all kinds take."""
    if kind.name == "barrier":
        return {}
    n = comm.rank_count
    found: dict[str, Any] = {"x": np.arange(2 * n * 3, dtype=np.int16).reshape(2 * n, 3) + comm.rank}
    if kind.has_root:
        found["root"] = n - 1
    if kind.name == "custom":
        # All get rank 0's array, as one chunk.
        collective = hm.Collective.custom(n, 1, [(0, 0)], [(rank, 0) for rank in range(n)], reducing=False)
        rows = [(0, 0, rank, 0, False) for rank in range(1, n)]
        found["schedule"] = hm.Schedule.from_transfers(collective, rows)
    return found


def given(result: Any) -> Given:
    return None if result is None else (result.shape, str(result.dtype), result.ravel().tolist())


def every_kind() -> dict[str, dict[str, Any]]:
    """Make each call plainly, with `out`, and in the background; return what each gave."""
    comm = hm.init(timeout_s=60)
    found: dict[str, dict[str, Any]] = {}
    for kind in TABLE.values():
        call = getattr(comm, kind.name)
        plain = given(call(**arguments(comm, kind)))
        handle = getattr(comm, f"start_{kind.name}")(**arguments(comm, kind))
        later = given(handle.wait())
        found[kind.name] = {"plain": plain, "later": later, "done": handle.done()}
        if kind.name != "barrier":
            out = None if plain is None else np.zeros(plain[0], plain[1])
            if out is not None:
                out = out.ravel()
            result = call(**arguments(comm, kind), out=out)
            found[kind.name] |= {"out": given(out), "returns out": result is out}
            own = arguments(comm, kind)
            found[kind.name]["returns x"] = call(**own) is own["x"]
    return found


def mistakes_of(kind: Kind[Any]) -> dict[str, dict[str, Any]]:
    """Return what can be wrong with a call of this kind: by a name, the arguments that replace good ones."""
    found: dict[str, dict[str, Any]] = {
        "a negative timeout": {"timeout_s": -1},
        "a timeout that is text": {"timeout_s": "soon"},
    }
    if kind.name == "barrier":
        return found
    other = "all_gather_ring" if kind.name == "all_reduce" else "all_reduce_ring"
    found |= {
        "a list": {"x": [1, 2, 3]},
        "an unknown dtype": {"x": np.zeros((6, 3), "M8[s]")},
        "out of another size": {"out": np.zeros(1, np.int16)},
        "an out that is none": {"out": "here"},
        "an unknown algorithm": {"schedule": "bogus"},
        "another collective's algorithm": {"schedule": other},
        "no schedule": {"schedule": 42},
    }
    if kind.name in REDUCING:
        found |= {"an unknown op": {"op": "median"}, "an op that is none": {"op": 3}}
    if kind.has_root:
        roots: dict[str, Any] = {"99": 99, "-1": -1, "half": 0.5, "text": "0", "none": None, "huge": 1 << 80}
        found |= {f"a root of {name}": {"root": root} for name, root in roots.items()}
        found["a root of text, with an algorithm"] = {"root": "0", "schedule": other}
    if kind.name in ("reduce_scatter", "scatter", "all_to_all"):
        found["an array that does not divide"] = {"x": np.zeros((7, 1), np.int16)}
    if kind.room is kinds.whole:
        found["a result beyond memory"] = {"x": np.broadcast_to(np.int16(0), (1 << 60,))}
    return found


#: What a rank saw of a mistake: the exception's type and text, and how many operations it took.
Seen = tuple[str, str, int]


def every_mistake(odd: int, wait: bool) -> dict[tuple[str, str], Seen]:
    """Make every call with every mistake on one rank; return what this rank saw, by kind and mistake."""
    comm = hm.init(timeout_s=60)
    seen: dict[tuple[str, str], Seen] = {}
    for kind in TABLE.values():
        for name, wrong in mistakes_of(kind).items():
            before = comm.health().operation_count
            options = arguments(comm, kind) | (wrong if comm.rank == odd else {})
            error = _error_of(comm, kind, options, wait)
            comm.barrier()
            seen[kind.name, name] = *error, comm.health().operation_count - before - 1
    assert comm.all_reduce(np.ones(2))[0] == comm.rank_count
    return seen


def _error_of(comm: hm.Communicator, kind: Kind[Any], options: dict[str, Any], wait: bool) -> tuple[str, str]:
    try:
        result = getattr(comm, kind.name if wait else f"start_{kind.name}")(**options)
        if not wait:
            result.wait()
    except HemiolaError as error:
        return type(error).__name__, str(error)
    return "", ""
