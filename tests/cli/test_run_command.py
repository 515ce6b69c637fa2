# SPDX-License-Identifier: Apache-2.0
"""`hemiola run` and `hemiola bench` on real processes, and every way to ask for what cannot be."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from broken_files import BROKEN_FILES

import hemiola as hm
from drawn import bar_lengths, figures, whiskers
from hemiola.cli import run as run_command
from hemiola.cli.measured import patterns_of
from hemiola.measure.given_data import GivenData
from hemiola.measure.pattern import Pattern
from json_documents import read_document


def test_run_prints_a_row_per_algorithm_with_nothing_wrong(hemiola) -> None:
    ran = hemiola("run", "all_reduce", "4KiB", "-a", "all_reduce_ring,all_reduce_direct", "--repeats", 2)
    rows = [line.split() for line in ran.out.splitlines() if line.startswith(" all_reduce_")]
    assert ran.code == 0, ran
    assert {row[0] for row in rows} == {"all_reduce_ring", "all_reduce_direct"}
    assert all(row[-1] == "0" for row in rows)
    assert max(len(line) for line in ran.out.splitlines()) <= 110


def test_run_on_an_emulated_cluster_draws_and_answers_in_json(hemiola, cluster: Path, tmp_path: Path) -> None:
    arguments = [
        "run",
        "all_gather",
        "64KiB",
        "--emulate",
        cluster,
        "--slow",
        "1=2",
        "--repeats",
        2,
        "--json",
    ]
    with figures() as drawn:
        ran = hemiola(*arguments, "--chart", tmp_path / "times.png", "--warmups", 0)
    assert ran.code == 0, ran
    assert ran.data["rank_count"] == 4
    assert ran.data["slow"] == {"1": 2.0}
    assert ran.data["health"]["watching"]
    assert [slow["rank"] for slow in ran.data["health"]["slow"]] == [1]
    assert ran.data["topology_file"] == str(cluster)
    (at,) = ran.data["sizes"]
    (row,) = at["algorithms"]
    assert row["algorithm"] == at["planned"]
    assert row["wrong"] == 0
    assert len(row["durations_s"]) == 2
    # Ports of 1 GB/s cannot be beaten by more than the clock's grain.
    assert row["min_s"] > at["bound_s"] * 0.99
    (axes,) = drawn[0].axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [row["algorithm"]]
    predicted, measured = bar_lengths(axes)
    assert measured / predicted == pytest.approx(float(np.median(row["durations_s"])) / row["predicted_s"])

    # What was printed is drawn as the same picture.
    (tmp_path / "run.json").write_text(ran.out)
    with figures() as again:
        assert hemiola("view", tmp_path / "run.json", "--chart", tmp_path / "again.png").code == 0
    assert bar_lengths(again[0].axes[0]) == [predicted, measured]
    assert whiskers(again[0].axes[0]) == whiskers(axes)
    words = [{text.get_text() for text in figure.axes[0].texts} for figure in (drawn[0], again[0])]
    assert words[0] - words[1] == {title for title in words[0] if title.startswith("all_gather of")}
    assert any("the ports of rank 1 are 2 times slower" in text for text in words[1])


def test_run_names_the_rank_that_is_late_and_draws_how_late(hemiola, cluster: Path, tmp_path: Path) -> None:
    picture = tmp_path / "late.png"
    late = ("--emulate", cluster, "--late", "2=20ms", "--arrivals", picture)
    ran = hemiola("run", "all_reduce", "4KiB", *late, "--repeats", 20, "--json")
    assert ran.code == 0, ran
    found = ran.data["arrivals"]
    assert found["persistent_rank"] == 2
    assert found["operation_count"] >= 20
    assert [one["rank"] for one in found["ranks"]] == [0, 1, 2, 3]
    assert found["ranks"][2]["p99_s"] >= found["ranks"][2]["p95_s"] >= found["ranks"][2]["p50_s"] > 0.01
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_what_run_printed_can_be_viewed(hemiola, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(hemiola("run", "broadcast", "1KiB", "--repeats", 1, "--json").out)
    ran = hemiola("view", tmp_path / "run.json")
    assert ran.code == 0
    assert "broadcast of 1 KiB over 2 ranks" in ran.out


def test_run_takes_data_and_schedules_of_ones_own(hemiola, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.random.default_rng(1).normal(size=(2, 501)))
    hm.algorithms.all_reduce_direct(3).save(tmp_path / "mine.sched")
    ran = hemiola(
        "run", "all_reduce", "-n", 3, "--data", tmp_path / "rows.npy", "--schedule", tmp_path / "mine.sched",
        "-a", "all_reduce_ring", "--repeats", 1, "--op", "average", "--in-place", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran
    assert ran.data["dtype"] == "float64"
    (at,) = ran.data["sizes"]
    assert at["count"] == 501
    assert ran.data["schedules"] == [str(tmp_path / "mine.sched")]
    assert {row["algorithm"] for row in at["algorithms"]} == {"mine.sched", "all_reduce_ring"}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((2, 6), []),
        ((1, 6), ["one array for 2 ranks: each of them brings it"]),
        (
            (4, 7),
            ["4 rows for 2 ranks: the last 2 are not used", "6 of 7 elements a row: a multiple of 2, one "],
        ),
    ],
)
def test_data_of_other_ranks_is_taken_and_how_is_said(
    hemiola, tmp_path: Path, rows: tuple[int, int], said: list[str]
) -> None:
    np.save(tmp_path / "rows.npy", np.ones(rows))
    arguments = ("run", "all_gather", "--data", tmp_path / "rows.npy", "-n", 2, "--repeats", 1)
    remarks = hemiola(*arguments, "--json").data["remarks"]
    assert [remark[: len(text)] for remark, text in zip(remarks, said, strict=True)] == said
    out = hemiola(*arguments).out
    assert all(remark in out for remark in remarks)


def test_fewer_rows_than_ranks_are_dealt_out_in_turn_and_that_is_said() -> None:
    rows = np.arange(6).reshape(2, 3)
    given = GivenData.of("all_reduce", 3, rows)
    assert given.input_of(2).tolist() == given.input_of(0).tolist()
    assert given.differs_from(rows) == ["2 rows for 3 ranks: rank r brings row r modulo 2"]


def test_a_size_that_is_no_whole_number_of_elements_is_rounded_down_and_that_is_said(hemiola) -> None:
    remarks = hemiola("run", "all_gather", "10", "-n", 2, "--repeats", 1, "--json").data["remarks"]
    assert remarks == ["8 B of the 10 asked for: a multiple of 8 B, one float32 for each of 2 ranks"]
    assert hemiola("run", "all_gather", "8", "-n", 2, "--repeats", 1, "--json").data["remarks"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("all_reduce", "3"), "3 B hold not even 4 B, one float32;"),
        (("all_gather", "7"), "7 B hold not even 8 B, one float32 for each of 2 ranks;"),
    ],
)
def test_a_size_that_holds_nothing_is_refused_with_what_would_do(
    hemiola, arguments: tuple[str, ...], said: str
) -> None:
    ran = hemiola("run", *arguments)
    assert ran.is_users_mistake(), ran
    assert said in ran.err


def test_wrong_elements_are_told_and_exit_with_1(hemiola, monkeypatch: pytest.MonkeyPatch) -> None:
    compare = run_command.compare

    def spoiled(*arguments, **named):
        comparison = compare(*arguments, **named)
        object.__setattr__(comparison.sizes[0].rows[0].measured, "wrong", 7)
        return comparison

    monkeypatch.setattr(run_command, "compare", spoiled)
    ran = hemiola("run", "all_reduce", "1KiB", "--repeats", 1)
    assert ran.code == 1
    assert ran.out.splitlines()[4].split()[-1] == "7"


def test_bench_has_the_columns_of_nccl_tests(hemiola) -> None:
    ran = hemiola("bench", "reduce_scatter", "-b", 1024, "-e", 4096, "-f", 2, "--repeats", 2, "--op", "max")
    rows = [line.split() for line in ran.out.splitlines() if " float32 " in line]
    assert ran.code == 0, ran
    assert [row[:5] for row in rows] == [
        [str(size), str(size // 4), "float32", "max", "-1"] for size in (1024, 2048, 4096)
    ]
    assert all(row[9] == row[14] == "0" for row in rows)
    assert "# every element is right" in ran.out
    assert max(len(line) for line in ran.out.splitlines()) <= 110
    assert all(line.startswith("#") or line.split()[0].isdigit() for line in ran.out.splitlines())


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_bench_leaves_columns_out_where_a_line_has_no_room(
    hemiola, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    ran = hemiola("bench", "-b", "1K", "-e", "1M", "-f", 32, "--repeats", 1, "-w", 0, "-d", "bf16")
    measured = [line.split() for line in ran.out.splitlines() if not line.startswith("#")]
    assert [row[0] for row in measured] == ["1024", "32768", "1048576"]
    (names,) = [line.split()[1:] for line in ran.out.splitlines() if "#wrong" in line]
    assert all(len(row) == len(names) for row in measured)
    assert max(map(len, ran.out.splitlines())) <= columns


@pytest.mark.parametrize("words", ["bench broadcast -b 1K -e 1K", "run reduce 1KiB"])
def test_the_root_is_rank_0_unless_another_one_is_asked_for(hemiola, words: str) -> None:
    for asked, root in (("", 0), ("--root 1", 1)):
        ran = hemiola(*f"{words} -n 2 {asked} --repeats 1 --json".split())
        assert ran.code == 0, ran
        assert ran.data["root"] == root


def test_bench_takes_the_flags_of_nccl_tests(hemiola) -> None:
    words = "bench bcast -b 1K -e 2k -f 2 -d half -o sum -r 1 -w 1 -n 2 --repeats 1 --json"
    told = hemiola(*words.split()).data
    assert [size["nbytes"] for size in told["sizes"]] == [1024, 2048]
    assert (told["collective"], told["dtype"], told["root"], told["rank_count"]) == (
        "broadcast",
        "float16",
        1,
        2,
    )


def test_bench_shows_a_size_before_the_next_is_measured_and_on_interrupt_what_there_is() -> None:
    words = ["bench", "all_reduce", "-n", "2", "-b", "1K", "-e", "64M", "-f", "1.01", "--repeats", "50"]
    with subprocess.Popen(
        [sys.executable, "-m", "hemiola", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        while (line := process.stdout.readline()).startswith("#"):
            pass
        assert line.split()[0] == "1024", line
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err == "hemiola: interrupted\n"
    assert "# interrupted after" in out


def test_run_says_each_time_as_it_comes_also_where_nobody_watches(hemiola) -> None:
    ran = hemiola("run", "all_reduce", "1KiB", "-a", "ring,direct", "--repeats", 1)
    assert sorted(line.split(":")[0] for line in ran.err.splitlines()) == [
        "all_reduce_direct",
        "all_reduce_ring",
    ]


#: Interrupts itself, as Ctrl-C would, when the first algorithm has been measured.
INTERRUPTED = """
import os, signal, sys
import hemiola.cli.run as run
from hemiola.cli import main

