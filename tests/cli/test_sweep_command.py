# SPDX-License-Identifier: Apache-2.0
"""`hemiola sweep`: the table of hemiola.sweep, printed and written."""

from __future__ import annotations

from pathlib import Path

import pytest

import hemiola as hm

SIZES = ["-b", "1KiB", "-e", "4KiB"]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    for ranks in (4, 3):
        network = hm.topologies.switch(ranks, latency_s=5e-6, bandwidth=25e9)
        network.save(str(tmp_path / f"{ranks}.yaml"))
    return [tmp_path / "4.yaml", tmp_path / "3.yaml"]


def test_its_rows_are_those_of_the_function(hemiola, files: list[Path]) -> None:
    ran = hemiola(
        "sweep", "all_reduce", *files, *SIZES, "-a", "ring", "-a", "plan", "--late", "1=1ms", "--json"
    )
    table = hm.sweep(
        [hm.Topology.load(file) for file in files],
        "all_reduce",
        [1024, 4096],
        ["all_reduce_ring", "plan"],
        hm.Conditions(late={1: 1e-3}),
    )
    assert ran.code == 0
    assert ran.data["late"] == {"1": 1e-3}
    assert [
        (row["topology"], row["nbytes"], row["algorithm"], row["seconds"]) for row in ran.data["rows"]
    ] == [(row.topology, row.nbytes, row.algorithm, row.seconds) for row in table]


def test_the_table_names_a_row_that_cannot_be_and_why(hemiola, files: list[Path]) -> None:
    ran = hemiola("sweep", "all_reduce", files[0], "-b", "1KiB", "-e", "1KiB", "-a", "c_cube", "-a", "ring")
    line = next(line.split() for line in ran.out.splitlines() if "c_cube" in line)
    assert line[line.index("all_reduce_c_cube") + 1] == "-"
    assert "DGX-1" in " ".join(ran.out.split())


@pytest.mark.parametrize("suffix", [".csv", ".json", ".tex"])
def test_the_table_is_written_and_its_path_is_said(hemiola, files: list[Path], suffix: str) -> None:
    path = files[0].with_suffix(suffix)
    ran = hemiola("sweep", "all_reduce", files[0], *SIZES, "--out", path)
    assert f"Written to {path}." in " ".join(ran.out.split())
    assert "plan" in path.read_text()


def test_processes_share_the_work_and_a_file_keeps_it(hemiola, files: list[Path]) -> None:
    asked = ["sweep", "all_reduce", *files, *SIZES, "--json", "--resume", files[0].with_name("kept")]
    assert hemiola(*asked, "--processes", 2).data == hemiola(*asked).data
    assert files[0].with_name("kept").read_text().count('"seconds"') == 4


def test_topologies_of_one_name_go_by_their_files(hemiola, files: list[Path]) -> None:
    copy = files[0].with_name("copy.yaml")
    copy.write_text(files[0].read_text())
    ran = hemiola("sweep", "all_reduce", files[0], copy, *SIZES, "--json")
    assert {row["topology"] for row in ran.data["rows"]} == {str(files[0]), str(copy)}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--out", "times.xls"], "ends with .csv, .json or .tex"),
        (["--out", "nowhere/times.csv"], "nowhere"),
        (["--resume", "nowhere/kept"], "nowhere"),
        (["-b", "8KiB"], "below the first"),
        (["-f", "1"], "step factor above 1"),
        (["-a", "rnig"], "rnig"),
        (["--late", "9=1ms"], "rank 9"),
        (["--processes", "0"], "greater than or equal to 1"),
    ],
)
def test_mistakes_are_named_in_a_line(hemiola, files: list[Path], words: list[str], text: str) -> None:
    ran = hemiola("sweep", "all_reduce", files[0], *SIZES, *words)
    assert ran.code == 2
    assert text in " ".join(ran.err.split())


def test_a_topology_given_twice_is_named(hemiola, files: list[Path]) -> None:
    ran = hemiola("sweep", "all_reduce", files[0], files[0], *SIZES)
    assert (ran.code, "found one twice" in ran.err) == (2, True)
