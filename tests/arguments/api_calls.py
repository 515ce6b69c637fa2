# SPDX-License-Identifier: Apache-2.0
"""Every public function and method as docs/reference/public_names.txt lists it, with arguments that are right, and for
each parameter values that are of the wrong type."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import hemiola as hm

PUBLIC_NAMES = Path(__file__).resolve().parents[2] / "docs/reference/public_names.txt"
#: Made by Hemiola only, for its callers to read.
NOT_FOR_CALLERS = (
    "hemiola.Communicator.__init__",
    "hemiola.Handle.__init__",
    "hemiola.communicator.Health.of",
)
#: Dataclasses that people fill in: their fields are parameters.
FILLED_IN = (
    "hemiola.Conditions",
    "hemiola.algorithms.Algorithm",
    "hemiola.algorithms.Candidate",
    "hemiola.algorithms.Paper",
    "hemiola.algorithms.Task",
)
#: What is wrong where a parameter takes this; chosen by hand, so that the test does not ask the code under test.
WRONG: dict[str, tuple[Any, ...]] = {
    "int": ("8", 1.5, [1], {}),
    "float": ("1", [[1.0]], {}, 1j),
    "str": (3, 1.5, ["a"]),
    "bool": ("yes", 3, None),
    "Sequence": (3, "ab", {1: 2}, ["a", None]),
    "Mapping[int": (3, "ab", [1], {"a": "b"}),
    "Callable": (3, "ab", [1]),
}
ANYWHERE = (object(), 3j)


class Call(NamedTuple):
    """A public function and the object or class that it is called on."""

    name: str
    function: Callable[..., Any]
    parameters: tuple[inspect.Parameter, ...]


def calls(objects: dict[str, Any]) -> Iterator[Call]:
    """Yield what the list of public names can call, on these objects by their class's name."""
    text = PUBLIC_NAMES.read_text()
    for name in re.findall(r"^ *(?:static )?(hemiola\.[\w.]+)\(", text, re.M):
        function = None if name in NOT_FOR_CALLERS else _found(name, objects)
        if function is not None and not _makes_an_error(function):
            yield Call(name, function, _parameters(function))
    for name in FILLED_IN:
        function = _found(name, {})
        yield Call(name, function, _parameters(function))


def _makes_an_error(function: Any) -> bool:
    """Return whether this constructs an error, which Hemiola alone does."""
    return isinstance(function, type) and issubclass(function, hm.HemiolaError)


def _found(name: str, objects: dict[str, Any]) -> Any:
    """Return a function, a class for its constructor, or a method of an object; None where there is no such object."""
    *path, last = name.split(".")
    for split in range(len(path), 0, -1):
        try:
            scope: Any = importlib.import_module(".".join(path[:split]))
        except ImportError:
            continue
        for part in path[split:]:
            scope = getattr(scope, part)
        if not isinstance(scope, type):
            return getattr(scope, last)
        if last == "__init__":
            return scope
        if isinstance(inspect.getattr_static(scope, last), (staticmethod, classmethod)) or _is_free(
            scope, last
        ):
            return getattr(scope, last)
        return getattr(objects[scope.__name__], last) if scope.__name__ in objects else None
    raise LookupError(name)


def _is_free(scope: type, name: str) -> bool:
    return type(inspect.getattr_static(scope, name)).__name__ == "nb_func"  # a compiled static method


def _parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    fixed = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return tuple(p for p in inspect.signature(function).parameters.values() if p.kind not in fixed)


def wrong_for(parameter: inspect.Parameter) -> tuple[Any, ...]:
    """Return values of types that a parameter does not take, by what its annotation names."""
    text = re.sub(r"\b(collections\.abc|typing|hemiola\._core|os)\.", "", str(parameter.annotation))
    taken = [kind for kind in WRONG if re.search(rf"\b{re.escape(kind)}\b", text)]
    outer = [kind for kind in taken if not re.search(rf"\[[^\]]*\b{re.escape(kind)}\b", text)] or taken
    return (*(WRONG[outer[0]] if len(outer) == 1 and " | " not in text else ()), *ANYWHERE)


def right_arguments(call: Call) -> dict[str, Any]:
    """Return arguments for all required parameters."""
    table = {**_right(), **_RIGHT_FOR.get(call.name, {})}
    return {p.name: table[p.name] for p in call.parameters if p.default is p.empty}


