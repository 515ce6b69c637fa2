# SPDX-License-Identifier: Apache-2.0
"""A training in shards (FSDP2, HSDP), each of which several ranks hold: the number of replicas changes while it runs.

It differs from `Training` in two things: the model is made anew for each mesh of ranks, and a shard's state comes from
ranks that hold the same shard."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard  # noqa: F401  # takes a second: not while others wait
from torch.distributed.tensor import DTensor

from hemiola.communicator import Communicator
from hemiola.errors import ArgumentError
from hemiola.torch.elastic_state import State
from hemiola.torch.elastic_steps import StateIsLostError, Steps, V


class Seat(NamedTuple):
    """A place in the mesh: the number of a replica, and of a shard in it."""

    replica: int
    shard: int


def seats_for(held: Sequence[int], shard_count: int) -> list[Seat | None]:
    """Seat ranks, each of which holds a shard or none (-1): complete replicas, in which most ranks keep their shard.

    Returns
    -------
    By rank its seat; None of ranks that are too few for another replica.
    """
    replicas = len(held) // shard_count
    free = {shard: list(range(replicas)) for shard in range(shard_count)}
    seats: list[Seat | None] = [None] * len(held)
    for keeps in (True, False):
        for rank, shard in enumerate(held):
            if seats[rank] is not None:
                continue
            open_shards = [shard] if keeps else list(free)
            chosen = next((one for one in open_shards if free.get(one)), None)
            if chosen is not None:
                seats[rank] = Seat(free[chosen].pop(0), chosen)
    return seats


class ShardedTraining(Steps):
    """A training of a model in shards, of which each replica of ranks holds all: HSDP.

    Parameters
    ----------
    comm : Communicator of all ranks of the job, as of `Training`.
    build : function of a `DeviceMesh` of replicas × shards that returns a model, to whose layers
        `fully_shard(..., mesh=mesh)` was applied, and its optimizer; with the same parameters on all ranks. Called
        after each change of the ranks, when the state of before replaces what it has made.
    shard_count : int >= 1, ranks of a replica.
    state, on_change : as of `Training`; the number of ranks is that of those in the mesh.

    Attributes
    ----------
    mesh : DeviceMesh of the ranks that compute; None on others.
    seat : this rank's place in it; None of a spare rank, which waits until newcomers make another replica complete.
    optimizer : what `build` returned last.

    Raises
    ------
    LostRankError
        where all ranks that held a shard are lost.

    Notes
    -----
    Which ranks make a replica changes: if a rank of one is lost, the others are spare, or complete another replica with
    the state of a shard that they have not held. Parameters and optimizer move only to ranks whose shard is new to
    them. Buffers of the model are not put back where a step is made again.
    """

    def __init__(
        self,
        comm: Communicator,
        build: Callable[[DeviceMesh], tuple[Any, Any]],
        shard_count: int,
        *,
        state: Mapping[str, Any] | None = None,
        on_change: Callable[[int], object] | None = None,
    ) -> None:
        super().__init__(comm, on_change)
        if not 1 <= shard_count <= comm.rank_count:
            raise ArgumentError(
                f"shard_count: expected 1 to {comm.rank_count}, the number of ranks, found {shard_count}"
            )
        self._build, self._shard_count, self._state = build, shard_count, State(state or {})
        self._shards: _Shards | None = None
        self._meshes = 0
        self._held = comm.rank % shard_count if self.step == 0 else -1
        self.mesh: DeviceMesh | None = None
        self.seat: Seat | None = None
        self.optimizer: Any = None
        self._start()

    def _compute(self, gradients: Callable[[Any, int], V]) -> V:
        self.optimizer.zero_grad()
        return gradients(self.model, self.step)

    def _undo(self) -> None:
        """Nothing: the model is made anew where a step does not count."""

    def _update(self) -> None:
        self.optimizer.step()

    def _arrange(self, held: list[int]) -> int:
        comm, shards = self._comm, self._shard_count
        missing = set(range(shards)) - set(held)
        if missing:
            raise StateIsLostError(
                f"ShardedTraining: expected ranks that hold each of {shards} shards, found none that holds shard "
                f"{min(missing)}: all that did are lost; begin again from a checkpoint"
            )
        before = self._shards if held[comm.rank] >= 0 else None
        self._state.heal(comm, held.index(0))
        seats = seats_for(held, shards)
        self.seat, self.mesh = seats[comm.rank], None
        seated = len(held) // shards * shards
        self._waits = seated == 0
        if self.seat is not None:
            self._take_seat(self.seat, seats, held, before)
        return seated

    def _take_seat(
        self, seat: Seat, seats: Sequence[Seat | None], held: Sequence[int], before: _Shards | None
    ) -> None:
        """Make the mesh, and the model with the state of this rank's shard."""
        rank_of = {one: rank for rank, one in enumerate(seats) if one is not None}
        replica_count = len(rank_of) // self._shard_count
        # FSDP2 numbers shards by the ranks of a group, and PyTorch sorts these.
        self._make_default_group(self._comm.group([rank_of[one] for one in sorted(rank_of)]))
        # DTensor keeps plans by the look of a mesh, with the groups of the first one that looked so: this looks new.
        self._meshes += 1
        names = (f"replicate{self._meshes}", f"shard{self._meshes}")
        self.mesh = init_device_mesh("cpu", (replica_count, self._shard_count), mesh_dim_names=names)
        model, optimizer = self._build(self.mesh)
        made = _Shards(model, optimizer)
        if before is not None and self._held == seat.shard:
            made.load_state_dict(before.state_dict())
        same = [rank_of[Seat(replica, seat.shard)] for replica in range(replica_count)]
        source = next(rank for rank in same if held[rank] == seat.shard)
        if len(same) > 1:
            with self._comm.group([source, *(rank for rank in same if rank != source)]) as group:
                State({"shards": made}).heal(group, 0)
        self._shards, self._held = made, seat.shard
        self.model, self.optimizer = model, optimizer


