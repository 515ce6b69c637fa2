"""Which addresses a host tells others: rules as people write them, on lists and on real interfaces."""

from __future__ import annotations

import ipaddress

import pytest

from hemiola.environment.interfaces import InterfaceRule, LocalAddress, reachable_addresses
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
