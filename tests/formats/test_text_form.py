# SPDX-License-Identifier: Apache-2.0
"""The text form: how it reads, that it round-trips, and what it refuses."""

import pickle

import pytest
from hypothesis import given, settings
from random_schedules import schedules

import hemiola as hm
from hemiola.errors import ArgumentError, FormatError

HEAD = "hemiola schedule 1\ncollective broadcast\nranks 3\nchunks 2\n"


def test_a_schedule_reads_as_documented() -> None:
    rows = [(0, 0, 1, 3, True), (0, 0, 1, 0, False), (2, 3, 1, 1, True), (2, 0, 1, 2, False)]
    collective = hm.Collective.with_owners("reduce_scatter", 4, [0, 0, 2, 3])
    schedule = hm.Schedule.from_transfers(collective, rows, chunk_weights=[1, 1, 1, 5])
    assert schedule.to_text() == (
        "hemiola schedule 2\n"
        "collective reduce_scatter\n"
        "ranks 4\n"
        "chunks 4\n"
        "owners 0*2 2 3\n"
        "weights 1*3 5\n"
        "\n"
        "step 0\n"
        "0->1: 0 3+\n"
        "\n"
        "step 2\n"
        "0->1: 2\n"
        "3->1: 1+\n"
        "\n"
        "end 4\n"
    )


def test_scratch_slots_read_as_documented_and_only_they_need_the_later_version() -> None:
    collective = hm.Collective.make("broadcast", 2, 1)
    rows = [(0, 0, 0, 0, False, 0, 2), (1, 0, 1, 0, False, 2, 1), (2, 1, 1, 0, False, 1, 0)]
    schedule = hm.Schedule.from_transfers(collective, rows)
    assert schedule.to_text() == (
        "hemiola schedule 3\ncollective broadcast\nranks 2\nchunks 1\nroot 0\n\n"
        "step 0\n0->0.2: 0\n\nstep 1\n0.2->1.1: 0\n\nstep 2\n1.1->1: 0\n\nend 3\n"
    )
    assert schedule.scratch_count == 2
    assert schedule.transfers.tolist() == rows
    assert hm.verify(schedule) == []
    plain = hm.algorithms.all_reduce_ring(3)
    assert (plain.scratch_count, plain.to_text().splitlines()[0]) == (0, "hemiola schedule 2")
    assert (plain.to_bytes()[8], schedule.to_bytes()[8]) == (1, 2)


def test_a_custom_collective_reads_as_documented() -> None:
    collective = hm.Collective.custom(3, 2, [(1, 0), (0, 0)], [(2, 0)], reducing=True)
    assert hm.Schedule.from_transfers(collective, []).to_text() == (
        "hemiola schedule 2\ncollective custom\nranks 3\nchunks 2\nreducing\nbefore 0:0 1:0\nafter 2:0\n\nend 0\n"
    )


def test_comments_blanks_and_the_order_of_the_head_do_not_matter() -> None:
    text = """
        # a pair that sends one chunk
        hemiola schedule 1
        chunks 1   # of any size
        ranks 2

        collective broadcast
        step 0
        0->1:0
    """
    expected = hm.Schedule.from_transfers(hm.Collective.make("broadcast", 2, 1), [(0, 0, 1, 0)])
    assert hm.Schedule.from_text(text.strip()) == expected
    assert hm.Schedule.from_text(text.strip().replace("\n", "\r\n")) == expected


def test_long_lines_are_broken_and_join_again() -> None:
    schedule = hm.Schedule.from_transfers(
        hm.Collective.make("broadcast", 2, 500), [(0, 0, 1, chunk) for chunk in range(500)], list(range(500))
    )
    text = schedule.to_text()
    assert max(map(len, text.splitlines())) <= 100
    assert hm.Schedule.from_text(text) == schedule


@settings(max_examples=300, deadline=None, print_blob=True)
@given(schedules())
def test_every_schedule_survives_both_forms_and_pickling(schedule: hm.Schedule) -> None:
    assert hm.Schedule.from_text(schedule.to_text()) == schedule
    assert hm.Schedule.from_bytes(schedule.to_bytes()) == schedule
    copy = pickle.loads(pickle.dumps(schedule))
    assert copy == schedule
    assert copy.digest == schedule.digest
    assert hash(copy) == hash(schedule)


