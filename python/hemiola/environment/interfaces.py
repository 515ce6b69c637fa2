# SPDX-License-Identifier: Apache-2.0
"""Which of this machine's addresses other hosts may be told: of interfaces that are up, as a person chose, and none
that only this machine can reach."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hemiola.errors import ArgumentError, FormatError

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

#: Interfaces that containers and virtual machines of this machine are behind: their addresses are the same on every
#: machine, and reached from none.
_BEHIND = re.compile(
    r"docker|br-[0-9a-f]{12}|virbr|veth|cni|flannel|cali|cilium|lxc|lxd|incus|podman|nerdctl|kube|ifb|dummy"
)


@dataclass(frozen=True)
class LocalAddress:
    """An address of this machine, the interface that has it, and why others are not told it ("" where they may be)."""

    interface: str
    address: Address
    objection: str = ""

    @property
    def family(self) -> int:
        """4 or 6."""
        return self.address.version

    def __str__(self) -> str:
        return f"{self.interface} {self.address}{f' ({self.objection})' if self.objection else ''}"


@dataclass(frozen=True)
class InterfaceRule:
    """Which interfaces to use, as people write it for NCCL_SOCKET_IFNAME.

    "eth,ib" names by their beginnings, "=eth0" exactly, "10.1.0.0/16" by network; "^docker,lo" all but these. Named
    interfaces are used even if they would not be otherwise.
    """

    beginnings: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    networks: tuple[Network, ...] = ()
    excludes: bool = False

    @staticmethod
    def parse(text: str) -> InterfaceRule:
        """Read a rule; raise FormatError for any other text."""
        excludes = text.startswith("^")
        body = text.removeprefix("^")
        all_exact = body.startswith("=")
        words = [word.strip() for word in body.removeprefix("=").split(",")]
        beginnings, names, networks = [], [], []
        for word in words:
            name = word.removeprefix("=")
            if not re.fullmatch(r"[^\s^=,]+", name):
                raise FormatError(
                    f"expected interfaces such as 'eth,ib', '=eth0', '^docker,lo' or '10.1.0.0/16', found '{text[:60]}'"
                )
            if "/" in name:
                networks.append(_network(name))
            elif all_exact or word.startswith("="):
                names.append(name)
            else:
                beginnings.append(name)
        return InterfaceRule(tuple(beginnings), tuple(names), tuple(networks), excludes)

    def names_interface(self, interface: str) -> bool:
        """Return whether an interface is meant by its name."""
        return interface in self.names or interface.startswith(self.beginnings)

    def names_address(self, address: Address) -> bool:
        """Return whether an address is in one of the networks."""
        return any(address in network for network in self.networks)

    def allows(self, local: LocalAddress) -> bool:
        """Return whether an address is to be used."""
        by_name, by_network = self.names_interface(local.interface), self.names_address(local.address)
        if self.excludes:
            return not by_name and not by_network and not local.objection
        # An interface's name says nothing about its link-local address, which every interface has.
        return by_network or (by_name and not local.address.is_link_local)


#: The default rule.
ANY_INTERFACE = InterfaceRule(excludes=True)


def local_addresses() -> list[LocalAddress]:
    """Return the addresses of all interfaces that are up, in the system's order."""
    import psutil  # hardly any process asks

    states = psutil.net_if_stats()
    found = []
    for interface, entries in psutil.net_if_addrs().items():
        state = states.get(interface)
        if state is None or not state.isup:
            continue
        for entry in entries:
            if entry.family in (socket.AF_INET, socket.AF_INET6):
                address = ipaddress.ip_address(entry.address.split("%")[0])
                found.append(LocalAddress(interface, address, _objection(interface, address)))
    return found


def reachable_addresses(
    rule: InterfaceRule = ANY_INTERFACE,
    family: int | None = None,
    among: Sequence[LocalAddress] | None = None,
) -> list[LocalAddress]:
    """Return the addresses that other hosts may be told, in the system's order.

    Parameters
    ----------
    rule : InterfaceRule; without one, all but loopback, link-local, and those of containers.
    family : 4 or 6; None for both.
    among : sequence of LocalAddress; this machine's if None.

    Returns
    -------
    list of LocalAddress, at least one.

    Raises
    ------
    ArgumentError
        when none is left; the message has all addresses, and why each is not used.
    """
    present = local_addresses() if among is None else among
    found = [local for local in present if rule.allows(local) and family in (None, local.family)]
    if not found:
        wanted = f"an IPv{family} address" if family else "an address"
        raise ArgumentError(
            f"expected {wanted} at which other hosts reach this one, found none. Name an interface or a network in "
            f"HEMIOLA_INTERFACE; this machine has: {_listed(present)}{_down() if among is None else ''}"
        )
    return found


def check_loopback(hosts: Sequence[str]) -> None:
    """Raise ArgumentError where all of these hosts are this one by its loopback interface, and that is down."""
    if not all(host == "localhost" or host == "::1" or host.startswith("127.") for host in hosts):
        return
    import psutil

    down = [name for name, state in psutil.net_if_stats().items() if name == "lo" and not state.isup]
    if down:
        raise ArgumentError(f"expected the interface of {', '.join(hosts)} to be up, found none{_down()}")


def _objection(interface: str, address: Address) -> str:
    """Say why others should not be told an address; "" where they may be."""
    if address.is_loopback:
        return "loopback"
    if address.is_link_local:
        return "link-local"
    if _BEHIND.match(interface):
        return "behind which are this machine's containers"
    return ""


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise FormatError(
            f"expected a network such as '10.1.0.0/16' or 'fd00::/64', found '{text[:60]}'"
        ) from None


def _down() -> str:
    """Say which interfaces are down, and how they come up; "" where all are up."""
    import psutil

    names = [name for name, state in psutil.net_if_stats().items() if not state.isup]
    if not names:
        return ""
    return f". Down: {', '.join(names)}; 'ip link set {names[0]} up' brings it up"


def _listed(present: Iterable[LocalAddress]) -> str:
    return ", ".join(map(str, present)) or "no interface that is up"
