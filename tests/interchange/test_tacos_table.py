# SPDX-License-Identifier: Apache-2.0
"""TACOS's tables: every link carries its chunks in order, as soon as its source has them."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola import interchange

#: Three NPUs in a line.
TABLE = """NPUs Count,3
Links Count,4
Chunks Count,3
Chunk Size,1048576,B
SrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks
0,1,500,50,0
1,0,500,50,1,2
1,2,500,50,1,0
2,1,500,50,2
"""


def _read(text: str, tmp_path) -> hm.Schedule:
    path = tmp_path / "tacos.csv"
    path.write_text(text)
    read = interchange.read(path)
    assert read.form == "TACOS table"
    return hm.Schedule.load(path)


def test_each_link_carries_its_next_chunk_in_each_step(tmp_path) -> None:
    schedule = _read(TABLE, tmp_path)
    assert schedule.transfers[["step", "src", "dst", "chunk"]].tolist() == [
        (0, 0, 1, 0), (0, 1, 0, 1), (0, 1, 2, 1), (0, 2, 1, 2), (1, 1, 0, 2), (1, 1, 2, 0)]  # fmt: skip
    assert hm.verify(schedule) == []


def test_chunks_beyond_one_a_rank_belong_to_the_ranks_in_turn(tmp_path) -> None:
    text = TABLE.replace("Chunks Count,3", "Chunks Count,6")
    text = text.replace("50,0\n", "50,0,3\n").replace("50,1,2\n", "50,1,2,4,5\n")
    schedule = _read(text.replace("50,1,0\n", "50,1,0,4,3\n").replace("50,2\n", "50,2,5\n"), tmp_path)
    assert schedule.collective.owner.tolist() == [0, 1, 2, 0, 1, 2]
    assert hm.verify(schedule) == []


def test_an_idle_link_and_a_chunk_that_nobody_brings_are_read_as_they_are(tmp_path) -> None:
    schedule = _read(TABLE.replace("50,1,0\n", "50,None\n"), tmp_path)
    assert {violation.rule for violation in hm.verify(schedule)} == {"missing_chunk"}


def test_links_that_wait_take_no_time_of_those_that_do_not(tmp_path) -> None:
    """Link 0 to 1 carries chunk 0 over and over, while 2,000 links wait for chunk 2000."""
    count = 2_001
    lines = [
        f"NPUs Count,{count}",
        f"Links Count,{count + 1}",
        f"Chunks Count,{count}",
        "Chunk Size,1,B",
        TABLE.splitlines()[4],
    ]
    lines += [f"1,{npu},1,1,{count - 1}" for npu in range(2, count)]
    lines += [
        f"0,1,1,1,{','.join(['0'] * 300_000)}",
        f"{count - 1},0,1,1,{count - 1}",
        f"1,0,1,1,{count - 1}",
    ]
    with pytest.raises(
        hm.FormatError, match="line 6: link 1 to 2 waits for chunk 2000, which NPU 1 never has"
    ):
        _read("\n".join(lines), tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("NPUs Count,3", "NPUs Count,0", "line 1: expected NPUs Count as a whole number from 1"),
        ("NPUs Count,3", "NPUs Count,3,4", "line 1: expected 'NPUs Count' and a number"),
        ("Links Count,4", "Links Count,5", "expected 5 links, as 'Links Count' says, found 4"),
        ("Chunks Count,3", "Chunks Count,4", "line 3: expected a multiple of the 3 NPUs"),
        ("Chunks Count,3", "Chunks Count,9999999", "line 3: expected Chunks Count"),
        ("SrcID", "Src", "line 5: expected 'SrcID,DestID"),
        ("0,1,500,50,0", "0,3,500,50,0", "line 6: expected DestID as a whole number from 0 to 2"),
        ("0,1,500,50,0", "0,0,500,50,0", "line 6: NPU 0 has a link to itself"),
        ("0,1,500,50,0", "1,0,500,50,0", "line 7: link 1 to 0 stands in line 6, too"),
        ("0,1,500,50,0", "0,1,500,50", "line 6: expected source, destination"),
        ("0,1,500,50,0", "0,1,500,50,3", "line 6: expected a chunk as a whole number from 0 to 2"),
        ("50,2\n", "50,2\n0,1", "line 10: expected source, destination"),
        ("2,1,500,50,2", "2,1,500,50,1", "waits for chunk 2, which NPU 1 never has"),
    ],
)  # fmt: skip
def test_a_malformed_table_is_refused_with_its_line(old: str, new: str, words: str, tmp_path) -> None:
    assert old in TABLE
    text = TABLE.replace(old, new, 1)
    with pytest.raises(hm.FormatError) as raised:
        _read(text, tmp_path)
    assert words in str(raised.value)