REFUSED = {
    "nothing": ("", "line 1: expected 'hemiola schedule 2'"),
    "another file": ("#!/bin/sh\n", "line 1: expected 'hemiola schedule 2'"),
    "a later version": ("hemiola schedule 4\n", "line 1: expected version 1, 2 or 3"),
    "scratch in a version without": (HEAD + "step 0\n0->1.1: 0\n", "line 6: expected ':', found '.1: 0'"),
    "a slot that is none": (
        HEAD.replace("1", "3", 1) + "step 0\n0->1.: 0\nend 1\n",
        "line 6: expected a slot in 0 … 65535, found ': 0'",
    ),
    "a slot sent to itself": (
        HEAD.replace("1", "3", 1) + "step 0\n1.2->1.2: 0\nend 1\n",
        "line 6: transfer (step 0, 1 -> 1, chunk 0): a transfer must join two different ranks, or two slots of one",
    ),
    "no end": (HEAD.replace("1", "2", 1), "line 4: expected 'end 0' after the last transfer"),
    "an end that counts nothing": (HEAD + "end\n", "line 5: expected a count of transfers"),
    "an end with a remark": (HEAD + "end 0 of it\n", "line 5: expected the end of the line, found 'of it'"),
    "no collective": ("hemiola schedule 1\n", "line 1: expected a line 'collective"),
    "an unknown collective": ("hemiola schedule 1\ncollective all_shout\n", "found 'all_shout'"),
    "an unknown key": (HEAD + "color blue\n", "line 5: expected collective, ranks"),
    "more than a key takes": (HEAD + "root 1 2\n", "line 5: expected the end of the line, found '2'"),
    "no ranks": (
        "hemiola schedule 1\ncollective broadcast\nchunks 1\n",
        "line 3: collective: expected 1 … 1048576 ranks",
    ),
    "no number": (
        "hemiola schedule 1\nranks many\n",
        "line 2: expected a rank count in 0 … 1048576, found 'many'",
    ),
    "a negative number": ("hemiola schedule 1\nranks -1\n", "found '-1'"),
    "a number beyond 64 bits": (f"hemiola schedule 1\nranks {10**30}\n", "found '1000000000"),
    "too many ranks": ("hemiola schedule 1\nranks 1048577\n", "line 2"),
    "more chunks than the text justifies": (
        "hemiola schedule 1\nchunks 4194305\n",
        "a chunk count in 0 … 4194304",
    ),
    "a root that is no rank": (HEAD + "root 3\n", "expected a root in 0 … 2, found 3"),
    "a root where there is none": (
        "hemiola schedule 1\ncollective all_gather\nranks 2\nchunks 2\nroot 1\n",
        "of this kind has no root",
    ),
    "chunks that do not divide": (
        "hemiola schedule 1\ncollective all_gather\nranks 2\nchunks 3\n",
        "a multiple of 2, found 3",
    ),
    "owners that are too few": (HEAD + "owners 0\n", "line 5: expected 2 owners, found 1"),
    "owners that are too many": (HEAD + "owners 0 0 0\n", "line 5: expected at most one value per chunk"),
    "a bomb of owners": (HEAD + "owners 0*4000000000\n", "expected a repetition in 0 … 2"),
    "owners before chunks": (
        "hemiola schedule 1\nowners 0\n",
        "line 2: expected at most one value per chunk",
    ),
    "an owner that is not the root": (
        HEAD + "owners 0 1\n",
        "expected every owner to be the root 0, found 1",
    ),
    "weights that are too few": (HEAD + "weights 1\n", "expected one per chunk (2), found 1"),
    "weights of nothing": (HEAD + "weights 0*2\n", "expected a sum in 1 … 2^62"),
    "places of a collective that is not custom": (HEAD + "before 0:0\n", "belong to a custom collective"),
    "owners of a custom collective": (
        "hemiola schedule 1\ncollective custom\nranks 2\nchunks 1\nowners 0\n",
        "a custom collective has no owners",
    ),
    "a place that does not exist": (
        "hemiola schedule 1\ncollective custom\nranks 2\nchunks 1\nbefore 2:0\n",
        "expected a rank (before) in 0 … 1, found 2",
    ),
    "a place without a chunk": (
        "hemiola schedule 1\nbefore 2\n",
        "line 2: expected ':', found the end of the line",
    ),
    "a transfer before the first step": (HEAD + "0->1: 0\n", "line 5: expected collective, ranks"),
    "a step that descends": (HEAD + "step 1\nstep 1\n", "line 6: expected steps to ascend, found 1 after 1"),
    "a step beyond what the text justifies": (
        HEAD + "step 1048576\n",
        "line 5: expected a step in 0 … 1048575",
    ),
    "a step with a remark": (HEAD + "step 1 first\n", "line 5: expected the end of the line"),
    "no arrow": (HEAD + "step 0\n0-1: 0\n", "line 6: expected '->', found '-1: 0'"),
    "no colon": (HEAD + "step 0\n0->1 0\n", "line 6: expected ':', found ' 0'"),
    "a chunk glued to another": (HEAD + "step 0\n0->1: 0+1\n", "line 6: expected a blank, found '1'"),
    "a rank that does not exist": (HEAD + "step 0\n0->3: 0\n", "line 6: transfer (step 0, 0 -> 3, chunk 0)"),
    "a chunk that does not exist": (HEAD + "step 0\n0->1: 2\n", "line 6: transfer (step 0, 0 -> 1, chunk 2)"),
    "a transfer to oneself": (HEAD + "step 0\n1->1: 0\n", "two different ranks"),
    "control characters": (HEAD + "step 0\n0->1: \x1b[2J\x00\n", "found '?[2J?'"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_malformed_text_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        hm.Schedule.from_text(text)
    assert message in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_text_that_would_be_refused_is_not_written() -> None:
    collective = hm.Collective.custom(2, 5_000_000, [(0, 0)], [(1, 0)])
    schedule = hm.Schedule.from_transfers(collective, [(0, 0, 1, 0)])
    with pytest.raises(ArgumentError, match="5000000 chunks"):
        schedule.to_text()
    with pytest.raises(ArgumentError, match="5000000 chunks"):
        schedule.to_bytes()


def test_many_chunks_justify_themselves_by_their_owners() -> None:
    schedule = hm.Schedule.from_transfers(hm.Collective.make("broadcast", 2, 4_194_305), [])
    assert hm.Schedule.from_text(schedule.to_text()) == schedule
    assert hm.Schedule.from_bytes(schedule.to_bytes()) == schedule
