# SPDX-License-Identifier: Apache-2.0
"""A model and its parallelism as tasks: one program for each pipeline stage, and one more for its late rank.

Tensor and expert calls block. Gradients are sent in buckets as they appear; with ZeRO-3 they are scattered by layer.
Stages take turns of one forward and one backward pass (1F1B) [narayanan2021]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hemiola.workload.model import Layer, Model
from hemiola.workload.parallel import Parallel
from hemiola.workload.task import LATE, SEND, Call, Program, Step, late_role


def step_of(model: Model, parallel: Parallel, *, late: Mapping[int, float] | None = None) -> Step:
    """Return one iteration of a model.

    Parameters
    ----------
    model : Model.
    parallel : Parallel, with `dp` settled.
    late : mapping of stage to seconds that one rank of it begins behind the others.

    Returns
    -------
    Step

    Raises
    ------
    ArgumentError
        There are fewer layers than stages.

    Notes
    -----
    A task for each role, layer and pass where gradients are sent meanwhile; else one for each pass of a micro-batch.
    """
    builder = _Builder(model, parallel, late or {})
    builder.build()
    return Step(
        model.name,
        tuple(builder.program.tasks),
        tuple(builder.roles()),
        model.assumptions,
        element_bytes=model.element_bytes,
    )


class _Builder:
    """Adds the tasks of all stages in an order in which each needs earlier ones only."""

    def __init__(self, model: Model, parallel: Parallel, late: Mapping[int, float]) -> None:
        self.program = Program()
        self._parallel = parallel
        self._is_split = model.is_split
        self._stages = model.stages(parallel.pp)
        self._roles = [_roles_of(stage, parallel.pp, late) for stage in range(parallel.pp)]
        #: By role: the tasks that its next computation waits for, and its computations so far.
        self._front: dict[str, list[int]] = {role: [] for role in self.roles()}
        self._computed: dict[str, list[int]] = {role: [] for role in self.roles()}
        #: By stage: communication that only the end of the step waits for, and bytes of the open bucket.
        self._pending: list[list[int]] = [[] for _ in self._stages]
        self._open = [0 for _ in self._stages]
        #: The send that brings a micro-batch to a stage, forward or backward.
        self._sent: dict[tuple[int, str, int], int] = {}
        for stage, seconds in late.items():
            role = self._roles[stage][-1]
            self._front[role] = [self.program.compute(role, seconds, label=LATE)]

    def roles(self) -> list[str]:
        return [role for roles in self._roles for role in roles]

    def build(self) -> None:
        """Let each stage go on as far as what it needs is there, until all are done."""
        turns = [_turns(stage, len(self._stages), self._parallel.micro) for stage in range(len(self._stages))]
        next_turns = [next(turn, None) for turn in turns]
        while any(turn is not None for turn in next_turns):
            for stage, turn in enumerate(next_turns):
                while turn is not None and self._is_fed(stage, *turn):
                    self._pass(stage, *turn)
                    turn = next(turns[stage], None)
                next_turns[stage] = turn
        for stage in range(len(self._stages)):
            self._finish(stage)

    def _is_fed(self, stage: int, way: str, micro: int) -> bool:
        is_first = stage == (0 if way == "forward" else len(self._stages) - 1)
        return is_first or (stage, way, micro) in self._sent

    def _pass(self, stage: int, way: str, micro: int) -> None:
        if (stage, way, micro) in self._sent:
            for role in self._roles[stage]:
                self._front[role] = [*self._front[role], self._sent[stage, way, micro]]
        layers = self._stages[stage]
        is_last = micro == self._parallel.micro - 1
        is_by_layer = self._parallel.zero == 3 or (
            way == "backward" and (is_last or self._parallel.zero == 2)
        )
        if way == "forward":
            for layer in layers if is_by_layer or self._has_calls(layers) else [_merged(layers)]:
                self._forward(stage, layer)
        else:
            for layer in reversed(layers) if is_by_layer or self._has_calls(layers) else [_merged(layers)]:
                self._backward(stage, layer, sends=is_last or self._parallel.zero == 2)
        self._send(stage, way, micro)

    def _has_calls(self, layers: Sequence[Layer]) -> bool:
        return self._is_split or any(layer.expert_s for layer in layers)

    def _forward(self, stage: int, layer: Layer) -> None:
        self._gather(stage, layer)
        self._compute(stage, layer.forward_s, "forward")
        self._exchange(stage, layer)
        self._route(stage, layer, layer.expert_s, "forward")
        self._block_all(stage, layer.forward)

    def _backward(self, stage: int, layer: Layer, *, sends: bool) -> None:
        self._gather(stage, layer)
        self._route(stage, layer, 2 * layer.expert_s, "backward")
        if layer.weight:  # split models: the gradients of weights first, then their calls beside the rest
            self._compute(stage, layer.weight_s, "backward")
            for call in layer.weight:
                self._offload(stage, call)
            self._compute(stage, layer.input_s, "backward")
        else:
            self._compute(stage, layer.input_s + layer.weight_s, "backward")
        self._exchange(stage, layer)
        self._block_all(stage, layer.input)
        if sends and not self._is_split:
            self._hand_in(stage, layer)
        elif self._parallel.zero == 3 and not self._is_split:
            self._scatter(stage, layer)

    def _compute(self, stage: int, seconds: float, label: str) -> None:
        seconds /= 1 if self._is_split else self._parallel.tp
        for role in self._roles[stage]:
            place = self.program.compute(role, seconds, self._front[role], label)
            self._front[role] = [place]
            self._computed[role].append(place)

    def _exchange(self, stage: int, layer: Layer) -> None:
        if self._parallel.tp > 1 and layer.exchanges and not self._is_split:
            self._block(stage, Call("all_reduce", layer.output_bytes, "tp", layer.exchanges))

    def _route(self, stage: int, layer: Layer, seconds: float, label: str) -> None:
        """Send tokens to experts and back. The fullest expert's rank holds up the others."""
        if not layer.expert_s:
            return
        call = Call("all_to_all", layer.routed_bytes, "ep", skew=self._parallel.skew)
        is_apart = self._parallel.ep > 1
        if is_apart:
            self._block(stage, call)
        self._compute(stage, seconds * (self._parallel.skew if is_apart else 1.0), label)
        if is_apart:
            self._block(stage, call)

    def _block_all(self, stage: int, calls: Sequence[Call]) -> None:
        for call in calls:
            self._block(stage, call)

    def _block(self, stage: int, call: Call) -> None:
        """Let each role wait for a call; a late rank and its own group make it by themselves."""
        joint = call.group in ("dp", "edp", "world")
        for roles in [self._roles[stage]] if joint else [[role] for role in self._roles[stage]]:
            place = self.program.call(roles, call, [need for role in roles for need in self._front[role]])
            for role in roles:
                self._front[role] = [place]

    def _offload(self, stage: int, call: Call, stream: str = "") -> int:
        """Start a call of all roles that only the end of the step waits for."""
        needs = [need for role in self._roles[stage] for need in self._front[role]]
        place = self.program.call(self._roles[stage], call, needs, stream=stream)
        self._pending[stage].append(place)
        return place

    def _gather(self, stage: int, layer: Layer) -> None:
        """Bring a layer's parameters together, `prefetch` layers ahead of its computation."""
        whole = self._per_rank(layer.gradient_bytes)
        if self._parallel.zero != 3 or self._parallel.dp == 1 or not whole or self._is_split:
            return
        ahead = self._parallel.prefetch
        roles = self._roles[stage]
        if ahead:
            needs = [self._computed[role][-1 - ahead] for role in roles if len(self._computed[role]) > ahead]
        else:
            needs = [need for role in roles for need in self._front[role]]
        place = self.program.call(roles, Call("all_gather", whole, "dp"), needs, stream="gather")
        for role in roles:
            self._front[role] = [*self._front[role], place]

    def _hand_in(self, stage: int, layer: Layer) -> None:
        """Take a layer's gradients, and send what is full."""
        if layer.expert_bytes and self._parallel.dp > self._parallel.ep:
            own = self._per_rank(layer.expert_bytes // self._parallel.ep)
            self._offload(stage, Call("all_reduce", own, "edp"))
        if self._parallel.zero == 3:
            self._scatter(stage, layer)
            return
        self._open[stage] += self._per_rank(layer.gradient_bytes)
        if self._parallel.bucket and self._open[stage] >= self._parallel.bucket:
            self._close_bucket(stage)

    def _scatter(self, stage: int, layer: Layer) -> None:
        whole = self._per_rank(layer.gradient_bytes)
        if whole and self._parallel.dp > 1:
            self._offload(stage, Call("reduce_scatter", whole, "dp"), stream="scatter")

    def _close_bucket(self, stage: int) -> None:
        if self._open[stage] and self._parallel.dp > 1:
            kind = "reduce_scatter" if self._parallel.zero else "all_reduce"
            self._offload(stage, Call(kind, self._open[stage], "dp"))
        self._open[stage] = 0

    def _per_rank(self, nbytes: int) -> int:
        return nbytes if self._is_split else nbytes // self._parallel.tp

    def _send(self, stage: int, way: str, micro: int) -> None:
        following = stage + (1 if way == "forward" else -1)
        if not 0 <= following < len(self._stages):
            return
        edge = self._stages[min(stage, following)][-1]
        nbytes = self._per_rank(edge.output_bytes)
        needs = [need for role in self._roles[stage] for need in self._front[role]]
        call = Call(SEND, nbytes, "pp")
        self._sent[following, way, micro] = self.program.call(
            self._roles[stage][:1], call, needs, stream=f"pp {way}"
        )

    def _finish(self, stage: int) -> None:
        self._close_bucket(stage)
        for role in self._roles[stage]:
            self._front[role] = [*self._front[role], *self._pending[stage]]
        stage_bytes = sum(self._per_rank(layer.gradient_bytes) for layer in self._stages[stage])
        if self._parallel.zero in (1, 2) and self._parallel.dp > 1 and not self._is_split:
            self._block(stage, Call("all_gather", stage_bytes, "dp"))


def _roles_of(stage: int, stage_count: int, late: Mapping[int, float]) -> list[str]:
    name = f"stage {stage}" if stage_count > 1 else "all ranks"
    return [name, late_role(name)] if stage in late else [name]


def _turns(stage: int, stage_count: int, micro_count: int) -> Iterator[tuple[str, int]]:
    """Yield a stage's passes in order: some forward, then in turns, then the rest backward."""
    ahead = min(stage_count - stage - 1, micro_count)
    for micro in range(ahead):
        yield "forward", micro
    for micro in range(micro_count - ahead):
        yield "forward", micro + ahead
        yield "backward", micro
    for micro in range(micro_count - ahead, micro_count):
        yield "backward", micro


def _merged(layers: Sequence[Layer]) -> Layer:
    """Return layers between which nothing but their blocking exchanges happens as one."""
    sums = {
        name: sum(getattr(layer, name) for layer in layers)
        for name in ("forward_s", "input_s", "weight_s", "gradient_bytes", "exchanges")
    }
    exchanged = max((layer.output_bytes for layer in layers if layer.exchanges), default=0)
    return replace(layers[-1], name="layers", output_bytes=exchanged, **sums)
