# SPDX-License-Identifier: Apache-2.0
"""One object of every public class, and the functions that another process runs on them."""

from __future__ import annotations

import inspect
import pickle
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np

import hemiola as hm
from hemiola import communicator, doctor, interchange, planner, topologies, workload
from hemiola.synthesis import StreamedSynthesis, optimal
from hemiola.topology.place import Place
from hemiola.topology.port_speed import port_speed

NAMES = Path(__file__).parents[2] / "docs/reference/public_names.txt"
#: What cannot leave its process, and what its refusal advises.
STAYING = {"Communicator": "hemiola.init()", "Handle": "wait()", "RawMemory": "copy the elements"}
#: Two of these differ although they do the same: they are the user's own state.
WITHOUT_EQUALITY = {"Pruner", "Quantizer"}


def public_classes() -> dict[str, type]:
    """Return every public class by its name, those of errors too; warnings are whoever's that shows them."""
    lines = [line.split("(")[0] for line in NAMES.read_text().splitlines() if line.startswith("class ")]
    classes = [pkgutil.resolve_name(_with_colon(line.split()[1])) for line in lines]
    return {kind.__name__: kind for kind in classes if not issubclass(kind, Warning)}


def _with_colon(name: str) -> str:
    room, _, own = name.rpartition(".")
    return f"{room}:{own}"


def errors() -> dict[str, type[BaseException]]:
    """Return hemiola's errors: the public ones, and whatever else the package derives from them."""
    found: dict[str, type[BaseException]] = {}
    left: list[type[BaseException]] = [hm.HemiolaError]
    while left:
        kind = left.pop()
        found[kind.__qualname__] = kind
        left += kind.__subclasses__()
    return {name: kind for name, kind in found.items() if kind.__module__.startswith("hemiola")}


def an_error(kind: type[BaseException]) -> BaseException:
    """Make an error with its attributes, a cause and a note."""
    named = inspect.signature(kind.__init__).parameters
    taken = [name for name in ("rank", "world_rank") if name in named]
    error = kind("rank 3 is gone, 'α'", **dict.fromkeys(taken, 3))
    if hasattr(kind, "cause"):
        vars(error)["cause"] = hm.errors.Cause(3, "has died", 0.5)
    error.__cause__ = KeyError("what was first")
    error.add_note("seen by the test")
    return error


