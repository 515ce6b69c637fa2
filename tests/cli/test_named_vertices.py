# SPDX-License-Identifier: Apache-2.0
"""Commands take vertices by their names, and `show` says what is assumed and what a rank lacks."""

from __future__ import annotations

from pathlib import Path

import hemiola as hm

DATA = Path(__file__).parent.parent / "topology" / "data"


def test_commands_take_names(hemiola) -> None:
    file = DATA / "h100_four.xml"
    box = hm.Topology.load(file)
    for words in (
        ["plan", "all_reduce", file, "1MiB", "--slow", "GPU2=2"],
        ["plan", "all_reduce", file, "1MiB", "--slow-link", "GPU0-NVSwitch=4"],
        [
            "simulate",
            "all_reduce_ring",
            file,
            "1MiB",
            "--without-link",
            "GPU1-NVSwitch",
            "--late",
            "GPU3=1ms",
        ],
        ["topology", "show", file, "--without-nic", box.nics[0][0]],
    ):
        ran = hemiola(*words, "--json")
        assert ran.code == 0, ran
    by_number = hemiola("plan", "all_reduce", file, "1MiB", "--slow", "2=2", "--json").data["seconds"]
    assert (
        hemiola("plan", "all_reduce", file, "1MiB", "--slow", "GPU2=2", "--json").data["seconds"] == by_number
    )
    ran = hemiola("plan", "all_reduce", file, "1MiB", "--slow", "NVSwitch=2")
    assert (ran.code, "expected a rank, found the switch 'NVSwitch'" in ran.err) == (2, True)


def test_show_lists_names_and_marks_what_is_assumed(hemiola) -> None:
    shown = hemiola("topology", "show", DATA / "h100_four.xml").out
    assert "0 GPU0, 1 GPU1" in shown
    assert "assumed" in shown
    data = hemiola("topology", "show", DATA / "h100_four.xml", "--json").data
    marks = {(k["bandwidth"], k["is_bandwidth_assumed"]) for k in data["link_kinds"]}
    assert (48e9, False) in marks  # PCIe, as the file says
    assert (18 * 20.6e9, True) in marks  # NVLinks, of which it says the number


def test_show_names_the_rank_that_lacks_a_link(hemiola, tmp_path: Path) -> None:
    text = (DATA / "h100_four.xml").read_text()
    begin = text.index('rank="2"')
    end = text.index("</gpu>", begin)
    cut = text[:begin] + 'rank="2">' + text[end:]
    path = tmp_path / "x.xml"
    path.write_text(cut)
    assert (
        "rank 2 (GPU2) lacks the link of 370.8 GB/s to NVSwitch that 3 other ranks have"
        in hemiola("topology", "show", path).out
    )
