# SPDX-License-Identifier: Apache-2.0
"""The order that MSCCL's steps keep on any machine, or the circular wait in which they stand still.

A step waits for the step before it in its thread block, for the step that its dependency names, and where it receives
for the message. Messages of one sender, receiver and channel arrive in order. A send does not wait for its receive:
the connection's buffer takes the message, however long it is."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass

from hemiola.interchange.msccl_program import RECEIVES, SENDS, Program, Step

_WAITS_SHOWN = 4


@dataclass(frozen=True)
class Order:
    """steps : indices into the program's steps, each after all that it waits for.
    message_of : for each step that receives, the step that sends its message.
    level : for each step the number of messages on the longest path of waits to it."""

    steps: list[int]
    message_of: dict[int, int]
    level: list[int]


def order_of(program: Program) -> Order:
    """Return the steps' order; raise FormatError for a message without partner and for a circular wait."""
    message_of = _messages(program)
    before = _waits(program, message_of)
    after: dict[int, list[int]] = defaultdict(list)
    left = [len(waits) for waits in before]
    for step, waits in enumerate(before):
        for wait in waits:
            after[wait].append(step)
    level = [0] * len(before)
    ready = deque(step for step, count in enumerate(left) if not count)
    steps = []
    while ready:
        step = ready.popleft()
        steps.append(step)
        for follower in after[step]:
            level[follower] = max(level[follower], level[step] + (message_of.get(follower) == step))
            left[follower] -= 1
            if not left[follower]:
                ready.append(follower)
    if len(steps) < len(before):
        _fail_in_circle(program, before, left)
    _check_connections(program, message_of)
    return Order(steps, message_of, level)


def _messages(program: Program) -> dict[int, int]:
    """Match each receive with its send."""
    sent: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    received: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for index, step in enumerate(program.steps):
        block = program.blocks[step.gpu, step.block]
        if step.type in SENDS:
            sent[step.gpu, block.send, block.channel].append(index)
        if step.type in RECEIVES:
            received[block.recv, step.gpu, block.channel].append(index)
    matched: dict[int, int] = {}
    for connection in sorted({*sent, *received}):
        sends, receives = sent[connection], received[connection]
        _check_count(program, connection, sends, receives)
        matched.update(zip(receives, sends, strict=True))
    return matched


def _check_count(
    program: Program, connection: tuple[int, int, int], sends: list[int], receives: list[int]
) -> None:
    if len(sends) != len(receives):
        longer = sends if len(sends) > len(receives) else receives
        step = program.steps[longer[min(len(sends), len(receives))]]
        step.place.fail(
            f"{_connection(connection)} has {len(sends)} sends and {len(receives)} receives; {step} has no partner"
        )
    for send, receive in zip(sends, receives, strict=True):
        one, other = program.steps[send], program.steps[receive]
        if one.count != other.count:
            other.place.fail(f"{other} expects {other.count} chunks, but {one} sends {one.count}")


def _check_connections(program: Program, message_of: dict[int, int]) -> None:
    """Refuse a connection that two thread blocks of one GPU use, because the order of their messages is not known."""
    users: dict[tuple[str, int, int, int], int] = {}
    for receive, send in sorted(message_of.items()):
        src, dst = program.steps[send], program.steps[receive]
        connection = src.gpu, dst.gpu, program.blocks[src.gpu, src.block].channel
        for verb, step in (("send", src), ("receive", dst)):
            first = users.setdefault((verb, *connection), step.block)
            if first != step.block:
                step.place.fail(
                    f"tb {first} and tb {step.block} of GPU {step.gpu} both {verb} on {_connection(connection)}: "
                    "the order of their messages is not known"
                )


def _connection(connection: tuple[int, int, int]) -> str:
    src, dst, channel = connection
    return f"the connection of GPU {src} to GPU {dst}, channel {channel}"


def _waits(program: Program, message_of: dict[int, int]) -> list[list[int]]:
    """Return for each step the steps that must be over before it: before it in its block first."""
    index_of = {(step.gpu, step.block, step.index): index for index, step in enumerate(program.steps)}
    waits: list[list[int]] = []
    for index, step in enumerate(program.steps):
        own = [index - 1] if step.index else []
        if step.waits_for is not None:
            block, number = step.waits_for
            named = index_of.get((step.gpu, block, number))
            if named is None:
                step.place.fail(f"{step} depends on tb {block}, step {number}, which GPU {step.gpu} has not")
            if not program.steps[named].lets_wait:
                step.place.fail(
                    f"{step} depends on {program.steps[named]} in line {program.steps[named].place.line}, which tells "
                    "nobody that it is over (hasdep='0')"
                )
            own.append(named)
        if index in message_of:
            own.append(message_of[index])
        waits.append(own)
    return waits


def _fail_in_circle(program: Program, before: list[list[int]], left: list[int]) -> None:
    """Raise FormatError that names the steps of a circular wait."""
    circle = list(_circle(before, left))
    steps = program.steps
    pairs = [
        (steps[index], steps[wait])
        for index, wait in circle
        if (steps[index].gpu, steps[index].block) != (steps[wait].gpu, steps[wait].block)
    ] or [(steps[index], steps[wait]) for index, wait in circle]
    shown = [f"{_placed(step)} waits for {_placed(wait)}" for step, wait in pairs[:_WAITS_SHOWN]]
    more = f"; and {len(pairs) - _WAITS_SHOWN} more waits" if len(pairs) > _WAITS_SHOWN else ""
    pairs[0][0].place.fail(f"circular wait, so no run ends: {'; '.join(shown)}{more}")


def _placed(step: Step) -> str:
    return f"{step} in line {step.place.line}"


def _circle(before: list[list[int]], left: list[int]) -> Iterator[tuple[int, int]]:
    """Yield (step, step that it waits for) around one circle of the steps that never become ready."""
    stuck = {step for step, count in enumerate(left) if count}
    seen: dict[int, int] = {}
    path: list[tuple[int, int]] = []
    step = min(stuck)
    while step not in seen:
        seen[step] = len(path)
        wait = next(wait for wait in before[step] if wait in stuck)
        path.append((step, wait))
        step = wait
    yield from path[seen[step] :]
