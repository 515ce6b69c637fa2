# SPDX-License-Identifier: Apache-2.0
"""Runs a schedule on tensors of a device: everything is decided before it begins, and then only queued."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import Any

import torch

from hemiola.errors import ArgumentError
from hemiola.torch.device_coding import CodedMessage
from hemiola.torch.device_origins import COMBINE, COPY, SEND, Instruction, groups_of, program_of
from hemiola.torch.device_queue import DeviceMessage, DeviceQueue, kernels
from hemiola.torch.tensors import described

_INPUT, _OUTPUT = range(2)
#: The types that are added up, and the kernels' view of each: integers of as many bits where they are told the type.
_AS_STORED = {torch.bfloat16: torch.int16, torch.bool: torch.uint8}
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_INTEGERS = (
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint16,
    torch.uint32,
    torch.uint64,
)
_OF_FLOATS = ("sum", "average", "product", "min", "max")
_OF_INTEGERS = ("sum", "product", "min", "max", "and", "or", "xor")
#: A boolean is 0 or 1.
_OF_BOOLEANS = {
    "sum": "or",
    "max": "or",
    "product": "and",
    "min": "and",
    "and": "and",
    "or": "or",
    "xor": "xor",
}


class DeviceProgram:
    """One rank's part of a schedule for tensors of one size and type. Holds no memory of a device.

    Parameters
    ----------
    schedule : Schedule.
    rank : int.
    elements : int, of a block: a rank's input of an all-gather, its output of a reduce-scatter, its part for each rank
        in an all-to-all; the whole tensor of all others.
    dtype : torch.dtype.
    op : str, "sum", "average", "product", "min", "max", "and", "or" or "xor", of a schedule that reduces.
    in_place : bool. The result replaces the input.

    Raises
    ------
    ArgumentError
        for a type and a reduction that do not go together or that the kernels have not, where Triton is missing, and
        for a schedule that cannot be run.
    """

    def __init__(
        self, schedule: Any, rank: int, elements: int, dtype: Any, op: str = "sum", *, in_place: bool = False
    ) -> None:
        self.dtype, self.in_place = dtype, in_place
        self._divisor = schedule.rank_count
        reduces = schedule.collective.is_reducing
        self._op = _known(op, dtype) if reduces else None
        self._averages = bool(reduces and op == "average")
        self._kind = str(dtype).removeprefix("torch.")
        self._kernels = kernels() if reduces else None
        self._rows, nbytes = program_of(
            schedule, rank, elements, dtype.itemsize, in_place=in_place, average=self._averages
        )
        self._elements = [each // dtype.itemsize for each in nbytes]

    def on(
        self, queue: DeviceQueue, input: Any, output: Any, capacities: Sequence[int | None] | None = None
    ) -> Launch:
        """Make it ready to run on tensors, with memory of its own for messages on their way.

        Parameters
        ----------
        queue : DeviceQueue.
        input, output : torch.Tensor of one axis on the queue's device; the same one in place. One that a rank has not
            is None.
        capacities : by message, how many nonzero elements it has at most where it leaves zeros out, as
            `DeviceCoding.capacities` says; None for a plain one.

        Raises
        ------
        ArgumentError
            for tensors of another type, size or layout.
        """
        for name, place, tensor in (("input", _INPUT, input), ("output", _OUTPUT, output)):
            expected = self._elements[place]
            if expected and (tensor is None or not self._fits(tensor, expected)):
                found = "none" if tensor is None else described(tensor)
                raise ArgumentError(
                    f"{name}: expected {expected} elements of {self._kind}, side by side, found {found}"
                )
        if self.in_place and None not in (input, output) and input.data_ptr() != output.data_ptr():
            raise ArgumentError(
                "output: expected the input's memory, since the program runs in place, found other"
            )
        device = (output if input is None else input).device
        regions = [input, output] + [
            torch.empty(count, dtype=self.dtype, device=device) for count in self._elements[_OUTPUT + 1 :]
        ]
        steps = self._multiplied(queue, regions) if self._averages else []
        return Launch(queue, steps + self._steps(queue, regions, capacities), regions)

    def _multiplied(self, queue: DeviceQueue, regions: list[Any]) -> list[Callable[[], None]]:
        """Let the program read the product with the average's factor, as the host's executor does."""
        of = regions[_INPUT]
        if not self.in_place:
            regions[_INPUT] = torch.empty_like(of)
        factor = 1.0 / (1 << (self._divisor - 1).bit_length())
        return [self._launched(queue, "multiply", [regions[_INPUT], of, factor], {})]

    def _fits(self, tensor: Any, elements: int) -> bool:
        return bool(tensor.dtype is self.dtype and tensor.is_contiguous() and tensor.numel() == elements)

    def _steps(
        self, queue: DeviceQueue, regions: list[Any], capacities: Sequence[int | None] | None
    ) -> list[Callable[[], None]]:
        """Return what is queued, one call after the other, with every argument."""
        bytes_of_one = self.dtype.itemsize

        def at(region: int, offset: int, nbytes: int) -> Any:
            first = offset // bytes_of_one
            return regions[region][first : first + nbytes // bytes_of_one]

        rooms = repeat(None) if capacities is None else iter(capacities)
        steps: list[Callable[[], None]] = []
        for group in groups_of(self._rows):
            if group[0][1] >= 0:
                steps += _exchanged(queue, group, at, rooms)
                continue
            kind, _, _, from_region, source, left_region, left, to_region, target, nbytes = group[0]
            to = at(to_region, target, nbytes)
            if kind == COPY:
                steps.append(partial(queue.copy, to, at(from_region, source, nbytes)))
            elif kind == COMBINE:
                given = [to, at(left_region, left, nbytes), at(from_region, source, nbytes)]
                steps.append(self._launched(queue, "combine", given, {"op": self._op}))
            else:
                divisor = self._divisor / (1 << (self._divisor - 1).bit_length())
                largest = {"LARGEST": torch.finfo(self.dtype).max}
                steps.append(self._launched(queue, "scale", [to, divisor], largest))
        return steps

    def _launched(
        self, queue: DeviceQueue, name: str, given: list[Any], fixed: dict[str, Any]
    ) -> Callable[[], None]:
        size, tile = given[0].numel(), self._kernels.TILE  # type: ignore[union-attr]
        stored = _AS_STORED.get(self.dtype, self.dtype)
        seen = [one.view(stored) if isinstance(one, torch.Tensor) else one for one in given]
        return partial(
            queue.launch,
            getattr(self._kernels, name),
            -(-size // tile),
            (*seen, size),
            fixed | {"kind": self._kind, "TILE": tile},
        )


class Launch:
    """A program on certain tensors, to be run as often as one likes, each time on their contents then."""

    def __init__(self, queue: DeviceQueue, steps: list[Callable[[], None]], memory: list[Any]) -> None:
        self._queue, self._steps, self._memory = queue, steps, memory

    def run(self) -> None:
        """Queue it. Allocates nothing, waits for nothing, and decides nothing, so a CUDA graph can capture it."""
        self._queue.begin()
        for step in self._steps:
            step()
        self._queue.end()


def _exchanged(
    queue: DeviceQueue, group: Sequence[Instruction], at: Callable[..., Any], rooms: Iterator[int | None]
) -> list[Callable[[], None]]:
    """Return what is queued for a group: values are encoded before it, once each, and decoded behind it."""
    messages, before, behind = [], [], []
    coded: dict[tuple[int, int, int], CodedMessage] = {}
    for row in group:
        sends = row[0] == SEND
        place = (*(row[3:5] if sends else row[7:9]), row[9])
        elements, capacity = at(*place), next(rooms)
        if capacity is None:
            messages.append(DeviceMessage(sends, row[2], elements.view(torch.uint8)))
            continue
        message = coded.get(place) if sends else None
        if message is None:
            message = CodedMessage(elements, capacity)
            if sends:
                coded[place] = message
                before += message.encoding(queue)
            else:
                behind += message.decoding(queue)
        messages.append(DeviceMessage(sends, row[2], message.memory))
    return [*before, partial(queue.exchange, messages), *behind]


def _known(op: str, dtype: Any) -> str:
    """Return by what name the kernels reduce a type."""
    if dtype is torch.bool and op in _OF_BOOLEANS:
        return _OF_BOOLEANS[op]
    if dtype in _FLOATS and op in _OF_FLOATS:
        return "sum" if op == "average" else op
    if dtype in _INTEGERS and op in _OF_INTEGERS:
        return op
    name = str(dtype).removeprefix("torch.")
    raise ArgumentError(
        f"on a device: expected floats of 16 to 64 bits with one of {', '.join(_OF_FLOATS)}, or integers or booleans "
        f"with one of {', '.join(_OF_INTEGERS)}; found {op} of {name}"
    )
