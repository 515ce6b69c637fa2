# SPDX-License-Identifier: Apache-2.0
"""The binary form: its bytes as documented, streaming, and what it refuses."""

import struct
from pathlib import Path

import numpy as np
import pytest
from binary_forgery import MAGIC, Forgery, column, section

import hemiola as hm
from hemiola.errors import ArgumentError, FormatError

PAIR = hm.Schedule.from_transfers(hm.Collective.make("broadcast", 2, 1), [(0, 0, 1, 0)])


def test_a_file_made_by_hand_from_the_document_is_read() -> None:
    assert hm.Schedule.from_bytes(Forgery().bytes()) == PAIR


def test_every_layout_of_a_column_is_read() -> None:
    """Owners 1, 0, 1 in layouts of 1, 2 and 4 bytes and as differences: +1, the value 0 itself, +1."""
    expected = hm.Collective.with_owners("all_gather", 2, [1, 0, 1])
    differences = b"\x04" + b"\x01" + b"\xff" + bytes(8) + b"\x01"
    for owners in (*(column([1, 0, 1], layout) for layout in range(3)), differences):
        head = bytes([0, 0]) + struct.pack("<III", 2, 3, 0) + b"\x01" + owners + b"\0"
        assert hm.Schedule.from_bytes(Forgery(collective=head).bytes()).collective == expected


def test_steps_may_go_on_in_the_next_block(tmp_path: Path) -> None:
    """200,000 transfers of two steps take four blocks of at most 65,536."""
    chunks = np.arange(100_000)
    rows = np.zeros((200_000, 5), np.int64)
    rows[:, 0], rows[:, 2], rows[:, 3] = np.repeat([0, 7], 100_000), 1, np.tile(chunks, 2)
    schedule = hm.Schedule.from_transfers(hm.Collective.make("broadcast", 2, 100_000), rows)
    path = tmp_path / "large.schedb"
    schedule.save(path)
    file = hm.ScheduleFile(path)
    assert (file.rank_count, file.chunk_count, file.step_count, file.transfer_count) == (
        2,
        100_000,
        8,
        200_000,
    )
    assert file.collective == schedule.collective
    assert file.load() == schedule


def test_a_ring_takes_about_two_bytes_a_transfer() -> None:
    """A ring's links and its chunks both ascend, or fall once, within a step: a byte each."""
    schedule = hm.algorithms.all_reduce_ring(200)
    assert len(schedule.to_bytes()) < 2.3 * schedule.transfer_count


def test_a_file_is_judged_as_the_schedule_in_memory_is(tmp_path: Path) -> None:
    ring = hm.algorithms.all_reduce_ring(32)
    broken = hm.Schedule.from_transfers(ring.collective, ring.transfers[ring.transfers["step"] != 7])
    for schedule in (ring, broken):
        path = tmp_path / "some.schedb"
        schedule.save(path)
        found = hm.verify(hm.ScheduleFile(path), max_violations=10_000)
        assert found == hm.verify(schedule, max_violations=10_000)
        assert bool(found) == (schedule is broken)


