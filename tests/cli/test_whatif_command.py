# SPDX-License-Identifier: Apache-2.0
"""`hemiola whatif`: the answer of hemiola.whatif, printed."""

from __future__ import annotations

from pathlib import Path

import pytest

import hemiola as hm

SWITCH = hm.topologies.switch(8, latency_s=5e-6, bandwidth=25e9)
SMALL = "transformer:layers=3,width=256,sequence=64"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    SWITCH.save(str(tmp_path / "8.yaml"))
    return tmp_path / "8.yaml"


def test_its_answer_is_that_of_the_function(hemiola, file: Path) -> None:
    ran = hemiola("whatif", SMALL, "--topology", file, "--parallel", "tp=2", "--late", "1=1ms", "--json")
    found = hm.whatif(SMALL, SWITCH, hm.Conditions(late={1: 1e-3}), parallel=hm.Parallel(tp=2))
    assert ran.code == 0
    assert (ran.data["seconds"], ran.data["exposed_s"]) == (found.seconds, found.exposed_s)
    assert {one["library"]: one["seconds"] for one in ran.data["libraries"]} == found.others
    assert (ran.data["late"], ran.data["parallel"]["dp"]) == ({"1": 1e-3}, 4)


def test_software_is_repeated_or_joined(hemiola, file: Path) -> None:
    software = ["--software", "gloo-like=5ms,ring=1ms", "--software", "hemiola=300us"]
    ran = hemiola("whatif", SMALL, "-t", file, *software, "--json")
    told = {"gloo-like": 5e-3, "ring": 1e-3, "hemiola": 3e-4}
    found = hm.whatif(SMALL, SWITCH, software_s=told)
    assert ran.data["software_s"] == pytest.approx(told)
    assert ran.data["seconds"] == pytest.approx(found.seconds)
    assert {one["library"]: one["seconds"] for one in ran.data["libraries"]} == pytest.approx(found.others)


def test_the_tables_name_libraries_collectives_and_assumptions(hemiola, file: Path) -> None:
    told = " ".join(hemiola("whatif", SMALL, "-t", file).out.split())
    for words in ("Hemiola", "pccl-like", "lower bound", "all_reduce (dp)", "Memory is not modelled"):
        assert words in told


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--parallel", "tp=3"], "8 ranks"),
        (["--parallel", "tp"], "tp"),
        (["--late", "9=1ms"], "rank 9"),
        (["--overlap-loss", "2"], "overlap_loss"),
        (["--cores", "-1"], "cores from 0"),
        (["--untraced", "1s"], "leave untraced_s out"),
        (["--software", "gloo-like"], "library=time such as 'gloo-like=4.8ms'"),
        (["--software", "gloo-like=1ms,gloo-like=2ms"], "gloo-like is given twice"),
        (["--software", "bound=1ms"], "found 'bound'"),
        (["--software", "ring=-1ms"], "found '-1ms'"),
        (["--without-nic", "eth9"], "eth9"),
    ],
)
def test_mistakes_are_named_in_a_line(hemiola, file: Path, words: list[str], text: str) -> None:
    ran = hemiola("whatif", SMALL, "-t", file, *words)
    assert ran.code == 2
    assert text in " ".join(ran.err.split())