def objects(folder: Path) -> dict[str, Any]:
    """Return one object of every public class that is no error, by its name; a file of theirs lies in the folder."""
    ring = hm.topologies.ring(4, latency_s=1e-6, bandwidth=1e9)
    now = hm.Conditions(late={1: 1e-3}, slow={2: 1.5})
    schedule = hm.algorithms.all_gather_ring(4)
    wrong = hm.Schedule.from_transfers(hm.Collective.make("all_gather", 2, 2), [(0, 0, 1, 0)])
    task = hm.algorithms.Task("all_gather", 4, 4096, port_speed(ring), now, topology=ring)
    path = folder / "ring.schedb"
    schedule.save(path)
    plan = hm.plan(ring, "all_reduce", 4096, now)
    able = hm.topologies.switch(4, latency_s=1e-6, bandwidth=1e9, reduces=True, multicasts=True)
    predicted = hm.whatif("transformer:layers=2,width=64", ring, now)
    alone = hm.launch(_seen_by_a_rank, 1, timeout_s=120)[0]
    return {
        "Algorithm": hm.algorithms.get("all_reduce_ring"),
        "Artefact": interchange.Artefact("MSCCL XML", schedule, (), Place("ring.xml")),
        "CallCost": predicted.calls[0],
        "Fault": interchange.Fault("conservation", 0, 1, 2, "a message"),
        "Layer": workload.resnet_50().layers[0],
        "Model": workload.resnet_50(),
        "Parallel": hm.Parallel(tp=2),
        "WhatIf": predicted,
        "Alternative": plan.alternatives[0],
        "Arrivals": communicator.Arrivals.of(np.array([[0.0, 1.0], [0.5, 2.5]])),
        "Cause": hm.errors.Cause(3, "has died", 0.5),
        "Candidate": hm.algorithms.candidates(task)[0],
        "Collective": schedule.collective,
        "Conditions": now,
        "Epoch": communicator.Epoch(2, (0, 2), joined=(2,), lost={1: "has died"}, at_s=1.5, took_s=0.5),
        "Finding": doctor.Finding("memory", "ok", "2 GiB", "to have some"),
        "HealthChange": communicator.HealthChange(3, {1: 1.5}),
        "Host": topologies.Host(2, 1, latency_s=1e-6, bandwidth=1e9, nic_latency_s=2e-6, nic_bandwidth=1e8),
        "InSwitch": hm.algorithms.all_reduce_in_switch(able),
        "LeftOut": planner.LeftOut("forest (8 pieces)", "2,000 links, at most 1,000"),
        "LowerBound": plan.bound,
        "Message": hm.codecs.describe(hm.codecs.encode(np.arange(8, dtype=np.float32))),
        "Outcome": optimal.Outcome(schedule, True, 0.5),
        "Paper": hm.algorithms.get("all_reduce_ring").paper,
        "Plan": plan,
        "PremulSum": hm.PremulSum(0.25),
        "Pruner": hm.Pruner(0.25),
        "Quantizer": hm.Quantizer(),
        "RankArrivals": communicator.Arrivals.of(np.array([[0.0, 1.0]])).ranks[0],
        "RawMemory": hm.RawMemory(0, "float32", [0]),
        "Schedule": schedule,
        "ScheduleFile": hm.ScheduleFile(path),
        "SlowRank": communicator.SlowRank(1, 1.5, 1.5, 7, 0.5),
        "Speeds": hm.codecs.Speeds(1e9, 2e9, 3e9),
        "StreamedSynthesis": StreamedSynthesis(4, 2, 0.5, True),
        "Row": hm.sweep(ring, "all_reduce", 4096).rows[0],
        "StepRow": hm.sweep(ring, workload.Training("resnet-50")).rows[0],
        "Training": workload.Training("resnet-50", hm.Parallel(zero=3), {0: 0.5}),
        "Sweep": hm.sweep(ring, "all_reduce", [8, 4096]),
        "Synthesis": hm.Synthesis(schedule, 0.5, 0.25, 3, False),
        "Task": task,
        "Timeline": hm.simulate(schedule, ring, 4096, now),
        "Topology": ring,
        "Variant": hm.algorithms.Variant(0.5, 12, "chunk_count", 4),
        "Violation": hm.verify(wrong)[0],
        **alone,
    }


def _seen_by_a_rank() -> dict[str, Any]:
    """Return what only a communicator gives, from a job of one rank."""
    comm = hm.init()
    comm.all_reduce(np.zeros(4))
    return {"Health": comm.health(), "Traffic": comm.traffic()}


def refusals_of_a_rank() -> dict[str, str]:
    """Say how a communicator and a handle refuse to be pickled."""
    comm = hm.init()
    handle = comm.start_all_reduce(np.zeros(4))
    said = {}
    for name, staying in {"Communicator": comm, "Handle": handle}.items():
        try:
            pickle.dumps(staying)
        except TypeError as error:
            said[name] = str(error)
    handle.wait()
    return said


def come_back(value: Any) -> Any:
    """Return what has come, from whatever process this is."""
    return value


def facts(value: Any) -> Any:
    """Return what another process finds in an object: its text, and what it is asked most."""
    if isinstance(value, hm.Plan):
        return value.schedule.digest, value.explain()
    if isinstance(value, hm.Timeline):
        return value.spans.tobytes(), value.landed_s.tobytes()
    if isinstance(value, BaseException):
        return str(value), vars(value), repr(value.__cause__)
    return repr(value) if "object at" not in repr(value) else sorted(vars(value))
