# SPDX-License-Identifier: Apache-2.0
"""Files that a command cannot write: it says so in a line, before it reads or does anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from places import PLACES, place, read_only_file

#: Options and arguments that name a file to write, after a command whose input is not there: its complaint would come
#: if anything else were looked at first.
WRITERS = {
    "run --chart": (["run", "all_reduce", "1KiB", "--emulate", "absent.yaml", "--chart"], ".png"),
    "run --arrivals": (["run", "all_reduce", "1KiB", "--emulate", "absent.yaml", "--arrivals"], ".svg"),
    "bench --chart": (["bench", "--emulate", "absent.yaml", "--chart"], ".pdf"),
    "export --out": (["export", "absent.sched", "--to", "mscclpp", "--out"], ".json"),
    "plan --chart": (["plan", "all_reduce", "absent.yaml", "1MiB", "--chart"], ".png"),
    "plan --save": (["plan", "all_reduce", "absent.yaml", "1MiB", "--save"], ".sched"),
    "simulate --chart": (["simulate", "absent.sched", "absent.yaml", "1MiB", "--chart"], ".png"),
    "simulate --trace": (["simulate", "absent.sched", "absent.yaml", "1MiB", "--trace"], ".json"),
    "sweep --chart": (["sweep", "all_reduce", "absent.yaml", "--chart"], ".png"),
    "sweep --out": (["sweep", "all_reduce", "absent.yaml", "--out"], ".csv"),
    "sweep --resume": (["sweep", "all_reduce", "absent.yaml", "--resume"], ".json"),
    "synthesize --out": (["synthesize", "all_gather", "absent.yaml", "--out"], ".sched"),
    "topology draw": (["topology", "draw", "absent.yaml"], ".png"),
    "trace": (["trace", "absent"], ".json"),
    "view --chart": (["view", "absent.sched", "--chart"], ".png"),
    "view --chart of times": (["view", "absent.json", "--chart"], ".png"),
    "view --html": (["view", "absent.sched", "--topology", "absent.yaml", "--html"], ".html"),
    "calibrate --output": (["calibrate", "--output"], ".yaml"),
}


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("writer", WRITERS)
def test_a_file_that_cannot_be_written_is_named_first(
    hemiola, writer: str, where: str, tmp_path: Path
) -> None:
    words, suffix = WRITERS[writer]
    path = place(where, tmp_path, suffix)
    ran = hemiola(*words, path)
    assert ran.is_users_mistake(), ran.err
    assert path.name in ran.err
    assert "absent" not in ran.err


def test_a_read_only_file_is_kept(hemiola) -> None:
    with read_only_file(".png") as path:
        ran = hemiola("view", "all_reduce_ring", "--ranks", 4, "--chart", path)
    assert ran.is_users_mistake(), ran.err
    assert "cannot be written: Permission denied" in ran.err


@pytest.mark.parametrize("topologies", [13, 12])
def test_a_sweep_of_more_than_a_picture_holds_is_not_begun(hemiola, tmp_path: Path, topologies: int) -> None:
    files = []
    for ranks in range(2, 2 + topologies):
        files.append(tmp_path / f"{ranks}.yaml")
        files[-1].write_text(
            f"name: {ranks}\ntopology: ring\nranks: {ranks}\nlatency: 1 us\nbandwidth: 1 GB/s\n"
        )
    chart, kept = tmp_path / "x.png", tmp_path / "kept"
    ran = hemiola(
        "sweep",
        "all_reduce",
        *files,
        "-b",
        "1KiB",
        "-e",
        "4KiB",
        "-a",
        "ring",
        "--chart",
        chart,
        "--resume",
        kept,
    )
    assert (ran.code, chart.exists(), kept.exists()) == (
        (0, True, True) if topologies == 12 else (2, False, False)
    )
    if topologies == 13:
        assert ran.is_users_mistake()
        assert "at most 12 topologies" in " ".join(ran.err.split())
