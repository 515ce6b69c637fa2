# SPDX-License-Identifier: Apache-2.0
"""Which addresses a host tells others: rules as people write them, on lists and on real interfaces."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path

import pytest

from hemiola.environment.interfaces import InterfaceRule, LocalAddress, reachable_addresses
from hemiola.environment.nearness import nearest_first
from hemiola.errors import ArgumentError, FormatError

#: Interface, address, objection: what a host with containers has.
HOST = [
    LocalAddress(interface, ipaddress.ip_address(address), objection)
    for interface, address, objection in [
        ("lo", "127.0.0.1", "loopback"),
        ("lo", "::1", "loopback"),
        ("eth0", "192.168.1.10", ""),
        ("eth0", "fd00::10", ""),
        ("eth0", "fe80::10", "link-local"),
        ("ib0", "10.1.0.10", ""),
        ("docker0", "172.17.0.1", "containers"),
    ]
]


@pytest.mark.parametrize(
    ("rule", "family", "expected"),
    [
        (None, None, ["192.168.1.10", "fd00::10", "10.1.0.10"]),
        (None, 6, ["fd00::10"]),
        ("eth", None, ["192.168.1.10", "fd00::10"]),
        ("e,ib", 4, ["192.168.1.10", "10.1.0.10"]),
        ("=eth0", 4, ["192.168.1.10"]),
        ("=ib0,eth0", 4, ["192.168.1.10", "10.1.0.10"]),
        ("^eth", None, ["10.1.0.10"]),
        ("^=ib0", 4, ["192.168.1.10"]),
        ("^ib,docker", 4, ["192.168.1.10"]),
        ("10.0.0.0/8", None, ["10.1.0.10"]),
        ("fd00::/16,10.1.0.0/24", None, ["fd00::10", "10.1.0.10"]),
        ("^10.0.0.0/8", 4, ["192.168.1.10"]),
        ("lo", 4, ["127.0.0.1"]),
        ("docker0", None, ["172.17.0.1"]),
        ("fe80::/10", None, ["fe80::10"]),
    ],
)
def test_a_rule_chooses_addresses(rule: str | None, family: int | None, expected: list[str]) -> None:
    asked = (InterfaceRule.parse(rule),) if rule else (InterfaceRule(excludes=True),)
    assert [str(found.address) for found in reachable_addresses(*asked, family, HOST)] == expected


@pytest.mark.parametrize("rule", ["=eth", "eth1", "11.0.0.0/8", "^e,i"])
def test_where_nothing_is_left_the_error_lists_what_there_is_and_why_not(rule: str) -> None:
    with pytest.raises(ArgumentError, match=r"HEMIOLA_INTERFACE.*lo 127\.0\.0\.1 \(loopback\), .*docker0"):
        reachable_addresses(InterfaceRule.parse(rule), None, HOST)


@pytest.mark.parametrize("rule", ["", ",", "eth 0", "^", "=", "eth0,^lo", "1.2.3.4/40"])
def test_a_rule_that_is_none_is_quoted(rule: str) -> None:
    with pytest.raises(FormatError, match="expected"):
        InterfaceRule.parse(rule)


def _found_first(local_rank: int, system: Path) -> list[str]:
    host = [
        LocalAddress(name, ipaddress.ip_address(f"10.{number}.0.1")) for number, name in enumerate("abcd")
    ]
    ordered = nearest_first(host, local_rank, system)
    assert sorted(map(str, ordered)) == sorted(map(str, host))
    return [address.interface for address in ordered]


def test_ranks_of_a_host_are_found_at_one_interface_after_the_other(tmp_path: Path) -> None:
    firsts = [_found_first(local, tmp_path)[0] for local in range(6)]
    assert firsts == ["a", "b", "c", "d", "a", "b"]


def test_interfaces_next_to_a_ranks_cores_come_first(tmp_path: Path) -> None:
    # Given interfaces b and d at node 1, where this process's cores are, and another node with none of them.
    own = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    for node, cores in enumerate(["4090-4095", own]):
        folder = tmp_path / f"devices/system/node/node{node}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(f"{cores}\n")
    for name, node in zip("abcd", [0, 1, -1, 1], strict=True):
        folder = tmp_path / f"class/net/{name}/device"
        folder.mkdir(parents=True)
        (folder / "numa_node").write_text(f"{node}\n")
    assert _found_first(0, tmp_path) == ["b", "d", "a", "c"]
    assert _found_first(1, tmp_path) == ["d", "b", "a", "c"]
