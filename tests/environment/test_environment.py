# SPDX-License-Identifier: Apache-2.0
"""Variables of the environment: typed, from one table, and misspelt ones are answered."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

import hemiola as hm
import hemiola_autoload
from hemiola import environment
from hemiola.environment import VARIABLES, Variable, variables
from hemiola.environment.interfaces import ANY_INTERFACE
from hemiola.errors import ArgumentError

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "00ff" * 16


@pytest.mark.parametrize(
    ("variable", "text", "value"),
    [
        (environment.RANK, "3", 3),
        (environment.RENDEZVOUS, "node-1.cluster:29500", ("node-1.cluster", 29500)),
        (environment.RENDEZVOUS, "[fd77::1]:29500", ("fd77::1", 29500)),
        (environment.TOKEN, TOKEN, bytes.fromhex(TOKEN)),
        (environment.PORTS, "29600-29602", range(29600, 29603)),
        (environment.PORTS, "29600", range(29600, 29601)),
        (environment.IP_FAMILY, "6", 6),
        (environment.TIMEOUT, "30", 30.0),
        (environment.TIMEOUT, "500ms", 0.5),
        (environment.SILENCE, "1.5 s", 1.5),
        (environment.JOB, "any text", "any text"),
        (environment.WIRE, "auto", "auto"),
        (environment.WIRE, "shm, tcp", "shm,tcp"),
        (environment.ADAPT, "late", {"late"}),
        (environment.ADAPT, "slow, late", {"late", "slow"}),
        (environment.ADAPT, "none", set()),
        (environment.LOG, "DEBUG", "debug"),
        (variables.TORCH_REPLACES, "gloo", "gloo"),
        (variables.TORCH_ACCELERATOR, "off", "off"),
    ],
)
def test_values_are_typed(variable: Variable[object], text: str, value: object) -> None:
    assert variable.value({variable.name: text}) == value


def test_an_empty_variable_is_one_that_is_not_set() -> None:
    for variable in VARIABLES:
        assert variable.value({variable.name: ""}) == variable.value({}) == variable.default
    assert environment.TIMEOUT.value({}) == 300.0
    assert environment.INTERFACE.value({}) == ANY_INTERFACE


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("RANK", "-1"),
        ("RANK", "٣"),
        ("RANK", "1" * 10),
        ("RENDEZVOUS", "host"),
        ("RENDEZVOUS", "host:0"),
        ("RENDEZVOUS", "host:70000"),
        ("RENDEZVOUS", "fd77::1:29500"),
        ("TOKEN", "00" * 31),
        ("TOKEN", "fd:999999"),
        ("INTERFACE", "eth0,"),
        ("INTERFACE", "10.1.0.0/77"),
        ("PORTS", "200-100"),
        ("PORTS", "0-100"),
        ("IP_FAMILY", "5"),
        ("TIMEOUT", "0"),
        ("TIMEOUT", "soon"),
        ("TIMEOUT", "inf s"),
        ("WIRE", "tcp,"),
        ("WIRE", "tcp,tcp"),
        ("WIRE", "auto,tcp"),
        ("ADAPT", "none,late"),
        ("ADAPT", "late,"),
        ("ADAPT", "slow,slow"),
        ("LOG", "loud"),
        ("TORCH_REPLACES", "nccl"),
        ("TORCH_ACCELERATOR", "perhaps"),
    ],
)
def test_a_value_that_cannot_be_read_names_its_variable(name: str, text: str) -> None:
    with pytest.raises(ArgumentError, match=f"^HEMIOLA_{name}: expected"):
        environment.check({f"HEMIOLA_{name}": text})


@pytest.mark.parametrize(
    ("name", "text", "meant"),
    [("WIRE", "shm,tpc", "tcp"), ("ADAPT", "lat", "late"), ("ADAPT", "non", "none")],
)
def test_a_word_that_is_misspelt_is_answered_with_the_one_that_was_meant(
    name: str, text: str, meant: str
) -> None:
    with pytest.raises(ArgumentError, match=f"found '{text}'; did you mean '{meant}'"):
        environment.check({f"HEMIOLA_{name}": text})


def test_a_token_comes_through_a_descriptor_as_often_as_asked() -> None:
    file = os.memfd_create("token")
    try:
        os.write(file, bytes.fromhex(TOKEN))
        for _ in range(2):
            assert environment.TOKEN.value({"HEMIOLA_TOKEN": f"fd:{file}"}) == bytes.fromhex(TOKEN)
        os.write(file, b"more")
        with pytest.raises(ArgumentError, match="expected 32 bytes"):
            environment.TOKEN.value({"HEMIOLA_TOKEN": f"fd:{file}"})
    finally:
        os.close(file)


def test_an_error_about_a_secret_does_not_tell_it() -> None:
    secret = "a1" * 31
    with pytest.raises(ArgumentError) as caught:
        environment.check({"HEMIOLA_TOKEN": secret})
    assert secret[:8] not in str(caught.value)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("HEMIOLA_TIMEOT", "HEMIOLA_TIMEOUT"),
        ("HEMIOLA_INTERFACES", "HEMIOLA_INTERFACE"),
        ("HEMIOLA_port", "HEMIOLA_PORTS"),
    ],
)
def test_a_misspelt_name_is_refused_with_what_was_meant(written: str, meant: str) -> None:
    with pytest.raises(ArgumentError, match=f"{written} is no variable.*did you mean {meant}"):
        environment.check({written: "1"})


def test_names_that_resemble_none_of_ours_are_left_alone_and_shown_by_doctor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from hemiola.doctor import examine

    others = {"HEMIOLA_TEST_GUEST": "1", "HEMIOLA_SANITIZE": "address", "HOME": "/"}
    environment.check(others)
    assert environment.unknown(others) == {"HEMIOLA_TEST_GUEST": None, "HEMIOLA_SANITIZE": None}
    monkeypatch.setenv("HEMIOLA_COLOUR_OF_LOGS", "red")
    monkeypatch.setenv("HEMIOLA_TOKEN", TOKEN)
    (finding,) = [finding for finding in examine() if finding.what == "environment"]
    assert finding.state == "limited"
    assert "HEMIOLA_COLOUR_OF_LOGS" in finding.found
    assert "HEMIOLA_TOKEN" in finding.found
    assert TOKEN not in f"{finding}"


def _misspells() -> None:
    os.environ["HEMIOLA_TIMEOUTS"] = "3"
    hm.init()


def _waits_in_vain() -> None:
    os.environ["HEMIOLA_TIMEOUT"] = "0.1"
    if os.environ["HEMIOLA_RANK"] == "0":
        hm.init()


def test_init_reads_the_timeout_and_refuses_what_is_misspelt() -> None:
    with pytest.raises(hm.FailedRankError, match=r"did you mean HEMIOLA_TIMEOUT\?"):
        hm.launch(_misspells, 1)
    with pytest.raises(hm.FailedRankError, match=r"within 100 ms"):
        hm.launch(_waits_in_vain, 2)


def test_variables_are_named_in_the_table_alone() -> None:
    named = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "python/hemiola").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"HEMIOLA_[A-Z_]+", node.value)
    }
    assert not named, f"use hemiola.environment: {named}"
    # The module that PyTorch loads must not import Hemiola, so it writes one name again.
    assert hemiola_autoload.REPLACES in [variable.name for variable in VARIABLES]
    reads = [path for path in (ROOT / "src").rglob("*.[ch]pp") if "getenv" in path.read_text()]
    library = ROOT / "src/hemiola/c/environment.cpp"  # a program in C has no Python that would read it
    assert reads == [library], "the core reads no environment"
    assert set(re.findall(r'"(HEMIOLA_[A-Z_]+)"', library.read_text())) <= {each.name for each in VARIABLES}


def test_each_variable_is_on_the_generated_page() -> None:
    page = (ROOT / "docs/reference/environment.md").read_text()
    assert re.findall(r"^\| `(HEMIOLA_\w+)`", page, re.M) == [variable.name for variable in VARIABLES]