def _right() -> dict[str, Any]:
    """Return an argument that is right, by its parameter's name."""
    ring = hm.algorithms.get("all_reduce_ring")
    topology = hm.topologies.ring(4, latency_s=1e-6, bandwidth=1e9)
    task = hm.algorithms.Task("all_reduce", 4, 1024, _speed(topology), hm.Conditions())
    return {
        "address": 64,
        "after": [(0, 0), (1, 0)],
        "algorithm": ring,
        "args": (),
        "arrival_s": np.zeros((2, 2)),
        "bandwidth": 1e9,
        "before": [(0, 0)],
        "box_count": 2,
        "cable_bandwidth": 1e9,
        "cable_latency_s": 1e-6,
        "chunk_count": 1,
        "citation": "Somebody 2026",
        "comm": None,  # of calls that take nothing else, so that it is always the wrong one
        "collectives": "all_reduce",
        "collective": hm.Collective.make("all_reduce", 4, 4),
        "conditions": hm.Conditions(),
        "count": 2,
        "data": hm.algorithms.all_reduce_ring(4).to_bytes(),
        "degree": 2,
        "density": 0.5,
        "meet_at": "nobody",
        "dims": [2, 2],
        "dst": 0,
        "encoded": hm.codecs.encode(np.zeros(4)),
        "file": "nowhere/at/all",
        "state": np.zeros(4),
        "subject": topology,
        "factor": 2.0,
        "factors": {0: 2.0},
        "fn": print,
        "format": None,
        "formula_s": 1.0,
        "function": hm.algorithms.all_reduce_ring,
        "generate": lambda: hm.algorithms.all_reduce_ring(4),
        "graph": topology.to_networkx(),
        "host_count": 2,
        "hosts": [],
        "idea": "An idea.",
        "key": "somebody2026",
        "kind": "all_reduce",
        "late_rank": 1,
        "late_ranks": [1],
        "latency_s": 1e-6,
        "links": [(0, 1)],
        "message": "a message",
        "name": "all_reduce_ring",
        "nbytes": 1024,
        "nic_bandwidth": 1e9,
        "nic_latency_s": 1e-6,
        "nic_rates": {1: 0.5},
        "nics": 2,
        "nodes": 2,
        "out": np.zeros(4),
        "owner": [0, 1, 2, 3],
        "paper": ring.paper,
        "path": "nowhere/at/all",
        "rank": 0,
        "rank_count": 4,
        "topologies": topology,
        "ranks": [0],
        "ranks_per_host": 2,
        "ranks_per_node": 2,
        "reason": "a reason",
        "reduced": 1,
        "relative_latency": 1e-4,
        "rows": [(0, 0, 1, 0)],
        "schedule": hm.algorithms.all_reduce_ring(4),
        "second": hm.algorithms.all_reduce_ring(4),
        "seconds": 1.0,
        "segments": 1,
        "sizes": "any",
        "slice_count": 2,
        "slow": {0: 2.0},
        "slow_hosts": {0: 2.0},
        "speed": _speed(topology),
        "step": 0,
        "task": task,
        "text": "64 MiB",
        "topology": topology,
        "trace_or_model": "resnet-50",
        "transfer_count": 1,
        "variant": "",
        "vertex": 0,
        "wires": ["ring", "ring"],
        "x": np.zeros(4),
    }


#: Where a name means something else.
_RIGHT_FOR: dict[str, dict[str, Any]] = {
    "hemiola.sweep": {"sizes": 1024},
    "hemiola.Communicator.all_gather_blocks": {"out": [np.zeros(4)]},
    "hemiola.Communicator.all_to_all_blocks": {"x": [np.zeros(4)], "out": [np.zeros(4)]},
    "hemiola.Communicator.reduce_scatter_blocks": {"x": [np.zeros(4)]},
    "hemiola.Communicator.scatter": {},
    "hemiola.RawMemory.__init__": {"dtype": "float32", "shape": [1]},
    "hemiola.Topology.__init__": {
        "links": np.zeros(0, hm.topologies.ring(2, latency_s=0, bandwidth=1).links.dtype)
    },
    "hemiola.launch": {"ranks": 1},
    "hemiola.Parallel.groups": {"name": "dp"},
    "hemiola.export.nccl_graph": {"machine_xml": "<system/>"},
    "hemiola.workload.named": {"text": "resnet-50"},
    "hemiola.workload.transformer": {"layers": 1, "width": 64},
    "hemiola.workload.Layer.__init__": {"forward_s": 1.0, "input_s": 1.0, "weight_s": 1.0},
    "hemiola.workload.Model.__init__": {"layers": ()},
}


def _speed(topology: hm.Topology) -> Any:
    from hemiola.topology.port_speed import port_speed

    return port_speed(topology, hm.Conditions())