compare = run.compare

def interrupted(contest, on_measured, **job):
    def told(*seen):
        on_measured(*seen)
        os.kill(os.getpid(), signal.SIGINT)
    return compare(contest, told)

run.compare = interrupted
sys.exit(main("run all_reduce 1M -n 2 -a all --repeats 300 --json".split()))
"""


def test_an_interrupted_run_prints_what_was_measured() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120)
    assert done.returncode == 130, done
    told = read_document(done.stdout)
    assert told["interrupted"]
    assert told["asked"] == ["all"]
    assert told["sizes"][0]["algorithms"][0]["p50_s"] > 0


SIZE_LISTS = (
    (["--sizes", "4KiB,1K", "--sizes", "2K"], [4096, 1024, 2048]),
    (["-b", "1K", "-e", "4K", "-f", "2"], [1024, 2048, 4096]),
)


@pytest.mark.parametrize(("words", "sizes"), SIZE_LISTS)
def test_run_bench_and_sweep_take_the_same_lists_of_sizes(
    hemiola, cluster: Path, words: list[str], sizes: list[int]
) -> None:
    quick = ("--repeats", 1, "--warmups", 0, "--json")
    ran, benched = hemiola("run", "all_reduce", *words, *quick), hemiola("bench", *words, *quick)
    swept = hemiola("sweep", "all_reduce", cluster, *words, "-a", "ring", "--json")
    assert [at["nbytes"] for at in ran.data["sizes"]] == sizes
    assert [at["nbytes"] for at in benched.data["sizes"]] == sizes
    assert swept.data["sizes"] == sizes
    assert [row["nbytes"] for row in swept.data["rows"]] == sizes


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("1KiB", "--sizes", "4K"), "keep either"),
        (("--sizes", "4K", "-e", "8K"), "leave --begin, --end and --factor out"),
        (("--sizes", "4K,x"), "expected a size"),
        (("--sizes", ""), "expected a size"),
    ],
)
def test_lists_of_sizes_that_contradict_themselves_are_refused(
    hemiola, words: tuple[str, ...], said: str
) -> None:
    ran = hemiola("run", "all_reduce", *words)
    assert ran.is_users_mistake(), ran
    assert said in ran.err


@pytest.mark.parametrize("command", ["run", "bench"])
def test_several_sizes_are_lines_over_the_sizes_beside_the_bound(
    hemiola, cluster: Path, tmp_path: Path, command: str
) -> None:
    asked = ["all_reduce", "--sizes", "1K,4K,16K", "--emulate", cluster, "--late", "1=1ms", "--repeats", 2]
    with figures() as drawn:
        ran = hemiola(command, *asked, "--json", "--chart", tmp_path / "t.svg")
    assert ran.code == 0, ran
    (axes,) = drawn[0].axes
    lines = {line.get_label(): line.get_xydata().tolist() for line in axes.get_lines()}
    bounds = [[at["nbytes"], at["bound_s"]] for at in ran.data["sizes"]]
    assert lines.pop("lower bound") == bounds
    if command == "bench":
        for name, line in lines.items():
            times = [at[name.replace(" ", "_")] for at in ran.data["sizes"]]
            assert line == [
                [at["nbytes"], one["p50_s"]] for at, one in zip(ran.data["sizes"], times, strict=True)
            ]
        assert lines.keys() == {"out of place", "in place"}
    else:
        points = sorted(point for line in lines.values() for point in line)
        rows = [(at, row) for at in ran.data["sizes"] for row in at["algorithms"]]
        assert points == sorted([at["nbytes"], row["p50_s"]] for at, row in rows)
        (tmp_path / "run.json").write_text(ran.out)
        with figures() as again:
            assert hemiola("view", tmp_path / "run.json", "--chart", tmp_path / "again.svg").code == 0
        assert (
            sorted(p for line in again[0].axes[0].get_lines()[:-1] for p in line.get_xydata().tolist())
            == points
        )
    words = " ".join(text.get_text() for text in axes.texts)
    assert "rank 1 is 1 ms late" in words or "rank 1" in words


@pytest.mark.parametrize("command", ["run", "bench"])
def test_a_peer_stands_beside_in_table_document_and_picture(hemiola, tmp_path: Path, command: str) -> None:
    pytest.importorskip("torch")
    asked = (command, "all_reduce", "--sizes", "1K,4K", "--peer", "gloo", "--repeats", 2)
    with figures() as drawn:
        told = hemiola(*asked, "--json", "--chart", tmp_path / "t.svg").data
    assert told["peers"] == ["gloo"]
    assert "gloo" in {line.get_label() for line in drawn[0].axes[0].get_lines()}
    for at in told["sizes"]:
        rows = at["peers"] if command == "bench" else {row["algorithm"]: row for row in at["algorithms"]}
        assert rows["gloo"]["wrong"] == 0
    assert "gloo" in hemiola(*asked).out


@pytest.mark.parametrize("option", ["--chart", "--arrivals"])
def test_a_picture_in_a_folder_that_does_not_exist_is_refused_before_anything_is_measured(
    hemiola, option: str
) -> None:
    ran = hemiola("run", "all_reduce", "1KiB", "--repeats", 1_000_000_000, option, "/no/such/folder/x.png")
    assert ran.is_users_mistake(), ran
    assert "there is no folder '/no/such/folder'" in ran.err


def test_bench_runs_what_it_is_told_or_what_the_planner_chooses(hemiola, cluster: Path) -> None:
    sizes = ["-b", "16KiB", "-e", "16KiB", "--repeats", 1, "--warmups", 0, "--json"]
    told = hemiola("bench", "all_reduce", "-a", "all_reduce_ring", *sizes)
    assert told.data["sizes"][0]["algorithm"] == "all_reduce_ring"
    chosen = hemiola("bench", "all_reduce", "--emulate", cluster, *sizes)
    assert chosen.data["sizes"][0]["algorithm"] in hm.algorithms.names("all_reduce")
    assert chosen.data["sizes"][0]["out_of_place"]["wrong"] == 0


def test_sizes_that_make_equal_blocks_are_measured_once_and_empty_ones_never() -> None:
    patterns, remarks = patterns_of("all_gather", 4, [1, 8, 16, 17, 31, 32], "float32", "sum", 0)
    assert [pattern.nbytes for pattern in patterns] == [16, 32]
    assert remarks == ["sizes are multiples of 16 B, one float32 for each of 4 ranks"]
    assert isinstance(patterns[0], Pattern)


def test_bench_has_no_row_of_nothing_and_says_what_sizes_are_multiples_of(hemiola) -> None:
    arguments = ("-b", 3, "-e", 50, "-f", 4, "--repeats", 1, "-w", 0)
    ran = hemiola("bench", "all_reduce", *arguments)
    rows = [line.split() for line in ran.out.splitlines() if not line.startswith("#")]
    assert [row[0] for row in rows] == ["12", "48"], ran
    assert "# sizes are multiples of 4 B, one float32" in ran.out.splitlines()
    assert hemiola("bench", "-b", 4, "-e", 4, "--repeats", 1, "--json").data["remarks"] == []


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["all_reduce"],
        ["all_scatter", "1KiB"],
        ["all_reduce", "1.5"],
        ["all_reduce", "1KiB", "-n", "0"],
        ["all_reduce", "1KiB", "-n", "99999"],
        ["all_reduce", "1KiB", "-a", "nonsense"],
        ["all_reduce", "1KiB", "-a", "all_gather_ring"],
        ["all_reduce", "1KiB", "-a", ""],
        ["all_reduce", "1KiB", "--dtype", "float8"],
        ["all_reduce", "1KiB", "--op", "median"],
        ["all_reduce", "1KiB", "--op", "xor"],
        ["all_reduce", "1KiB", "--late", "1=1ms"],
        ["all_reduce", "1KiB", "--slow", "1=2"],
        ["all_reduce", "1KiB", "--late", "7=1ms"],
        ["all_reduce", "1KiB", "--repeats", "0"],
        ["all_reduce", "1KiB", "--chart", "times.bmp"],
        ["all_reduce", "1KiB", "--emulate", "/no/such/file"],
        ["all_reduce", "1KiB", "--schedule", "/no/such/file"],
        ["all_reduce", "1KiB", "--data", "/no/such/file"],
        ["all_reduce", "--data", "/no/such/file"],
        ["broadcast", "1KiB", "--root", "2"],
    ],
)
def test_a_mistake_in_run_is_one_line_and_exit_code_2(hemiola, arguments: list[str]) -> None:
    ran = hemiola("run", *arguments)
    assert ran.is_users_mistake(), ran


@pytest.mark.parametrize(
    "arguments",
    [
        ["all_scatter"],
        ["-b", "2KiB", "-e", "1KiB"],
        ["-f", "1"],
        ["-f", "nan"],
        ["-f", "x"],
        ["-a", "nonsense"],
        ["-a", "all_gather_ring"],
        ["--late", "1=1ms"],
        ["--root", "5"],
        ["--dtype", ""],
        ["-b", "0", "-e", "99999999999", "-f", "1.0000000001"],
        ["-b", "0", "-e", "3"],
    ],
)
def test_a_mistake_in_bench_is_one_line_and_exit_code_2(hemiola, arguments: list[str]) -> None:
    ran = hemiola("bench", *arguments)
    assert ran.is_users_mistake(), ran


@pytest.mark.parametrize("broken", BROKEN_FILES)
def test_a_file_that_is_no_array_is_one_line_and_exit_code_2(hemiola, tmp_path: Path, broken: str) -> None:
    (tmp_path / "broken.npy").write_bytes(BROKEN_FILES[broken])
    ran = hemiola("run", "all_reduce", "--data", tmp_path / "broken.npy")
    assert ran.is_users_mistake(), ran


def test_ranks_and_a_cluster_that_disagree_are_refused(hemiola, cluster: Path) -> None:
    ran = hemiola("run", "all_reduce", "1KiB", "--emulate", cluster, "-n", 3)
    assert ran.is_users_mistake()
    assert "4 ranks" in ran.err


def test_a_run_is_written_beside_its_prediction_as_a_page_and_as_a_trace(hemiola, tmp_path: Path) -> None:
    page, trace = tmp_path / "run.html", tmp_path / "run.json"
    words = ("run", "all_reduce", "64KiB", "-n", 2, "--repeats", 2, "-a", "ring,direct")
    ran = hemiola(*words, "--html", page, "--trace", trace)
    assert ran.code == 0, ran
    assert '"name":"measured"' in page.read_text()
    assert '"measured sends"' in trace.read_text()
    assert f"Written to {page}." in ran.out.replace("\n", "")
    for wrong in (tmp_path / "none" / "x.html", tmp_path):
        refused = hemiola(*words, "--html", wrong)
        assert refused.is_users_mistake(), refused
        assert refused.err.count("\n") == 1  # before anything was measured
    for few in (("-n", 1), ("-n", 2, "-a", "", "--peer", "gloo")):
        refused = hemiola("run", "all_reduce", "64KiB", *few, "--trace", tmp_path / "few.json")
        assert refused.is_users_mistake(), refused
        assert "expected 2 ranks or more and an algorithm" in refused.err
    assert not (tmp_path / "few.json").exists()