class _Shards:
    """This rank's parts of a model in shards and of its optimizer, without their mesh."""

    def __init__(self, model: Any, optimizer: Any) -> None:
        # While a pass runs, the model has whole parameters in their place.
        self._tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        self._optimizer = optimizer

    def state_dict(self) -> dict[str, Any]:
        """Return tensors of this rank alone, in the memory of model and optimizer."""
        told = self._optimizer.state_dict()
        moments = {
            place: {name: _local(one) for name, one in state.items()}
            for place, state in told["state"].items()
        }
        model = {name: _local(one) for name, one in self._tensors.items()}
        return {"model": model, "optimizer": {**told, "state": moments}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over such tensors, of this shard in any mesh."""
        for name, one in self._tensors.items():
            _local(one).copy_(state["model"][name])
        parameters = [one for group in self._optimizer.param_groups for one in group["params"]]
        told = state["optimizer"]
        moments = {
            place: {name: _like(parameters[place], one) for name, one in moment.items()}
            for place, moment in told["state"].items()
        }
        self._optimizer.load_state_dict({**told, "state": moments})


def _local(one: Any) -> Any:
    """Return this rank's part of a tensor; anything else as it is."""
    if not isinstance(one, torch.Tensor):
        return one
    return one.detach().to_local() if isinstance(one, DTensor) else one.detach()


def _like(parameter: Any, one: Any) -> Any:
    """Return a moment of a parameter in shards as its part."""
    if not isinstance(parameter, DTensor) or not isinstance(one, torch.Tensor) or one.dim() == 0:
        return one
    if one.shape != _local(parameter).shape:
        return one
    return DTensor.from_local(
        one,
        parameter.device_mesh,
        parameter.placements,
        run_check=False,
        shape=parameter.shape,
        stride=parameter.stride(),
    )