@pytest.mark.parametrize("name", ["a.sched", "a.txt", "a", "a.schedb"])
def test_a_file_of_either_form_is_loaded_whatever_its_name(tmp_path: Path, name: str) -> None:
    schedule = hm.algorithms.all_reduce_ring(5)
    schedule.save(tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(MAGIC) == name.endswith(".schedb")
    (tmp_path / name).rename(tmp_path / "renamed")
    assert hm.Schedule.load(tmp_path / "renamed") == schedule
    assert hm.Schedule.load(str(tmp_path / "renamed")) == schedule


def test_a_file_that_is_not_there_or_not_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        hm.Schedule.load(tmp_path / "absent")
    with pytest.raises(ArgumentError, match="regular file"):
        hm.Schedule.load(tmp_path)
    with pytest.raises(ArgumentError, match="regular file"):
        hm.Schedule.load("/dev/zero")
    with pytest.raises(FileNotFoundError):
        PAIR.save(tmp_path / "no" / "such" / "folder")


def test_a_file_without_its_end_is_refused_wherever_it_is_cut() -> None:
    whole = hm.algorithms.all_reduce_ring(4).to_bytes()
    for size in range(len(whole)):
        with pytest.raises(FormatError):
            hm.Schedule.from_bytes(whole[:size])


def test_any_flipped_bit_is_found() -> None:
    whole = PAIR.to_bytes()
    for at in range(len(whole)):
        flipped = bytes(byte ^ (i == at) for i, byte in enumerate(whole))
        with pytest.raises(FormatError):
            hm.Schedule.from_bytes(flipped)


HUGE = 2**62
#: The version that has two columns of slots in its footer.
SCRATCH = MAGIC + struct.pack("<II", 2, 0)
TWO = Forgery(step_sizes=(1, 1), links=(0, 0), chunks=(0, 0), step_count=2, transfer_count=2, index=((0, 2),))
REFUSED = {
    "a later version": (
        Forgery(header=MAGIC + struct.pack("<II", 3, 0)),
        "offset 0: expected version 1 or 2",
    ),
    "flags that this release does not know": (
        Forgery(header=MAGIC + struct.pack("<II", 1, 1)),
        "4 bytes of zero",
    ),
    "another file": (Forgery(header=b"PK\x03\x04" + bytes(12)), "the first bytes of a binary schedule"),
    "an unfinished file": (Forgery(trailer_magic=bytes(8)), "was never finished"),
    "a footer beyond the end": (Forgery(footer_offset=HUGE), "expected the footer's offset"),
    "a footer inside the header": (Forgery(footer_offset=8), "expected the footer's offset"),
    "a footer elsewhere": (Forgery(footer_offset=17), "expected a section that ends within the file"),
    "an unknown kind": (
        Forgery(collective=bytes([9, 0]) + struct.pack("<III", 2, 1, 0) + b"\0\0"),
        "a known kind",
    ),
    "no ranks": (
        Forgery(collective=bytes([3, 0]) + struct.pack("<III", 0, 1, 0) + b"\0\0"),
        "1048576 ranks, found 0",
    ),
    "too many ranks": (
        Forgery(collective=bytes([3, 0]) + struct.pack("<III", 2**31, 1, 0) + b"\0\0"),
        "fewer ranks or chunks",
    ),
    "more chunks than the file justifies": (
        Forgery(collective=bytes([3, 0]) + struct.pack("<III", 2, 2**28, 0) + b"\0\0"),
        "fewer ranks or chunks in a file of this size",
    ),
    "a root that is no rank": (
        Forgery(collective=bytes([3, 0]) + struct.pack("<III", 2, 1, 2) + b"\0\0"),
        "expected a root in 0 … 1, found 2",
    ),
    "owners that are not there": (
        Forgery(collective=bytes([3, 0]) + struct.pack("<III", 2, 1, 0) + b"\1"),
        "expected 1 more bytes of this section, found 0",
    ),
    "an unknown layout": (
        Forgery(collective=bytes([3, 0]) + struct.pack("<III", 2, 1, 0) + b"\1\5\0\0"),
        "a known layout of a column",
    ),
    "an owner of 64 bits": (
        Forgery(collective=bytes([3, 0]) + struct.pack("<III", 2, 1, 0) + b"\1\3" + bytes(8) + b"\0"),
        "a known layout of a column",
    ),
    "a difference that overflows": (
        Forgery(collective=bytes([3, 0]) + struct.pack("<III", 2, 1, 0) + b"\1\4\xff" + b"\xff" * 8 + b"\0"),
        "a smaller value in a column",
    ),
    "weights of nothing": (
        Forgery(collective=bytes([3, 0]) + struct.pack("<III", 2, 1, 0) + b"\0\1\0\0"),
        "expected a sum in 1 … 2^62",
    ),
    "a weight beyond 63 bits": (
        Forgery(collective=bytes([3, 0]) + struct.pack("<III", 2, 1, 0) + b"\0\1\3" + b"\xff" * 8),
        "expected integers >= 0",
    ),
    "places without end": (
        Forgery(collective=bytes([8, 0]) + struct.pack("<IIIQ", 2, 1, 0, HUGE) + b"\0"),
        "more values in a column than this section holds",
    ),
    "bytes after the collective": (
        Forgery(collective=bytes([3, 0]) + struct.pack("<III", 2, 1, 0) + b"\0\0\0"),
        "expected the end of this section, found 1 more",
    ),
    "more transfers than the file can hold": (Forgery(transfer_count=HUGE), "fewer steps or transfers"),
    "more steps than the file justifies": (Forgery(step_count=2**24), "fewer steps or transfers"),
    "another sum of transfers": (Forgery(transfer_count=2), "as many transfers as the blocks hold"),
    "a pair with a rank that does not exist": (
        Forgery(pairs=((0, 2),)),
        "pairs of different ranks, or of different slots of one, that exist",
    ),
    "a pair of one rank": (Forgery(pairs=((1, 1),)), "pairs of different ranks, or of different slots"),
    "a pair of one slot": (
        Forgery(header=SCRATCH, pairs=((1, 1),), slots=((1, 1),)),
        "pairs of different ranks, or of different slots",
    ),
    "a slot beyond the last": (
        Forgery(header=SCRATCH, slots=((0, 1 << 16),)),
        "slots of at most 2^16 - 1",
    ),
    "slots that are not there": (Forgery(header=SCRATCH), "more values in a column"),
    "no pairs": (Forgery(pairs=()), "links and chunks that exist"),
    "a block before the collective": (Forgery(block_offsets=(0,)), "an index of blocks in order"),
    "a block beyond the footer": (Forgery(block_offsets=(HUGE,)), "an index of blocks in order"),
    "a block that is not there": (Forgery(block_offsets=(60,)), "offset 60: expected"),
    "a block that is too large": (
        Forgery(index=((0, 65_537),), transfer_count=65_537),
        "fewer steps or transfers",
    ),
    "an empty block": (Forgery(index=((0, 0),), transfer_count=0), "an index of blocks in order"),
    "a block of another step": (Forgery(steps=(1,), step_count=2), "ascending steps from the one"),
    "a block beyond the last step": (TWO.but(steps=(0, 1), step_count=1), "ascending steps"),
    "steps that descend": (TWO.but(steps=(0, 0)), "ascending steps"),
    "steps of another size": (Forgery(step_sizes=(2,)), "sizes add up to the block's"),
    "a block of another size": (Forgery(counts=(1, 2)), "as many transfers in a block as the index says"),
    "more steps than transfers": (Forgery(counts=(2, 1)), "as many transfers in a block as the index says"),
    "a link that does not exist": (Forgery(links=(1,)), "links and chunks that exist"),
    "a chunk that does not exist": (Forgery(chunks=(1,)), "links and chunks that exist"),
    "reduce bits of no known layout": (Forgery(reduces=b"\3"), "a known layout of reduce bits"),
    "reduce bits that are not there": (Forgery(reduces=b"\2"), "expected 1 more bytes"),
    "bytes after a block": (Forgery(reduces=b"\0\0"), "expected the end of this section"),
    "bytes after the footer": (Forgery(footer_tail=b"\0"), "expected the end of this section"),
}


@pytest.mark.parametrize(("forgery", "message"), REFUSED.values(), ids=REFUSED)
def test_hostile_files_are_refused_in_one_line(forgery: Forgery, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        hm.Schedule.from_bytes(forgery.bytes())
    assert message in str(caught.value)
    assert str(caught.value).startswith("schedule bytes, offset ")
    assert str(caught.value).isprintable()


def test_two_blocks_that_go_back_in_time_are_refused() -> None:
    """The same block of step 0 twice is two parts of one step; of steps (0, 5) twice, the second goes back."""
    forgery = Forgery(
        steps=(0, 5), step_sizes=(1, 1), links=(0, 0), chunks=(0, 0), step_count=6, transfer_count=4
    )
    start = forgery.header + section(forgery.collective)
    block = section(forgery.block())
    offsets = (len(start), len(start) + len(block))
    footer = section(forgery.but(index=((0, 2), (0, 2)), block_offsets=offsets).footer(0))
    body = start + block + block
    with pytest.raises(FormatError, match="a step not before the last block's"):
        hm.Schedule.from_bytes(body + footer + struct.pack("<Q", len(body)) + MAGIC)
